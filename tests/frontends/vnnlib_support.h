// Networks that have inputs and outputs and nothing else: all that a property reader looks at.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "frontends/vnnlib/read.h"

namespace assay::vnnlib_test {

inline Graph network(Shape input, Shape output, DType dtype = DType::float32) {
  Graph graph;
  const auto add = [&](Shape shape, Op op, std::vector<NodeId>& list) {
    Node node;
    node.op = op;
    node.dtype = dtype;
    node.shape = std::move(shape);
    list.push_back(static_cast<NodeId>(graph.nodes.size()));
    graph.nodes.push_back(std::move(node));
  };
  add(std::move(input), Op::input, graph.inputs);
  add(std::move(output), Op::constant, graph.outputs);
  graph.input_names = {"in"};
  graph.output_names = {"out"};
  return graph;
}

inline Outcome<vnnlib::PropertyFile> read_text(const std::string& text, const Graph& graph, const std::string& name = {}) {
  const vnnlib::NetworkShape shape{name, &graph};
  return vnnlib::read_property_text(text, "t.vnnlib", std::span(&shape, 1));
}

// (declare-const ...) of `inputs` inputs and `outputs` outputs, one per line.
inline std::string constants(int inputs, int outputs) {
  std::string text;
  for (int i = 0; i < inputs; ++i) {
    text += "(declare-const X_" + std::to_string(i) + " Real)\n";
  }
  for (int i = 0; i < outputs; ++i) {
    text += "(declare-const Y_" + std::to_string(i) + " Real)\n";
  }
  return text;
}

// Folder of the measuring data, or empty: ASSAY_DATA, else ../shared/data seen from this folder or one above it.
inline std::filesystem::path data_folder() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("ASSAY_DATA")) {
    return fs::is_directory(named) ? fs::path(named) : fs::path();
  }
  for (fs::path at = fs::current_path();; at = at.parent_path()) {
    if (fs::is_directory(at / ".." / "shared" / "data")) {
      return at / ".." / "shared" / "data";
    }
    if (at == at.root_path()) {
      return {};
    }
  }
}

}  // namespace assay::vnnlib_test
