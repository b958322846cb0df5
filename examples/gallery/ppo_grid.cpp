// Trains a policy and a value on a grid world by proximal policy optimisation: the clipped objective, an error of values, and a reward for
// entropy. Source: Schulman et al. 2017; advantages by Schulman et al. 2016.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "grid_world.h"
#include "runtime/functions.h"
#include "runtime/random.h"
#include "training/layers/basic.h"
#include "training/options.h"

using namespace grid;

namespace {

constexpr std::int64_t kBatch = 64;
constexpr std::size_t kPlayers = 8, kMoves = 64, kPasses = 4, kSamples = kPlayers * kMoves;
constexpr double kTrace = 0.95, kClip = 0.2, kEntropy = 0.01;

struct Net {
  Linear first, second, action, value;
  explicit Net(Model& model)
      : first(model / "first", kCells, 64),
        second(model / "second", 64, 64),
        action(model / "action", 64, kActions),
        value(model / "value", 64, 1) {}
  // Logarithms of the actions' probabilities, and the value behind them: [B, kActions + 1].
  Value operator()(const Value& cells) const {
    const Value h = tanh(second(tanh(first(cells))));
    return concat({log_softmax(action(h), 1), value(h)}, 1);
  }
  // cells, actions, logarithms of their probabilities when they were played, advantages, returns
  Value loss(std::span<const Value> v) const {
    const Value said = (*this)(v[0]), logarithms = slice(said, 1, 0, kActions), values = slice(said, 1, kActions, 1);
    const Value ratio = exp(runtime::apply(Op::take, v[1], logarithms, ConcatAttributes{1}) - v[2]);
    // min(r A, clip(r, 1 - c, 1 + c) A) is min(r A, A + c |A|), which has no tie for ratios between.
    const Value gained = mean(runtime::apply(Op::min, ratio * v[3], v[3] + kClip * runtime::apply(Op::abs, v[3])));
    const Value entropy = -mean(sum(exp(logarithms) * logarithms, {1}));
    return 0.5 * mean_squared_error(values, v[4]) - gained - kEntropy * entropy;
  }
};

struct Player {
  Session& session;
  const Net& net;
  std::vector<Place> places = std::vector<Place>(kPlayers);
  Dataset played = {};
  std::vector<std::int64_t> order = {};

  // kMoves moves of every player by the present policy.
  void play() {
    const std::vector<double> said = said_of_all(session, net);
    const auto row = [&](std::int64_t cell) { return said.begin() + static_cast<std::ptrdiff_t>(cell * (kActions + 1)); };
    const auto value = [&](std::int64_t cell) { return row(cell)[kActions]; };
    const std::vector<double> u = session.uniform({static_cast<std::int64_t>(kSamples), 3}).to_tensor().to_doubles();
    std::vector<std::int64_t> cells, actions;
    std::vector<double> logarithms, advantages(kSamples), returns(kSamples);
    for (std::size_t p = 0; p < kPlayers; ++p) {
      std::vector<Transition> moves;
      for (std::size_t t = 0; t < kMoves; ++t) {
        const std::int64_t cell = places[p].cell;
        const std::size_t drawn = 3 * (p * kMoves + t);
        double left = u[drawn];
        std::int64_t action = 0;
        while (action + 1 < kActions && (left -= std::exp(row(cell)[action])) >= 0) ++action;
        moves.push_back(move(places[p], action, u[drawn + 1]));
        if (moves.back().ends || moves.back().cut) places[p] = anywhere(u[drawn + 2]);
        cells.push_back(cell);
        actions.push_back(action);
        logarithms.push_back(row(cell)[action]);
      }
      double advantage = 0;
      for (std::size_t t = kMoves; t-- > 0;) {
        const Transition& one = moves[t];
        const double error = one.reward + (one.ends ? 0 : kDiscount * value(one.to)) - value(one.from);
        advantage = error + (one.ends || one.cut ? 0 : kDiscount * kTrace * advantage);
        advantages[p * kMoves + t] = advantage;
        returns[p * kMoves + t] = advantage + value(one.from);
      }
    }
    double sum = 0, squares = 0;
    for (const double a : advantages) sum += a, squares += a * a;
    const double centre = sum / kSamples, deviation = std::sqrt(std::max(squares / kSamples - centre * centre, 0.0)) + 1e-6;
    for (double& a : advantages) a = (a - centre) / deviation;
    const Shape column{static_cast<std::int64_t>(kSamples), 1};
    played = {seen(session, cells), Array::from(Tensor::of_ints(column, actions)), numbers(session, column, logarithms),
              numbers(session, column, advantages), numbers(session, column, returns)};
  }

  std::vector<Array> next() {
    if (order.empty()) {
      play();
      for (std::size_t pass = 0; pass < kPasses; ++pass) {
        const std::vector<std::int64_t> one = runtime::permutation(session.next_key(), kSamples);
        order.insert(order.end(), one.begin(), one.end());
      }
    }
    const std::vector<std::int64_t> places_of(order.end() - kBatch, order.end());
    order.resize(order.size() - kBatch);
    return chosen(played, places_of);
  }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 3200;
  if (const auto status = options.read(argc, argv, "ppo_grid", "Proximal policy optimisation in a world of cells")) return *status;
  std::cout << options.banner("ppo_grid") << "\n";
  Session session(options.session());
  Model model(session);
  const Net net(model);
  Adam adam(session, model.parameters(), {});
  Trainer trainer(
      model, adam, [&](std::span<const Value> v) { return net.loss(v); },
      {.compiled = options.compiled, .rate = linear_decay(1e-3, 1e-4, std::max<std::uint64_t>(1, options.steps)), .most_norm = 0.5});
  Player player{session, net};
  const int status = run_training(options, trainer, [&] { return player.next(); });
  report(session, said_of_all(session, [&](const Value& cells) { return slice(net(cells), 1, 0, kActions); }));
  return status;
}
