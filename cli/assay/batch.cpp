// `assay batch`: the properties of lists, with a folder that keeps the evidence.
#include "app/runs/batch.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <span>
#include <utility>

#include "api/check/cost.h"
#include "app/runs/claim.h"
#include "cli/assay/interruption.h"
#include "cli/assay/libraries.h"
#include "cli/assay/report.h"
#include "cli/assay/run_progress.h"
#include "cli/assay/run_verbs.h"
#include "cli/assay/undecided.h"
#include "cli/semantics.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr const char* kBatchSchema = "assay.batch/1";

std::string tally_line(const std::vector<runs::BatchCount>& counts) {
  std::size_t sat = 0, unsat = 0, other = 0;
  for (const runs::BatchCount& one : counts) {
    sat += one.sat;
    unsat += one.unsat;
    other += one.unknown + one.timed_out + one.error;
  }
  return std::to_string(unsat) + " unsat, " + std::to_string(sat) + " sat, " + std::to_string(other) + " undecided";
}

void print_counts(const std::vector<runs::BatchCount>& counts) {
  std::printf("%-32s %7s %7s %8s %9s %7s %10s\n", "category", "unsat", "sat", "unknown", "timed-out", "error", "seconds");
  for (const runs::BatchCount& one : counts)
    std::printf("%-32s %7zu %7zu %8zu %9zu %7zu %10.1f\n", printable(one.category).c_str(), one.unsat, one.sat, one.unknown, one.timed_out,
                one.error, one.seconds);
}

void print_expectations(const runs::Expectations& expectations) {
  const std::vector<std::string>&vacuous = expectations.vacuous(), &mistakes = expectations.mistakes();
  constexpr std::size_t kMost = 20;
  for (const std::string& one : std::span(vacuous).first(std::min(kMost, vacuous.size())))
    std::fprintf(stderr, "%s\n", printable(one, SIZE_MAX).c_str());
  if (vacuous.size() > kMost) std::fprintf(stderr, "... and %zu more that are vacuous\n", vacuous.size() - kMost);
  for (const std::string& one : mistakes) std::fprintf(stderr, "not as expected: %s\n", printable(one, SIZE_MAX).c_str());
}

}  // namespace

int batch(const BatchOptions& options) {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of the write
  const RunOptions& run = options.run;
  runs::BatchRequest request;
  const auto timeout = timeout_of_run(run);
  if (!timeout) return wrong_use("batch", timeout.rejection());
  if (!options.most.empty() && !(parse_seconds(options.most, request.most) && request.most > 0))
    return wrong_use("batch", {Rejection::Kind::malformed, "run.options", "--most", "a time above 0", options.most, ""});
  request.search = {run.jobs, 1, timeout.value(), run.seed, check::memory_rule(run.limits).most};
  request.load.limits = run.limits;
  limit_memory(request.search.memory);
  if (!options.semantics.empty()) request.load.semantics = parse_semantics(options.semantics).value();
  const auto read = runs::read_lists(options.lists);
  if (!read) return refuse(kBatchSchema, run.json, read.rejection());
  const std::vector<runs::BatchInstance>& instances = read.value();
  auto expected = runs::read_expected(options.expected, instances);
  if (!expected) return refuse(kBatchSchema, run.json, expected.rejection());
  const auto chosen = runs::selected(run.items.empty() ? "0-" + std::to_string(instances.size() - 1) : run.items, instances.size());
  if (!chosen) return wrong_use("batch", chosen.rejection());
  if (instances.size() < run.jobs) request.search.threads = std::max(1u, run.jobs / static_cast<unsigned>(instances.size()));

  runs::BatchTotals totals;
  runs::Expectations expectations(std::move(expected).value(), options.allow_vacuous);
  std::vector<Json> undecided;
  const auto add = [&](const Json& result) {
    totals.add(result);
    expectations.add(result);
    if (!search::is_decided(search::answer_named(runs::text_of(result, "answer"))) && !run.properties.empty()) undecided.push_back(result);
  };
  runs::RunCheckRequest check;
  check.load = request.load;
  check.allow_vacuous = true;  // a vacuous answer is kept, and told
  const runs::BatchClaim claim{options.lists, options.semantics, run.part, run.items};
  auto kept = open_run(
      run, [&] { return runs::manifest_of(claim, request, instances.size(), version_text("assay", libraries())); }, check);
  if (!kept) return refuse(kBatchSchema, run.json, kept.rejection());
  std::set<std::size_t> known;
  for (const Json& result : kept.value().known) {
    known.insert(runs::count_of(result, "instance"));
    add(result);
  }
  std::vector<bool> mine(instances.size(), false);
  for (std::size_t i = 0; i < chosen.value().size(); ++i) mine[chosen.value()[i]] = runs::is_in_part(i, {{"part", run.part}});
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (!mine[i]) known.insert(i);
  }
  RunProgress progress(run.quiet, std::min<unsigned>(run.jobs, static_cast<unsigned>(instances.size())),
                       static_cast<std::size_t>(std::ranges::count(mine, true)));
  progress.set_known(totals.results());
  runs::BatchEvents events;
  events.on_start = [&](unsigned worker, const runs::BatchInstance& one) { progress.set_worker(worker, one.model + " " + one.property); };
  events.on_result = [&](unsigned, const Json& result) {
    add(result);
    stream_result(run, result);
    progress.set_done(totals.results(), [&totals] { return tally_line(totals.counts()); });
  };
  prepare_to_go_on(run);
  const double start = wall_seconds();
  auto ran = runs::run_batch(instances, request, kept.value().store.get(), known, interruption_token(), events);
  kept.value().store.reset();
  conclude();
  progress.clear();
  const std::vector<runs::BatchCount> counts = totals.counts();
  Json report = begin_report(kBatchSchema, run, ran, start);
  report.update({{"instances", instances.size()},
                 {"results", totals.results()},
                 {"categories", runs::to_json(counts)},
                 {"vacuous", expectations.vacuous()},
                 {"mistakes", expectations.mistakes()}});
  if (!run.stream && run.json != "-") print_counts(counts);
  print_expectations(expectations);
  const bool errors = std::ranges::any_of(counts, [](const runs::BatchCount& one) { return one.error > 0; });
  const auto unwritten =
      run.properties.empty() ? std::vector<std::string>() : write_undecided_instances(instances, undecided, run.properties);
  return say_unwritten(unwritten, end_report(run, std::move(report), ran,
                                             !expectations.mistakes().empty() ? kExitNo
                                             : errors                         ? kExitBadInput
                                                                              : kExitYes));
}

}  // namespace assay::cli
