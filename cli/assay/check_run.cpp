// `assay check RUN/`: every certificate of a run, against model and data.
#include <cstdio>

#include "app/runs/check_run.h"
#include "certificates/format/format.h"
#include "cli/assay/check_run_text.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/run_progress.h"
#include "cli/assay/run_verbs.h"
#include "cli/semantics.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr const char* kRunSchema = "assay.check-run/1";
constexpr std::size_t kLongClaim = 2000;  // characters of a line

std::string words_of(const ExecutionModel& semantics) {
  return semantics.kind == ExecutionModel::Kind::floating ? certificate::name_of(semantics) : "real arithmetic";
}

int exit_of(const runs::RunCheck& check) {
  switch (runs::verdict_of(check)) {
    case runs::RunVerdict::accepted:
      return kExitYes;
    case runs::RunVerdict::rejected:
      return kExitNo;
    case runs::RunVerdict::damaged:
    case runs::RunVerdict::missing:
      return kExitBadInput;
    case runs::RunVerdict::open:
      return kExitUndecided;
  }
  return kExitInternal;
}

}  // namespace

Outcome<std::optional<ExecutionModel>> semantics_of_run(const std::string& folder) {
  auto manifest = runs::read_manifest(folder);
  const std::string words = manifest ? runs::text_of(manifest.value()["claim"], "semantics") : "";
  if (words.empty()) return std::optional<ExecutionModel>();
  auto semantics = parse_semantics(words);
  if (!semantics) return semantics.rejection();
  return std::optional(std::move(semantics).value());
}

// An option that says where a file is of which the run has none, with what the run is; none where all is well.
static std::optional<std::pair<const char*, const char*>> unread_place(const CheckOptions& options, const std::string& folder) {
  const auto manifest = runs::read_manifest(folder);
  const bool is_list = manifest && runs::text_of(manifest.value(), "kind") == "batch";
  const bool has_labels = manifest && !runs::text_of(runs::member_of(manifest.value(), "claim"), "labels").empty();
  if (!manifest) return std::nullopt;
  if (!is_list && !options.list.empty()) return std::pair("--list", "a run on a data set");
  if (!is_list && !has_labels && !options.labels.empty()) return std::pair("--labels", "a run without a file of labels");
  if (is_list && !options.model.empty()) return std::pair("--model", "a run on lists");
  if (is_list && !options.data.empty()) return std::pair("--data", "a run on lists");
  if (is_list && !options.labels.empty()) return std::pair("--labels", "a run on lists");
  if (is_list && options.require) return std::pair("--require", "a run on lists, for which `assay batch --expected` is a gate");
  if (!runs::text_of(runs::member_of(manifest.value(), "claim"), "largest").empty() && options.require)
    return std::pair("--require", "a run with --largest, in which each item has radii of its own");
  if (!is_list && options.allow_vacuous)
    return std::pair("--allow-vacuous", "a run on a data set, in which nothing vacuous counts as certified");
  if (is_list && !options.properties.empty()) return std::pair("--properties", "a run on lists, which name their properties");
  return std::nullopt;
}

int check_run_verb(const CheckOptions& options) {
  const std::string& folder = options.files.front();
  if (const auto unread = unread_place(options, folder)) {
    std::fprintf(stderr, "assay check: %s does not go with %s\n", unread->first, unread->second);
    return kExitUsage;
  }
  runs::RunCheckRequest request;
  request.model = options.model;
  request.data = options.data;
  request.labels = options.labels;
  request.list = options.list;
  request.properties = options.properties;
  request.jobs = options.jobs;
  request.allow_vacuous = options.allow_vacuous;
  request.load.exact = options.exact;
  request.load.limits = options.limits;
  request.load.limit_memory = limit_memory;
  auto semantics = semantics_of_run(folder);
  if (!semantics) return refuse(kRunSchema, options.gate.json, semantics.rejection());
  if (options.semantics && semantics.value() && !(*options.semantics == *semantics.value()))
    return refuse(
        kRunSchema, options.gate.json,
        {Rejection::Kind::malformed, "run.semantics", folder, "a run about " + words_of(*options.semantics) + ", which --semantics names",
         "a run about " + words_of(*semantics.value()),
         "make another run with `assay robust` or `assay batch` and this --semantics, or check this run without the option"});
  const auto manifest = runs::read_manifest(folder);
  const onnx::Edits claimed = manifest ? runs::edits_of(runs::member_of(manifest.value(), "claim")) : onnx::Edits();
  if (!options.limits.edits.empty() && options.limits.edits != claimed)
    return refuse(kRunSchema, options.gate.json,
                  {Rejection::Kind::malformed, "run.options", folder, "a run of the model with " + options.limits.edits.to_text(),
                   claimed.empty() ? "a run of the model as it stands in its file" : "a run with " + claimed.to_text(),
                   "leave the options out: a check takes those of the run"});
  request.load.semantics = options.semantics ? options.semantics : std::move(semantics).value();
  RunProgress progress(false, 0, 0);
  auto checked = runs::check_run(folder, request, interruption_token(), [](std::size_t done, std::size_t all) {
    set_progress(std::to_string(done) + " of " + std::to_string(all) + " results checked");
  });
  conclude();
  if (!checked) return refuse(kRunSchema, options.gate.json, checked.rejection());
  if (!checked.value().unwritten.empty())
    std::fprintf(stderr, "assay: cannot write %s\n", printable(checked.value().unwritten, kLongClaim).c_str());
  const runs::Unmet unmet = options.require ? runs::unmet(checked.value(), *options.require) : runs::Unmet();
  int exit = exit_of(checked.value());
  if (exit == kExitYes && !unmet.sentences.empty()) exit = unmet.is_out_of_reach ? kExitNo : kExitUndecided;
  if (options.gate.json != "-") print_run_check(checked.value());
  for (const std::string& sentence : unmet.sentences) std::fprintf(stderr, "assay check: %s\n", sentence.c_str());
  Json report = runs::to_json(checked.value(), kRunSchema);
  if (options.require) report["unmet"] = unmet.sentences;
  const bool written =
      write_json(options.gate.json, report.dump(2, ' ', false, Json::error_handler_t::replace)) && checked.value().unwritten.empty();
  return written || exit != kExitYes ? exit : kExitUnwritten;
}

}  // namespace assay::cli
