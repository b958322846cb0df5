// Import: an ONNX file becomes a Graph whose meaning is that of the file at inference; docs/reference/onnx.md says how.
//
// Meaning: float, integer and boolean tensors; layout and integer arithmetic on constants is carried out exactly, float
// arithmetic never. Initializers that are also graph inputs are constants. The first axis of an input, where it is
// symbolic or unknown, is the batch and is fixed to 1. Nodes that no output depends on are dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/files.h"
#include "frontends/onnx/edits.h"
#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"
#include "semantics/statement/statement.h"

namespace assay::onnx {

struct Model {
  Graph graph;                             // validated
  std::vector<statement::Source> sources;  // the file as stored, then each file of external data
  std::int64_t ir_version = 0;
  std::vector<std::pair<std::string, std::int64_t>> opsets;
  std::string producer;
  std::vector<std::string> notes;  // decisions of the importer: a batch fixed to 1, weights widened, ...
  std::uint64_t stored = 0;        // bytes on disk, of all files
  // Why float executions of the file are not those of the graph: of any program, or of programs other than ONNX Runtime.
  std::optional<Rejection> real_only, real_or_onnxruntime;

  // Returns the reason why a statement of this semantics about the file would be wrong; real arithmetic has none.
  [[nodiscard]] std::optional<Rejection> obstacle(const ExecutionModel& semantics) const;
};

// Reads MODEL.onnx or MODEL.onnx.gz. The first problem, as `malformed`, `unsupported` or, where constants that the model asks for take more
// than their part of the memory, `declined`, with the node and what would make it work. The edits are made before anything is read, and
// are a source of their own, "model options".
[[nodiscard]] Outcome<Model> import_model(const std::string& path, const MemoryRule& memory = {}, const Edits& edits = {});

// A model for which there is too little memory.
[[nodiscard]] Rejection out_of_memory(const std::string& path);

struct OperatorSupport {
  std::string op;
  std::int64_t first_opset, last_opset;
  std::string notes;
  std::string domain;  // whose versions these are: ai.onnx, ai.onnx.ml or com.microsoft
};
// One entry for each operator of a domain, in alphabetical order.
[[nodiscard]] const std::vector<OperatorSupport>& supported_operators();

}  // namespace assay::onnx
