// The command line of `assay inspect`.
#include <CLI/CLI.hpp>

#include "cli/assay/common_options.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/verbs.h"

namespace assay::cli {

void add_inspect(CLI::App& app, int& exit) {
  static InspectOptions options;
  CLI::App* verb = app.add_subcommand("inspect", "Show what a file holds: a model, property, certificate, trace, checkpoint, array or log");
  CLI::Option* file = verb->add_option(
      "FILE", options.file, "a model, a property, a statement, a certificate, a trace, safetensors, NPZ, NPY, or a CSV log of training");
  verb->add_option("--network", options.network, "the model that a property speaks about")->type_name("FILE");
  verb->add_flag("--summary", options.summary_only, "leave out single records, nodes and regions");
  verb->add_option("--show", options.show, "print these tables, or all")->delimiter(',')->type_name("TABLE,...");
  verb->add_option("-o,--out", options.out, "write a page of HTML that needs nothing else")->type_name("FILE");
  verb->add_option("--model-explorer", options.model_explorer, "write the graph as JSON for Model Explorer")->type_name("FILE");
  verb->add_option("--property", options.property, "of a model: bound its nodes on the first box of this property")->type_name("FILE");
  verb->add_option("--box", options.box, "of a model: bound its nodes where every input lies between these numbers")
      ->type_name("LO HI")
      ->expected(2);
  verb->add_flag("--bounds", options.bounds, "of a property or a statement: bound the nodes on its first box");
  verb->add_option("--method", options.method, "of the bounds")->check(CLI::IsMember({"ibp", "crown"}))->capture_default_str();
  verb->add_option("--samples", options.samples, "points of the box at which nodes are evaluated beside their bounds")
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--values", options.values, "of a model: run it on these (JSON as for eval), forward and backward, and show the run")
      ->type_name("FILE");
  verb->add_option("--data", options.data, "of a model: classify the items of this data set, and count confusions")->type_name("FILE");
  verb->add_option("--labels", options.labels, "labels where the data set has none")->type_name("FILE");
  verb->add_option("--items", options.items, "of the data set at most")->type_name("N")->capture_default_str();
  verb->add_option("--tensor", options.tensor, "list the elements of this tensor, with their bits")->type_name("NAME");
  verb->add_option("--elements", options.elements, "of it at most")->type_name("N")->capture_default_str();
  CLI::Option* numbers = verb->add_option("--number", options.numbers, "instead of a file: show how float32 rounds these numbers")
                             ->delimiter(',')
                             ->type_name("NUMBER,...");
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
