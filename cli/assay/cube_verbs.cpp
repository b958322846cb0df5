// The verbs that prove one statement on many machines: split, solve, merge.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "app/queries/verify.h"
#include "app/runs/cubes.h"
#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "cli/semantics.h"
#include "cli/units.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct CubeOptions : SearchOptions {
  std::vector<std::string> files;  // split: MODEL PROPERTY; solve: CUBE; merge: FOLDER PARTS...
  std::string model, property;     // of solve and merge, where they are not where split.json says
  std::string out, semantics;
  std::size_t into = 8;
  JsonTarget json;
};

search::Options search_of(const CubeOptions& options) {
  search::Options search = search_options(options);
  if (!options.timeout.empty() && parse_seconds(options.timeout, search.seconds))
    search.deadline = search::Deadline::in(search.seconds - wall_seconds());
  search.on_progress = [](const search::Progress& progress) {
    set_progress(progress.phase + ", " + std::to_string(progress.closed) + " closed, " + std::to_string(progress.open) + " open");
  };
  return search;
}

LoadOptions load_options(const CubeOptions& options, const std::string& semantics) {
  LoadOptions load;
  if (!semantics.empty())
    if (auto model = parse_semantics(semantics)) load.semantics = std::move(model).value();
  load.limits = options.limits;
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

int split(const CubeOptions& options) {
  const auto report = runs::split({options.files[0], options.files[1], options.semantics}, options.out, options.into,
                                  load_options(options, options.semantics), search_of(options));
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
  const auto files = runs::find_files({options.model, options.property, options.semantics}, fs::path(cube).parent_path().string());
  if (!files) return refuse("assay.solve/1", options.json, files.rejection());
  const auto report = runs::written(part, [&](const std::string& name) {
    return runs::solve(cube, files.value(), name, load_options(options, files.value().semantics), search_of(options));
  });
  if (!report) return refuse("assay.solve/1", options.json, report.rejection());
  conclude();
  return conclude_verb(options, report.value(),
                       "part: " + part + ", " + std::to_string(runs::count_of(report.value(), "bytes")) + " bytes");
}

int merge(const CubeOptions& options) {
  const std::string& folder = options.files[0];
  const auto files = runs::find_files({options.model, options.property, options.semantics}, folder);
  if (!files) return refuse("assay.merge/1", options.json, files.rejection());
  const runs::StatementFiles& of = files.value();
  const std::vector<std::string> named(options.files.begin() + 1, options.files.end());
  const auto report = runs::written(options.out, [&](const std::string& name) {
    return runs::merge(folder, named.empty() ? runs::parts_in(folder) : named, of, name, load_options(options, of.semantics));
  });
  if (!report) return refuse("assay.merge/1", options.json, report.rejection());
  conclude();
  const std::uint64_t bytes = runs::count_of(report.value(), "bytes");
  return conclude_verb(options, report.value(), queries::certificate_line({of.model, of.property, options.out, of.semantics}, bytes));
}

void add_files(CLI::App* verb, CubeOptions& options) {
  verb->add_option("--model", options.model, "if it has moved since the split")->type_name("FILE");
  verb->add_option("--property", options.property, "if it has moved since the split")->type_name("FILE");
}

void add_search(CLI::App* verb, CubeOptions& options) {
  add_timeout(verb, options.timeout, "wall-clock limit for the whole run, e.g. 60, 90s, 5m");
  verb->add_option("--threads", options.threads, "search threads")->check(CLI::Range(1, 1024))->capture_default_str();
  add_branching(verb, options.branching);
  add_limits(verb, options.limits);
  verb->add_option("--seed", options.seed, "seed of the attack")->capture_default_str();
  verb->add_flag("--no-attack", options.no_attack, "do not look for a counterexample beside the proof");
  add_json(verb, options.json);
}

}  // namespace

void add_cube_verbs(CLI::App& app, int& exit) {
  static CubeOptions split_options, solve_options, merge_options;
  CLI::App* verb = app.add_subcommand("split", "Split the proof of a property into cubes, each of which any machine may close");
  verb->add_option("FILES", split_options.files, "MODEL.onnx PROPERTY.vnnlib[.gz]")->required()->expected(2);
  verb->add_option("--into", split_options.into, "number of cubes, or a few more; the hardest branches are split first")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb->add_option("-o,--out", split_options.out, "new folder for the cubes")->required()->type_name("FOLDER");
  add_named_semantics(verb, split_options.semantics);
  add_search(verb, split_options);
  verb->callback([&exit] { exit = split(split_options); });

  verb = app.add_subcommand("solve", "Close a cube: write its part of the certificate");
  verb->add_option("CUBE", solve_options.files, "a file that assay split wrote; its model and property have to be there as well")
      ->required()
      ->expected(1);
  verb->add_option("-o,--out", solve_options.out, "the part; without the option beside the cube, with the ending .part")->type_name("FILE");
  add_files(verb, solve_options);
  add_search(verb, solve_options);
  verb->callback([&exit] { exit = solve(solve_options); });

  verb = app.add_subcommand("merge", "Join the parts of a split proof into one certificate, and check it");
  verb->add_option("FILES", merge_options.files, "FOLDER of the cubes, then the PARTS; without any all *.part in the folder")
      ->required()
      ->expected(1, 1'000'001);
  verb->add_option("-o,--out", merge_options.out, "the certificate")->required()->type_name("FILE");
  add_files(verb, merge_options);
  add_limits(verb, merge_options.limits);
  add_json(verb, merge_options.json);
  verb->callback([&exit] { exit = merge(merge_options); });
}

}  // namespace assay::cli
