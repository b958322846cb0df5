#include "cli/assay/next_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "certificates/format/format.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr std::size_t kMostCases = 3, kMostRows = 3, kMostTerms = 6;  // that are shown
constexpr double kLeastTimeout = 60, kMoreTime = 10;                  // seconds; times what the run took

std::string variable(const Graph& graph, const kernel::Variable& v) {
  const bool is_input = v.side == kernel::Variable::Side::input;
  const std::vector<std::string>& names = is_input ? graph.input_names : graph.output_names;
  return (names.size() == 1 ? std::string(is_input ? "X" : "Y") : printable(names[v.tensor])) + "_" + std::to_string(v.element);
}

// "Y_1 + 2 Y_2" of the terms of one sign, with coefficients above 0.
std::string side(const Graph& graph, const kernel::Row& row, int sign) {
  std::string text;
  std::size_t terms = 0;
  for (const kernel::Term& term : row.terms) {
    if (term.coefficient.sign() != sign) continue;
    if (++terms > kMostTerms) return text + " + ...";
    const Rational magnitude = sign < 0 ? -term.coefficient : term.coefficient;
    text += text.empty() ? "" : " + ";
    if (!(magnitude == Rational(1))) text += magnitude.to_decimal() + " ";
    text += variable(graph, term.variable);
  }
  return text;
}

// "Y_8 <= Y_3", "Y_0 >= 0.25": no term with a minus.
std::string row_words(const Graph& graph, const kernel::Row& row) {
  const std::string less = row.strict ? " < " : " <= ", more = row.strict ? " > " : " >= ";
  const std::string left = side(graph, row, 1), right = side(graph, row, -1);
  if (left.empty() && !right.empty()) return right + more + (-row.bound).to_decimal();
  if (right.empty()) return (left.empty() ? "0" : left) + less + row.bound.to_decimal();
  const int sign = row.bound.sign();
  if (sign == 0) return left + less + right;
  return left + less + right + (sign < 0 ? " - " + (-row.bound).to_decimal() : " + " + row.bound.to_decimal());
}

std::string case_words(const kernel::Problem& problem, std::uint32_t index) {
  const std::vector<kernel::Row>& rows = problem.statement().property.cases[index].rows;
  std::string text;
  for (std::size_t k = 0; k < std::min(rows.size(), kMostRows); ++k) text += (k == 0 ? "" : " and ") + row_words(problem.graph(), rows[k]);
  if (rows.size() > kMostRows) text += " and " + std::to_string(rows.size() - kMostRows) + " more";
  return text.empty() ? "every point" : text;
}

std::string command(const VerifyReport& report, const VerifyOptions& options, const char* verb, const std::string& rest) {
  std::string text = std::string("assay ") + verb + " " + report.model + " " + report.property;
  if (options.semantics) text += " --semantics '" + (report.problem->floating() ? certificate::name_of(*options.semantics) : "real") + "'";
  return text + rest;
}

}  // namespace

std::string undecided_text(const VerifyReport& report, const VerifyOptions& options) {
  const search::Result& result = report.decision.result;
  std::string text;
  const std::size_t open = result.unfinished ? result.unfinished->cases.size() : 0;
  for (std::size_t k = 0; k < std::min(open, kMostCases); ++k) {
    const std::uint32_t index = result.unfinished->cases[k].case_index;
    text += "not excluded: case " + std::to_string(index) + ", " + case_words(*report.problem, index) + "\n";
  }
  const search::Statistics& s = result.statistics;
  text += "tried: " + counted(s.attack_steps, "step") + " of attack, " + counted(s.nodes, "node") +
          " of branch and bound; -v lists the stages\n";
  const auto seconds = static_cast<long long>(std::ceil(std::max(kLeastTimeout, kMoreTime * report.total_seconds)));
  const std::string limit = " --timeout " + std::to_string(seconds);
  const std::string proof = report.proof.empty() ? "" : " --proof " + report.proof;
  text += "next, one of:\n  " + command(report, options, "verify", limit + proof) + "   (more time)\n";
  if (options.scale.empty())
    text += "  " + command(report, options, "verify", " --timeout 60 --scale 30" + proof) +
            "   (the largest share of the box that can be proved)\n";
  return text + "  " + command(report, options, "split", " --into 8 -o cubes") +
         "   (one proof on several machines)\ndocs/how-to/unknown.md has more ways\n";
}

}  // namespace assay::cli
