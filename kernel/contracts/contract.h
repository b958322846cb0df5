// Contracts: which recorded results an execution may have, given its recorded operands.
//
// admissible() maps a graph (one node, or a region, or a vector-Jacobian product), a declared execution model and recorded inputs to
// one set per output element. judge() compares what was received: outside is a proof that the execution broke its model, inside is
// within contract, and inside a set that is too wide to mean anything is vacuous. No tolerance anywhere: sets are computed outward,
// membership is exact. Formulas and proofs: docs/contracts.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/contracts/float_set.h"
#include "kernel/contracts/storage.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::contracts {

// The families of contracts (docs/contracts/README.md); none: input and constant.
enum class Family : std::uint8_t {
  none,
  layout,
  integers,
  positions,
  choice,
  elementwise,
  function,
  comparison,
  extremum,
  product,
  sum,
  activation,
  softmax,
  normalise,
  batch_norm,
  local_response
};
[[nodiscard]] Family family_of(Op op);

// A set whose finite part is wider than this share of its scale, and than the smallest normal number, says nothing. Of
// a result that is stored in 16 bits: than this share, or eight units of roundoff of the format, of the scale or of the
// smallest normal number of the format.
inline constexpr double kVacuousShare = 0x1p-8;

struct Admissible {
  Sets sets;                    // with the output's type and shape
  std::vector<Interval> exact;  // contains the denotation's value at the recorded operands, factors as the model rounds them (factors.h)
  std::vector<double> scales;   // sums: S, the sum of |terms|; else the largest magnitude of the set (docs/contracts/README.md)
  Storage storage = Storage::same;  // of the result

  [[nodiscard]] bool is_vacuous(std::size_t element) const;
};

// The recorded result of a node inside a graph: a saved tensor, or one of several results of a fused region.
struct Recording {
  NodeId node;
  Tensor value;
  Storage storage = Storage::same;
};

// One per output of the graph, whose inputs were recorded as given. Each node is executed on sets with its own contract; where a
// node's result was recorded, later nodes read that (and the sets of that node, if it is an output, judge it). A product that feeds a
// sum or difference may be fused with it if the model allows that. `stored` says what each output is kept in (storage.h); none: as it is
// computed. The rejection is
//   unsupported  an op without a contract, a format that the model is not about, a function without a row in its table, or no table
//   malformed    an invalid model or graph, tensors of other shapes or types
[[nodiscard]] Outcome<std::vector<Admissible>> admissible(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs,
                                                          std::span<const Recording> recordings = {}, std::span<const Storage> stored = {});
// The same for one op.
[[nodiscard]] Outcome<Admissible> admissible(Op op, const Attributes& attributes, const ExecutionModel& model,
                                             std::span<const Tensor> operands, Storage stored = Storage::same);

// What came of comparing one recorded tensor.
struct Judgement {
  std::size_t passed = 0, failed = 0, vacuous = 0;
  std::optional<std::size_t> first_failure;
  // The largest |error| / allowance over the elements that passed with room for an error, rounded up; the allowance is the error
  // from which on the element would have failed.
  double head_room_used = 0;
  std::optional<std::size_t> closest;  // where that is
};

// The received tensor has the type and shape of the sets; else it is malformed.
[[nodiscard]] Outcome<Judgement> judge(const Admissible& admissible, const Tensor& received);

// One element in words: what was received and what is admitted, exactly.
[[nodiscard]] std::string describe(const Admissible& admissible, const Tensor& received, std::size_t element);

}  // namespace assay::contracts
