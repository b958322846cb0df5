// Graphs as ONNX models: opset 20, IR version 9, weights inside.
#pragma once

#include <string>

#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::formats {

// The graph in forms that the file can hold, for any that has them: numbers that attributes hold as float32 are rounded to it, `scale` is a
// product with a constant (a factor that is no float32 is rounded), silu is x sigmoid(x).
[[nodiscard]] Outcome<Graph> as_onnx_says(const Graph& graph);

// The graph's inputs and outputs by name, constants as initializers by name. Import gives the same graph again, up to the order of its
// constants, if as_onnx_says() left it as it is. Rejections (`unsupported`): onnx.op, an op or a form of one that has no operator here;
// onnx.size, more than 2 GiB.
[[nodiscard]] Outcome<std::string> write_onnx(const Graph& graph);

}  // namespace assay::formats
