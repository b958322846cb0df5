// One ONNX node from "x" to "y" on numbers small enough to check by hand: the imported graph, evaluated in double.
#pragma once

#include <cmath>

#include "frontends/onnx/import.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"

namespace assay::onnx_test {

using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

struct Row {
  std::string one;  // the node, from "x" to "y"
  std::int64_t opset;
  std::vector<std::string> constants;
  Ints shape;  // of x
  Reals x;
  Ints result_shape;
  Reals y;
};

inline std::vector<Dim> dims_of(const Ints& shape) { return {shape.begin(), shape.end()}; }

inline Outcome<onnx::Model> import_row(const Folder& folder, const Row& row) {
  ModelText text;
  text.opset = row.opset;
  text.nodes = {row.one};
  text.initializers = row.constants;
  text.inputs = {value("x", dims_of(row.shape))};
  text.outputs = {untyped("y")};
  return onnx::import_model(folder.write("m.onnx", text.bytes()));
}

inline void check_rows(const std::vector<Row>& rows, double within = 0) {
  const Folder folder;
  for (const Row& row : rows) {
    const Outcome<onnx::Model> model = import_row(folder, row);
    INFO("row " << &row - rows.data() << (model ? "" : ": " + model.rejection().to_text()));
    REQUIRE(model.ok());
    const Graph& graph = model.value().graph;
    const std::vector<Array<double>> inputs = {{row.shape, row.x}};
    const auto values = evaluate<double>(graph, inputs);
    REQUIRE(values.ok());
    const Array<double>& result = values.value()[graph.outputs[0]];
    CHECK(result.shape == row.result_shape);
    REQUIRE(result.values.size() == row.y.size());
    for (std::size_t i = 0; i < row.y.size(); ++i)
      CHECK((result.values[i] == row.y[i] || std::fabs(result.values[i] - row.y[i]) <= within));
  }
}

// The codes of the rejections; empty for a row that is accepted.
inline std::vector<std::string> rejection_codes(const std::vector<Row>& rows) {
  const Folder folder;
  std::vector<std::string> codes;
  for (const Row& row : rows) {
    const Outcome<onnx::Model> model = import_row(folder, row);
    codes.push_back(model ? "" : model.rejection().code);
  }
  return codes;
}

inline std::string on(const std::string& op, const std::vector<std::string>& more = {}, const std::vector<std::string>& attributes = {}) {
  std::vector<std::string> inputs = {"x"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return node(op, inputs, {"y"}, attributes);
}

}  // namespace assay::onnx_test
