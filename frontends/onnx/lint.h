// Every problem of a model at once, for people who mend it. No statement goes through this.
#pragma once

#include <string>
#include <vector>

#include "frontends/files.h"
#include "semantics/outcome.h"

namespace assay::onnx {

// Every blocking problem in one pass; empty exactly when import_model succeeds. Nodes behind a blocked one are examined as far as
// the file declares the shapes between.
[[nodiscard]] std::vector<Rejection> lint(const std::string& path, const MemoryRule& memory = {});

}  // namespace assay::onnx
