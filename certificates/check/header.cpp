// check_header(): compares the statement's digest and the semantics' name in a certificate's header with the problem.

#include <string>
#include <utility>

#include "certificates/check/part.h"
#include "certificates/format/format.h"
#include "semantics/printable.h"

namespace assay::certificate {
namespace {

// A certificate about float executions also proves its statement over the reals: its claims hold for every point of the
// box, and steps that bound values with rounding errors also bound them without. So its steps may be replayed over the
// reals. Its digest is that of the same graph and property under its own semantics, which may have several names.
bool is_same_under(const std::string& semantics, const Header& header, const logic::Problem& problem) {
  if (problem.floating()) return header.digest == problem.digest();
  auto model = semantics.starts_with("binary") ? parse_execution_model(semantics) : floats::semantics_named(semantics);
  if (!model || model.value().kind == ExecutionModel::Kind::real) return false;
  statement::Statement statement = problem.statement();
  statement.semantics = std::move(model).value();
  return header.digest == statement::statement_digest(statement);
}

std::string advice_for(const std::string& found, const std::string& asked) {
  const auto option = [](const std::string& name) {
    return "--semantics " + (name == to_string(ExecutionModel()) ? "real" : "'" + printable(name, kMaxNameBytes) + "'");
  };
  return "check it with " + option(found) + ", or prove the property again with assay verify " + option(asked);
}

}  // namespace

Outcome<Done> check_header(const Header& header, const logic::Problem& problem) {
  const std::string semantics = name_of(problem.statement().semantics);
  if (header.semantics != semantics && is_same_under(header.semantics, header, problem)) return Done{};
  if (header.semantics != semantics)
    return Rejection{Rejection::Kind::declined,          "certificate.semantics",     "header",
                     "a certificate about " + semantics, printable(header.semantics), advice_for(header.semantics, semantics)};
  if (header.digest != problem.digest())
    return Rejection{
        Rejection::Kind::rejected,
        "certificate.digest",
        "header",
        "statement " + statement::to_hex(problem.digest()),
        "statement " + statement::to_hex(header.digest),
        "use the model and property that the certificate was made for; the digest covers the model, the boxes, the rows and the order "
        "of cases, and does not say which of them changed: compare the statements that `assay statement` writes"};
  return Done{};
}

}  // namespace assay::certificate
