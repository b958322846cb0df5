#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "api/check/cost.h"
#include "api/check/vacuity.h"
#include "app/queries/trim.h"
#include "app/queries/verify.h"
#include "certificates/format/writer.h"
#include "cli/assay/certificate_file.h"
#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/output_file.h"
#include "cli/assay/report.h"
#include "kernel/logic/theorem_text.h"
#include "search/search.h"
#include "semantics/statement/statement_text.h"

namespace assay::cli {
namespace {

constexpr double kProgressSeconds = 0.2;  // between updates of a terminal line
constexpr double kLogSeconds = 60;        // between log lines elsewhere
constexpr double kOrderSeconds = 0.5;     // for two orders of summation that differ

int usage(const std::string& what) {
  std::fprintf(stderr, "assay verify: %s\nRun `assay verify --help` for the command line.\n", what.c_str());
  return kExitUsage;
}

bool is_model(const std::string& path) { return path.ends_with(".onnx") || path.ends_with(".onnx.gz"); }

Rejection unsupported(const char* code, std::string required, std::string found, std::string advice) {
  return {Rejection::Kind::unsupported, code, "command line", std::move(required), std::move(found), std::move(advice)};
}

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

// The file of --proof, --json, --statement or --scale that is the model or the property, if there is one.
std::string overwritten_input(const VerifyOptions& options, const VerifyReport& report) {
  for (const std::string& output :
       {options.proof, options.json, options.statement, scaled_proof(options.proof), scaled_statement(options.proof)}) {
    if (is_same_file(output, existing(report.model)) || is_same_file(output, existing(report.property))) return output;
  }
  return "";
}

// Shows what the search reports: one rewritten line on a terminal, else one line a minute.
class ProgressLine {
 public:
  explicit ProgressLine(int verbosity) : terminal_(isatty(STDERR_FILENO) != 0), quiet_(verbosity < 0) {}
  ~ProgressLine() { clear(); }

  void show(const search::Progress& progress) {
    const double now = wall_seconds();
    if (quiet_ || now - last_ < (terminal_ ? kProgressSeconds : kLogSeconds)) return;
    last_ = now;
    std::fprintf(stderr, "%s%s: %.1f s, %llu closed, %llu open, worst bound %.3g, %.0f leaves/s%s", terminal_ ? "\r\x1b[K" : "",
                 progress.phase.c_str(), progress.seconds, static_cast<unsigned long long>(progress.closed),
                 static_cast<unsigned long long>(progress.open), progress.worst_bound,
                 progress.seconds > 0 ? static_cast<double>(progress.closed) / progress.seconds : 0.0, terminal_ ? "" : "\n");
    std::fflush(stderr);
    shown_ = terminal_;
  }

  void clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }

