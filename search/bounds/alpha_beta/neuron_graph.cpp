// NeuronGraph, NeuronBoxes and hints: the parts of alpha_beta_crown.h other than the optimisation.
//
// Neurons are numbered through all steps in graph order. The operand of a first-layer neuron is a row over the inputs,
// which is kept: strong branching bounds its splits without a pass over the network (scores.cpp), and linear programs
// take these rows (lp/).
//
// A NeuronGraph says for each neuron which step it belongs to, where its operand may be split, and whether a split
// makes its line exact. NeuronBoxes are the boxes of a scope in the order of neurons. meet() narrows them by a literal,
// so a subdomain can be bounded without a scope. to_hints() writes parameters as the kernel takes them: by node,
// without trailing zeros.
//
// Source: the splits are those of ReLU networks in Bunel et al. 2020 and of general activations in GenBaB (Shi et al.
// 2024). How this version differs: functions with jumps are split at a jump, other curved functions in the middle of
// their box.

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/inspect/inspect.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/relax/function_lines.h"

namespace assay::search {

NeuronGraph::NeuronGraph(const Network& network, InputRows rows) : network_(&network) {
  for (const Step& step : network.steps()) {
    switch (step.kind) {
      case Step::Kind::input:
      case Step::Kind::affine:
      case Step::Kind::constant:
        break;
      case Step::Kind::unary:
        supported_ = supported_ && (has_closed_lines(step.op) || step.function != nullptr);
        has_planes_ = has_planes_ && (has_closed_lines(step.op) || step.function != nullptr);
        relu_only_ = relu_only_ && step.op == Op::relu;
        has_kinks_ = has_kinks_ || inspect::kink_at_zero(*network.problem(), step.operands[0]);
        add(step);
        break;
      case Step::Kind::binary:
      case Step::Kind::matmul:
      case Step::Kind::softmax:
        supported_ = relu_only_ = false;
        has_planes_ = has_planes_ && (step.kind != Step::Kind::binary || step.op == Op::mul);
        if (has_planes_) add(step);
        break;
      case Step::Kind::max_pool:
      case Step::Kind::denotation:
        has_planes_ = supported_ = relu_only_ = false;
        break;
    }
  }
  if (rows == InputRows::now) find_input_rows();
}

void NeuronGraph::add(const Step& step) {
  const Activation& added = activations_.emplace_back(
      Activation{&step, step.operands[0], static_cast<std::uint32_t>(neuron_count_), static_cast<std::uint32_t>(factor_count_)});
  neuron_count_ += added.neurons();
  for (const NodeId node : added.whole_boxes()) factor_count_ += network_->problem()->graph().size(node);
  activation_of_neuron_.resize(neuron_count_, static_cast<std::uint32_t>(activations_.size() - 1));
  has_input_row_.resize(neuron_count_, false);
}

std::vector<NodeId> NeuronGraph::Activation::whole_boxes() const {
  if (is_product()) return step->operands;
  return is_softmax() ? std::vector<NodeId>{operand, step->node} : std::vector<NodeId>{};
}

// Finds the operands that are affine in the inputs alone, by walking back through the maps of affine steps.
void NeuronGraph::find_input_rows() {
  if (!input_rows_.empty()) return;
  for (const Activation& activation : activations_) {
    if (activation.step->op == Op::relu) add_input_rows(activation);
  }
}

void NeuronGraph::add_input_rows(const Activation& activation) {
  constexpr std::size_t kMaxEntries = 4'000'000;  // 12 bytes each
  const Graph& graph = network_->problem()->graph();
  const Step& operand = network_->step_of(activation.operand);
  const std::size_t n = network_->input_size(), size = operand.size;
  if (operand.kind != Step::Kind::affine || n == 0 || size > kMaxEntries / n) return;
  for (const Step::Part& part : operand.parts) {
    if (graph.node(part.operand).op != Op::input) return;
  }
  std::vector<double> unit(size, 0), row, piece;
  for (std::size_t i = 0; i < size; ++i) {
    row.assign(n, 0);
    unit[i] = 1;
    for (const Step::Part& part : operand.parts) {
      piece.assign(part.map->columns(), 0);
      part.map->transpose(1, unit.data(), piece.data());
      for (std::size_t j = 0; j < piece.size(); ++j) row[network_->input_offset(part.operand) + j] += piece[j];
    }
    unit[i] = 0;
    InputRow entry{activation.first_neuron + static_cast<std::uint32_t>(i), operand.bias[i], static_cast<std::uint32_t>(row_values_.size()),
                   0};
    for (std::uint32_t j = 0; j < n; ++j) {
      if (row[j] == 0) continue;
      row_indices_.push_back(j);
      row_values_.push_back(row[j]);
    }
    entry.last = static_cast<std::uint32_t>(row_values_.size());
    has_input_row_[entry.neuron] = true;
    input_rows_.push_back(entry);
  }
}

// Both halves of a split are closed sets, so a jump at the split belongs to both.
std::optional<double> NeuronGraph::split_point(std::uint32_t neuron, double lo, double hi) const {
  constexpr double kLeastWidth = 0x1p-20;  // relative to 1 + the magnitude of the middle
  if (!activation_of(neuron).is_elementwise()) return std::nullopt;
  const Step& step = *activation_of(neuron).step;
  const bool turns_at_zero = step.function == nullptr && step.op != Op::clip;
  if (turns_at_zero && NeuronBoxes::has_both_signs(lo, hi)) return 0.0;
  const bool is_curved = step.function != nullptr || step.op == Op::sigmoid || step.op == Op::tanh;
  if (!is_curved || !(lo < hi) || !std::isfinite(lo) || !std::isfinite(hi)) return std::nullopt;
  const bool has_jumps = step.function != nullptr && jumps(*step.function);
  const std::optional<double> jump = has_jumps ? jump_inside(*step.function, lo, hi) : std::nullopt;
  if (jump) return jump;
  const double middle = lo / 2 + hi / 2;
  if (hi - lo < kLeastWidth * (1 + std::fabs(middle)) || (has_jumps && step.function->pieces(lo, hi).size() < 2)) return std::nullopt;
  return middle;
}

NeuronGraph::Factors NeuronGraph::factors(const Activation& product, std::size_t j, std::size_t k, const NeuronBoxes& boxes) const {
  const Step& step = *product.step;
  const std::size_t p = k + (step.broadcast[0].empty() ? j : step.broadcast[0][j]),
                    q = k * step.inner + (step.broadcast[1].empty() ? j : step.broadcast[1][j]);
  const std::size_t first = product.first_factor + p, second = product.first_factor + network_->step_of(product.operand).size + q;
  return {p, q, boxes.factor_hi[first] - boxes.factor_lo[first], boxes.factor_hi[second] - boxes.factor_lo[second]};
}

std::vector<std::uint32_t> NeuronGraph::neurons_of(NodeId operand, std::uint32_t element) const {
  std::vector<std::uint32_t> neurons;
  for (const Activation& activation : activations_) {
    if (activation.operand == operand && activation.is_elementwise()) neurons.push_back(activation.first_neuron + element);
  }
  return neurons;
}

// Copies the scope's boxes in the order of neurons, so that loops run over arrays.
NeuronBoxes NeuronBoxes::of(const NeuronGraph& graph, const logic::Scope& scope) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  NeuronBoxes boxes;
  boxes.lo.assign(graph.neuron_count(), -kInfinity);
  boxes.hi.assign(graph.neuron_count(), kInfinity);
  boxes.factor_lo.assign(graph.factor_count(), -kInfinity);
  boxes.factor_hi.assign(graph.factor_count(), kInfinity);
  for (const NeuronGraph::Activation& activation : graph.activations()) {
    std::size_t at = activation.first_factor;
    for (const NodeId node : activation.whole_boxes()) {
      const std::size_t size = graph.network().problem()->graph().size(node);
      if (scope.has_box(node)) {
        std::copy_n(scope.box(node).lo.begin(), size, boxes.factor_lo.begin() + static_cast<std::ptrdiff_t>(at));
        std::copy_n(scope.box(node).hi.begin(), size, boxes.factor_hi.begin() + static_cast<std::ptrdiff_t>(at));
      }
      at += size;
    }
    if (!activation.is_elementwise()) {
      std::fill_n(boxes.lo.begin() + activation.first_neuron, activation.neurons(), 0.0);
      std::fill_n(boxes.hi.begin() + activation.first_neuron, activation.neurons(), 1.0);
      continue;
    }
    if (!scope.has_box(activation.operand)) continue;
    const relax::Box& box = scope.box(activation.operand);
    std::copy(box.lo.begin(), box.lo.end(), boxes.lo.begin() + activation.first_neuron);
    std::copy(box.hi.begin(), box.hi.end(), boxes.hi.begin() + activation.first_neuron);
  }
  InputBox inputs = input_box(*graph.network().problem(), scope);
  boxes.x_lo = std::move(inputs.lo);
  boxes.x_hi = std::move(inputs.hi);
  const std::vector<statement::Ball>& balls = inspect::group_balls(*graph.network().problem(), scope.group());
  if (!balls.empty()) boxes.ball = balls.data();
  return boxes;
}

