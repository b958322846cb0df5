// A recorded product at the point of the run. Private to this folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/execution_model.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"
#include "semantics/outcome.h"

namespace assay::kernel {

struct RecordedProduct {
  // One operand's cotangent: an output of `backward`.
  struct Cotangent {
    std::string name;
    bool is_claimed = false;                                          // else nobody asked for it
    std::vector<const Tensor*> parts = {};                            // their sum is what was recorded; none: nobody recorded it
    ExecutionModel::Storage storage = ExecutionModel::Storage::same;  // of a single part
  };
  const Graph& forward;   // y, from the region's different operands
  const Graph& backward;  // from these and y_bar (or tangents), a cotangent for each real operand (or y's tangent)
  std::function<std::vector<Array<Interval>>()> point;  // of the operands and y_bar; asked for where it is needed
  std::vector<Tensor> operands;                         // and y_bar; empty where one of them was not recorded
  std::vector<Cotangent> cotangents;                    // one per output of `backward`
  const ExecutionModel& model;
  bool is_stored_short = false;                    // something of the run is stored in 16 bits
  std::function<Outcome<Graph>()> reference = {};  // the derivative's graph, with the inputs of `backward`; none: that of J^T y_bar
};

// P1 and P2 of point.cpp, for a product that is right at random points. Its code is gradient.value; declined where what would decide is
// missing.
[[nodiscard]] std::optional<Rejection> check_point(const RecordedProduct& product, const std::string& place);

// The recorded elements. NaN and infinities, which have no place in a derivative, are undefined; so are integers that no double holds.
[[nodiscard]] Array<Interval> enclosed(const Tensor& tensor);

// Where elements like the recorded ones are drawn.
[[nodiscard]] Domain recorded_range(const Tensor& tensor);

}  // namespace assay::kernel
