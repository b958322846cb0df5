// The rows of the math tables, by library.

#include "kernel/executions/math_tables.h"

#include <array>

#include "kernel/executions/tables/any_library.h"
#include "kernel/executions/tables/correctly_rounded.h"
#include "kernel/executions/tables/cuda_13.h"
#include "kernel/executions/tables/cuda_13_fast.h"
#include "kernel/executions/tables/glibc_2_36.h"
#include "kernel/executions/tables/onnxruntime.h"
#include "kernel/executions/tables/pytorch_cpu.h"
#include "kernel/executions/tables/sleef.h"

namespace assay::executions {

namespace {

constexpr std::array<MathTable, 8> kTables = {{
    {"any-library", tables::kAnyLibrarySource, tables::kAnyLibrary},
    {"correctly-rounded", tables::kCorrectlyRoundedSource, tables::kCorrectlyRounded},
    {"cuda-13", tables::kCuda13Source, tables::kCuda13},
    {"cuda-13-fast", tables::kCuda13FastSource, tables::kCuda13Fast},
    {"glibc-2.36", tables::kGlibc236Source, tables::kGlibc236},
    {"onnxruntime", tables::kOnnxRuntimeSource, tables::kOnnxRuntime},
    {"pytorch-cpu", tables::kPytorchCpuSource, tables::kPytorchCpu},
    {"sleef-u10", tables::kSleefU10Source, tables::kSleefU10},
}};

}  // namespace

std::span<const MathTable> math_tables() { return kTables; }

const MathTable* find_math_table(std::string_view name) {
  for (const MathTable& table : kTables) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

}  // namespace assay::executions