// Applies the literal to inputs, to the neurons that read the element, and to factors.
void NeuronBoxes::meet(const NeuronGraph& graph, const logic::Literal& literal) {
  const logic::Problem& problem = *graph.network().problem();
  const auto meet_one = [&](double& lower, double& upper) {
    if (literal.at_least)
      lower = std::max(lower, literal.threshold);
    else
      upper = std::min(upper, literal.threshold);
  };
  if (problem.graph().node(literal.node).op == Op::input) {
    const std::size_t i = graph.network().input_offset(literal.node) + literal.element;
    meet_one(x_lo[i], x_hi[i]);
  }
  for (const std::uint32_t neuron : graph.neurons_of(literal.node, literal.element)) meet_one(lo[neuron], hi[neuron]);
  for (const NeuronGraph::Activation& activation : graph.activations()) {
    std::size_t at = activation.first_factor + literal.element;
    for (const NodeId node : activation.whole_boxes()) {
      if (node == literal.node) meet_one(factor_lo[at], factor_hi[at]);
      at += problem.graph().size(node);
    }
  }
}

bool NeuronBoxes::is_empty() const {
  for (std::size_t k = 0; k < lo.size(); ++k) {
    if (lo[k] > hi[k]) return true;
  }
  for (std::size_t i = 0; i < x_lo.size(); ++i) {
    if (x_lo[i] > x_hi[i]) return true;
  }
  return false;
}

// Parameters as a certificate names them: by node, without those that the kernel would choose by itself.
logic::Hints to_hints(const NeuronGraph& graph, const AlphaBeta& parameters, NodeId from) {
  logic::Hints hints;
  for (const NeuronGraph::Activation& activation : graph.activations()) {
    if (activation.step->node >= from) break;
    if (activation.is_softmax()) continue;  // takes no hints
    const auto first = static_cast<std::ptrdiff_t>(activation.first_neuron);
    const auto last = first + static_cast<std::ptrdiff_t>(activation.step->size);
    hints.lower[activation.step->node].assign(parameters.lower_alpha.begin() + first, parameters.lower_alpha.begin() + last);
    if (activation.step->op == Op::relu) continue;  // its upper line is the kernel's own
    hints.upper[activation.step->node].assign(parameters.upper_alpha.begin() + first, parameters.upper_alpha.begin() + last);
  }
  hints.beta = parameters.beta;
  while (!hints.beta.empty() && hints.beta.back() == 0) hints.beta.pop_back();
  return hints;
}

}  // namespace assay::search
