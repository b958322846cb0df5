// Every problem of a model at once, for people who mend it. No statement goes through this.
#pragma once

#include <string>
#include <vector>

#include "frontends/files.h"
#include "frontends/onnx/edits.h"
#include "semantics/outcome.h"

namespace assay::onnx {

// Every blocking problem in one pass; empty exactly when import_model succeeds. Nodes behind a blocked one are examined as far as
// the file declares the shapes between. `options` gets what the command line has to say of the model so that it may be read, with N or
// VALUE in place of numbers: open axes, and inputs that decide which branch of an If is taken.
[[nodiscard]] std::vector<Rejection> lint(const std::string& path, const MemoryRule& memory = {}, const Edits& edits = {},
                                          std::vector<std::string>* options = nullptr);

}  // namespace assay::onnx
