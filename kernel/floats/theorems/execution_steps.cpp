// The rounding errors of executions at the steps of a scope. They are stored by node, recomputed on considerably
// smaller boxes, and added up where one form covers two steps.

#include <cmath>

#include "kernel/floats/theorems/execution.h"
#include "kernel/logic/state.h"
#include "semantics/numbers/directed.h"

namespace assay::logic {

// Computes the rounding errors at a node whose operands have boxes. If they are known, they are recomputed only if
// the boxes are considerably smaller; both bounds are then valid here. Declined if some execution may leave the
// finite numbers.
Outcome<Done> Scope::State::find_rounding(NodeId node, const Array<Interval>* image, std::shared_ptr<const rows::Sizes>* sizes) {
  constexpr double kSmaller = 0.25;
  if (!problem_->floating()) return Done{};
  double size = 0;
  for (const NodeId operand : problem_->graph().node(node).operands) {
    for (std::size_t i = 0; boxes_[operand] && i < boxes_[operand]->lo.size(); ++i)
      size += std::fmax(std::fabs(boxes_[operand]->lo[i]), std::fabs(boxes_[operand]->hi[i]));
  }
  if (rounding_[node] && (rounding_[node]->empty() || !(size < kSmaller * rounding_size_[node]))) return Done{};
  std::vector<double> errors = network_->rounding(node, boxes_, rounding_, image, network_->folded_into(node) ? nullptr : sizes);
  for (std::size_t i = 0; rounding_[node] && i < errors.size(); ++i) errors[i] = std::fmin(errors[i], (*rounding_[node])[i]);
  const auto operands = [&] {  // only for the message
    const rows::AffineForm* form = network_->own_form(node);
    floats::ReadOperands found;
    for (std::size_t p = 0; form != nullptr && p < form->parts.size(); ++p)
      found.add(form->parts[p].operand, network_->values_at(form->parts[p].operand, boxes_));
    for (const NodeId operand : problem_->graph().node(node).operands) {
      if (problem_->is_constant(operand) || form == nullptr) found.add(operand, network_->values_at(operand, boxes_));
    }
    return found;
  };
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!(errors[i] < INFINITY))
      return declined(
          "propagate_box.S4", at(problem_->graph(), node, i),
          "a finite result of " + std::string(op_row(problem_->graph().node(node).op).name) + " in every execution of the model",
          why_unbounded(*problem_, problem_->graph().node(node), network_->own_form(node), operands()),
          "narrow the input box, or state another execution model (docs/explanation/float32.md)");
  }
  rounding_[node] = std::make_shared<const std::vector<double>>(std::move(errors));
  rounding_size_[node] = size;
  return Done{};
}

// The node whose step the form of this node includes, if any.
std::optional<NodeId> Network::State::folded_into(NodeId node) const {
  return own_forms_[node] ? std::optional(own_forms_[node]->parts[0].operand) : std::nullopt;
}

// The box of a sum node, from that of its product.
relax::Box Scope::State::shifted_box(NodeId node, NodeId inner) const {
  const rows::AffineForm& form = *network_->own_form(node);
  relax::Box box = *boxes_[inner];
  for (std::size_t i = 0; i < box.lo.size(); ++i) {
    box.lo[i] = add_down(box.lo[i], form.bias[i]);
    box.hi[i] = add_up(box.hi[i], form.bias[i]);
  }
  if (!form.bias_error.empty()) widen(box, form.bias_error);
  widen(box, *rounding_[node]);
  return box;
}

// The rounding errors of all steps that the node's form includes.
std::vector<double> Scope::State::step_rounding(NodeId node) const {
  std::vector<double> sum;
  for (auto step = std::optional(node); step; step = network_->folded_into(*step)) {
    const bool rounds = rounding_[*step] && !rounding_[*step]->empty();
    if (rounds) sum.resize(rounding_[*step]->size(), 0.0);
    for (std::size_t i = 0; rounds && i < sum.size(); ++i) sum[i] = add_up(sum[i], (*rounding_[*step])[i]);
  }
  return sum;
}

}  // namespace assay::logic
