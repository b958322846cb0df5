// Trains a small transformer to add numbers of two digits: it reads "27+58=" and writes the sum from its last digit on, "580".
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "runtime/functions.h"
#include "runtime/random.h"
#include "training/layers/shapes.h"
#include "training/losses.h"
#include "training/options.h"
#include "transformer_block.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

// ten digits, plus and equals; two digits, plus, two digits, equals, and all digits of the sum but the last that is written
constexpr std::int64_t kSymbols = 12, kWidth = 48, kHeads = 4, kPlaces = 8, kAnswers = 3, kBatch = 64, kPairs = 10000, kTrained = 8000;

struct Adder {
  Embedding symbols;
  TransformerBlock first, second;
  LayerNorm last;
  Linear out;
  explicit Adder(Model& model)
      : symbols(model / "symbols", kSymbols, kWidth, 0.2),
        first(model / "first", kWidth, kHeads, Rotary{.base = 100}),
        second(model / "second", kWidth, kHeads, Rotary{.base = 100}),
        last(model / "last", Shape{kWidth}),
        out(model / "out", kWidth, 10) {}
  // Scores of the digits behind "=" and behind each digit of the sum: [B, kAnswers, 10].
  Value operator()(const Value& x) const {
    return slice(out(last(second(first(symbols(x), true), true))), 1, kPlaces - kAnswers, kAnswers);
  }
};

// {what is read [N, kPlaces], digits of the sums [N, kAnswers]} for pairs a b as numbers 100 a + b.
Dataset written(const std::vector<std::int64_t>& pairs) {
  std::vector<std::int64_t> read, sums;
  for (const std::int64_t pair : pairs) {
    const std::int64_t a = pair / 100, b = pair % 100, sum = a + b;
    read.insert(read.end(), {a / 10, a % 10, 10, b / 10, b % 10, 11, sum % 10, sum / 10 % 10});
    sums.insert(sums.end(), {sum % 10, sum / 10 % 10, sum / 100});
  }
  const auto count = static_cast<std::int64_t>(pairs.size());
  return {Array::from(Tensor::of_ints({count, kPlaces}, read)), Array::from(Tensor::of_ints({count, kAnswers}, sums))};
}

// Sums whose digits are all the ones with the largest score, given those before.
std::size_t count_right(Session& session, const Adder& net, const Dataset& data) {
  session.clear();
  const std::vector<double> scores = net(session.input(data[0])).to_doubles();
  const std::vector<std::int64_t> sums = data[1].to_tensor().to_ints();
  std::size_t right = 0;
  for (std::size_t i = 0; i < sums.size(); i += kAnswers) {
    bool all = true;
    for (std::size_t k = i; k < i + kAnswers; ++k) {
      const auto row = std::span(scores).subspan(10 * k, 10);
      all = all && std::ranges::max_element(row) - row.begin() == sums[k];
    }
    right += all ? 1 : 0;
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 1000;
  if (const auto status = options.read(argc, argv, "adder_transformer", "A transformer that adds")) return *status;
  std::cout << options.banner("adder_transformer") << "\n";
  Session session(options.session());
  const std::vector<std::int64_t> order = runtime::permutation(session.next_key(), kPairs);
  const Dataset train = written({order.begin(), order.begin() + kTrained}), held = written({order.begin() + kTrained, order.end()});
  Model model(session);
  const Adder net(model);
  std::cout << model.parameter_count() << " parameters\n";
  Adam adam(session, model.parameters(), {.weight_decay = 0.3, .decoupled = true});
  const auto loss = [&](std::span<const Value> v) {
    const std::int64_t rows = v[0].shape()[0] * kAnswers;
    return cross_entropy(reshape(net(v[0]), {rows, 10}), reshape(v[1], {rows}), {.smoothing = 0.05});
  };
  Trainer trainer(model, adam, loss,
                  {.compiled = options.compiled,
                   .rate = with_warmup(cosine_decay(4e-3, 1e-5, std::max<std::uint64_t>(1, options.steps)), 20),
                   .most_norm = 1});
  Loader loader(train, {.batch = kBatch, .seed = options.seed});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  std::printf("sums right that it never saw: %zu of %zu\n", count_right(session, net, held), sample_count(held));
  return status;
}
