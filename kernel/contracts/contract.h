// Contracts: the results that an execution may have, given its recorded operands.
//
// admissible() takes a graph (one node, a region, or a vector-Jacobian product), a declared execution model and
// recorded inputs. It returns one set per output element. judge() compares the received elements: one outside its
// set that is not the number nearest to the exact value proves that the execution broke its model; one inside passes;
// one inside a set that is too wide to mean anything is vacuous. There is no tolerance: sets are computed outward, and
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

// A set is vacuous if its finite part is wider than this fraction of its scale, and wider than the smallest normal
// number. For a result stored in 16 bits, the width has to exceed this fraction, or eight units of roundoff of the
// format, of the scale or of the format's smallest normal number.
inline constexpr double kVacuousShare = 0x1p-8;

struct Admissible {
  Sets sets;  // with the output's type and shape
  // Contains the denotation's value at the recorded operands, with factors as the model rounds them (factors.h).
  std::vector<Interval> exact;
  // Sums: S, the sum of |terms|; otherwise the largest magnitude of the set (docs/contracts/README.md).
  std::vector<double> scales;
  Storage storage = Storage::same;  // of the result
  bool admits_nearest = true;       // the number nearest to the exact value, wherever the set lies
  // The results of executions of every step in binary64, before the one rounding at the end; empty unless refined.
  std::vector<FloatSet> in_double = {};

  // Whether the set contains the value, or the value is the number nearest to the exact one, or rounded from an execution in
  // binary64 (decision 0126).
  [[nodiscard]] bool admits(std::size_t element, double value) const;
  [[nodiscard]] bool is_vacuous(std::size_t element) const;
};

// The recorded result of a node inside a graph: a saved tensor, or one of several results of a fused region.
struct Recording {
  NodeId node;
  Tensor value;
  Storage storage = Storage::same;
};

// Computes one Admissible per output of the graph, for recorded inputs. Each node is executed on sets with its own
// contract. If a node's result was recorded, later nodes read the recording (and the node's sets judge it, if it is an
// output). A product that feeds a sum or difference may be fused with it if the model allows that. `stored` names the
// format in which each output is stored (storage.h); empty: as computed. Rejections:
//   unsupported  an op without a contract, a format that the model is not about, a function without a row in its table,
//                or no table
//   malformed    an invalid model or graph, tensors of other shapes or types
[[nodiscard]] Outcome<std::vector<Admissible>> admissible(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs,
                                                          std::span<const Recording> recordings = {}, std::span<const Storage> stored = {});
// Adds exact values of 257 bits and executions in binary64 to these sets if they do not admit all that was received. Large graphs
// are left as they are where one element is too far off to be admitted so.
void refine(std::vector<Admissible>& sets, const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs,
            std::span<const Recording> recordings, std::span<const Tensor> received);
// The same for one op.
[[nodiscard]] Outcome<Admissible> admissible(Op op, const Attributes& attributes, const ExecutionModel& model,
                                             std::span<const Tensor> operands, Storage stored = Storage::same);

// The result of comparing one recorded tensor.
struct Judgement {
  std::size_t passed = 0, failed = 0, vacuous = 0;
  std::optional<std::size_t> first_failure;
  // The largest |error| / allowance over the elements that passed and had room for an error, rounded up. The allowance
  // is the error from which on the element would have failed.
  double head_room_used = 0;
  std::optional<std::size_t> closest;  // the element with that ratio
};

// Malformed unless the received tensor has the type and shape of the sets.
[[nodiscard]] Outcome<Judgement> judge(const Admissible& admissible, const Tensor& received);

// Describes one element: the received value and the admitted ones, exactly.
[[nodiscard]] std::string describe(const Admissible& admissible, const Tensor& received, std::size_t element);

}  // namespace assay::contracts
