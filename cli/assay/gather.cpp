// `assay gather`: parts of a run become one folder.
#include "app/runs/gather.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "cli/assay/common_options.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/run_verbs.h"

namespace assay::cli {

int gather(const GatherOptions& options) {
  constexpr const char* kGatherSchema = "assay.gather/1";
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of the write
  LoadOptions load;
  auto semantics = semantics_of_run(options.parts.front());
  if (!semantics) return refuse(kGatherSchema, options.json, semantics.rejection());
  load.semantics = std::move(semantics).value();
  auto gathered = runs::gather(options.folder, options.parts, load, interruption_token());
  conclude();
  if (!gathered) return refuse(kGatherSchema, options.json, gathered.rejection());
  const runs::Gathered& all = gathered.value();
  if (options.json != "-")
    std::printf("%zu results added, %zu were there, %zu left out: rejected, without their certificates, or about nothing that is asked\n",
                all.added, all.twice, all.left_out);
  const runs::Json report{
      {"schema", kGatherSchema}, {"run", options.folder}, {"added", all.added}, {"twice", all.twice}, {"left_out", all.left_out}};
  return write_json(options.json, report.dump(2)) ? kExitYes : kExitUnwritten;
}

void add_gather(CLI::App& app, int& exit) {
  static GatherOptions options;
  CLI::App* verb = app.add_subcommand("gather", "Join the parts of a run, each made with --part, into one folder");
  verb->add_option("FOLDER", options.folder, "the folder for the joined run: a new folder, or one that an earlier `assay gather` wrote")
      ->required();
  verb->add_option("PARTS", options.parts, "the folders of the parts")->required();
  add_json(verb, options.json);
  verb->callback([&exit] { exit = gather(options); });
}

}  // namespace assay::cli
