// Edits: what the options --shape, --dim, --set and --outputs make of a model file before anything else reads it.
//
// An edited model is another model: its graph, and so the digest of every statement about it, follows from the file and the edits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay::onnx {

struct GraphProto;

struct Edits {
  std::map<std::string, Shape> shapes;           // of inputs
  std::map<std::string, std::int64_t> dims;      // extents of axes, by the axis's name
  std::map<std::string, std::string> constants;  // of inputs: one number for all elements, or one for each
  std::vector<std::string> outputs;              // that remain, in this order; empty: all

  // Takes one option, such as "--shape" "x=1,3,48,96". Malformed (code onnx.option) where the text is not of its form, or says
  // something else than an option before it.
  [[nodiscard]] Outcome<Done> add(std::string_view option, const std::string& text);
  // The options and their texts, in one order for equal edits: what add() takes.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const;
  [[nodiscard]] std::string to_text() const;  // of a command line: "--dim seq=16 --set sr=16000"
  [[nodiscard]] std::string words() const;    // the same with a blank before it; empty where there are none
  [[nodiscard]] bool empty() const { return shapes.empty() && dims.empty() && constants.empty() && outputs.empty(); }
  bool operator==(const Edits&) const = default;
};

// A word for a shell, in quotes where it needs them.
[[nodiscard]] std::string shell_word(const std::string& word);

// Thrown as Refused (onnx.option) where an edit does not fit the graph. Notes are for readers of the statement.
void apply(const Edits& edits, GraphProto& graph, std::vector<std::string>& notes);

}  // namespace assay::onnx
