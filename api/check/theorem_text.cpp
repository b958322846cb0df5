// The words of a theorem: its claim, the statement, the assumptions.
#include <vector>

#include "api/assay/check.h"
#include "semantics/statement/statement_text.h"
#include "semantics/statement/words.h"

namespace assay::check {
namespace {

// "witness: X_0 = 0.5, X_1 = 0.107": all coordinates if `full`.
std::string witness_text(const std::vector<Rational>& inputs, bool full) {
  return "witness: " + statement::point_text(inputs, full ? inputs.size() : statement::kShownInputs) + "\n";
}

}  // namespace

std::string theorem_text(const logic::Theorem& theorem, bool full) {
  std::string text = "theorem: ";
  if (theorem.kind() == logic::Theorem::Kind::satisfiable)
    text += "sat: case " + std::to_string(theorem.witness().case_index) + " holds at the witness\n";
  else if (theorem.vacuous())
    text += "unsat (vacuous): no case has a point, because the input box is empty\n";
  else
    text += "unsat: no case occurs: no input in the box of a case satisfies its rows\n";
  text += statement_text(theorem.problem()->statement(), theorem.problem()->graph_digest(), theorem.problem()->digest(), full);
  for (const std::string& assumption : theorem.assumptions()) text += "assumption: " + assumption + "\n";
  if (theorem.kind() == logic::Theorem::Kind::satisfiable) text += witness_text(theorem.witness().inputs, full);
  return text;
}

}  // namespace assay::check
