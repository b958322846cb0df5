// Influence: rows in blocks, back through the steps of the network.

#include "certificates/edit/trim/influence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/relax/lines.h"

namespace assay::certificate {
namespace {

constexpr std::size_t kRows = 64;      // of a block
constexpr double kWider = 0.05;        // of a box's width: the step of the difference quotient
constexpr double kLeastMargin = 1e-9;  // rounding may have taken the rest
constexpr double kLeastWeight = 1e-4;  // of the largest: rows that matter less are left out

}  // namespace

bool Influence::supports(const search::NeuronGraph& graph) {
  return graph.supported() &&
         std::ranges::all_of(graph.activations(), [](const auto& activation) { return search::has_closed_lines(activation.step->op); });
}

Influence::Influence(const search::NeuronGraph& graph, const search::NeuronBoxes& tight, search::NeuronBoxes loose)
    : graph_(graph),
      tight_(tight),
      loose_(std::move(loose)),
      slots_(graph.neuron_count()),
      loss_(graph.neuron_count(), 0.0),
      rate_(graph.neuron_count(), 0.0) {
  for (const search::NeuronGraph::Activation& activation : graph.activations()) {
    for (std::size_t slot = activation.first_neuron; slot < activation.first_neuron + activation.step->size; ++slot)
      slots_[slot] = slot_of(*activation.step, tight.lo[slot], tight.hi[slot], loose_.lo[slot], loose_.hi[slot], nullptr);
  }
}

Influence::Neuron Influence::slot_of(const search::Step& step, double l, double u, double loose_l, double loose_u, const float* hint) {
  const double width = u - l, wider = kWider * width + 1e-12;
  const auto line = [&](bool below, double lo, double hi) {
    const double slope = !below                                ? search::first_slope_above(step, lo, hi)
                         : hint != nullptr && lo < 0 && hi > 0 ? static_cast<double>(*hint)
                                                               : search::first_slope_below(step, lo, hi);
    return below ? search::line_below(step, slope, lo, hi) : search::line_above(step, slope, lo, hi);
  };
  const auto side = [&](bool below) {
    const search::Line here = line(below, l, u), far = line(below, loose_l, loose_u), near = line(below, l - wider, u + wider);
    const auto distance = [&](const search::Line& other) {
      double most = 0;
      for (const double z : {l, std::clamp(0.0, l, u), u}) {
        const double apart = (here.slope - other.slope) * z + here.intercept - other.intercept;
        most = std::max(most, below ? apart : -apart);
      }
      return most;
    };
    return Side{here.slope, distance(far), distance(near) / wider};
  };
  return {side(true), side(false)};
}

void Influence::add(const logic::CaseMultipliers& entry, std::uint32_t case_index, const logic::Hints& hints,
                    const search::NeuronBoxes& boxes, double margin) {
  const search::Network& network = graph_.network();
  const Graph& graph = network.problem()->graph();
  const std::vector<search::RowView>& rows = network.rows(case_index);
  std::vector<std::vector<double>> a(graph.nodes.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double multiplier = entry.rows.empty() ? 1 : static_cast<double>(entry.rows[r]);
    for (auto [element, coefficient] : rows[r].outputs) {
      std::size_t k = 0;
      for (; element >= graph.size(graph.outputs[k]); ++k) element -= static_cast<std::uint32_t>(graph.size(graph.outputs[k]));
      a[graph.outputs[k]].resize(graph.size(graph.outputs[k]), 0.0);
      a[graph.outputs[k]][element] += multiplier * coefficient;
    }
  }
  std::vector<Neuron> slots = slots_;
  for (const search::NeuronGraph::Activation& activation : graph_.activations()) {
    const NodeId node = activation.step->node;
    const std::span<const float> lower = logic::proposed(hints.lower, node);
    const float* hint = lower.empty() ? nullptr : lower.data();
    for (std::size_t j = 0; j < activation.step->size; ++j) {
      const std::size_t slot = activation.first_neuron + j;
      const double l = boxes.lo[slot], u = boxes.hi[slot];
      const bool below_is_cut = l != tight_.lo[slot], above_is_cut = u != tight_.hi[slot];  // by a literal
      if (hint == nullptr && !below_is_cut && !above_is_cut) continue;
      slots[slot] = slot_of(*activation.step, l, u, below_is_cut ? l : loose_.lo[slot], above_is_cut ? u : loose_.hi[slot],
                            hint != nullptr ? hint + j : nullptr);
    }
  }
  const double weight = 1 / std::max(margin, kLeastMargin);
  walk(1, std::move(a), {&weight, 1}, slots);
}

void Influence::walk(std::size_t rows, std::vector<std::vector<double>> a, std::span<const double> weights,
                     const std::vector<Neuron>& slots) {
  const search::Network& network = graph_.network();
  const std::vector<search::Step>& steps = network.steps();
  std::size_t activation = graph_.activations().size();
  for (std::size_t k = steps.size(); k-- > 0;) {
    const search::Step& step = steps[k];
    if (step.kind == search::Step::Kind::unary) --activation;
    std::vector<double> here = std::exchange(a[step.node], {});
    if (here.empty()) continue;
    if (step.kind == search::Step::Kind::affine) {
      for (const search::Step::Part& part : step.parts) {
        a[part.operand].resize(rows * part.map->columns(), 0.0);
        part.map->transpose(rows, here.data(), a[part.operand].data());
      }
    } else if (step.kind == search::Step::Kind::unary) {
      const search::NeuronGraph::Activation& one = graph_.activations()[activation];
      std::vector<double>& to = a[one.operand];
      to.resize(rows * step.size, 0.0);
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t j = 0; j < step.size; ++j) {
          const double c = here[row * step.size + j];
          if (c == 0) continue;
          const std::size_t slot = one.first_neuron + j;
          const Side& side = c > 0 ? slots[slot].below : slots[slot].above;
          loss_[slot] += weights[row] * std::fabs(c) * side.loss;
          rate_[slot] += weights[row] * std::fabs(c) * side.rate;
          to[row * step.size + j] += c * side.slope;
        }
      }
    }
  }
}

void Influence::descend(const std::vector<bool>& refined) {
  const search::Network& network = graph_.network();
  const Graph& graph = network.problem()->graph();
  for (std::size_t k = graph_.activations().size(); k-- > 0;) {
    const search::NeuronGraph::Activation& activation = graph_.activations()[k];
    const std::size_t size = activation.step->size, first = activation.first_neuron;
    const double least = kLeastWeight * *std::max_element(rate_.begin() + static_cast<std::ptrdiff_t>(first),
                                                          rate_.begin() + static_cast<std::ptrdiff_t>(first + size));
    std::vector<std::size_t> chosen;
    for (std::size_t j = 0; j < size; ++j) {
      if (refined[first + j] && rate_[first + j] > least) chosen.push_back(j);
    }
    for (std::size_t at = 0; at < chosen.size(); at += kRows / 2) {
      const std::size_t count = std::min(kRows / 2, chosen.size() - at);
      std::vector<std::vector<double>> a(graph.nodes.size());
      a[activation.operand].assign(2 * count * size, 0.0);
      std::vector<double> weights;
      for (std::size_t i = 0; i < count; ++i) {
        a[activation.operand][2 * i * size + chosen[at + i]] = 1;
        a[activation.operand][(2 * i + 1) * size + chosen[at + i]] = -1;
        weights.insert(weights.end(), 2, rate_[first + chosen[at + i]]);
      }
      walk(2 * count, std::move(a), weights, slots_);
    }
  }
}

}  // namespace assay::certificate
