// PyTorch's numbers where a choice is undecided, for products that declare no convention. Private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

struct Convention {
  std::vector<Array<Interval>> cotangents;
  bool is_one_of_several;  // other operations of PyTorch with the same meaning may give another number
};

// The cotangents at a point by PyTorch's convention; `derivative` is that of the meaning `forward`
// (kernel/gradients/derivatives). Nothing if an op is of no kind that the .cpp names, or if it is not known whether the
// point is at a kink.
[[nodiscard]] std::optional<Convention> convention_at(const Graph& forward, const Graph& derivative,
                                                      const std::vector<Array<Interval>>& point);

}  // namespace assay::audit
