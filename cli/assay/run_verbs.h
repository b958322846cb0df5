// The verbs that answer many questions at once and keep what they find in a folder: robust, batch, and check of such a folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/runs/check_run.h"
#include "app/runs/store.h"
#include "cli/assay/options.h"
#include "semantics/graph/execution_model.h"

namespace CLI {
class App;
}

namespace assay::cli {

// Of every run.
struct RunOptions {
  std::string folder;  // --run; empty: nothing is kept
  std::string part;    // "2/8"; empty: all
  bool resume = false;
  bool retry = false;                      // with resume: decide undecided ones again
  std::string items;                       // "3,7,10-20"; empty: all
  std::string properties;                  // a folder for what stays undecided; empty: none
  bool pack = false;                       // certificates in one file, at the end
  std::size_t slurm = 0;                   // submit so many parts instead; 0: no
  std::vector<std::string> slurm_options;  // words for sbatch
  unsigned jobs = 2;
  std::string timeout = "60";  // of each instance, with a unit
  std::uint64_t seed = 1;
  Limits limits;
  bool stream = false;  // each result as one line of JSON on stdout
  bool quiet = false;
  JsonTarget json;
};

struct RobustOptions {
  std::string model, data, labels, scale, largest, norm = "linf";
  std::vector<std::string> eps, mean, std, clip;
  std::size_t first = 0, every = 1;
  bool each = false;
  std::optional<double> require;  // certified share at every radius, else exit 1 or 3
  std::string semantics = "real";
  RunOptions run;
};

struct BatchOptions {
  std::vector<std::string> lists;
  std::string expected, most;
  bool allow_vacuous = false;  // an expected unsat that says nothing about the network is no mistake
  std::string semantics;       // empty: what each property says
  RunOptions run;
};

void add_run_verbs(CLI::App& app, int& exit);

// robust and batch share these functions around their searches.
//
// The options' seconds of one instance; a malformed rejection whose place is the option.
[[nodiscard]] Outcome<double> timeout_of_run(const RunOptions& run);
[[nodiscard]] int wrong_use(const char* verb, const Rejection& why);
// The folder of the run, made with this manifest, and the results that the run resumes from, after a check of them. A note says
// which are decided again. Neither if no folder is named.
struct OpenedRun {
  std::unique_ptr<runs::Store> store;
  std::vector<runs::Json> known;
};
[[nodiscard]] Outcome<OpenedRun> open_run(const RunOptions& run, const std::function<runs::Json()>& manifest,
                                          runs::RunCheckRequest request);
// One line of --stream, if asked for.
void stream_result(const RunOptions& run, const runs::Json& result);
// From here on an interrupted run prints the command that resumes it.
void prepare_to_go_on(const RunOptions& run);
// Of a run that has ended, or was ended: what every report says, and last its printing, with `exit` unless the run failed.
[[nodiscard]] runs::Json begin_report(const char* schema, const RunOptions& run, const Outcome<Done>& ran, double start);
[[nodiscard]] int end_report(const RunOptions& run, runs::Json report, Outcome<Done> ran, int exit);

int robust(const RobustOptions& options);
int batch(const BatchOptions& options);
struct GatherOptions {
  std::string folder;
  std::vector<std::string> parts;
  JsonTarget json;
};
int gather(const GatherOptions& options);
void add_gather(CLI::App& app, int& exit);

struct ReportOptions {
  std::vector<std::string> files;  // as they stand on the command line: the input, or the files of one check
  std::string input;               // a run's folder, a trace or a certificate
  std::string out = "report.html", model, data, labels;
  std::string property;                     // of a certificate; or a statement file, without a model
  std::optional<ExecutionModel> semantics;  // of a certificate, as check takes it
  std::string perfetto, model_explorer;     // files to write
  std::size_t samples = 16;                 // points at which a certificate's nodes are evaluated beside their bounds
  double timeout = 60;                      // seconds of back-substitution for these
  std::size_t images = 40;                  // at most so many items are shown with their witnesses
  unsigned jobs = 1;
  Limits limits;
  JsonTarget json;
};
int report(const ReportOptions& options);
void add_report(CLI::App& app, int& exit);

// The semantics in the claim of a run; nothing if the claim leaves that to the properties.
[[nodiscard]] Outcome<std::optional<ExecutionModel>> semantics_of_run(const std::string& folder);
// `assay check RUN/`.
int check_run_verb(const CheckOptions& options);

}  // namespace assay::cli
