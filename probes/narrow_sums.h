// Products and sums that were accumulated in 16 bits. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/graph/trace.h"

namespace assay::probes {

// "float16" or "bfloat16" if additions in that format, in any order, explain every element of the result. Empty otherwise, and for ops
// that add nothing. `application` is one op on its inputs. If a rounding of the result and of operands explains the result as well,
// the format is named only where `is_rounded` says that the bank has this rounding: a kernel that only rounds is to have that name.
[[nodiscard]] std::string narrow_sums(const Graph& application, const std::vector<Tensor>& operands, const Trace::Entry& received,
                                      bool is_rounded);

}  // namespace assay::probes
