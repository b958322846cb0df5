// RegionForms: affine forms of neurons over the inputs, as far as they are exact.
//
// Forms are pushed forward for all inputs at once: a matrix of inputs + 1 rows goes through every map, and through each
// ReLU whose box has one sign. The next split is at the first layer with unstable ReLUs, at the one whose box reaches
// furthest to both sides of 0.
//
// Source: symbolic intervals of ReluVal (Wang et al. 2018), as far as they are exact.

#include "search/relax/region.h"

#include <algorithm>

#include "kernel/relax/box.h"

namespace assay::search {

bool RegionForms::supports(const Network& network) {
  return std::all_of(network.steps().begin(), network.steps().end(), [](const Step& step) {
    return step.kind == Step::Kind::input || step.kind == Step::Kind::constant || step.kind == Step::Kind::affine ||
           (step.kind == Step::Kind::unary && step.op == Op::relu);
  });
}

RegionForms::RegionForms(const Network& network, const logic::Scope& scope)
    : inputs_(network.input_size()), values_(network.problem()->graph().nodes.size()) {
  const std::size_t rows = inputs_ + 1;
  double widest = 0;
  for (const Step& step : network.steps()) {
    std::vector<double> values(rows * step.size, 0.0);
    bool exact = true;
    if (step.kind == Step::Kind::input) {
      for (std::size_t i = 0; i < step.size; ++i) values[(1 + network.input_offset(step.node) + i) * step.size + i] = 1;
    } else if (step.kind == Step::Kind::constant) {
      std::copy(network.constant(step.node).begin(), network.constant(step.node).end(), values.begin());
    } else if (step.kind == Step::Kind::affine) {
      std::copy(step.bias.begin(), step.bias.end(), values.begin());
      for (const Step::Part& part : step.parts) {
        exact = exact && !values_[part.operand].empty();
        if (exact) part.map->apply(rows, values_[part.operand].data(), values.data());
      }
    } else {
      const NodeId operand = step.operands[0];
      const relax::Box& box = scope.box(operand);
      exact = !values_[operand].empty();
      const bool first = undecided_ == 0 || split_node_ == operand;
      for (std::uint32_t i = 0; i < step.size; ++i) {
        const double lo = box.lo[i], hi = box.hi[i];
        if (lo < 0 && hi > 0) {
          ++undecided_;
          exact = false;
          const double depth = std::min(-lo, hi);
          if (first && depth > widest) {
            widest = depth;
            split_node_ = operand;
            split_element_ = i;
          }
        } else if (lo >= 0 && exact) {
          for (std::size_t r = 0; r < rows; ++r) values[r * step.size + i] = values_[operand][r * step.size + i];
        }
      }
    }
    if (exact) values_[step.node] = std::move(values);
  }
}

std::optional<LinearForm> RegionForms::form(NodeId node, std::uint32_t element) const {
  if (values_[node].empty()) return std::nullopt;
  const std::size_t size = values_[node].size() / (inputs_ + 1);
  LinearForm result{std::vector<double>(inputs_), values_[node][element]};
  for (std::size_t i = 0; i < inputs_; ++i) result.a[i] = values_[node][(i + 1) * size + element];
  return result;
}

}  // namespace assay::search
