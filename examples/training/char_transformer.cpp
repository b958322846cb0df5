// Trains a small transformer to continue a text, character by character, and lets it write.
#include <algorithm>
#include <iostream>
#include <string>

#include "runtime/functions.h"
#include "training/data/sources.h"
#include "training/layers/attention.h"
#include "training/layers/basic.h"
#include "training/layers/normalise.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

constexpr std::int64_t kPlaces = 32, kWidth = 48, kHeads = 4;

struct Block {
  LayerNorm before, between;
  MultiHeadAttention attention;
  Linear up, down;
  explicit Block(const Scope& at)
      : before(at / "before", Shape{kWidth}),
        between(at / "between", Shape{kWidth}),
        attention(at / "attention", kWidth, kHeads),
        up(at / "up", kWidth, 4 * kWidth),
        down(at / "down", 4 * kWidth, kWidth) {}
  Value operator()(const Value& x) const {
    const Value h = x + attention(before(x), {.causal = true});
    return h + down(gelu(up(between(h))));
  }
};

struct Transformer {
  Embedding characters;
  Value places;
  Block first, second;
  LayerNorm last;
  Linear out;
  Transformer(Model& model, std::int64_t count)
      : characters(model / "characters", count, kWidth, 0.1),
        places((model / "places").parameter("weight", sinusoidal_places(model.session(), kPlaces, kWidth))),
        first(model / "first"),
        second(model / "second"),
        last(model / "last", Shape{kWidth}),
        out(model / "out", kWidth, count) {}
  Value operator()(const Value& x) const { return out(last(second(first(characters(x) + places)))); }  // [B, kPlaces, count]
};

// The most likely next character, again and again.
std::string continued(Model& model, const Transformer& net, const Characters& characters, std::string text, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    model.session().clear();
    const std::vector<std::int64_t> window = characters.encode(std::string_view(text).substr(text.size() - kPlaces));
    const std::vector<double> scores =
        select(net(model.session().input(Tensor::of_ints({1, kPlaces}, window))), 1, kPlaces - 1).to_doubles();
    const std::int64_t best = std::ranges::max_element(scores) - scores.begin();
    text += characters.decode(std::span(&best, 1));
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 400;
  options.takes_devices = false;  // masked_softmax and the look-up of characters
  std::string path = "examples/training/text.txt";
  options.own = {{"text", "what it learns", &path}};
  if (const auto status = options.read(argc, argv, "char_transformer", "A transformer that continues a text")) return *status;
  std::cout << options.banner("char_transformer") << "\n";
  const auto file = read_text(path);
  if (!file) {
    std::cerr << file.rejection().to_text() << "\n";
    return 4;
  }
  const std::string& text = file.value();
  const Characters characters(text);
  Session session(options.session());
  Model model(session);
  const Transformer net(model, static_cast<std::int64_t>(characters.count()));
  std::cout << characters.count() << " characters, " << model.parameter_count() << " parameters\n";
  Adam adam(session, model.parameters(), {.weight_decay = 0.01, .decoupled = true});
  const Schedule rate = with_warmup(cosine_decay(3e-3, 1e-4, std::max<std::uint64_t>(1, options.steps)), 20);
  const auto loss = [&](std::span<const Value> v) {
    const auto count = static_cast<std::int64_t>(characters.count());
    return cross_entropy(reshape(net(v[0]), {v[0].shape()[0] * kPlaces, count}), reshape(v[1], {v[0].shape()[0] * kPlaces}));
  };
  Trainer trainer(model, adam, loss, {.compiled = options.compiled, .rate = rate, .most_norm = 1});
  Loader loader(windows_of(characters.encode(text), kPlaces), {.batch = 16, .seed = options.seed});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  std::cout << continued(model, net, characters, text.substr(0, kPlaces), 120) << "\n";
  return status;
}
