// The command line of `assay split`, `assay solve` and `assay merge`.
#include "cli/assay/cube_options.h"

#include <CLI/CLI.hpp>

#include "cli/assay/common_options.h"
#include "cli/assay/verbs.h"

namespace assay::cli {
namespace {

void add_files(CLI::App* verb, CubeOptions& options) {
  verb->add_option("--model", options.model, "the model, if it has moved since the split")->type_name("FILE");
  verb->add_option("--property", options.property, "the property, if it has moved since the split")->type_name("FILE");
  add_edits(verb, options.limits);
}

void add_search(CLI::App* verb, CubeOptions& options) {
  add_timeout(verb, options.timeout, "wall-clock limit for the whole run, e.g. 60, 90s, 5m");
  verb->add_option("--threads", options.threads, "threads of the search")->check(CLI::Range(1, 1024))->capture_default_str();
  add_branching(verb, options.branching);
  add_limits(verb, options.limits);
  refuse_wrapped(verb->add_option("--seed", options.seed, "random seed of the search for a counterexample"))->capture_default_str();
  verb->add_flag("--no-attack", options.no_attack, "do not search for a counterexample during the proof");
  add_json(verb, options.json);
}

}  // namespace

void add_cube_verbs(CLI::App& app, int& exit) {
  static CubeOptions split_options, solve_options, merge_options;
  CLI::App* verb =
      app.add_subcommand("split", "Split the proof of a property into parts (cubes) that several machines can prove separately");
  verb->add_option("FILES", split_options.files, "MODEL.onnx PROPERTY.vnnlib[.gz]")->required()->expected(2);
  verb->add_option("--into", split_options.into,
                   "number of cubes to make; there may be a few more. The hardest branches of the proof are split first")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb->add_option("-o,--out", split_options.out, "a new folder for the cubes")->required()->type_name("FOLDER");
  add_named_semantics(verb, split_options.semantics);
  add_edits(verb, split_options.limits);
  add_search(verb, split_options);
  verb->callback([&exit] { exit = split(split_options); });

  verb = app.add_subcommand("solve", "Prove one cube of a split, and write its part of the certificate");
  verb->add_option("CUBE", solve_options.files, "a file that `assay split` wrote; the model and the property that it names are read, too")
      ->required()
      ->expected(1);
  verb->add_option("-o,--out", solve_options.out, "the part to write; default: the name of the cube with the ending .part")
      ->type_name("FILE");
  add_files(verb, solve_options);
  add_search(verb, solve_options);
  verb->callback([&exit] { exit = solve(solve_options); });

  verb = app.add_subcommand("merge", "Join the parts of a split proof into one certificate, and check it");
  verb->add_option("FILES", merge_options.files,
                   "the folder of the cubes, then the files of the parts; if no part is named, all *.part files in the folder are joined")
      ->required()
      ->expected(1, 1'000'001);
  verb->add_option("-o,--out", merge_options.out, "the certificate to write")->required()->type_name("FILE");
  add_files(verb, merge_options);
  add_limits(verb, merge_options.limits);
  add_json(verb, merge_options.json);
  verb->callback([&exit] { exit = merge(merge_options); });
}

}  // namespace assay::cli
