// The table of ops that apply a function of one variable to each element.
#include <array>
#include <utility>

#include "semantics/demand.h"
#include "semantics/ops/families.h"

namespace assay::ops {

Function function_of(Op op) {
  constexpr std::array<std::pair<Op, Function>, 17> kTable = {{
      {Op::sigmoid, Function::sigmoid},
      {Op::tanh, Function::tanh},
      {Op::exp, Function::exp},
      {Op::log, Function::log},
      {Op::sin, Function::sin},
      {Op::cos, Function::cos},
      {Op::erf, Function::erf},
      {Op::tan, Function::tan},
      {Op::asin, Function::asin},
      {Op::acos, Function::acos},
      {Op::atan, Function::atan},
      {Op::sinh, Function::sinh},
      {Op::cosh, Function::cosh},
      {Op::asinh, Function::asinh},
      {Op::acosh, Function::acosh},
      {Op::atanh, Function::atanh},
      {Op::softplus, Function::softplus},
  }};
  for (const auto& [one, function] : kTable) {
    if (one == op) return function;
  }
  demand(false, "function_of: not a transcendental op");
  return Function::exp;
}

}  // namespace assay::ops
