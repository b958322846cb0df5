// A world of cells for programs that learn by reward: from S to G, round walls (#) and past pits (X). One move of ten slips to a side.
// A move costs 0.02, a pit 1, the goal gives 1; both end the episode, and so do 60 moves. Training begins episodes anywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/array.h"
#include "training/layers/shapes.h"

namespace grid {

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

constexpr std::array<std::string_view, 6> kMap{"S....X", ".##.#.", ".X..#.", "..#...", "#...X.", "..#..G"};
constexpr std::int64_t kRows = 6, kColumns = 6, kCells = kRows * kColumns, kActions = 4, kMostMoves = 60;
constexpr double kSlip = 0.1, kDiscount = 0.97;
constexpr std::string_view kArrows = "^>v<";  // the actions

struct Place {
  std::int64_t cell = 0, moves = 0;
};
struct Transition {
  std::int64_t from = 0, action = 0, to = 0;
  double reward = 0;
  bool ends = false, cut = false;  // in a pit or at the goal; cut: by the number of moves
};

inline char at(std::int64_t cell) { return kMap[static_cast<std::size_t>(cell / kColumns)][static_cast<std::size_t>(cell % kColumns)]; }

// Where a step in this direction leads: a wall or the border leaves the cell as it is.
inline std::int64_t beside(std::int64_t cell, std::int64_t direction) {
  const std::int64_t row = cell / kColumns + (direction == 2) - (direction == 0),
                     column = cell % kColumns + (direction == 1) - (direction == 3);
  const bool inside = row >= 0 && row < kRows && column >= 0 && column < kColumns;
  return inside && at(row * kColumns + column) != '#' ? row * kColumns + column : cell;
}
inline double reward_of(std::int64_t cell) { return at(cell) == 'G' ? 1 : at(cell) == 'X' ? -1 : -0.02; }
inline bool is_end(std::int64_t cell) { return at(cell) == 'G' || at(cell) == 'X'; }

// `u` in [0, 1) decides whether the move slips.
inline Transition move(Place& place, std::int64_t action, double u) {
  const std::int64_t next = beside(place.cell, (action + (u < kSlip / 2 ? 1 : u < kSlip ? 3 : 0)) % kActions);
  Transition moved{place.cell, action, next, reward_of(next), is_end(next)};
  moved.cut = !moved.ends && ++place.moves == kMostMoves;
  place.cell = next;
  return moved;
}

// Where an episode begins, by `u` in [0, 1).
inline Place anywhere(double u) {
  std::vector<std::int64_t> free;
  for (std::int64_t cell = 0; cell < kCells; ++cell) {
    if (at(cell) == '.' || at(cell) == 'S') free.push_back(cell);
  }
  return {free[static_cast<std::size_t>(u * static_cast<double>(free.size()))]};
}

// What a network sees of cells: a row with a 1 for each, [cells, kCells].
inline Array seen(const Session& session, const std::vector<std::int64_t>& cells) {
  std::vector<double> rows(cells.size() * kCells, 0);
  for (std::size_t i = 0; i < cells.size(); ++i) rows[i * kCells + static_cast<std::size_t>(cells[i])] = 1;
  return numbers(session, {static_cast<std::int64_t>(cells.size()), kCells}, rows);
}

// What a network says of every cell: there are few, and one pass costs little more than that of one cell.
template <class Net>
std::vector<double> said_of_all(Session& session, const Net& net) {
  std::vector<std::int64_t> cells;
  for (std::int64_t cell = 0; cell < kCells; ++cell) cells.push_back(cell);
  session.clear();
  return net(session.input(seen(session, cells))).to_doubles();
}

inline std::int64_t best_action(const std::vector<double>& scores, std::int64_t cell) {
  const auto row = scores.begin() + static_cast<std::ptrdiff_t>(cell * kActions);
  return std::max_element(row, row + kActions) - row;
}

// What each action in each cell is worth under the best policy, by value iteration.
inline std::vector<double> best_values() {
  std::vector<double> worth(kCells * kActions, 0);
  for (int sweep = 0; sweep < 500; ++sweep) {
    std::vector<double> next;
    for (std::int64_t k = 0; k < kCells * kActions; ++k) {
      const auto along = [&](std::int64_t turn) {
        const std::int64_t to = beside(k / kActions, (k + turn) % kActions);
        return reward_of(to) + (is_end(to) ? 0 : kDiscount * worth[static_cast<std::size_t>(to * kActions + best_action(worth, to))]);
      };
      next.push_back((1 - kSlip) * along(0) + kSlip / 2 * (along(1) + along(3)));
    }
    worth = std::move(next);
  }
  return worth;
}

// Over 1000 episodes from S, in which the moves slip as `u` says.
inline double mean_return(const std::vector<double>& scores, const std::vector<double>& u) {
  double total = 0;
  for (std::size_t episode = 0; episode < 1000; ++episode) {
    Place place;
    for (bool over = false; !over;) {
      const Transition moved =
          move(place, best_action(scores, place.cell), u[episode * kMostMoves + static_cast<std::size_t>(place.moves)]);
      total += moved.reward;
      over = moved.ends || moved.cut;
    }
  }
  return total / 1000;
}

// The best action of each cell, and the mean return of all of them.
inline void report(Session& session, const std::vector<double>& scores) {
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::string line = "  ";
    for (std::int64_t cell = row * kColumns; cell < (row + 1) * kColumns; ++cell) {
      const char there = at(cell);
      line += there == '.' || there == 'S' ? kArrows[static_cast<std::size_t>(best_action(scores, cell))] : there;
    }
    std::cout << line << "\n";
  }
  const std::vector<double> u = session.uniform({1000 * kMostMoves}).to_tensor().to_doubles();
  std::printf("mean return of 1000 episodes: %.3f, of the best policy: %.3f\n", mean_return(scores, u), mean_return(best_values(), u));
}

}  // namespace grid
