// --shape, --dim, --set and --outputs: what is chosen of a model before it is read.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/assay/common_options.h"

namespace assay::cli {

void add_edits(CLI::App* verb, Limits& limits) {
  const auto add = [&](const std::string& name, const char* type, const char* description) {
    verb->add_option_function<std::vector<std::string>>(
            name,
            [&limits, name](const std::vector<std::string>& texts) {
              for (const std::string& text : texts)
                if (auto added = limits.edits.add(name, text); !added)
                  throw CLI::ValidationError(
                      name, "takes " + added.rejection().required + ", not " + added.rejection().found + "; " + added.rejection().advice);
            },
            description)
        ->type_name(type)
        ->take_all()
        ->expected(1)
        ->allow_extra_args(false);
  };
  add("--shape", "INPUT=N,...", "read the model with this shape of an input, e.g. x=1,3,48,96; may be repeated");
  add("--dim", "AXIS=N", "read the model with this extent of an axis that has a name and no number, e.g. seq=16; may be repeated");
  add("--set", "INPUT=VALUE,...",
      "make an input a constant, e.g. sr=16000: one value for all its elements, or one for each, row by row; may be\nrepeated");
  add("--outputs", "NAME,...", "read only these outputs of the model, in this order, or other results of its nodes");
}

}  // namespace assay::cli
