#include "cli/assay/file_kind.h"

namespace assay::cli {

Outcome<Loaded> load_files(const std::string& model, const std::string& property, const LoadOptions& options) {
  auto loaded = load(model, property, options);
  if (!loaded) return queries::recognised_input(loaded.rejection(), model, property);
  return loaded;
}

}  // namespace assay::cli
