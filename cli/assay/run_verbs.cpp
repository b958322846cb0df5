// The command lines of robust and batch.
#include "cli/assay/run_verbs.h"

#include <CLI/CLI.hpp>

#include "app/runs/claim.h"
#include "cli/assay/common_options.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/slurm.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMostItems = std::uint64_t{1} << 62;  // of a claim, whose numbers are signed in JSON

void add_run(CLI::App* verb, RunOptions& run) {
  verb->add_option("--run", run.folder, "keep results and certificates in FOLDER, which `assay check FOLDER` checks")->type_name("FOLDER");
  const auto part = [&run](const std::string& text) {
    std::size_t one = 0, all = 0;
    if (!runs::parse_part(text, one, all)) throw CLI::ValidationError("--part", "takes a part such as 2/8, not " + text);
    run.part = text;
  };
  verb->add_option_function<std::string>("--part", part, "compute only part I of N; `assay gather` joins the parts")->type_name("I/N");
  CLI::Option* resume = verb->add_flag("--resume", run.resume, "check the results in the folder of --run, and continue the run");
  verb->add_flag("--retry-undecided", run.retry, "decide undecided items again, for example with a larger --timeout")->needs(resume);
  verb->add_option("--items", run.items, "decide only these items or instances, counted from 0, e.g. 3,7,10-20")->type_name("N,M-K,...");
  verb->add_option("--properties", run.properties,
                   "write the undecided items to FOLDER for other tools, as VNN-LIB properties with an instances.csv")
      ->type_name("FOLDER");
  verb->add_flag("--pack", run.pack, "at the end, move all certificates into one file of the folder");
  verb->add_option("--slurm", run.slurm,
                   "submit an array job of Slurm that computes the run in N parts, and then a job that joins the parts into the folder\n"
                   "of --run")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  verb->add_option("--sbatch", run.slurm_options, "an argument for sbatch, e.g. --sbatch=--time=1:00:00; may be repeated")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->type_name("WORD");
  verb->add_option("--jobs", run.jobs, "instances to decide at the same time")->check(CLI::Range(1, 1024))->capture_default_str();
  verb->add_option("--timeout", run.timeout, "wall-clock limit of one instance, e.g. 60, 90s, 5m")
      ->type_name("TIME")
      ->capture_default_str();
  refuse_wrapped(verb->add_option("--seed", run.seed, "random seed of the search for counterexamples"))->capture_default_str();
  add_edits(verb, run.limits);
  add_memory(verb, run.limits, "memory that all instances together may take, e.g. 4G; default: 8GiB");
  verb->add_flag("--stream", run.stream, "print each result as a line of JSON as soon as it is known");
  verb->add_flag("-q,--quiet", run.quiet, "print no progress on stderr");
  add_json(verb, run.json);
}

void refuse_unread_by_run(const CLI::App& verb, const RunOptions& run) {
  if (run.slurm > 0)
    refuse_unread(verb, "--slurm", {"--part", "--stream"});
  else
    refuse_unread(verb, "a run without --slurm", {"--sbatch"});
}

void add_robust(CLI::App& app, RobustOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("robust", "Certify a data set: decide which items keep their class in a ball of each radius");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  verb->add_option("DATA", options.data,
                   "items and labels: NPY, NPZ, safetensors, IDX, CSV, CIFAR-10, or a folder of PNG files; FILE:NAME takes the array\n"
                   "NAME of a file with several arrays")
      ->required();
  verb->add_option("--eps", options.eps,
                   "radii of the balls, e.g. 2/255,4/255, in units of the data after --scale; with --largest, the largest radius to try")
      ->required()
      ->delimiter(',')
      ->type_name("EPS,...");
  verb->add_option("--norm", options.norm, "norm of the ball, in units of the data after --scale")
      ->check(CLI::IsMember({"linf", "l2", "l1"}))
      ->capture_default_str();
  verb->add_option("--labels", options.labels,
                   "labels, if DATA has none: a file, FILE:NAME, or numbers such as 3,1,4; default: the classes that the model gives")
      ->type_name("FILE");
  verb->add_option("--scale", options.scale,
                   "factor by which the data are multiplied; default: 1/255 for uint8, 1/65535 for uint16, else 1")
      ->type_name("NUMBER");
  verb->add_option("--mean", options.mean, "mean that is subtracted from the scaled data: one number, or one for each channel")
      ->delimiter(',')
      ->type_name("NUMBER,...");
  verb->add_option("--std", options.std,
                   "standard deviation, by which the data are divided after the mean is subtracted: one number, or one for each channel")
      ->delimiter(',')
      ->type_name("NUMBER,...");
  verb->add_option("--clip", options.clip, "range of the scaled data, e.g. 0,1; a ball has no points outside of this range")
      ->delimiter(',')
      ->expected(2)
      ->type_name("LO,HI");
  refuse_wrapped(verb->add_option("--first", options.first, "certify only the first N items"), kMostItems)->type_name("N");
  verb->add_option("--every", options.every, "certify only the items 0, K, 2 K and so on")
      ->check(CLI::Range(1, 1'000'000'000))
      ->type_name("K");
  verb->add_option("--largest", options.largest,
                   "find for each item, by bisection, the largest multiple of STEP that can be certified, up to the largest radius")
      ->type_name("STEP");
  verb->add_flag("--each", options.each,
                 "prove every radius separately; without the option, a proof for one ball of an item counts for its smaller balls, too");
  verb->add_option("--require", options.require,
                   "exit with 1 if the share of items that can be certified is below SHARE at any radius, and with 3 if it is undecided\n"
                   "whether a share is below SHARE")
      ->check(CLI::Range(0.0, 1.0))
      ->check(refuse_nan)
      ->type_name("SHARE");
  add_named_semantics(verb, options.semantics, "as for verify; default: real");
  add_run(verb, options.run);
  verb->callback([&options, &exit, verb] {
    if (!options.largest.empty()) refuse_unread(*verb, "--largest", {"--each", "--require"});
    if (!options.run.items.empty()) refuse_unread(*verb, "--items", {"--first", "--every"});
    refuse_unread_by_run(*verb, options.run);
    exit = options.run.slurm > 0 ? submit("robust", options.run) : robust(options);
  });
}

void add_batch(CLI::App& app, BatchOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("batch", "Decide all properties in lists such as the instances.csv of VNN-COMP");
  verb->add_option("LISTS", options.lists, "files with lines MODEL,PROPERTY[,TIMEOUT]; paths are relative to the folder of the file")
      ->required();
  CLI::Option* expected = verb->add_option("--expected", options.expected,
                                           "a file with lines MODEL,PROPERTY,sat|unsat; exit with 1 if an answer contradicts it")
                              ->type_name("FILE");
  add_allow_vacuous(verb, options.allow_vacuous)->needs(expected);
  verb->add_option("--most", options.most, "upper limit for the TIMEOUT of every line, e.g. 60, 90s, 5m")->type_name("TIME");
  add_named_semantics(verb, options.semantics,
                      "as for verify; default: the element type that each property declares, e.g. float32; real in VNN-LIB 1");
  add_run(verb, options.run);
  verb->callback([&options, &exit, verb] {
    refuse_unread_by_run(*verb, options.run);
    exit = options.run.slurm > 0 ? submit("batch", options.run) : batch(options);
  });
}

}  // namespace

void add_run_verbs(CLI::App& app, int& exit) {
  add_gather(app, exit);
  add_report(app, exit);
  static RobustOptions robust_options;
  static BatchOptions batch_options;
  add_batch(app, batch_options, exit);
  add_robust(app, robust_options, exit);
}

}  // namespace assay::cli
