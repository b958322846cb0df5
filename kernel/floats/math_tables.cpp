// The rows of the math tables, by library.

#include "kernel/floats/math_tables.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernel/floats/tables/any_library.h"
#include "kernel/floats/tables/correctly_rounded.h"
#include "kernel/floats/tables/cuda_13.h"
#include "kernel/floats/tables/cuda_13_fast.h"
#include "kernel/floats/tables/glibc_2_36.h"
#include "kernel/floats/tables/onnxruntime.h"
#include "kernel/floats/tables/pytorch_cpu.h"
#include "kernel/floats/tables/pytorch_cpu_attention.h"
#include "kernel/floats/tables/sleef.h"
#include "kernel/floats/tables/xla_cpu.h"
#include "semantics/numbers/directed.h"

namespace assay::floats {

namespace {

constexpr std::array<MathTable, 10> kTables = {{
    {"any-library", tables::kAnyLibrarySource, tables::kAnyLibrary},
    {"correctly-rounded", tables::kCorrectlyRoundedSource, tables::kCorrectlyRounded},
    {"cuda-13", tables::kCuda13Source, tables::kCuda13},
    {"cuda-13-fast", tables::kCuda13FastSource, tables::kCuda13Fast},
    {"glibc-2.36", tables::kGlibc236Source, tables::kGlibc236},
    {"onnxruntime", tables::kOnnxRuntimeSource, tables::kOnnxRuntime},
    {"pytorch-cpu", tables::kPytorchCpuSource, tables::kPytorchCpu},
    {"pytorch-cpu-attention", tables::kPytorchCpuAttentionSource, tables::kPytorchCpuAttention},
    {"sleef-u10", tables::kSleefU10Source, tables::kSleefU10},
    {"xla-cpu", tables::kXlaCpuSource, tables::kXlaCpu},
}};

constexpr std::array<std::pair<Function, std::string_view>, 20> kNames = {{
    {Function::exp, "exp"},     {Function::log, "log"},     {Function::tanh, "tanh"},   {Function::sigmoid, "sigmoid"},
    {Function::erf, "erf"},     {Function::sin, "sin"},     {Function::cos, "cos"},     {Function::tan, "tan"},
    {Function::asin, "asin"},   {Function::acos, "acos"},   {Function::atan, "atan"},   {Function::sinh, "sinh"},
    {Function::cosh, "cosh"},   {Function::asinh, "asinh"}, {Function::acosh, "acosh"}, {Function::atanh, "atanh"},
    {Function::expm1, "expm1"}, {Function::log1p, "log1p"}, {Function::erfc, "erfc"},   {Function::softplus, "softplus"},
}};

}  // namespace

std::string_view name_of(Function f) {
  return std::ranges::find_if(kNames, [f](const auto& entry) { return entry.first == f; })->second;
}

std::span<const MathTable> math_tables() { return kTables; }

const MathTable* find_math_table(std::string_view name) {
  for (const MathTable& table : kTables) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

double error_of_weights(std::string_view table, Format format, double extent) {
  const MathTable* found = find_math_table(table);
  for (const MathRow& row : found == nullptr ? std::span<const MathRow>() : found->rows) {
    if (row.function == "weights" && row.format == format) return add_up(row.bound, mul_up(row.slope, extent));
  }
  return 0;
}

}  // namespace assay::floats
