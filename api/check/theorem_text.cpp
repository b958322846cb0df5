// The words of a theorem: its claim, the statement, the assumptions.
#include <algorithm>
#include <vector>

#include "api/assay/check.h"
#include "semantics/statement/statement_text.h"

namespace assay::check {
namespace {

// "witness: X_0 = 0.5, X_1 = 0.107", exact numbers of the inputs in their order: 16 of them unless `full`, then how many more there are.
std::string witness_text(const std::vector<Rational>& inputs, bool full) {
  constexpr std::size_t kMost = 16;
  const std::size_t shown = full ? inputs.size() : std::min(kMost, inputs.size());
  std::string text = "witness:";
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? " X_" : ", X_") + std::to_string(i) + " = " + inputs[i].to_decimal();
  return text + (shown < inputs.size() ? " and " + std::to_string(inputs.size() - shown) + " more inputs" : "") + "\n";
}

}  // namespace

std::string theorem_text(const logic::Theorem& theorem, bool full) {
  std::string text = "theorem: ";
  if (theorem.kind() == logic::Theorem::Kind::satisfiable)
    text += "sat: case " + std::to_string(theorem.witness().case_index) + " holds at the witness\n";
  else if (theorem.vacuous())
    text += "unsat (vacuous): no case has a point, because the input box is empty\n";
  else
    text += "unsat: no point of any case's input box satisfies its rows\n";
  text += statement_text(theorem.problem()->statement(), theorem.problem()->graph_digest(), theorem.problem()->digest(), full);
  for (const std::string& assumption : theorem.assumptions()) text += "assumption: " + assumption + "\n";
  if (theorem.kind() == logic::Theorem::Kind::satisfiable) text += witness_text(theorem.witness().inputs, full);
  return text;
}

}  // namespace assay::check
