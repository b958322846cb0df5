// The command line of `assay check`.
#include <CLI/CLI.hpp>

#include "cli/assay/common_options.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/run_verbs.h"
#include "cli/assay/verbs.h"

namespace assay::cli {

void add_check(CLI::App& app, int& exit) {
  static CheckOptions options;
  CLI::App* verb = app.add_subcommand("check", "Check certificates as assay-check does, or all results in the folder of a run");
  verb->add_option("FILES", options.files, "MODEL PROPERTY CERTIFICATE, once or more; or STATEMENT CERTIFICATE; or the folder of a run");
  verb->add_option("--list", options.list,
                   "check the certificates that FILE names in lines MODEL,PROPERTY,CERTIFICATE[,sat|unsat], whose paths are relative\n"
                   "to the folder of FILE. For the folder of a run: the list of instances, if it has moved")
      ->type_name("FILE");
  verb->add_option("--expect", options.expect, "the answer that every certificate has to prove")->check(CLI::IsMember({"sat", "unsat"}));
  add_allow_vacuous(verb, options.allow_vacuous);
  verb->add_flag("--exact", options.exact, "compute every step in exact arithmetic, even if a faster test with doubles would decide it");
  add_semantics(verb, options.semantics);
  verb->add_option("--threads", options.limits.threads, "threads for each certificate")->check(CLI::Range(1, 1024))->capture_default_str();
  add_edits(verb, options.limits);
  add_limits(verb, options.limits);
  add_statement(verb, options.statement);
  add_gate_files(verb, options.gate);
  verb->add_option("--model", options.model, "for the folder of a run: the model, if it has moved")->type_name("FILE");
  verb->add_option("--data", options.data, "for the folder of a run: the data set, if it has moved")->type_name("FILE");
  verb->add_option("--labels", options.labels, "for the folder of a run: the labels, if they have moved")->type_name("FILE");
  verb->add_option("--properties", options.properties,
                   "for the folder of a run: write the property of each certificate to FOLDER, for assay-check; in a\n"
                   "run with --norm l1, write the statement of each certificate instead")
      ->type_name("FOLDER");
  verb->add_option("--require", options.require,
                   "for a run on a data set: exit with 1 if the share of certified items is below SHARE at any radius, and with 3 if\n"
                   "undecided items may still raise it to SHARE")
      ->check(CLI::Range(0.0, 1.0))
      ->check(refuse_nan)
      ->type_name("SHARE");
  verb->add_option("--jobs", options.jobs, "for the folder of a run: certificates to check at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb->callback([&exit, verb] {
    if (refuse_unread_by_check(*verb, options)) {
      exit = check_run_verb(options);
      return;
    }
    if ((options.files.size() % 3 != 0 && options.files.size() != 2) || options.files.empty() == options.list.empty())
      throw CLI::ValidationError("check",
                                 "name MODEL PROPERTY CERTIFICATE, once or more, STATEMENT CERTIFICATE, the folder of a run, or a --list");
    if (options.files.size() == 2) options.files.insert(options.files.begin() + 1, "");  // a statement file holds both
    exit = check_verb(options);
  });
}

}  // namespace assay::cli
