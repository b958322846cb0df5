// The pages of the op reference and their index, in Markdown.
#include <string>

#include "app/views/op_reference.h"

namespace assay::views {

std::string op_page(const OpReference& reference) {
  const OpRow& row = op_row(reference.op);
  std::string page = "# " + std::string(row.name) + "\n\n";
  page += "`y = " + std::string(row.name) + "(" +
          (row.arity_max == 0   ? ""
           : row.arity_max == 1 ? "x"
           : row.arity_max == 2 ? "x, y"
                                : "x, ...") +
          ")`: ";
  page += std::string(reference.meaning) + "\n\n| | |\n| --- | --- |\n";
  for (const auto& [name, text] : op_facts(reference)) {
    std::string safe;
    for (const char c : text) safe += c == '|' ? std::string("\\|") : std::string(1, c);
    page += "| " + name + " | " + safe + " |\n";
  }
  return page;
}

std::string op_index() {
  std::string text = "# Operations\n\nOne page per op, printed by `assay ops NAME`; the table is that of the program.\n\n";
  text += "| Op | Class | Meaning |\n| --- | --- | --- |\n";
  for (int i = 0; i < kOpCount; ++i) {
    const OpReference& reference = op_reference(static_cast<Op>(i));
    const OpRow& row = op_row(reference.op);
    std::string meaning;
    for (const char c : reference.meaning) meaning += c == '|' ? std::string("\\|") : std::string(1, c);
    text += "| [" + std::string(row.name) + "](" + std::string(row.name) + ".md) | " + std::string(word_of(row.op_class)) + " | " +
            meaning + " |\n";
  }
  text += "\nONNX operators that become several of these: ";
  for (const std::string_view name : lowered_operators()) text += (name == lowered_operators().front() ? "" : ", ") + std::string(name);
  return text + ". [docs/reference/onnx.md](../reference/onnx.md) says how.\n";
}

}  // namespace assay::views
