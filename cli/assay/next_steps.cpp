#include "cli/assay/next_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "app/queries/verify.h"
#include "certificates/format/format.h"
#include "semantics/statement/statement_text.h"

namespace assay::cli {
namespace {

constexpr std::size_t kMostCases = 3, kMostRows = 3, kMostBytes = 200;  // that are shown, the bytes of each row
constexpr double kLeastTimeout = 60, kMoreTime = 10;                    // seconds; times what the run took

// Of Y_i <= Y_j, the comparison of two scores: "output j may reach output i". Other rows say it themselves.
std::string of_classes(const logic::Problem& problem, const std::vector<statement::Row>& rows) {
  if (rows.size() != 1 || rows[0].terms.size() != 2 || rows[0].bound != Rational(0) || problem.graph().outputs.size() != 1) return "";
  const std::vector<statement::Term>& terms = rows[0].terms;
  const bool first = terms[0].coefficient == Rational(1);
  const statement::Term &low = terms[first ? 0 : 1], &high = terms[first ? 1 : 0];
  const auto is_output = [](const statement::Term& one) { return one.variable.side == statement::Variable::Side::output; };
  if (low.coefficient != Rational(1) || high.coefficient != Rational(-1) || !is_output(low) || !is_output(high)) return "";
  return ": output " + std::to_string(high.variable.element) + " may " + (rows[0].strict ? "exceed" : "reach") + " output " +
         std::to_string(low.variable.element);
}

std::string case_words(const logic::Problem& problem, std::uint32_t index) {
  const std::vector<statement::Row>& rows = problem.statement().property.cases[index].rows;
  std::string text;
  for (std::size_t k = 0; k < std::min(rows.size(), kMostRows); ++k)
    text += (k == 0 ? "" : " and ") + statement::row_text(problem.graph(), rows[k]).substr(0, kMostBytes);
  if (rows.size() > kMostRows) text += " and " + std::to_string(rows.size() - kMostRows) + " more";
  return text.empty() ? "every point" : text + of_classes(problem, rows);
}

std::string command(const VerifyReport& report, const VerifyOptions& options, const char* verb, const std::string& rest) {
  std::string text = std::string("assay ") + verb + " " + report.model + " " + report.property;
  if (options.branching != "auto") text += " --branching " + options.branching;
  text += options.limits.edits.words();
  const std::string semantics = semantics_named(report, options);
  return text + (semantics.empty() ? "" : " --semantics '" + semantics + "'") + rest;
}

// The path of a page, such as docs/how-to/unknown.md, in the installation or the source tree of this program; its name if it is in neither.
std::string document(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::path above = fs::read_symlink("/proc/self/exe", error).parent_path(); above.has_relative_path(); above = above.parent_path()) {
    for (const fs::path& root : {above / "share/doc/assay", above})
      if (fs::exists(root / name, error)) return (root / name).string();
  }
  return name;
}

// Commands that may decide the property, or how much of it can be proved.
std::string steps_text(const VerifyReport& report, const VerifyOptions& options) {
  const search::Result& result = report.decision.result;
  const double more = std::max(kLeastTimeout, std::ceil(kMoreTime * result.statistics.wall_seconds));
  const std::string limit = " --timeout " + std::to_string(static_cast<long long>(more));
  const std::string proof = report.proof.empty() ? "" : " --proof " + report.proof;
  const bool at_point = result.reason.find(search::kWideAtPoint) != std::string::npos;  // more time does not decide it
  const bool no_neuron = result.reason.find(search::kNoNeuronLeft) != std::string::npos;
  VerifyOptions other = options;
  other.branching = queries::other_branching(result);
  const auto by_other = [&](const char* how) {
    return "  " + command(report, other, "verify", (no_neuron ? "" : limit) + proof) + "   (" + how + ")\n";
  };
  std::string text = "next, one of:\n";
  if (other.branching == "input") text += by_other("boxes are split in place of neurons");
  if (!at_point && !no_neuron) text += "  " + command(report, options, "verify", limit + proof) + "   (more time)\n";
  if (other.branching == "relu") text += by_other("neurons are split in place of boxes");
  if (options.scale.empty())
    text += "  " + command(report, options, "verify", " --timeout 60 --scale 30" + proof) +
            "   (the largest share of the box that can be proved)\n";
  if (at_point && report.problem->floating()) {
    other = options;
    other.semantics.reset();
    return text + "  " + command(report, other, "verify", " --semantics real" + proof) + "   (exact arithmetic, without rounding)\n";
  }
  if (at_point)
    return text + "  a property with a smaller box, or with a bound that leaves a margin: the network lies on the edge of this one\n";
  if (no_neuron) return text;
  return text + "  " + command(report, options, "split", " --into 8 -o cubes") + "   (one proof on several machines)\n";
}

}  // namespace

std::string semantics_named(const VerifyReport& report, const VerifyOptions& options) {
  if (!options.semantics) return "";
  return report.problem->floating() ? certificate::name_of(*options.semantics) : "real";
}

std::string undecided_text(const VerifyReport& report, const VerifyOptions& options) {
  const search::Result& result = report.decision.result;
  std::string text;
  const std::size_t open = result.unfinished ? result.unfinished->cases.size() : 0;
  for (std::size_t k = 0; k < std::min(open, kMostCases); ++k) {
    const std::uint32_t index = result.unfinished->cases[k].case_index;
    text += "not excluded: case " + std::to_string(index) + ", " + case_words(*report.problem, index) + "\n";
  }
  if (open > kMostCases) text += "not excluded: " + counted(open - kMostCases, "further case") + "; --json lists all\n";
  const search::Statistics& s = result.statistics;
  text += "tried: " + counted(s.attack_steps, "step") + " of attack, " + counted(s.nodes, "node") +
          " of branch and bound; -v lists the stages\n";
  return text + steps_text(report, options) + "more ways: " + document("docs/how-to/unknown.md") + "\n";
}

const char* unscaled_text(search::Answer answer) {
  return answer == search::Answer::satisfiable ? "scale: not searched, because the input above violates the property in its box; a "
                                                 "property with a smaller box may hold: halve "
                                                 "its radius until the answer is unsat\n"
                                               : "scale: 1, because the property holds in its whole box\n";
}

}  // namespace assay::cli
