// The operator tests that ONNX publishes: a model, its inputs and its outputs.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/format/proto.h"
#include "frontends/onnx/format/tensor.h"
#include "tests/frontends/onnx_builder.h"

namespace assay::onnx_test {

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline onnx::Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span<const char>(text)); }

// A serialised TensorProto.
inline Tensor read_proto(const std::string& bytes) {
  const std::string model = Wire().bytes(7, Wire().bytes(5, bytes).text).text;
  onnx::ExternalData none("");
  return onnx::read_tensor(onnx::decode_model(bytes_of(model)).graph->initializers.front(), none);
}

// The model with these tensors (serialised, without names) as initializers of the named inputs.
inline std::string with_initializers(const std::string& model, const std::vector<std::pair<std::string, std::string>>& tensors) {
  onnx::Message message({bytes_of(model), 0}, "model");
  std::string head = model, graph;
  for (onnx::Field field; message.next(field);) {
    if (field.number != 7) continue;
    graph = message.single_string(field);
    const std::size_t start = field.offset, end = field.payload.offset + field.payload.bytes.size();
    head = model.substr(0, start) + model.substr(end);
  }
  for (const auto& [name, tensor] : tensors) {
    // A name inside the stored tensor is dropped: it would be a second one.
    onnx::Message proto({bytes_of(tensor), 0}, "tensor");
    std::string kept;
    std::size_t start = 0;
    for (onnx::Field field; proto.next(field);) {
      const std::size_t end = field.type == onnx::WireType::bytes ? field.payload.offset + field.payload.bytes.size() : 0;
      if (field.number != 8) continue;
      kept = tensor.substr(0, field.offset);
      start = end;
    }
    graph += Wire().bytes(5, Wire().bytes(8, name).text + kept + tensor.substr(start)).text;
  }
  return head + Wire().bytes(7, graph).text;
}

struct NodeCase {
  std::string model;
  std::vector<std::pair<std::string, std::string>> inputs;  // name and TensorProto
  std::vector<std::string> outputs;
};

inline std::optional<NodeCase> load_case(const std::filesystem::path& folder) {
  NodeCase loaded{slurp(folder / "model.onnx"), {}, {}};
  namespace fs = std::filesystem;
  const onnx::ModelProto proto = onnx::decode_model(bytes_of(loaded.model));
  for (std::size_t i = 0; i < proto.graph->inputs.size(); ++i) {
    const fs::path file = folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return std::nullopt;
    loaded.inputs.emplace_back(proto.graph->inputs[i].name, slurp(file));
  }
  for (std::size_t i = 0; fs::exists(folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb")); ++i) {
    loaded.outputs.push_back(slurp(folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb")));
  }
  return loaded;
}

}  // namespace assay::onnx_test
