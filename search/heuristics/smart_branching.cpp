// SmartBranching: scores of inputs, from the loss that each input causes at the ends of its box.
//
// One forward run of the network at both ends of each input shares the loss of each neuron among the inputs. A
// neuron that does not move at these points may still be wide, so a tenth of its width is shared by how inputs move
// the first ReLUs.
//
// add() sums by input what a row lacks: the range of the row's form over the box, and the loss of each neuron, shared
// by how far each input alone moves the neuron's operand. Each row counts relative to its own shortfall, so that rows
// of different scales weigh the same.
//
// Source: smart branching (sb) in alpha-beta-CROWN; see smart_branching.h for the differences.

#include "search/heuristics/smart_branching.h"

#include <algorithm>
#include <cmath>

namespace assay::search {

// Shares of the inputs in the total width of the operands of the first ReLUs.
std::vector<double> SmartBranching::first_shares(const NeuronBoxes& boxes) const {
  std::vector<double> shares(boxes.x_lo.size(), 0.0);
  double sum = 0;
  for (const NeuronGraph::InputRow& row : graph_.input_rows()) {
    for (std::uint32_t k = row.first; k < row.last; ++k) {
      const std::uint32_t i = graph_.row_indices()[k];
      const double width = std::fabs(graph_.row_values()[k]) * (boxes.x_hi[i] - boxes.x_lo[i]);
      shares[i] += width;
      sum += width;
    }
  }
  for (double& share : shares) share = sum > 0 ? share / sum : 0;
  return shares;
}

// Evaluates the network at the two ends of every input, with the other inputs in the middle. A neuron may not move at
// these points and still be wide, so a part of its width is always shared by the first ReLUs.
bool SmartBranching::share_neurons(const NeuronBoxes& boxes) {
  constexpr std::size_t kMostShares = std::size_t{1} << 25;  // 256 MB
  const std::size_t n = boxes.x_lo.size();
  if (graph_.neuron_count() > kMostShares / std::max<std::size_t>(1, n)) return false;
  std::vector<std::size_t> free;  // a fixed input moves nothing
  for (std::size_t i = 0; i < n; ++i) {
    if (boxes.x_lo[i] < boxes.x_hi[i]) free.push_back(i);
  }
  share_.assign(graph_.neuron_count() * n, 0.0);
  if (free.empty()) return true;
  std::vector<double> x(2 * free.size() * n);
  for (std::size_t k = 0; k < 2 * free.size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) x[k * n + i] = 0.5 * (boxes.x_lo[i] + boxes.x_hi[i]);
    x[k * n + free[k / 2]] = k % 2 == 0 ? boxes.x_lo[free[k / 2]] : boxes.x_hi[free[k / 2]];
  }
  if (!graph_.network().evaluate(2 * free.size(), x.data(), workspace_)) return false;
  constexpr double kByFirst = 0.1;
  const std::vector<double> first = first_shares(boxes);
  for (const NeuronGraph::Activation& activation : graph_.activations()) {
    const auto moved = [&](NodeId node, std::size_t element, std::size_t k) {
      const std::vector<double>& z = workspace_.values[node];
      const std::size_t size = graph_.network().step_of(node).size;
      return std::fabs(z[2 * k * size + element] - z[(2 * k + 1) * size + element]);
    };
    for (std::size_t j = 0; j < activation.neurons(); ++j) {
      double* share = share_.data() + (activation.first_neuron + j) * n;
      double sum = 0;
      if (activation.is_product()) {
        for (std::size_t pair = 0; pair < activation.step->extent; ++pair) {
          const NeuronGraph::Factors factors = graph_.factors(activation, j, pair, boxes);
          for (std::size_t k = 0; k < free.size(); ++k) {
            const double moves = factors.q_width * moved(activation.step->operands[0], factors.p, k) +
                                 factors.p_width * moved(activation.step->operands[1], factors.q, k) +
                                 kByFirst * factors.p_width * factors.q_width * first[free[k]];
            share[free[k]] += moves;
            sum += moves;
          }
        }
      } else {
        const double width = boxes.hi[activation.first_neuron + j] - boxes.lo[activation.first_neuron + j];
        for (std::size_t k = 0; k < free.size(); ++k)
          sum += share[free[k]] = moved(activation.operand, j, k) + kByFirst * width * first[free[k]];
      }
      for (std::size_t i = 0; i < n && sum > 0; ++i) share[i] /= sum;
    }
  }
  return true;
}

void SmartBranching::add(const BoundResult& row, std::vector<double>& losses) const {
  constexpr double kLeastShortfall = 1e-9;
  if (row.scores.empty()) return;  // the bound is above its target
  const double scale = 1 / std::max(-row.bound, kLeastShortfall);
  const std::size_t n = losses.size(), neurons = graph_.neuron_count();
  for (std::size_t i = 0; i < n; ++i) losses[i] += scale * static_cast<double>(row.scores[neurons + i]);
  for (std::size_t j = 0; j < neurons; ++j) {
    if (!(row.scores[j] > 0)) continue;
    const double loss = scale * static_cast<double>(row.scores[j]);
    for (std::size_t i = 0; i < n; ++i) losses[i] += loss * share_[j * n + i];
  }
}

std::vector<double> SmartBranching::ascend(const NeuronBoxes& boxes, std::span<const BoundTask> tasks, int iterations,
                                           std::span<BoundResult> results) {
  ascent_.run(tasks, {.iterations = iterations, .scores = true, .strong_splits = false}, results);
  std::vector<double> losses(boxes.x_lo.size(), 0.0);
  if (std::ranges::all_of(results, [](const BoundResult& row) { return row.scores.empty(); })) return losses;
  if (!share_neurons(boxes)) return {};
  for (const BoundResult& row : results) add(row, losses);
  return losses;
}

std::vector<double> SmartBranching::operator()(const logic::Scope& scope, std::span<const std::uint32_t> cases) {
  const NeuronBoxes boxes = NeuronBoxes::of(graph_, scope);
  std::vector<AlphaBeta> alone;  // tasks with one row of one case each
  std::vector<std::uint32_t> case_of;
  for (const std::uint32_t one : cases) {
    const std::size_t rows = graph_.network().rows(one).size();
    for (std::size_t r = 0; r < rows; ++r) {
      alone.emplace_back().weights.assign(rows, 0.0F);
      alone.back().weights[r] = 1;
      case_of.push_back(one);
    }
  }
  std::vector<BoundTask> tasks;
  for (std::size_t k = 0; k < alone.size(); ++k) tasks.push_back({&graph_.network().rows(case_of[k]), &boxes, {}, &alone[k]});
  std::vector<BoundResult> results(tasks.size());
  return ascend(boxes, tasks, 1, results);
}

}  // namespace assay::search
