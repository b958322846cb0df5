// Probe plan of an op: applications with operands on which a wrong kernel shows.
//
// Contracts admit what rounding explains, so power comes from inputs: small integers, on which every order of summation is exact and
// bits must be equal; few non-zero terms of full precision; one term at a time, along the tails; large means beside small differences;
// ties; zeros of both signs, subnormal numbers, the ends of the range; infinities and NaN. Shapes: 1, nothing, primes, around tiles,
// asymmetric pads, strides, dilations, groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/catalogue.h"
#include "semantics/graph/graph.h"

namespace assay::probes {

enum class ProbeKind : std::uint8_t { integers, dense, sparse, one_hot, shifted, ties, range, special };
[[nodiscard]] const char* to_string(ProbeKind kind);

struct Probe {
  std::string application;  // "conv, groups"
  ProbeKind kind = ProbeKind::integers;
  Op op = Op::input;
  Attributes attributes;
  std::vector<Tensor> operands;

  [[nodiscard]] std::string name() const;  // "conv, groups: integers float32"
};

struct PlanOptions {
  DType dtype = DType::float32;  // of reals, float32 or float64; ops on integers are probed in their own types as well
  std::uint64_t seed = 1;
  bool large = true;  // also shapes around tiles and beyond, tens of thousands of elements
};

// Leaves have none. The plan is a function of the options alone.
[[nodiscard]] std::vector<Probe> probe_plan(Op op, const PlanOptions& options = {});
// What it probes: the catalogue's applications, and awkward shapes.
[[nodiscard]] std::vector<OpCase> applications(Op op, bool large);

// The op on inputs of these types, and its result as output; the rejection is that of shape inference.
[[nodiscard]] Outcome<Graph> graph_of(Op op, const Attributes& attributes, const std::vector<Tensor>& operands);

}  // namespace assay::probes
