// Trains an LSTM on the adding problem: sequences of numbers, two of which are marked; the answer is the sum of these.
// Source: Hochreiter and Schmidhuber 1997.
#include <iostream>

#include "runtime/functions.h"
#include "training/layers/basic.h"
#include "training/layers/recurrent.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

constexpr std::int64_t kBatch = 64, kLength = 12;

// {[B, T, 2]: numbers and marks, [B, 1]: sums}
std::vector<Array> draw(Session& session) {
  const std::vector<double> numbers_of = session.uniform({kBatch, kLength}).to_tensor().to_doubles(),
                            places = session.uniform({kBatch, 2}).to_tensor().to_doubles();
  std::vector<double> x, sums;
  for (std::size_t b = 0; b < kBatch; ++b) {
    const auto first = static_cast<std::size_t>(places[2 * b] * kLength / 2),
               second = static_cast<std::size_t>((1 + places[2 * b + 1]) * kLength / 2);
    for (std::size_t t = 0; t < kLength; ++t) {
      x.push_back(numbers_of[b * kLength + t]);
      x.push_back(t == first || t == second ? 1 : 0);
    }
    sums.push_back(numbers_of[b * kLength + first] + numbers_of[b * kLength + second]);
  }
  return {numbers(session, {kBatch, kLength, 2}, x), numbers(session, {kBatch, 1}, sums)};
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 600;
  if (const auto status = options.read(argc, argv, "lstm_adding", "An LSTM that adds two marked numbers of a sequence")) return *status;
  std::cout << options.banner("lstm_adding") << "\n";
  Session session(options.session());
  Model model(session);
  const Lstm lstm(model / "lstm", 2, 24);
  const Linear out(model / "out", 24, 1);
  Adam adam(session, model.parameters(), {.rate = 0.01});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return mean_squared_error(out(lstm(v[0]).state.hidden[0]), v[1]); },
                  {.compiled = options.compiled, .most_norm = 1});
  return run_training(options, trainer, [&] { return draw(session); });
}
