// `assay verify`: the answer for one property, with its certificate.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/verify.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/search_progress.h"
#include "cli/assay/verify_text.h"

namespace assay::cli {
namespace {

constexpr double kOrderSeconds = 0.5;  // for two orders of summation that differ

// The times of the command line; 0: none.
struct Seconds {
  double timeout = 0, scale = 0, trim = 0;
};

int usage(const std::string& what) {
  std::fprintf(stderr, "assay verify: %s\nRun `assay verify --help` for the command line.\n", what.c_str());
  return kExitUsage;
}

bool is_model(const std::string& path) { return path.ends_with(".onnx") || path.ends_with(".onnx.gz"); }

// Model, property and network name from the two forms of the command line; a usage message if they do not fit.
std::string find_files(const VerifyOptions& options, VerifyReport& report, LoadOptions& load_options) {
  if (options.networks.empty()) {
    if (options.files.size() != 2) return "give MODEL.onnx PROPERTY.vnnlib, or QUERY --network [NAME=]FILE";
    report.model = options.files[0];
    report.property = options.files[1];
    if (is_model(report.property) && !is_model(report.model))
      return "the model comes first: assay verify " + report.property + " " + report.model;
    return "";
  }
  if (options.files.size() != 1) return "with --network, give one QUERY";
  report.property = options.files[0];
  const std::string& network = options.networks[0];
  const std::size_t equals = network.find('=');
  report.model = equals == std::string::npos ? network : network.substr(equals + 1);
  load_options.network_name = equals == std::string::npos ? "" : network.substr(0, equals);
  return report.model.empty() ? "--network needs a file" : "";
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// What is wrong with the command line: a time that is none, files that do not fit, or an output that is the model or the property.
std::string mistake(const VerifyOptions& options, VerifyReport& report, LoadOptions& load_options, Seconds& seconds) {
  if (!options.timeout.empty() && !(parse_seconds(options.timeout, seconds.timeout) && seconds.timeout > 0))
    return "--timeout is no time above 0, such as 60, 90s or 5m: " + options.timeout;
  if (!options.scale.empty() && !(parse_seconds(options.scale, seconds.scale) && seconds.scale > 0))
    return "--scale is no time above 0, such as 10, 90s or 5m: " + options.scale;
  if (!options.trim.empty() && options.trim != "auto" && !(parse_seconds(options.trim, seconds.trim) && seconds.trim >= 0))
    return "--trim is no time such as 0, 10, 90s or 5m: " + options.trim;
  if (std::string problem = find_files(options, report, load_options); !problem.empty()) return problem;
  for (const std::string& output :
       {options.proof, options.json, options.statement, queries::scaled_proof(options.proof), queries::scaled_statement(options.proof)}) {
    if (is_same_file(output, existing(report.model)) || is_same_file(output, existing(report.property)))
      return output + " is an input; write the output to another file";
  }
  return "";
}

// What the interface of VNN-LIB 2 names and this program does not do.
std::optional<Rejection> unsupported(const VerifyOptions& options) {
  constexpr auto kKind = Rejection::Kind::unsupported;
  if (options.networks.size() > 1)
    return Rejection{kKind,
                     "verify.networks",
                     "command line",
                     "one network",
                     std::to_string(options.networks.size()) + " networks",
                     "queries about several networks are not supported yet"};
  if (!options.serialise_directory.empty())
    return Rejection{kKind,
                     "verify.serialise_assignments",
                     "command line",
                     "the assignment as text on stdout",
                     "--serialise-assignments",
                     "leave the option out: the assignment is printed after `sat`"};
  return std::nullopt;
}

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

search::Options search_options(const VerifyOptions& options, search::Deadline deadline) {
  search::Options search;
  search.threads = options.threads;
  search.memory_limit_bytes = queries::search_memory(memory_rule(options.limits).most);
  search.seed = options.seed;
  search.attack = !options.no_attack;
  search.branching = queries::branching_named(options.branching);
  search.deadline = deadline;
  search.stop = interruption_token();
  return search;
}

Outcome<Done> decide(const VerifyOptions& options, search::Deadline deadline, double scale, queries::LastProgress& last,
                     VerifyReport& report) {
  SearchProgress line(options.verbosity < 0);
  queries::DecisionRequest request{.search = search_options(options, deadline), .proof = options.proof, .scale = scale};
  request.start = search::Clock::now() - std::chrono::duration_cast<search::Clock::duration>(std::chrono::duration<double>(wall_seconds()));
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
  print_rejection(stderr, "assay", why);
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
  Seconds seconds;
  if (const std::string wrong = mistake(options, report, load_options, seconds); !wrong.empty()) return usage(wrong);
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
  if (auto done = decide(options, deadline, seconds.scale, *progress, report); !done)
    return refuse_report(report, options, done.rejection());
  queries::Decision& decision = report.decision;
  const bool was_interrupted = is_interrupted() && !decision.result.theorem;
  report.exit = report.why ? kExitUnwritten : was_interrupted ? kExitUndecided : exit_for(report, options);
  if (options.json != "-") print_answer(report, loaded.value());
  trim(options, seconds.trim, deadline, loaded.value(), decision);
  report.total_seconds = wall_seconds();
  if (options.verbosity >= 0 || !options.json.empty()) queries::add_remarks(*report.problem, kOrderSeconds, decision);
  if (options.verbosity >= 0) print_summary(report, options);
  if (report.why) print_rejection(stderr, "assay", *report.why);
  if (!write_statement(options.statement, *report.problem)) report.exit = kExitUnwritten;
  return write_json(options.json, to_json(report)) ? report.exit : kExitUnwritten;
}

}  // namespace assay::cli
