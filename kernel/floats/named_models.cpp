// The named execution models, as data.

#include "kernel/floats/named_models.h"

#include <vector>

namespace assay::floats {
namespace {

ExecutionModel any_order(std::string_view table) {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  model.math_table = table;
  return model;
}

std::vector<NamedModel> models() {
  ExecutionModel plain = any_order("any-library"), runtime = any_order("onnxruntime"), torch = any_order("pytorch-cpu"),
                 cuda = any_order("cuda-13"), jax = any_order("xla-cpu");
  jax.flush_operands = jax.flush_results = true;
  runtime.moments = ExecutionModel::Moments::one_or_two_pass;
  runtime.rewrites = ExecutionModel::Rewrites::algebraic;
  ExecutionModel tf32 = cuda, bfloat16 = plain, float16 = plain, float64 = plain;
  tf32.input_rounding = ExecutionModel::InputRounding::tf32;
  bfloat16.storage = ExecutionModel::Storage::bfloat16;
  float16.storage = ExecutionModel::Storage::binary16;
  float64.format = ExecutionModel::Format::binary64;
  return {
      {"any-order", "float32", "sums in any order, fused or not; functions within 4 units of the last place", plain},
      {"onnxruntime", "float32",
       "ONNX Runtime 1.21 to 1.32 on CPUs, with its rewrites of sums and products; moments in one pass or in two; functions as measured",
       runtime},
      {"pytorch-cpu", "float32", "PyTorch on CPUs; functions as SLEEF documents them, but for what was measured otherwise", torch},
      {"jax-cpu", "float32", "JAX on CPUs, where XLA replaces subnormal numbers by zero; functions as measured", jax},
      {"cuda", "float32", "CUDA with cuBLAS in pedantic mode; functions as the CUDA 13 tables say", cuda},
      {"tf32", "float32", "the same with factors of products rounded to TF32", tf32},
      {"bfloat16", "float32", "float32 arithmetic, every stored value rounded to bfloat16", bfloat16},
      {"float16", "float32", "float32 arithmetic, every stored value rounded to float16", float16},
      {"float64", "float64", "as any-order, in float64", float64},
  };
}

}  // namespace

std::span<const NamedModel> named_models() {
  static const std::vector<NamedModel> kModels = models();
  return kModels;
}

Outcome<ExecutionModel> semantics_named(std::string_view text) {
  if (text == "real") return ExecutionModel{};
  constexpr std::string_view kPrefix = "float32:";
  std::string_view name = text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
  if (text == "float32") name = "any-order";
  std::string names;
  for (const NamedModel& one : named_models()) {
    if (one.name == name &&
        (text == "float32" || text.starts_with(kPrefix) || one.name == "float64" || one.name == "bfloat16" || one.name == "float16"))
      return one.model;
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  // A theorem assumes any order of summation unless the text excludes some.
  if (name.starts_with("binary32") || name.starts_with("binary64")) {
    const bool says_order = name.find(" accumulator=") != name.npos || name.find(" tree_height=") != name.npos;
    return parse_execution_model(std::string(name) + (says_order ? "" : " accumulator=any_order"));
  }
  return Rejection{Rejection::Kind::malformed,
                   "semantics.name",
                   "--semantics",
                   "real, float32, float64, bfloat16, float16 or float32:MODEL, MODEL being one of " + names + " or the fields of a model",
                   "'" + std::string(text) + "'",
                   "docs/explanation/float32.md says what each of them means"};
}

std::string semantics_name(const ExecutionModel& model) {
  if (model.kind == ExecutionModel::Kind::real) return "real";
  for (const NamedModel& one : named_models()) {
    if (!(one.model == model)) continue;
    const bool alone = one.name == "float64" || one.name == "bfloat16" || one.name == "float16";
    return one.name == "any-order" ? "float32" : (alone ? "" : "float32:") + std::string(one.name);
  }
  return short_spelling(model);
}

}  // namespace assay::floats
