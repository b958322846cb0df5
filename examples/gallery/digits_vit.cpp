// Trains a small vision transformer on the digits: each image is a sequence of 16 patches of 2 by 2 pixels. Source: Dosovitskiy et al.
// 2021.
#include "patches.h"
#include "training/losses.h"
#include "training/options.h"

using namespace digits;

namespace {

constexpr std::int64_t kWidth = 32;

struct Vit {
  PatchEncoder encoder;
  Linear out;
  explicit Vit(Model& model) : encoder(model / "encoder", kWidth), out(model / "out", kWidth, 10) {}
  Value operator()(const Value& x) const { return out(mean(encoder(x), {1})); }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 600;
  std::string data = "examples/digits/digits.csv.gz";
  options.own = {{"data", "the digits, as CSV", &data}};
  if (const auto status = options.read(argc, argv, "digits_vit", "A vision transformer on handwritten digits")) return *status;
  std::cout << options.banner("digits_vit") << "\n";
  const auto set = load(data, options.dtype);
  if (!set) return 4;
  Session session(options.session());
  Model model(session);
  const Vit net(model);
  std::cout << model.parameter_count() << " parameters\n";
  Adam adam(session, model.parameters(), {.weight_decay = 0.01, .decoupled = true});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return cross_entropy(net(v[0]), v[1], {.smoothing = 0.05}); },
                  {.compiled = options.compiled, .rate = one_cycle({.most = 0.005, .steps = std::max<std::uint64_t>(2, options.steps)})});
  Loader loader(set->train, {.batch = 64, .seed = options.seed, .transform = [](std::vector<Array> batch, const RandomKey& key) {
                               return noisy(std::move(batch), key, 0.1);
                             }});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  std::cout << "held-out images right: " << count_right(model, net, set->held) << " of " << set->held[1].size() << "\n";
  return status;
}
