#include "runtime/autodiff/emitter.h"

#include "runtime/autodiff/term.h"
#include "semantics/demand.h"

namespace assay::runtime::autodiff {

Ref Emitter::number(double value, DType dtype) {
  demand(is_float(dtype), "Emitter::number: of a float type");
  const auto narrow = static_cast<float>(value);
  return constant(dtype == DType::float64 ? Tensor::of_doubles({}, std::span(&value, 1)) : Tensor::of_floats({}, std::span(&narrow, 1)));
}

Ref Emitter::fixed(Fixed which, DType dtype) {
  const Term zero(*this, number(0, dtype));
  const auto half_pi = [&] { return zero.apply(Op::acos); };
  switch (which) {
    case Fixed::two_over_root_pi:
      return sqrt(zero.number(2) / half_pi()).ref();
    case Fixed::root_half:
      return sqrt(zero.number(0.5)).ref();
    case Fixed::normal_peak:
      return sqrt(zero.number(0.25) / half_pi()).ref();
    case Fixed::twice_root_two_over_pi:
      return sqrt(zero.number(4) / half_pi()).ref();
    case Fixed::gelu_cubic:
      return (zero.number(44715) / zero.number(1000000)).ref();
  }
  demand(false, "Emitter::fixed: not one of the numbers");
  return kNone;
}

Ref GraphEmitter::op(Op op, std::span<const Ref> operands, Attributes attributes) {
  Outcome<NodeId> id = graph_.append(op, {operands.begin(), operands.end()}, std::move(attributes));
  demand(id.ok(), "GraphEmitter: a rule with operands that do not fit");
  return id.value();
}

}  // namespace assay::runtime::autodiff
