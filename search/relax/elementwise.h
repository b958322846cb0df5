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

// is_unary: functions of one variable with a record (semantics/functions), mul(x, x) among them, and those with
// formulas in the two functions below. is_spelled_out: ops with formulas in these two functions.
[[nodiscard]] bool is_unary(const Node& node);
[[nodiscard]] bool is_spelled_out(Op op);
[[nodiscard]] bool is_binary(Op op);

// f(z) for a unary step with a formula, and f'(z) given z and y = f(z).
[[nodiscard]] double unary_value(const Step& step, double z);
[[nodiscard]] double unary_derivative(const Step& step, double z, double y);

// Steps without a formula take their values from the denotation, and differences of values as derivatives. For a
// function that jumps, the differences span a wide step, since its derivative, 0, says nothing about where to go.
void apply_unary(const Step& step, std::size_t count, const double* z, double* y);
void apply_binary(const Step& step, std::size_t batch, const Workspace& workspace, double* y);
void apply_matmul(const Step& step, std::size_t batch, const Workspace& workspace, double* y);
void apply_max_pool(const Step& step, std::size_t batch, const Workspace& workspace, double* y);
void apply_softmax(const Step& step, std::size_t batch, const double* z, double* y);

// All of these add to the cotangents of the operands.
void pull_unary(const Step& step, std::size_t count, const double* z, const double* y, const double* y_bar, double* z_bar);
void pull_binary(const Step& step, std::size_t batch, Workspace& workspace);
void pull_matmul(const Step& step, std::size_t batch, Workspace& workspace);
void pull_max_pool(const Step& step, std::size_t batch, Workspace& workspace);
void pull_softmax(const Step& step, std::size_t batch, const double* y, const double* y_bar, double* z_bar);

}  // namespace assay::search
