// Trains a deep Q-network on a grid world, with a replay memory and a target network. Source: Mnih et al. 2015.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "grid_world.h"
#include "runtime/functions.h"
#include "training/layers/basic.h"
#include "training/options.h"

using namespace grid;

namespace {

constexpr std::int64_t kBatch = 64;
constexpr std::size_t kMemory = 5000, kMovesPerStep = 8;
constexpr std::uint64_t kCopied = 50;  // steps between copies into the target network

struct Net {
  Linear first, second, out;
  explicit Net(Model& model) : first(model / "first", kCells, 64), second(model / "second", 64, 64), out(model / "out", 64, kActions) {}
  Value operator()(const Value& cells) const { return out(relu(second(relu(first(cells))))); }
};

struct Player {
  Session& session;
  Model &model, &target_model;
  const Net &net, &target;
  std::uint64_t steps, done = 0;
  Place place = {};
  std::vector<Transition> memory = {};

  // {cells, actions, values to approach}: after some moves, most of them at random at first, a batch of what is remembered.
  std::vector<Array> next() {
    if (done % kCopied == 0) {
      for (const Model::Entry& entry : model.entries()) (void)session.assign(target_model.find(entry.name)->value, entry.value.array());
    }
    const double random = std::max(0.05, 1 - 2 * static_cast<double>(done++) / static_cast<double>(steps));
    const std::vector<double> values = said_of_all(session, net), later = said_of_all(session, target);
    const std::vector<double> u = session.uniform({static_cast<std::int64_t>(kMovesPerStep), 4}).to_tensor().to_doubles();
    for (std::size_t k = 0; k < kMovesPerStep; ++k) {
      const std::int64_t action = u[4 * k] < random ? static_cast<std::int64_t>(u[4 * k + 1] * kActions) : best_action(values, place.cell);
      const Transition moved = move(place, action, u[4 * k + 2]);
      if (moved.ends || moved.cut) place = anywhere(u[4 * k + 3]);
      memory.size() < kMemory ? memory.push_back(moved) : void(memory[(done * kMovesPerStep + k) % kMemory] = moved);
    }
    std::vector<std::int64_t> cells, actions;
    std::vector<double> wanted;
    for (const double place_of : session.uniform({kBatch}).to_tensor().to_doubles()) {
      const Transition& moved = memory[static_cast<std::size_t>(place_of * static_cast<double>(memory.size()))];
      cells.push_back(moved.from);
      actions.push_back(moved.action);
      const double rest = later[static_cast<std::size_t>(moved.to * kActions + best_action(later, moved.to))];
      wanted.push_back(moved.reward + (moved.ends ? 0 : kDiscount * rest));
    }
    return {seen(session, cells), Array::from(Tensor::of_ints({kBatch, 1}, actions)), numbers(session, {kBatch, 1}, wanted)};
  }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 5000;
  if (const auto status = options.read(argc, argv, "dqn_grid", "A deep Q-network in a world of cells")) return *status;
  std::cout << options.banner("dqn_grid") << "\n";
  Session session(options.session());
  Model model(session), target_model(session);
  const Net net(model), target(target_model);
  Adam adam(session, model.parameters(), {});
  Trainer trainer(
      model, adam,
      [&](std::span<const Value> v) { return mean_squared_error(runtime::apply(Op::take, v[1], net(v[0]), ConcatAttributes{1}), v[2]); },
      {.compiled = options.compiled, .rate = linear_decay(1e-3, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  Player player{session, model, target_model, net, target, options.steps};
  const int status = run_training(options, trainer, [&] { return player.next(); });
  report(session, said_of_all(session, net));
  return status;
}
