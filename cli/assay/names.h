// Names that users type: what they mean in other spellings, and what was probably meant.
#pragma once

#include <string>
#include <vector>

#include "app/words.h"
#include "cli/nearest.h"
#include "semantics/graph/graph.h"
#include "semantics/graph/op.h"

namespace assay::cli {

// Every op that computes something: neither inputs nor constants.
[[nodiscard]] std::vector<Op> computing_ops();
// The ops that a name means: one of this vocabulary, whatever its case and underscores, or those that an ONNX operator becomes.
[[nodiscard]] std::vector<Op> ops_named(const std::string& name);
// Why there are none.
[[nodiscard]] std::string unknown_op(const std::string& name);

}  // namespace assay::cli
