// The command line of `assay inspect`.
#include <CLI/CLI.hpp>

#include "cli/assay/common_options.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/verbs.h"

namespace assay::cli {

void add_inspect(CLI::App& app, int& exit) {
  static InspectOptions options;
  CLI::App* verb =
      app.add_subcommand("inspect", "Show the contents of a file: a model, property, certificate, trace, checkpoint, array or log");
  CLI::Option* file = verb->add_option(
      "FILE", options.file, "a model, a property, a statement, a certificate, a trace, safetensors, NPZ, NPY, or a CSV log of training");
  verb->add_option("--network", options.network, "the model that a property or a certificate speaks about")->type_name("FILE");
  verb->add_flag("--summary", options.summary_only, "print facts about the file, but not its tables nor the records of a certificate");
  verb->add_option("--show", options.show,
                   "print the tables of these names; the name all prints every table of the file. For a certificate: values prints the\n"
                   "numbers of each record, such as betas, slopes and claims")
      ->delimiter(',')
      ->type_name("TABLE,...");
  CLI::Option* step =
      verb->add_option("--step", options.step,
                       "for a certificate: print only step N, its numbers and the splits around it; with --network and --property also\n"
                       "the boxes in force before the step, and why it is refused");
  refuse_wrapped(step)->type_name("N")->check(CLI::Range(std::uint64_t{1}, UINT64_MAX));
  verb->add_option("-o,--out", options.out, "write a self-contained HTML page")->type_name("FILE");
  verb->add_option("--model-explorer", options.model_explorer, "write the graph as JSON for Model Explorer")->type_name("FILE");
  verb->add_option(
          "--property", options.property,
          "for a model: bound its nodes on the first box of this property. For a certificate, with --network: take each step, and\n"
          "say which steps the rules refuse and why")
      ->type_name("FILE");
  verb->add_option("--box", options.box, "for a model: bound its nodes on the box in which every input lies between these numbers")
      ->type_name("LO HI")
      ->expected(2);
  verb->add_flag("--bounds", options.bounds, "for a property or a statement: bound the nodes on its first box");
  verb->add_option("--method", options.method, "method for the bounds: interval propagation (ibp), or backward linear bounds (crown)")
      ->check(CLI::IsMember({"ibp", "crown"}))
      ->capture_default_str();
  refuse_wrapped(
      verb->add_option("--samples", options.samples, "number of points of the box at which values of nodes are shown beside their bounds"),
      kMostSamples)
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--values", options.values,
                   "for a model: run it forward and backward on the values in FILE (JSON as for eval), and show the run")
      ->type_name("FILE");
  verb->add_option("--data", options.data, "for a model: classify the items of this data set, and count which classes are confused")
      ->type_name("FILE");
  verb->add_option("--labels", options.labels, "labels for --data, if the data set has none")->type_name("FILE");
  verb->add_option("--items", options.items, "largest number of items of the data set to classify")->type_name("N")->capture_default_str();
  verb->add_option("--tensor", options.tensor, "list the elements of this tensor, with their bits")->type_name("NAME");
  refuse_wrapped(verb->add_option("--elements", options.elements, "largest number of elements of the tensor to list"))
      ->type_name("N")
      ->capture_default_str();
  CLI::Option* numbers = verb->add_option("--number", options.numbers, "instead of a file: show how float32 rounds these numbers")
                             ->delimiter(',')
                             ->type_name("NUMBER,...");
  add_edits(verb, options.limits);
  add_limits(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&exit, verb, file, numbers] {
    if (file->empty() == numbers->empty()) throw CLI::ValidationError("inspect", "name a FILE, or numbers with --number");
    if (!options.box.empty() && options.box[0] > options.box[1]) throw CLI::ValidationError("--box", "takes LO <= HI");
    refuse_unread_by_inspect(*verb, options);
    exit = inspect(options);
  });
}

}  // namespace assay::cli
