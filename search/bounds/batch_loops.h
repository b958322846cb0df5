// The inner loops of BatchBounds, compiled for several instruction sets. Each lane holds one linear form, which is
// walked back through lines and planes, or one point, which is walked forward through them. All arrays are
// [index, lane].
//
// Every function treats kLanes boxes in step, without branches by lane; values that differ between lanes are selected.
#pragma once

#include <cstddef>
#include <span>

#include "search/relax/scalar_graph.h"

namespace assay::search {

constexpr std::size_t kLanes = 8;

// One neuron: its operand forms (q is p for a function of one variable), and its lines or planes.
struct BatchNeuron {
  std::span<const ScalarEntry> p, q;
  double p_constant, q_constant;
  bool is_product;
  // [lane]. A function has lines below and above. A product has the ranges of its factors, and the mixes of the planes
  // below and above.
  const double *low_slope = nullptr, *low_icpt = nullptr, *up_slope = nullptr, *up_icpt = nullptr;
  const double *p_lo = nullptr, *p_hi = nullptr, *q_lo = nullptr, *q_hi = nullptr, *mix_low = nullptr, *mix_up = nullptr;
};

// c: the neuron's coefficients. Adds the coefficients of its operands' atoms to `atoms`, and the rest to `constant`.
void lane_back(const BatchNeuron& neuron, const double* c, double* atoms, double* constant);
// z: the values of the neuron on the lines that lane_back() took for c. `mix_gradient`, only for products: the
// derivative of c z by the mix in use.
void lane_forward(const BatchNeuron& neuron, const double* c, const double* atoms, double* z, double* mix_gradient);

// The least value of the form over the box, and the point where it is attained. Each input is at an end of its range;
// it is at the lower end for a coefficient of 0.
void lane_minimum(std::size_t inputs, const double* form, const double* lo, const double* hi, double* value, double* x);
// sum += the value of the entries at z.
void lane_evaluate(std::span<const ScalarEntry> entries, const double* z, double* sum);
// lo and hi of a form whose atoms lie in [z_lo, z_hi].
void lane_range(std::span<const ScalarEntry> entries, double constant, const double* z_lo, const double* z_hi, double* lo, double* hi);

struct BatchMoments {
  double *raw_alpha, *first, *second;
};
// Rounds to multiples of 1/128, which a certificate holds in a byte.
void lane_round(std::size_t count, const double* mixes, double* rounded);
// An Adam step upward on `count` mixes, without bias correction; the mixes stay in [0, 1].
void lane_ascend(std::size_t count, double rate, const double* gradient, const BatchMoments& moments);

}  // namespace assay::search
