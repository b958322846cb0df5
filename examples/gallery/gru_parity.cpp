// Trains a GRU to say at each place of a sequence of bits whether the ones so far are odd in number, and asks it about longer sequences.
#include <cstdio>
#include <iostream>

#include "training/layers/basic.h"
#include "training/layers/recurrent.h"
#include "training/layers/shapes.h"
#include "training/losses.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

constexpr std::int64_t kBatch = 64, kLength = 10, kLonger = 60;

// {bits [B, T, 1], parities [B, T, 1]}
std::vector<Array> draw(Session& session, std::int64_t batch, std::int64_t length) {
  const std::vector<double> bits = session.bernoulli(0.5, {batch, length}).to_tensor().to_doubles();
  std::vector<double> parities;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const double before = i % static_cast<std::size_t>(length) == 0 ? 0 : parities.back();
    parities.push_back(bits[i] == before ? 0 : 1);
  }
  return {numbers(session, {batch, length, 1}, bits), numbers(session, {batch, length, 1}, parities)};
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 600;
  if (const auto status = options.read(argc, argv, "gru_parity", "A GRU that counts ones modulo two")) return *status;
  std::cout << options.banner("gru_parity") << "\n";
  Session session(options.session());
  Model model(session);
  const Gru gru(model / "gru", 1, 16);
  const Linear out(model / "out", 16, 1);
  const auto scores = [&](const Value& bits) { return out(gru(bits).outputs); };
  Adam adam(session, model.parameters(), {.rate = 0.01});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return binary_cross_entropy_with_logits(scores(v[0]), v[1]); },
                  {.compiled = options.compiled, .most_norm = 1});
  const int status = run_training(options, trainer, [&] { return draw(session, kBatch, kLength); });
  const std::vector<Array> longer = draw(session, 100, kLonger);
  session.clear();
  const std::vector<double> said = scores(session.input(longer[0])).to_doubles(), right = longer[1].to_tensor().to_doubles();
  std::size_t places = 0;
  for (std::size_t i = 0; i < said.size(); ++i) places += (said[i] > 0) == (right[i] == 1) ? 1 : 0;
  std::printf("places of sequences of %lld bits that are right: %zu of %zu\n", static_cast<long long>(kLonger), places, said.size());
  return status;
}
