#include "cli/assay/file_kind.h"

namespace assay::cli {

Outcome<Loaded> load_files(const std::string& model, const std::string& property, const LoadOptions& options) {
  return queries::load_files(model, property, limiting(options));
}

}  // namespace assay::cli
