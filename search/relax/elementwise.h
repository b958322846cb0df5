// Values and cotangents of the non-affine ops in plain double arithmetic (search only; the meaning
// is semantics/ops).
//
// Used by the attack and by forward runs of the ascent. Common functions are spelled out; every
// other one is evaluated by its denotation, and its slope by differences, so that a new op of the
// semantics works here without a line of code.
#pragma once

#include <cstddef>

#include "search/relax/network.h"

namespace assay::search {

// Functions of one variable with a record (semantics/functions), mul(x, x) among them; and those of
// which the two functions below know a formula.
[[nodiscard]] bool is_unary(const Node& node);
[[nodiscard]] bool is_spelled_out(Op op);
[[nodiscard]] bool is_binary(Op op);

// f(z) of a unary step that is spelled out, and f'(z) given z and y = f(z).
[[nodiscard]] double unary_value(const Step& step, double z);
[[nodiscard]] double unary_derivative(const Step& step, double z, double y);

// Of other steps the values are the denotation's and derivatives are differences of values: across
// a wide step where the function jumps, since its derivative, 0, says nothing about where to go.
void apply_unary(const Step& step, std::size_t count, const double* z, double* y);
void apply_binary(const Step& step, std::size_t batch, const Workspace& workspace, double* y);
void apply_matmul(const Step& step, std::size_t batch, const Workspace& workspace, double* y);
void apply_max_pool(const Step& step, std::size_t batch, const Workspace& workspace, double* y);
void apply_softmax(const Step& step, std::size_t batch, const double* z, double* y);

// All accumulate into the cotangents of the operands.
void pull_unary(const Step& step, std::size_t count, const double* z, const double* y, const double* y_bar, double* z_bar);
void pull_binary(const Step& step, std::size_t batch, Workspace& workspace);
void pull_matmul(const Step& step, std::size_t batch, Workspace& workspace);
void pull_max_pool(const Step& step, std::size_t batch, Workspace& workspace);
void pull_softmax(const Step& step, std::size_t batch, const double* y, const double* y_bar, double* z_bar);

}  // namespace assay::search
