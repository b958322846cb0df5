#include "cli/assay/file_kind.h"

#include "api/check/cost.h"

namespace assay::cli {

Outcome<onnx::Model> import_model_file(const std::string& path, const Limits& limits) {
  auto model = onnx::import_model(path, memory_rule(limits));
  if (!model) return recognised(in_file(model.rejection(), path), path, FileKind::onnx);
  return model;
}

Outcome<Loaded> load_files(const std::string& model, const std::string& property, const LoadOptions& options) {
  auto loaded = load(model, property, options);
  if (!loaded) return queries::recognised_input(loaded.rejection(), model, property);
  return loaded;
}

}  // namespace assay::cli
