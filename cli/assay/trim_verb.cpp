// `assay trim`: a certificate that is cheaper to check.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/queries/trim.h"
#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "cli/units.h"

namespace assay::cli {
namespace {

constexpr const char* kTrimSchema = "assay.trim/1";

struct TrimOptions {
  std::string model, property, proof, out;
  std::optional<ExecutionModel> semantics;
  std::string timeout;
  Limits limits;
  JsonTarget json;
};

std::string json_of(const queries::TrimReport& report, const TrimOptions& options) {
  const certificate::TrimStatistics& s = report.statistics;
  const nlohmann::ordered_json json = {{"schema", kTrimSchema},
                                       {"answer", search::word_of(report.answer)},
                                       {"trimmed", report.trimmed},
                                       {"reason", report.reason},
                                       {"certificate", options.out},
                                       {"bytes_before", report.bytes_before},
                                       {"bytes_after", report.bytes_after},
                                       {"work_before", report.work_before.value_or(0)},
                                       {"work_after", report.work_after},
                                       {"elements_before", s.refined},
                                       {"elements_after", s.kept},
                                       {"slopes_dropped", s.slopes_dropped},
                                       {"splits_dropped", s.splits_dropped},
                                       {"sweeps_joined", s.sweeps_joined}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

int trim(const TrimOptions& options) {
  LoadOptions load;
  load.semantics = options.semantics;
  load.limits = options.limits;
  const auto loaded = load_files(options.model, options.property, load);
  if (!loaded) return refuse(kTrimSchema, options.json, loaded.rejection());
  double seconds = 0;
  search::Limit limit{{}, interruption_token()};
  if (!options.timeout.empty() && parse_seconds(options.timeout, seconds)) limit.deadline = search::Deadline::in(seconds - wall_seconds());
  files::Replacement file(options.out);
  if (file.name().empty()) return refuse(kTrimSchema, options.json, files::unwritten_file("trim.write", options.out));
  const auto report = queries::trim(loaded.value(), options.limits, options.proof, file.name(), limit);
  conclude();
  if (!report) return refuse(kTrimSchema, options.json, recognised(report.rejection(), options.proof, FileKind::certificate));
  if (!file.take_place()) return refuse(kTrimSchema, options.json, files::unwritten_file("trim.write", options.out));
  const queries::TrimReport& done = report.value();
  if (options.json != "-") {
    std::printf("%s\n", done.trimmed ? "trimmed" : "copied");
    std::fflush(stdout);
  }
  if (done.trimmed)
    std::fprintf(stderr, "%s: %llu bytes instead of %llu, %.3g multiply-adds to check instead of %.3g\n", options.out.c_str(),
                 static_cast<unsigned long long>(done.bytes_after), static_cast<unsigned long long>(done.bytes_before), done.work_after,
                 done.work_before.value_or(0));
  else
    std::fprintf(stderr, "%s is a copy: %s\n", options.out.c_str(), done.reason.c_str());
  return write_json(options.json, json_of(done, options)) ? kExitYes : kExitUnwritten;
}

}  // namespace

void add_trim_verb(CLI::App& app, int& exit) {
  static TrimOptions options;
  CLI::App* verb = app.add_subcommand("trim", "Make a certificate cheaper to check: leave out steps that its conclusions do not need");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  verb->add_option("PROPERTY", options.property, "the VNN-LIB file")->required();
  verb->add_option("CERTIFICATE", options.proof, "a certificate that assay-check accepts")->required();
  verb->add_option("-o,--out", options.out, "the trimmed certificate to write; a copy if nothing can be left out")
      ->required()
      ->type_name("FILE");
  add_timeout(verb, options.timeout,
              "wall-clock limit for the whole run, e.g. 60, 90s, 5m; at the limit, only the steps already known to be unneeded are\n"
              "left out");
  add_semantics(verb, options.semantics);
  add_edits(verb, options.limits);
  add_limits(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&exit] { exit = trim(options); });
}

}  // namespace assay::cli
