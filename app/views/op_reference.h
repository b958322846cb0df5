// The reference page of each op: what docs/ops shows and `assay ops` prints, from the entries of semantics/graph/ops.def.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/pages/page.h"
#include "semantics/graph/op.h"

namespace assay::views {

using pages::Facts;

// The treatment of an op by back-substitution.
enum class Bound : std::uint8_t { leaf, exact, line, product, plane, box };

struct OpReference {
  Op op;
  std::string_view meaning;  // y from x (or x, y, ... in operand order)
  std::string_view shapes;
  std::string_view domain;        // where it is defined; elsewhere the element is undefined
  std::string_view derivative;    // the cotangents of the operands from g, that of the result
  std::string_view enclosure;     // the set of results over a box
  std::string_view own_operator;  // the ONNX operator that is this op; empty: none
  std::string_view operators;     // others that become this op, perhaps with more ops beside it; blanks between
};

[[nodiscard]] const OpReference& op_reference(Op op);
[[nodiscard]] Bound bound_of(Op op);
// All operators that become the op, its own one first.
[[nodiscard]] std::vector<std::string> onnx_names(const OpReference& reference);
// ONNX operators that become other ops throughout (docs/reference/onnx.md says which), and so are on no page.
[[nodiscard]] const std::vector<std::string_view>& lowered_operators();

// The rows of an op's page, in order.
[[nodiscard]] Facts op_facts(const OpReference& reference);
[[nodiscard]] std::string_view word_of(OpClass op_class);

// The page in Markdown, and the index of all pages.
[[nodiscard]] std::string op_page(const OpReference& reference);
[[nodiscard]] std::string op_index();

}  // namespace assay::views
