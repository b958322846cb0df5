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
#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"

namespace assay::probes {

enum class ProbeKind : std::uint8_t { integers, dense, sparse, one_hot, shifted, ties, range, special };
[[nodiscard]] const char* to_string(ProbeKind kind);

// The layouts of operands in memory. `transposed`: the last two axes the other way round; `stepped`: every second element, from
// the second on, the gaps poisoned; `padded`: gaps between rows, and between planes; `broadcast_first` and `broadcast_last`: the
// values of the first (or last) axis with more than one element are one value, read with stride 0. Of several operands, the first
// alone may be transposed, or the others, or each has another layout.
enum class Layout : std::uint8_t {
  dense,
  transposed,
  stepped,
  padded,
  broadcast_first,
  broadcast_last,
  first_transposed,
  others_transposed,
  in_turn
};
inline constexpr Layout kLayouts[] = {Layout::transposed, Layout::stepped, Layout::padded, Layout::broadcast_first, Layout::broadcast_last};
inline constexpr Layout kMixedLayouts[] = {Layout::first_transposed, Layout::others_transposed, Layout::in_turn};
// The layout of one of the operands.
[[nodiscard]] Layout layout_of(Layout layout, std::size_t operand);
[[nodiscard]] const char* to_string(Layout layout);

struct Probe {
  std::string application;  // "conv, groups"
  ProbeKind kind = ProbeKind::integers;
  Op op = Op::input;
  Attributes attributes;
  std::vector<Tensor> operands;
  Layout layout = Layout::dense;
  ExecutionModel::Storage storage = ExecutionModel::Storage::same;  // of reals: numbers of 16 bits, held as the float32 that they are

  [[nodiscard]] std::string name() const;  // "conv, groups: integers float32", ", transposed in memory" where it is not dense
};

// The kind of an ordinary probe by its name: "integers", "dense", "sparse" or "one hot", of operands that are dense in memory.
// Empty for the others, which repeat values (layouts) or lie where contracts say little whatever a kernel does (kinks,
// cancellation, the ends of the range): the share of elements whose sets say nothing is counted among ordinary probes.
[[nodiscard]] std::string share_of(const std::string& name);

struct PlanOptions {
  DType dtype = DType::float32;  // of reals, float32 or float64; ops on integers are probed in their own types as well
  std::uint64_t seed = 1;
  bool large = true;     // also shapes around tiles and beyond, thousands of elements
  bool blocks = true;    // also lines of 8,193, 16,385 and 65,537 elements, where kernels that go block by block break, and shapes that
                         // are larger than usual tiles along several axes
  bool strided = false;  // also operands that are not dense in memory, for kernels that read Launch::views
  ExecutionModel::Storage storage = ExecutionModel::Storage::same;  // with dtype float32: reals of 16 bits, drawn within their range
};

// Leaves have none. The plan is a function of the options alone.
[[nodiscard]] std::vector<Probe> probe_plan(Op op, const PlanOptions& options = {});
// The applications that it probes: the catalogue's, and awkward shapes.
[[nodiscard]] std::vector<OpCase> applications(Op op, bool large);
// The applications with lines beyond the blocks of kernels; empty for ops that have none.
[[nodiscard]] std::vector<OpCase> block_applications(Op op);
// The applications that are larger than usual tiles along several axes at once, or broadcast along several.
[[nodiscard]] std::vector<OpCase> broad_applications(Op op);
// Whether the op, of which this is the first application, computes each element by itself, from operands that broadcast.
[[nodiscard]] bool is_elementwise(Op op, const OpCase& first);

// The op on inputs of these types, and its result as output; the rejection is that of shape inference.
[[nodiscard]] Outcome<Graph> graph_of(Op op, const Attributes& attributes, const std::vector<Tensor>& operands);

}  // namespace assay::probes
