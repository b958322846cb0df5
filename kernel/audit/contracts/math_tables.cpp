// The rows of the math tables, by library.

#include "kernel/audit/contracts/math_tables.h"

#include <array>

#include "kernel/audit/contracts/tables/correctly_rounded.h"
#include "kernel/audit/contracts/tables/cuda_13.h"
#include "kernel/audit/contracts/tables/cuda_13_fast.h"
#include "kernel/audit/contracts/tables/glibc_2_36.h"
#include "kernel/audit/contracts/tables/sleef.h"

namespace assay::contracts {

namespace {

constexpr std::array<MathTable, 5> kTables = {{
    {"correctly-rounded", tables::kCorrectlyRoundedSource, tables::kCorrectlyRounded},
    {"cuda-13", tables::kCuda13Source, tables::kCuda13},
    {"cuda-13-fast", tables::kCuda13FastSource, tables::kCuda13Fast},
    {"glibc-2.36", tables::kGlibc236Source, tables::kGlibc236},
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

}  // namespace assay::contracts
