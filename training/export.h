// A trained model as ONNX.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "training/model.h"

namespace assay::training {

struct ExportedModel {
  Graph graph;       // the graph of the file
  std::string file;  // its bytes
};
// The function of inputs of these types, captured as it is in evaluation, with the model's parameters as constants by name.
// Layout ops on constants and integer arithmetic are carried out, as import does. `graph` is the captured one but for what
// formats::as_onnx_says() changes. Rejections: those of Session::capture and of formats::write_onnx.
struct ExportInput {
  std::string name;
  Array example;
};
[[nodiscard]] Outcome<ExportedModel> export_onnx(Model& model, const std::function<Value(std::span<const Value>)>& function,
                                                 std::span<const ExportInput> inputs, const std::string& output = "output");
// That file at `path`; rejections of write_atomically() as well.
Outcome<Done> write_onnx_file(const std::string& path, Model& model, const std::function<Value(std::span<const Value>)>& function,
                              std::span<const ExportInput> inputs, const std::string& output = "output");

}  // namespace assay::training
