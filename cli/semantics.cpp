#include "cli/semantics.h"

#include <utility>
#include <vector>

#include "cli/nearest.h"
#include "kernel/floats/math_tables.h"
#include "kernel/floats/named_models.h"

namespace assay::cli {
namespace {

// "float32:cuda" for a bare "cuda", too.
std::string meant_semantics(const std::string& text) {
  std::vector<std::string> whole{"real", "float32", "float64", "bfloat16", "float16"}, names;
  for (const floats::NamedModel& one : floats::named_models()) {
    whole.push_back("float32:" + std::string(one.name));
    names.emplace_back(one.name);
  }
  if (std::string advice = meant(text, whole); !advice.empty()) return advice;
  const std::string name = nearest(text, names);
  return name.empty() ? "" : "; did you mean float32:" + name + "?";
}

}  // namespace

Outcome<ExecutionModel> parse_semantics(const std::string& text) {
  auto named = floats::semantics_named(text);
  if (!named) {
    Rejection why = named.rejection();
    if (why.code == "semantics.name") why.found += meant_semantics(text);
    return why;
  }
  const std::string& table = named.value().math_table;
  if (table.empty() || floats::find_math_table(table) != nullptr) return named;
  std::vector<std::string> tables;
  std::string list;
  for (const floats::MathTable& one : floats::math_tables()) {
    tables.emplace_back(one.name);
    list += (list.empty() ? "" : ", ") + tables.back();
  }
  return Rejection{Rejection::Kind::malformed,
                   "semantics.table",
                   "--semantics",
                   "a known table of math functions, math=TABLE, TABLE being none or one of " + list,
                   "'" + table + "'" + meant(table, tables),
                   "docs/contracts/math-tables.md says what each of them holds"};
}

std::string semantics_problem(const Rejection& why) {
  return why.required + ", not " + why.found + (why.found.ends_with('?') ? " " : "; ") + why.advice;
}

}  // namespace assay::cli
