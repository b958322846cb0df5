// The verbs that prove one statement on many machines: split, solve, merge.
#include <cstdio>
#include <filesystem>

#include "app/queries/decision.h"
#include "app/queries/verify.h"
#include "app/runs/cubes.h"
#include "cli/assay/common_options.h"
#include "cli/assay/cube_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/semantics.h"
#include "cli/units.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

search::Options search_of(const CubeOptions& options) {
  search::Options search = search_options(options);
  if (!options.timeout.empty() && parse_seconds(options.timeout, search.seconds))
    search.deadline = search::Deadline::in(search.seconds - wall_seconds());
  search.on_progress = [](const search::Progress& progress) { set_progress(queries::progress_text(progress)); };
  return search;
}

LoadOptions load_options(const CubeOptions& options, const std::string& semantics, const onnx::Edits& edits) {
  LoadOptions load;
  if (!semantics.empty())
    if (auto model = parse_semantics(semantics)) load.semantics = std::move(model).value();
  load.limits = options.limits;
  load.limits.edits = edits;
  return limiting(std::move(load));
}

// The answer on stdout, what to do next on stderr.
int conclude_verb(const CubeOptions& options, const Json& report, const std::string& next) {
  const std::string answer = runs::text_of(report, "answer");
  const auto named = search::answer_named(answer);
  const bool open = named == search::Answer::unknown || named == search::Answer::timed_out;
  if (options.json != "-") {
    std::printf("%s\n", answer.c_str());
    std::fflush(stdout);
    if (open) std::fprintf(stderr, "UNDECIDED: %s\n", runs::text_of(report, "reason").c_str());
    if (!open) std::fprintf(stderr, "%s\n", next.c_str());
  }
  const std::string text = report.dump(2, ' ', false, Json::error_handler_t::replace);
  return !write_json(options.json, text) ? kExitUnwritten : open ? kExitUndecided : kExitYes;
}

}  // namespace

int split(const CubeOptions& options) {
  const auto report = runs::split({options.files[0], options.files[1], options.semantics, options.limits.edits}, options.out, options.into,
                                  load_options(options, options.semantics, options.limits.edits), search_of(options));
  if (!report) return refuse("assay.split/1", options.json, recognised_input(report.rejection(), options.files[0], options.files[1]));
  conclude();
  const std::size_t cubes = report.value()["cubes"].size();
  const std::string all = (fs::path(options.out) / "*.cube").string();
  return conclude_verb(options, report.value(),
                       cubes == 0
                           ? "decided without cubes; write its certificate: assay merge " + options.out + " -o CERTIFICATE"
                           : counted(cubes, "cube") +
                                 "; solve each with a copy of the model and the property (assay solve CUBE), for example\n  ls " + all +
                                 " | xargs -P2 -n1 assay solve --threads 1\nthen assay merge " + options.out + " -o CERTIFICATE");
}

int solve(const CubeOptions& options) {
  const std::string& cube = options.files[0];
  const std::string part = options.out.empty() ? fs::path(cube).replace_extension(".part").string() : options.out;
  if (part == cube) return usage("solve", cube + " is the cube; write the part to another file with -o");
  const auto files =
      runs::find_files({options.model, options.property, options.semantics, options.limits.edits}, fs::path(cube).parent_path().string());
  if (!files) return refuse("assay.solve/1", options.json, files.rejection());
  const auto report = runs::written(part, [&](const std::string& name) {
    return runs::solve(cube, files.value(), name, load_options(options, files.value().semantics, files.value().edits), search_of(options));
  });
  if (!report) return refuse("assay.solve/1", options.json, report.rejection());
  conclude();
  return conclude_verb(options, report.value(),
                       "part: " + part + ", " + std::to_string(runs::count_of(report.value(), "bytes")) + " bytes");
}

int merge(const CubeOptions& options) {
  const std::string& folder = options.files[0];
  const auto files = runs::find_files({options.model, options.property, options.semantics, options.limits.edits}, folder);
  if (!files) return refuse("assay.merge/1", options.json, files.rejection());
  const runs::StatementFiles& of = files.value();
  const std::vector<std::string> named(options.files.begin() + 1, options.files.end());
  const auto report = runs::written(options.out, [&](const std::string& name) {
    return runs::merge(folder, named.empty() ? runs::parts_in(folder) : named, of, name, load_options(options, of.semantics, of.edits));
  });
  if (!report) return refuse("assay.merge/1", options.json, report.rejection());
  conclude();
  const std::uint64_t bytes = runs::count_of(report.value(), "bytes");
  return conclude_verb(options, report.value(),
                       queries::certificate_line({of.model, of.property, options.out, of.semantics, of.edits}, bytes));
}

}  // namespace assay::cli
