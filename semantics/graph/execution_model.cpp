#include "semantics/graph/execution_model.h"

namespace assay {

std::string to_string(const ExecutionModel& model) {
  if (model.kind == ExecutionModel::Kind::real) return "real arithmetic";
  std::string text = model.format == ExecutionModel::Format::binary32 ? "binary32" : "binary64";
  text += " arithmetic, round to nearest even";
  if (model.flush_operands) text += ", subnormal operands may read as zero";
  if (model.flush_results) text += ", subnormal results may be zero";
  text += model.fused_multiply_add ? ", fused multiply-add allowed" : ", no fused multiply-add";
  text += model.accumulator == ExecutionModel::Accumulator::any_order ? ", sums in any order" : ", sums from left to right";
  text += model.bias_in_product ? ", bias is a term of its product" : ", bias is added after its product";
  text += model.math_table.empty() ? ", no math library table" : ", math library table '" + model.math_table + "'";
  return text;
}

}  // namespace assay
