// `assay robust`: a data set and radii, with a folder that keeps the evidence.
#include "app/runs/robust.h"

#include <csignal>
#include <cstdio>
#include <utility>

#include "api/check/cost.h"
#include "app/runs/claim.h"
#include "cli/assay/interruption.h"
#include "cli/assay/libraries.h"
#include "cli/assay/report.h"
#include "cli/assay/robust_text.h"
#include "cli/assay/run_progress.h"
#include "cli/assay/run_verbs.h"
#include "cli/assay/undecided.h"
#include "cli/semantics.h"

namespace assay::cli {
namespace {

constexpr const char* kRobustSchema = "assay.robust/1";

int required(const RobustOptions& options, const runs::RobustTally& tally) {
  if (!options.require) return kExitYes;
  const runs::Unmet unmet = runs::unmet(tally, *options.require);
  for (const std::string& sentence : unmet.sentences) std::fprintf(stderr, "assay robust: %s\n", sentence.c_str());
  return unmet.is_out_of_reach ? kExitNo : unmet.sentences.empty() ? kExitYes : kExitUndecided;
}

runs::BallSetting setting_of(const RobustOptions& options) {
  runs::BallSetting setting{.model = options.model,
                            .data = options.data,
                            .labels = options.labels,
                            .scale = options.scale,
                            .mean = options.mean,
                            .std = options.std,
                            .clip_lo = {},
                            .clip_hi = {},
                            .norm = options.norm,
                            .semantics = options.semantics,
                            .edits = options.run.limits.edits};
  if (options.clip.size() == 2) {
    setting.clip_lo = options.clip[0];
    setting.clip_hi = options.clip[1];
  }
  return setting;
}

// With --largest, the radii count the items by their results at all radii.
void add_largest(Json& report, const RobustOptions& options, const runs::LargestRadii& largest) {
  if (options.largest.empty()) return;
  report["radii"] = runs::to_json(largest.counts());
  for (const runs::LargestRadius& one : largest.list()) report["largest"].push_back(runs::to_json(one));
}

}  // namespace

int robust(const RobustOptions& options) {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of the write
  const RunOptions& run = options.run;
  const auto timeout = timeout_of_run(run);
  if (!timeout) return wrong_use("robust", timeout.rejection());
  runs::RobustRequest request{
      options.eps,   options.largest, options.first, run.part,
      options.every, run.items,       options.each,  {run.jobs, 1, timeout.value(), run.seed, check::memory_rule(run.limits).most}};
  auto radii = runs::radii_of(request);
  if (!radii) return wrong_use("robust", radii.rejection());
  const runs::BallSetting setting = setting_of(options);
  LoadOptions load;
  load.limits = run.limits;
  load.semantics = parse_semantics(options.semantics).value();
  set_progress("reading the files");
  auto balls = runs::Balls::load(setting, limiting(load));
  if (!balls) return refuse(kRobustSchema, run.json, balls.rejection());
  const auto asked = runs::items_of(request, balls.value().size());
  if (!asked) return wrong_use("robust", asked.rejection());
  const std::size_t items = asked.value().size();
  if (items < run.jobs) request.search.threads = std::max(1u, run.jobs / static_cast<unsigned>(items));

  runs::RobustTotals totals;
  runs::LargestRadii largest;
  std::vector<Json> undecided;
  const auto add = [&](const Json& result) {
    totals.add(result);
    if (!options.largest.empty()) largest.add(result);
    if (!search::is_decided(runs::answer_of_ball(runs::text_of(result, "answer"))) && !run.properties.empty()) undecided.push_back(result);
  };
  runs::RunCheckRequest check;
  check.model = options.model;
  check.data = options.data;
  check.labels = options.labels;
  check.load = load;
  auto kept = open_run(
      run, [&] { return runs::manifest_of(setting, request, balls.value(), version_text("assay", libraries())); }, check);
  if (!kept) return refuse(kRobustSchema, run.json, kept.rejection());
  const std::vector<Json>& known = kept.value().known;
  for (const Json& result : known) add(result);
  print_notes(stderr, run.quiet ? std::vector<std::string>() : balls.value().notes());
  const Json claim = runs::to_json(request);
  std::size_t mine = 0;
  for (std::size_t i = 0; i < items; ++i) mine += runs::is_in_part(i, claim) ? 1 : 0;
  const std::size_t all = options.largest.empty() ? mine * radii.value().values.size() : mine;
  RunProgress progress(run.quiet, std::min<unsigned>(run.jobs, static_cast<unsigned>(items)), all);
  const auto done = [&] { return options.largest.empty() ? totals.tally().results : totals.tally().items; };
  progress.set_known(done());
  runs::RobustEvents events;
  events.on_start = [&](unsigned worker, std::size_t item, const std::string& eps) {
    progress.set_worker(worker, "item " + std::to_string(item) + ", radius " + eps);
  };
  events.on_result = [&](unsigned, const Json& result) {
    add(result);
    stream_result(run, result);
    progress.set_done(done(), [&] { return short_tally(totals.tally(), balls.value().has_labels()); });
  };
  prepare_to_go_on(run);
  const double start = wall_seconds();
  auto ran = runs::run_robust(balls.value(), request, kept.value().store.get(), known, interruption_token(), events);
  kept.value().store.reset();
  conclude();
  progress.clear();
  const runs::RobustTally tally = totals.tally();
  Json report = begin_report(kRobustSchema, run, ran, start);
  report.update({{"model", options.model}, {"data", options.data}});
  report["question"] = runs::question_words(balls.value().has_labels());
  report.update(runs::to_json(tally));
  add_largest(report, options, largest);
  if (!run.stream && run.json != "-") {
    if (options.largest.empty())
      print_table(tally, balls.value().has_labels());
    else
      print_largest(largest.list(), balls.value().has_labels());
    print_undecided(tally, !run.folder.empty());
  }
  const auto unwritten =
      run.properties.empty() ? std::vector<std::string>() : write_undecided_items(balls.value(), options.model, undecided, run.properties);
  return say_unwritten(unwritten, end_report(run, std::move(report), ran, required(options, tally)));
}

}  // namespace assay::cli
