#include "cli/assay/verify_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>

#include "api/assay/check.h"
#include "api/check/vacuity.h"
#include "app/queries/decision.h"
#include "app/queries/verify.h"
#include "cli/assay/next_steps.h"
#include "semantics/numbers/interval.h"
#include "semantics/statement/statement_text.h"

namespace assay::cli {
namespace {

std::string assignment(const logic::Theorem& theorem, const vnnlib::PropertyHeader& property) {
  std::vector<double> outputs;
  for (const Interval& output : std::span(theorem.outputs()).first(property.network_outputs)) outputs.push_back(output.midpoint());
  const std::vector<Rational>& inputs = theorem.witness().inputs;
  return property.version.starts_with("1") ? vnnlib::write_assignment_v1(inputs, outputs)
                                           : vnnlib::write_assignment_v2(property, inputs, outputs);
}

// "closed: 43.2 % of the tree, about 12 s more at the latest pace, which tends to fall; undecided: case 0 (bound -0.0123)"
std::string left_text(const search::Unfinished& unfinished) {
  constexpr std::size_t kMost = 8;
  std::array<char, 80> piece{};
  constexpr double kLeastOpen = 0.001;  // with less, the share would be printed as all of the tree
  (void)std::snprintf(piece.data(), piece.size(), "closed: %.3g %% of the tree", 100 * std::min(unfinished.closed_share, 1 - kLeastOpen));
  std::string text = piece.data();
  if (const auto left = queries::seconds_left(unfinished)) {
    (void)std::snprintf(piece.data(), piece.size(), ", about %.2g s more at the latest pace, which tends to fall", *left);
    text += piece.data();
  }
  if (!unfinished.cases.empty()) text += "; undecided:";
  for (std::size_t k = 0; k < std::min(kMost, unfinished.cases.size()); ++k) {
    (void)std::snprintf(piece.data(), piece.size(), "%s case %u (bound %.4g)", k == 0 ? "" : ",", unfinished.cases[k].case_index,
                        unfinished.cases[k].bound);
    text += piece.data();
  }
  return text + (unfinished.cases.size() > kMost ? " and " + std::to_string(unfinished.cases.size() - kMost) + " more" : "");
}

// The largest scale that is proved, and how to check it.
std::string scaled_text(const queries::Scaled& scaled, const std::string& proof) {
  std::array<char, 160> tries{};
  (void)std::snprintf(tries.data(), tries.size(), " (%zu tries in %.1f s)\n", scaled.tries, scaled.seconds);
  if (!scaled.problem) return std::string("scale: no multiple of 0.001 of the box was proved") + tries.data();
  std::string text = "scale: the property HOLDS in " + scaled.scale.to_decimal() +
                     " of the box, each side shrunk to that share around its middle; above it nothing is known" + tries.data();
  if (scaled.bytes > 0)
    text += "certificate of that: " + queries::scaled_proof(proof) + ", " + std::to_string(scaled.bytes) +
            " bytes; check it with: assay-check " + queries::scaled_statement(proof) + " " + queries::scaled_proof(proof) + "\n";
  return text;
}

}  // namespace

void print_answer(const VerifyReport& report, const Loaded& loaded) {
  const search::Result& result = report.decision.result;
  std::printf("%s\n", search::word_of(result.answer));
  if (result.answer == search::Answer::satisfiable) std::fputs(assignment(*result.theorem, loaded.property).c_str(), stdout);
  if (const std::string why = result.theorem ? check::vacuity(*result.theorem) : ""; !why.empty())
    std::printf("vacuous: %s\n", why.c_str());
  std::fflush(stdout);
}

void print_summary(const VerifyReport& report, const VerifyOptions& options) {
  const queries::Decision& decision = report.decision;
  const search::Result& result = decision.result;
  std::fprintf(stderr, "%s\n", queries::sentence(result).c_str());
  if (result.unfinished) std::fprintf(stderr, "%s\n", left_text(*result.unfinished).c_str());
  if (!result.theorem && report.problem) std::fputs(undecided_text(report, options).c_str(), stderr);
  if (decision.scaled) std::fputs(scaled_text(*decision.scaled, report.proof).c_str(), stderr);
  if (result.theorem && !options.scale.empty()) std::fputs(unscaled_text(result.answer), stderr);
  const bool full = is_full(options.statement);
  if (result.theorem)
    std::fputs(check::theorem_text(*result.theorem, full).c_str(), stderr);
  else if (!options.statement.empty())
    std::fputs(
        statement::statement_text(report.problem->statement(), report.problem->graph_digest(), report.problem->digest(), full).c_str(),
        stderr);
  print_notes(stderr, report.notes);
  for (const std::string& line : result.nearest ? lines_of(decision.orders) : std::vector<std::string>())
    std::fprintf(stderr, "  %s\n", line.c_str());
  if (decision.float_run) {
    const std::string files = report.model + " " + report.property;
    const std::string again =
        (decision.proof_bytes == 0 ? "assay verify " + files : "assay check " + files + " " + report.proof) + options.limits.edits.words();
    std::fprintf(stderr, "float32: %s\n", to_text(*decision.float_run).c_str());
    std::fprintf(stderr, "float32 by ONNX Runtime: %s --json | assay-replay-witness -\n", again.c_str());
  }
  std::fputs("\n", stderr);
  const search::Statistics& s = result.statistics;
  std::fprintf(stderr, "search: %.3f s (%.3f s CPU), %s, %s\n", s.wall_seconds, s.cpu_seconds, counted(s.nodes, "node").c_str(),
               (s.leaves == 1 ? std::string("1 leaf") : std::to_string(s.leaves) + " leaves").c_str());
  if (options.verbosity > 0)
    std::fprintf(stderr, "reading %.3f s, attack %.3f s (%llu steps), root bounds %.3f s, branching %.3f s\n", report.load_seconds,
                 s.attack_seconds, static_cast<unsigned long long>(s.attack_steps), s.root_seconds, s.branching_seconds);
  if (options.verbosity > 0 && !s.stages.empty()) std::fprintf(stderr, "%s\n", queries::stages_text(s.stages).c_str());
  if (decision.trim && decision.trim->report.trimmed)
    std::fprintf(stderr, "trimmed from %llu bytes in %.3f s of CPU time\n",
                 static_cast<unsigned long long>(decision.trim->report.bytes_before), decision.trim->seconds);
  else if (decision.trim)
    std::fprintf(stderr, "not trimmed: %s\n", decision.trim->report.reason.c_str());
  if (decision.proof_bytes > 0)
    std::fprintf(
        stderr, "%s\n",
        queries::certificate_line({report.model, report.property, report.proof, semantics_named(report, options), options.limits.edits},
                                  decision.proof_bytes)
            .c_str());
  else if (!report.proof.empty() && !result.theorem)
    std::fprintf(stderr, "certificate: none, because nothing was decided; %s was not written\n", report.proof.c_str());
}

int exit_for(const VerifyReport& report, const VerifyOptions& options) {
  if (options.expect.empty()) return kExitYes;
  const search::Result& result = report.decision.result;
  if (result.answer != search::answer_named(options.expect)) {
    std::fprintf(stderr, "assay verify: --expect %s is not met: the answer is %s\n", options.expect.c_str(),
                 search::word_of(result.answer));
    return result.theorem ? kExitNo : kExitUndecided;
  }
  const std::string vacuous = check::vacuity(*result.theorem);
  if (vacuous.empty() || options.allow_vacuous) return kExitYes;
  std::fprintf(
      stderr,
      "assay verify: --expect unsat is not met: the answer is vacuous, since %s; mend the property, or allow it with --allow-vacuous\n",
      vacuous.c_str());
  return kExitNo;
}

}  // namespace assay::cli
