// robust and batch share this code around their searches: options, known results, the stream of results, and the end of a run.
#include <cstdio>

#include "app/runs/pack.h"
#include "cli/assay/codes.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/run_verbs.h"

namespace assay::cli {
namespace {

void say_how_to_go_on(const std::string& folder, const Rejection& why) {
  print_explained(why);
  if (!folder.empty()) std::fprintf(stderr, "results are in %s; go on with: the same command and --resume\n", folder.c_str());
}

}  // namespace

Outcome<double> timeout_of_run(const RunOptions& run) {
  const auto wrong = [](std::string place, std::string required, std::string found) {
    return Rejection{Rejection::Kind::malformed, "run.options", std::move(place), std::move(required), std::move(found), ""};
  };
  double timeout = 0;
  if (!(parse_seconds(run.timeout, timeout) && timeout > 0))
    return wrong("--timeout", "a time above 0, such as 60, 90s or 5m", run.timeout);
  if (run.resume && run.folder.empty()) return wrong("--resume", "--run FOLDER with it", "none");
  if (run.pack && run.folder.empty()) return wrong("--pack", "--run FOLDER with it", "none");
  if (run.stream && run.json == "-") return wrong("--stream", "stdout for itself: say --json=FILE", "--json");
  return timeout;
}

int wrong_use(const char* verb, const Rejection& why) { return usage(verb, why.place + " takes " + why.required + ", not " + why.found); }

Outcome<OpenedRun> open_run(const RunOptions& run, const std::function<runs::Json()>& manifest, runs::RunCheckRequest request) {
  OpenedRun opened;
  if (run.folder.empty()) return opened;
  auto store = runs::Store::open(run.folder, manifest(), run.resume);
  if (!store) return store.rejection();
  opened.store = std::move(store).value();
  if (!run.resume) return opened;
  set_progress("checking the results that are there");
  request.jobs = run.jobs;
  auto kept = runs::keep_accepted(*opened.store, run.folder, std::move(request), run.retry, interruption_token());
  if (!kept) return kept.rejection();
  if (kept.value().left_out > 0)
    std::fprintf(stderr, "note: %s of the folder did not pass a check, and will be decided again\n",
                 counted(kept.value().left_out, "result").c_str());
  opened.known = std::move(kept.value().results);
  return opened;
}

void stream_result(const RunOptions& run, const runs::Json& result) {
  if (!run.stream) return;
  std::printf("%s\n", result.dump(-1, ' ', false, runs::Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

void prepare_to_go_on(const RunOptions& run) {
  set_last_words([folder = run.folder](const Rejection& why) { say_how_to_go_on(folder, why); });
}

runs::Json begin_report(const char* schema, const RunOptions& run, const Outcome<Done>& ran, double start) {
  return {{"schema", schema}, {"run", run.folder}, {"complete", ran.ok() && !is_interrupted()}, {"wall_seconds", wall_seconds() - start}};
}

int end_report(const RunOptions& run, runs::Json report, Outcome<Done> ran, int exit) {
  if (ran && run.pack) {
    if (auto packed = runs::pack(run.folder); packed)
      report["pack"] = {{"certificates", packed.value().certificates}, {"bytes", packed.value().bytes}};
    else
      ran = packed.rejection();
  }
  if (!run.quiet) {
    std::fprintf(stderr, "%zu results in %.1f s\n", runs::count_of(report, "results"), runs::number_of(report, "wall_seconds"));
    if (!run.folder.empty()) std::fprintf(stderr, "check it with: assay check %s\n", run.folder.c_str());
  }
  if (!ran) {
    print_explained(ran.rejection());
    report["why"] = ran.rejection().to_text();
    exit = exit_code(ran.rejection().kind);
  } else if (is_interrupted()) {
    say_how_to_go_on(run.folder, interruption());
    exit = kExitUndecided;
  }
  return write_json(run.json, report.dump(2, ' ', false, runs::Json::error_handler_t::replace)) ? exit : kExitUnwritten;
}

}  // namespace assay::cli
