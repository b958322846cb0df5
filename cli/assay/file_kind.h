// Files of the command line: read, with words about files in the wrong place.
#pragma once

#include <string>

#include "app/queries/file_kind.h"
#include "cli/load.h"
#include "semantics/outcome.h"

namespace assay::cli {

using queries::FileKind;
using queries::import_model_file;
using queries::kind_of_file;
using queries::recognised;
using queries::recognised_input;

// load, with what the files are instead.
[[nodiscard]] Outcome<Loaded> load_files(const std::string& model, const std::string& property, const LoadOptions& options);

}  // namespace assay::cli
