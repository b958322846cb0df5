// `assay verify`: the answer for one property, with its certificate.
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/verify.h"
#include "cli/assay/codes.h"
#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/search_progress.h"
#include "cli/assay/verify_options.h"
#include "cli/assay/verify_text.h"

namespace assay::cli {
namespace {

constexpr double kOrderSeconds = 0.5;  // for two orders of summation that differ

// For a step that does not end in time: what is known of the run is copied, for its own thread still works on it.
void set_verify_last_words(const VerifyReport& report, const VerifyOptions& options,
                           std::shared_ptr<const queries::LastProgress> progress = nullptr) {
  set_last_words([copy = report, options, progress = std::move(progress)](const Rejection& why) {
    VerifyReport last = copy;
    if (progress) last.decision.progress = progress->get();
    last.options = &options;
    last.exit = kExitUndecided;
    last.total_seconds = wall_seconds();
    queries::interrupt(last.decision.result, why);
    if (options.json != "-") std::puts(search::word_of(last.decision.result.answer));
    std::fflush(stdout);
    if (isatty(STDERR_FILENO) != 0) std::fputs("\r\x1b[K", stderr);
    if (options.verbosity >= 0) std::fprintf(stderr, "%s\n", queries::sentence(last.decision.result).c_str());
    (void)write_json(options.json, to_json(last));
  });
}

Outcome<Done> decide(const VerifyOptions& options, search::Deadline deadline, const VerifySeconds& seconds, queries::LastProgress& last,
                     VerifyReport& report) {
  SearchProgress line(options.verbosity < 0);
  queries::DecisionRequest request{.search = search_options(options), .proof = options.proof, .scale = seconds.scale};
  request.start = search::Clock::now() - std::chrono::duration_cast<search::Clock::duration>(std::chrono::duration<double>(wall_seconds()));
  request.search.deadline = deadline;
  request.search.seconds = seconds.timeout;
  request.search.on_progress = [&line, &last](const search::Progress& progress) {
    line.show(progress);
    last.set(progress);
    set_progress(queries::progress_text(progress));
  };
  request.on_scale = [&line](const search::Progress& progress) { line.show(progress); };
  request.on_theorem = conclude;
  auto decided = queries::decide(report.problem, request, last);
  conclude();
  line.clear();
  if (!decided) return decided.rejection();
  report.decision = std::move(decided).value();
  report.why = report.decision.why;
  if (is_interrupted() && !report.decision.result.theorem) queries::interrupt(report.decision.result, interruption());
  return Done{};
}

int refuse_report(VerifyReport& report, const VerifyOptions& options, const Rejection& why) {
  report.why = why;
  report.is_refused = true;
  report.exit = exit_code(why.kind);
  report.total_seconds = wall_seconds();
  conclude();
  print_explained(why);
  return write_json(options.json, to_json(report)) ? report.exit : kExitUnwritten;
}

// A proof that was written makes room for what is left of it. The answer stands, and was printed.
void trim(const VerifyOptions& options, double seconds, search::Deadline deadline, const Loaded& loaded, queries::Decision& decision) {
  if (options.trim.empty() || !decision.proves() || decision.proof_bytes == 0) return;
  if (options.trim == "auto") seconds = decision.result.statistics.cpu_seconds;
  decision.trim = queries::trim_in_place(loaded, options.limits, options.proof, seconds, {deadline, interruption_token()});
  decision.proof_bytes = decision.trim->report.trimmed ? decision.trim->report.bytes_after : decision.proof_bytes;
}

}  // namespace

int verify(const VerifyOptions& options) {
  VerifyReport report;
  report.options = &options;
  report.proof = options.proof;
  LoadOptions load_options;
  load_options.semantics = options.semantics;
  load_options.limits = options.limits;
  VerifySeconds seconds;
  if (const std::string wrong = mistake(options, report, load_options, seconds); !wrong.empty()) return usage("verify", wrong);
  if (const auto why = unsupported(options)) return refuse_report(report, options, *why);
  const search::Deadline deadline = seconds.timeout > 0 ? search::Deadline::in(seconds.timeout - wall_seconds()) : search::Deadline();
  set_progress("reading the files");
  set_verify_last_words(report, options);
  auto loaded = load_files(report.model, report.property, load_options);
  report.load_seconds = wall_seconds();
  if (!loaded) return refuse_report(report, options, loaded.rejection());
  report.problem = loaded.value().problem;
  report.notes = loaded.value().notes;
  set_progress("no bound yet");
  const auto progress = std::make_shared<queries::LastProgress>();
  set_verify_last_words(report, options, progress);
  if (auto done = decide(options, deadline, seconds, *progress, report); !done) return refuse_report(report, options, done.rejection());
  queries::Decision& decision = report.decision;
  const bool was_interrupted = is_interrupted() && !decision.result.theorem;
  report.exit = report.why ? kExitUnwritten : was_interrupted ? kExitUndecided : exit_for(report, options);
  if (options.json != "-") print_answer(report, loaded.value());
  trim(options, seconds.trim, deadline, loaded.value(), decision);
  report.total_seconds = wall_seconds();
  if (options.verbosity >= 0 || !options.json.empty()) queries::add_remarks(*report.problem, kOrderSeconds, decision);
  if (options.verbosity >= 0) print_summary(report, options);
  if (report.why) print_explained(*report.why);
  if (!write_statement(options.statement, *report.problem)) report.exit = kExitUnwritten;
  return write_json(options.json, to_json(report)) ? report.exit : kExitUnwritten;
}

}  // namespace assay::cli