 private:
  bool terminal_, quiet_, shown_ = false;
  double last_ = 0;
};

std::string sentence(const VerifyReport& report) {
  return queries::sentence({report.answer, report.reason, report.theorem, {}, {}, false, {}, {}, {}});
}

std::string assignment(const kernel::Theorem& theorem, const vnnlib::PropertyFile& property) {
  std::vector<double> outputs;
  for (const Interval& output : std::span(theorem.outputs()).first(property.network_outputs)) outputs.push_back(output.midpoint());
  const std::vector<Rational>& inputs = theorem.witness().inputs;
  return property.version.starts_with("1") ? vnnlib::write_assignment_v1(inputs, outputs)
                                           : vnnlib::write_assignment_v2(property, inputs, outputs);
}

// The answer on stdout; what print_summary says goes to stderr.
void print_answer(const VerifyReport& report, const Loaded& loaded) {
  std::printf("%s\n", report.answer.c_str());
  if (report.answer == "sat") std::fputs(assignment(*report.theorem, loaded.property).c_str(), stdout);
  if (const std::string why = report.theorem ? check::vacuity(*report.theorem) : ""; !why.empty())
    std::printf("vacuous: %s\n", why.c_str());
  std::fflush(stdout);
}

// "closed: 43.2 % of the tree, at the latest pace about 12 s more; open: case 0 (bound -0.0123), case 5 (bound -0.4)"
std::string left_text(const search::Unfinished& unfinished) {
  constexpr std::size_t kMost = 8;
  std::array<char, 80> piece{};
  (void)std::snprintf(piece.data(), piece.size(), "closed: %.3g %% of the tree", 100 * unfinished.closed_share);
  std::string text = piece.data();
  if (const auto left = queries::seconds_left(unfinished)) {
    (void)std::snprintf(piece.data(), piece.size(), ", at the latest pace about %.2g s more", *left);
    text += piece.data();
  }
  text += "; open:";
  for (std::size_t k = 0; k < std::min(kMost, unfinished.cases.size()); ++k) {
    (void)std::snprintf(piece.data(), piece.size(), "%s case %u (bound %.4g)", k == 0 ? "" : ",", unfinished.cases[k].case_index,
                        unfinished.cases[k].bound);
    text += piece.data();
  }
  return text + (unfinished.cases.size() > kMost ? " and " + std::to_string(unfinished.cases.size() - kMost) + " more" : "");
}

// "stages: boxes 0.001 s, tree of all cases 3.012 s (2 times)"
std::string stages_text(const std::vector<search::StageTime>& stages) {
  std::string text;
  for (const search::StageTime& stage : stages) {
    std::array<char, 40> seconds{};
    (void)std::snprintf(seconds.data(), seconds.size(), " %.3f s", stage.seconds);
    text += (text.empty() ? "stages: " : ", ") + std::string(stage.name) + seconds.data();
    if (stage.runs > 1) text += " (" + std::to_string(stage.runs) + " times)";
  }
  return text;
}

void print_summary(const VerifyReport& report, const VerifyOptions& options) {
  std::fprintf(stderr, "%s\n", sentence(report).c_str());
  if (report.unfinished) std::fprintf(stderr, "%s\n", left_text(*report.unfinished).c_str());
  if (report.scaled) std::fputs(scaled_text(*report.scaled, report.proof).c_str(), stderr);
  const bool full = is_full(options.statement);
  if (report.theorem)
    std::fputs(kernel::theorem_text(*report.theorem, full).c_str(), stderr);
  else if (!options.statement.empty())
    std::fputs(kernel::statement_text(report.problem->statement(), report.problem->digest(), full).c_str(), stderr);
  print_notes(stderr, report.notes);
  for (const std::string& line : report.nearest ? lines_of(report.orders) : std::vector<std::string>())
    std::fprintf(stderr, "  %s\n", line.c_str());
  if (report.float_run) {
    const std::string files = report.model + " " + report.property;
    const std::string again = report.proof_bytes == 0 ? "assay verify " + files : "assay check " + files + " " + report.proof;
    std::fprintf(stderr, "float32: %s\n", to_text(*report.float_run).c_str());
    std::fprintf(stderr, "float32 by ONNX Runtime: %s --json | tools/replay_witness -\n", again.c_str());
  }
  std::fputs("\n", stderr);
  const search::Statistics& s = report.statistics;
  std::fprintf(stderr, "search: %.3f s (%.3f s CPU), %s, %s\n", s.wall_seconds, s.cpu_seconds, counted(s.nodes, "node").c_str(),
               (s.leaves == 1 ? std::string("1 leaf") : std::to_string(s.leaves) + " leaves").c_str());
  if (options.verbosity > 0)
    std::fprintf(stderr, "reading %.3f s, attack %.3f s (%llu steps), root bounds %.3f s, branching %.3f s\n", report.load_seconds,
                 s.attack_seconds, static_cast<unsigned long long>(s.attack_steps), s.root_seconds, s.branching_seconds);
  if (options.verbosity > 0 && !s.stages.empty()) std::fprintf(stderr, "%s\n", stages_text(s.stages).c_str());
  if (report.trim && report.trim->report.trimmed)
    std::fprintf(stderr, "trimmed from %llu bytes in %.3f s of CPU time\n",
                 static_cast<unsigned long long>(report.trim->report.bytes_before), report.trim->seconds);
  else if (report.trim)
    std::fprintf(stderr, "not trimmed: %s\n", report.trim->report.reason.c_str());
  if (report.proof_bytes > 0)
    std::fprintf(stderr, "certificate: %s, %llu bytes; check it with: assay-check %s %s %s\n", report.proof.c_str(),
                 static_cast<unsigned long long>(report.proof_bytes), report.model.c_str(), report.property.c_str(), report.proof.c_str());
  else if (!report.proof.empty() && !report.theorem)
    std::fprintf(stderr, "certificate: none, because nothing was decided; %s was not written\n", report.proof.c_str());
}

// --expect W: another decided word is 1, an undecided one is 3. So is 1, with a sentence, the word itself where it says nothing about the network.
int exit_for(const VerifyReport& report, const VerifyOptions& options) {
  if (options.expect.empty()) return kExitYes;
  if (report.answer != options.expect) {
    std::fprintf(stderr, "assay verify: --expect %s is not met: the answer is %s\n", options.expect.c_str(), report.answer.c_str());
    return report.theorem ? kExitNo : kExitUndecided;
  }
  const std::string vacuous = check::vacuity(*report.theorem);
  if (vacuous.empty() || options.allow_vacuous) return kExitYes;
  std::fprintf(
      stderr,
      "assay verify: --expect unsat is not met: the answer is vacuous, since %s; mend the property, or allow it with --allow-vacuous\n",
      vacuous.c_str());
  return kExitNo;
}

// For the reason of an undecided run, whatever ended it.
std::string progress_text(const search::Progress& progress) {
  std::array<char, 200> text{};
  (void)std::snprintf(text.data(), text.size(), "%s, %llu closed, %llu open, worst bound %.6g", progress.phase.c_str(),
                      static_cast<unsigned long long>(progress.closed), static_cast<unsigned long long>(progress.open),
                      progress.worst_bound);
  return text.data();
}

// The last that the search told of itself; the waiting thread of signals may ask while it searches.
class LastProgress {
 public:
  void set(const search::Progress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }
  [[nodiscard]] std::optional<search::Progress> get() const {
    const std::lock_guard lock(mutex_);
    return progress_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<search::Progress> progress_;
};

// An end by the clock or by the search's own limits says what a signal's says: when, how far, and what the search gave up at.
void explain_end(VerifyReport& report) {
  std::array<char, 40> seconds{};
  (void)std::snprintf(seconds.data(), seconds.size(), " after %.1f s; ", wall_seconds());
  const std::string how = report.answer == "timed-out" ? "timed out" : "the search ended";
  const std::string gave_up = report.reason.empty() ? "" : "; " + report.reason;
  report.reason = how + seconds.data() + (report.progress ? progress_text(*report.progress) : "no bound yet") + gave_up;
}

// Undecided by a signal, with the reason and the best bound so far.
void interrupt(VerifyReport& report, const Rejection& why) {
  report.answer = "unknown";
  report.reason = "interrupted by " + why.found + (report.reason.empty() ? "" : "; " + report.reason);
  report.exit = kExitUndecided;
  report.total_seconds = wall_seconds();
}

// For a step that does not end in time: what is known of the run is copied, for its own thread still works on it.
void set_verify_last_words(const VerifyReport& report, const VerifyOptions& options,
                           std::shared_ptr<const LastProgress> progress = nullptr) {
  set_last_words([copy = report, options, progress = std::move(progress)](const Rejection& why) {
    VerifyReport last = copy;
    if (progress) last.progress = progress->get();
    last.options = &options;
    interrupt(last, why);
    if (options.json != "-") std::puts("unknown");
    std::fflush(stdout);
    if (isatty(STDERR_FILENO) != 0) std::fputs("\r\x1b[K", stderr);
    if (options.verbosity >= 0) std::fprintf(stderr, "%s\n", sentence(last).c_str());
    (void)write_json(options.json, to_json(last));
  });
}

// What a search found; its certificate takes its place.
void take(queries::Verified found, Certificate* certificate, VerifyReport& report) {
  report.answer = std::move(found.answer);
  report.reason = std::move(found.reason);
  report.theorem = std::move(found.theorem);
  if (!certificate || !report.theorem) return;
  if (found.unwritten)
    report.why = unwritten_certificate(report.proof, found.unwritten->found);
  else if (auto kept = certificate->take_place(); !kept)
    report.why = kept.rejection();
  else
    report.proof_bytes = kept.value();
}

// A proof of unsat that has taken its place makes room for what is left of it where that is accepted as well. The answer stands, and was printed.
void trim_certificate(const VerifyOptions& options, search::Deadline deadline, double seconds, const Loaded& loaded, VerifyReport& report) {
  if (options.trim.empty() || report.answer != "unsat" || report.proof_bytes == 0) return;
  const double start = thread_cpu_seconds();
  TrimmedProof& trimmed = report.trim.emplace();
  trimmed.report.reason = "it is no regular file";
  if (std::filesystem::is_regular_file(options.proof)) {
    Replacement file(options.proof);
    if (options.trim == "auto") seconds = report.statistics.cpu_seconds;
    if (file.name().empty())
      trimmed.report.reason = std::strerror(errno);
    else
      trimmed.report = queries::trim_proof(loaded, options.limits, options.proof, file.name(), seconds, {deadline, interruption_token()});
    if (trimmed.report.trimmed && file.take_place()) report.proof_bytes = trimmed.report.bytes_after;
  }
  trimmed.seconds = thread_cpu_seconds() - start;
}

// Of a property that stayed undecided: the largest scale, or the answer after all, where a try met a point that violates.
Outcome<Done> search_scale(const VerifyOptions& options, double seconds, const search::Options& search, VerifyReport& report) {
  auto scaled = scale_down(report.problem, search, seconds, options.proof);
  if (!scaled) return scaled.rejection();
  auto certificate = Certificate::open(options.proof, *report.problem);
  if (!certificate) return certificate.rejection();
  queries::Verified violated;
  if (const auto& witness = scaled.value().violated)
    violated = queries::violated_at(report.problem, *witness, writer_of(certificate.value()));
  if (!violated.theorem) {
    report.scaled = std::move(scaled).value();
    return Done{};
  }
  take(std::move(violated), certificate.value().get(), report);
  report.progress.reset();
  report.unfinished.reset();
  return Done{};
}

Outcome<Done> run_search(const VerifyOptions& options, search::Deadline deadline, double scale, LastProgress& last, VerifyReport& report) {
  search::Options search_options;
  search_options.threads = options.threads;
  search_options.memory_limit_bytes = queries::search_memory(memory_rule(options.limits).most);
  search_options.seed = options.seed;
  search_options.attack = !options.no_attack;
  search_options.branching = branching_named(options.branching);
  search_options.deadline = deadline;
  ProgressLine line(options.verbosity);
  search_options.on_progress = [&line, &last](const search::Progress& progress) {
    line.show(progress);
    last.set(progress);
    set_progress(progress_text(progress));
  };
  search_options.stop = interruption_token();
  auto certificate = Certificate::open(options.proof, *report.problem);
  if (!certificate) return certificate.rejection();
  auto verified = queries::verify(report.problem, search_options, writer_of(certificate.value()));
  Outcome<Done> asked = Done{};
  if (verified) {
    report.statistics = verified.value().statistics;
    report.disputed = verified.value().disputed;
    report.unfinished = verified.value().unfinished;
    report.nearest = verified.value().nearest;
    if (verified.value().theorem) conclude();
    take(std::move(verified).value(), certificate.value().get(), report);
    if (!report.theorem) report.progress = last.get();
    if (!report.theorem && !is_interrupted()) explain_end(report);
    if (!report.theorem && !is_interrupted() && scale > 0) {
      search_options.on_progress = [&line](const search::Progress& progress) { line.show(progress); };
      asked = search_scale(options, scale, search_options, report);
    }
  }
  conclude();
  line.clear();
  if (!verified) return verified.rejection();
  if (!asked) report.why = asked.rejection();
  if (is_interrupted() && !report.theorem) interrupt(report, interruption());
  return Done{};
}

int refuse_report(VerifyReport& report, const VerifyOptions& options, const Rejection& why) {
  report.why = why;
  report.exit = exit_code(why.kind);
  report.total_seconds = wall_seconds();
  conclude();
  print_rejection(stderr, "assay", why);
  return write_json(options.json, to_json(report)) ? report.exit : kExitUnwritten;
}

}  // namespace

int verify(const VerifyOptions& options) {
  VerifyReport report;
  report.options = &options;
  report.proof = options.proof;
  LoadOptions load_options;
  load_options.semantics = options.semantics;
  load_options.limits = options.limits;
  double timeout = 0;
  if (!options.timeout.empty() && !(parse_seconds(options.timeout, timeout) && timeout > 0))
    return usage("--timeout is no time above 0, such as 60, 90s or 5m: " + options.timeout);
  if (const std::string problem = find_files(options, report, load_options); !problem.empty()) return usage(problem);
  if (const std::string overwritten = overwritten_input(options, report); !overwritten.empty())
    return usage(overwritten + " is an input; write the output to another file");
  if (options.networks.size() > 1)
    return refuse_report(report, options,
                         unsupported("verify.networks", "one network", std::to_string(options.networks.size()) + " networks",
                                     "queries about several networks are not supported yet"));
  if (!options.serialise_directory.empty())
    return refuse_report(report, options,
                         unsupported("verify.serialise_assignments", "the assignment as text on stdout", "--serialise-assignments",
                                     "leave the option out: the assignment is printed after `sat`"));
  double scale = 0;
  if (!options.scale.empty() && !(parse_seconds(options.scale, scale) && scale > 0))
    return usage("--scale is no time above 0, such as 10, 90s or 5m: " + options.scale);
  double trim = 0;
  if (!options.trim.empty() && options.trim != "auto" && !(parse_seconds(options.trim, trim) && trim >= 0))
    return usage("--trim is no time such as 0, 10, 90s or 5m: " + options.trim);
  const search::Deadline deadline = timeout > 0 ? search::Deadline::in(timeout - wall_seconds()) : search::Deadline();
  set_progress("reading the files");
  set_verify_last_words(report, options);
  auto loaded = load_files(report.model, report.property, load_options);
  report.load_seconds = wall_seconds();
  if (!loaded) return refuse_report(report, options, loaded.rejection());
  report.problem = loaded.value().problem;
  report.notes = loaded.value().notes();
  set_progress("no bound yet");
  const auto progress = std::make_shared<LastProgress>();
  set_verify_last_words(report, options, progress);
  if (auto searched = run_search(options, deadline, scale, *progress, report); !searched)
    return refuse_report(report, options, searched.rejection());
  const bool was_interrupted = is_interrupted() && !report.theorem;
  report.exit = report.why ? kExitUnwritten : was_interrupted ? kExitUndecided : exit_for(report, options);
  if (options.json != "-") print_answer(report, loaded.value());
  trim_certificate(options, deadline, trim, loaded.value(), report);
  report.total_seconds = wall_seconds();
  const bool wanted = options.verbosity >= 0 || !options.json.empty();
  if (report.answer == "sat" && wanted) report.float_run = run_in_float32(*report.theorem);
  if (report.nearest && wanted) report.orders = run_in_orders(*report.problem, *report.nearest, kOrderSeconds);
  if (!report.disputed && !report.orders.violating) report.nearest.reset();
  if (options.verbosity >= 0) print_summary(report, options);
  if (report.why) print_rejection(stderr, "assay", *report.why);
  if (!write_statement(options.statement, *report.problem)) report.exit = kExitUnwritten;
  return write_json(options.json, to_json(report)) ? report.exit : kExitUnwritten;
}

}  // namespace assay::cli
