#include "cli/assay/names.h"

#include <algorithm>

#include "app/views/op_reference.h"
#include "frontends/onnx/import.h"
#include "probes/composites.h"

namespace assay::cli {
namespace {

bool becomes(const views::OpReference& reference, const std::string& operation) {
  return std::ranges::any_of(views::onnx_names(reference), [&](const std::string& name) { return folded(name) == operation; });
}

}  // namespace

std::vector<Op> computing_ops() {
  std::vector<Op> ops;
  for (int k = 0; k < kOpCount; ++k) {
    const OpRow& row = op_row(static_cast<Op>(k));
    if (row.op_class != OpClass::leaf) ops.push_back(row.op);
  }
  return ops;
}

std::vector<Op> ops_named(const std::string& name) {
  const std::string wanted = folded(name);
  if (wanted.empty()) return {};
  std::vector<Op> ops;
  for (int k = 0; k < kOpCount; ++k) {
    const Op op = static_cast<Op>(k);
    if (folded(op_row(op).name) == wanted) return {op};
    if (becomes(views::op_reference(op), wanted)) ops.push_back(op);
  }
  return ops;
}

std::string unknown_op(const std::string& name) {
  std::vector<std::string> candidates;
  for (const Op op : computing_ops()) candidates.emplace_back(op_row(op).name);
  for (const onnx::OperatorSupport& support : onnx::supported_operators()) {
    if (folded(support.op) == folded(name))
      return "the ONNX operator " + support.op + " becomes several ops, depending on its attributes; docs/reference/onnx.md says which";
    candidates.push_back(support.op);
  }
  const std::string composition = probes::composite_named(name);
  if (!composition.empty()) return "'" + composition + "' is no op, but a composition of several, which `assay probe` takes";
  return "no op is named " + name + meant(name, candidates) + "; `assay ops` lists them";
}

}  // namespace assay::cli
