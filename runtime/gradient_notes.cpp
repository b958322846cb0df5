#include "runtime/gradient_notes.h"

namespace assay::runtime {

void GradientNoteTaker::ran(Op op, const Attributes& attributes, std::span<const Ref> operands, std::span<const Array* const> contents,
                            Ref result, const Array& result_content, Role role) {
  (void)op;
  (void)attributes;
  (void)contents;
  (void)result_content;
  operands_[result].assign(operands.begin(), operands.end());
  if (role.kind == Role::Kind::accumulate) totals_[role.node] = result;
}

void GradientNoteTaker::sent(Ref node, std::size_t operand, Ref cotangent) {
  if (totals_.count(node) == 0 || operands_.count(node) == 0) return;
  const Ref total = totals_.at(node);
  const std::size_t gradient = notes_.gradients.size();
  const bool goes_on = !notes_.products.empty() && notes_.products.back().gradient == gradient && notes_.products.back().of == node;
  if (!goes_on) notes_.products.push_back({gradient, node, total, {}});
  notes_.products.back().cotangents.emplace_back(static_cast<std::uint32_t>(operand), cotangent);
  totals_[operands_.at(node)[operand]] = cotangent;  // until a sum follows
}

void GradientNoteTaker::seeded(Ref output, Ref seed) {
  totals_.clear();
  totals_[output] = seed;
}

void GradientNoteTaker::differentiated(Ref output, Ref seed, std::span<const Ref> leaves, std::span<const Ref> bars) {
  GradientNotes<Ref>::Gradient gradient{output, seed, {}};
  for (std::size_t k = 0; k < leaves.size(); ++k) gradient.of.emplace_back(leaves[k], bars[k]);
  const std::size_t number = notes_.gradients.size();
  notes_.gradients[number] = std::move(gradient);
  totals_.clear();
}

void GradientNoteTaker::forgotten(Ref) {
  notes_ = {};
  operands_.clear();
  totals_.clear();
}

}  // namespace assay::runtime
