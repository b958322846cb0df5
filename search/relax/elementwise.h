// Values and cotangents of the non-affine ops in plain double arithmetic. Only the search uses them; the meaning of the
// ops is defined in semantics/ops.
//
// The attack and the forward runs of alpha-beta-CROWN call them. Common functions have formulas here. Every other
// function is evaluated by its denotation and differentiated by differences, so that a new op of the semantics works
// here without any code.
#pragma once

#include <cstddef>

#include "search/relax/network.h"

namespace assay::search {

// A function of one variable in double arithmetic, by an op's constants (Step::constants).
struct Formula {
  Op op;
  double (*value)(double z, Constants constants);
  double (*derivative)(double z, double y, Constants constants);  // y: the value at z
  // The point with this derivative, on the given side of 0; NaN if there is none. Null for functions with
  // kinks, and where function_lines.h samples the function instead.
  double (*touching_point)(double slope, bool negative, Constants constants) = nullptr;
};
// Null for an op without a formula.
[[nodiscard]] const Formula* formula_of(Op op);

// The value of a unary step with a formula, and its derivative given z and y = f(z).
[[nodiscard]] inline double unary_value(const Step& step, double z) { return formula_of(step.op)->value(z, step.constants); }
[[nodiscard]] inline double unary_derivative(const Step& step, double z, double y) {
  return formula_of(step.op)->derivative(z, y, step.constants);
}

// A function of one variable with a record (semantics/functions); mul(x, x) is one, too.
[[nodiscard]] bool is_unary(const Node& node);
[[nodiscard]] bool is_binary(Op op);

// Computes a batch of a unary, binary, matmul, max_pool or softmax step from the values of its operands. Steps without a
// formula take their values from the denotation.
void apply(const Step& step, std::size_t batch, Workspace& workspace);
// Adds the cotangents of such a step to those of its operands. Without a formula, differences of values take the place
// of derivatives. For a function that jumps, the differences span a wide step, since its derivative, 0, says nothing
// about where to go.
void pull(const Step& step, std::size_t batch, Workspace& workspace);

}  // namespace assay::search
