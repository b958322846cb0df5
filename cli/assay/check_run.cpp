// `assay check RUN/`: every certificate of a run, against model and data.
#include <algorithm>
#include <cstdio>

#include "app/runs/check_run.h"
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

std::string text_of(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

int exit_of(const runs::RunCheck& check) {
  switch (runs::verdict_of(check)) {
    case runs::RunVerdict::accepted:
      return kExitYes;
    case runs::RunVerdict::rejected:
      return kExitNo;
    case runs::RunVerdict::unreadable:
      return kExitBadInput;
    case runs::RunVerdict::open:
      return kExitUndecided;
  }
  return kExitInternal;
}

// Says which part of list or data the claim asks about, where that is not all.
std::string scope_of(const runs::RunCheck& check) {
  if (check.items == check.of_items) return "";
  return "only " + std::to_string(check.items) + " of " + std::to_string(check.of_items) +
         (check.kind == "robust" ? " items are asked about" : " instances are asked about");
}

// Where results are not there or did not pass: a run that goes on decides these again, and no others.
std::string next_step(const runs::RunCheck& check) {
  const auto is_lost = [](const runs::RunFinding& one) { return one.fault != runs::RunFault::declined; };
  const bool is_limited = !std::ranges::all_of(check.findings, is_lost);
  if (check.open > 0 || std::ranges::any_of(check.findings, is_lost))
    return "`assay " + check.kind + "` with the arguments of the run and --resume decides these again, and keeps the results that pass";
  return is_limited ? "check again with more --memory or --budget" : "";
}

void print_run_check(const runs::RunCheck& check) {
  std::printf("%s\n", runs::word(runs::verdict_of(check)));
  std::printf("%s: %zu with accepted certificates, %zu follow from those, %zu undecided\n", counted(check.results, "result").c_str(),
              check.accepted, check.follow, check.undecided);
  if (const std::string scope = scope_of(check); !scope.empty()) std::printf("%s\n", scope.c_str());
  for (const runs::CheckedCount& one : check.counts)
    std::printf(check.kind == "robust" ? "radius %s: %zu certified, %zu falsified, %zu undecided, of %zu\n"
                                       : "%s: %zu unsat, %zu sat, %zu undecided, of %zu\n",
                printable(one.name).c_str(), one.proved, one.refuted, one.undecided, one.proved + one.refuted + one.undecided);
  for (const auto& [key, value] : check.claim.items()) {
    if (!value.empty() && value != Json(""))
      std::printf("claim: %s\n",
                  printable(key + " " + (value.is_string() ? value.get<std::string>() : text_of(value)), kLongClaim).c_str());
  }
  for (const std::string& one : check.assumptions) std::printf("assumption: %s\n", one.c_str());
  constexpr std::size_t kMost = 50;
  for (std::size_t i = 0; i < check.findings.size() && i < kMost; ++i) {
    const runs::RunFinding& one = check.findings[i];
    std::printf("%s: %s: %s\n", runs::word(one.fault), printable(one.place, kLongClaim).c_str(), printable(one.why, kLongClaim).c_str());
  }
  if (check.findings.size() > kMost) std::printf("... and %zu more\n", check.findings.size() - kMost);
  if (check.open > 0)
    std::printf("not there: %s of %zu that the claim asks for%s\n", counted(check.open, "result").c_str(), check.asked,
                check.is_cut_off ? "; the last line of results.jsonl is cut off" : "");
  if (const std::string next = next_step(check); !next.empty()) std::printf("next: %s\n", next.c_str());
  std::fprintf(stderr, "%zu certificates, %llu bytes, check cpu seconds: %.3f\n", check.certificates,
               static_cast<unsigned long long>(check.certificate_bytes), check.cpu_seconds);
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
  request.load.exact = options.exact;
  request.load.limits = options.limits;
  request.load.limit_memory = limit_memory;
  auto semantics = semantics_of_run(folder);
  if (!semantics) return refuse(kRunSchema, options.gate.json, semantics.rejection());
  if (options.semantics && semantics.value() && !(*options.semantics == *semantics.value()))
    return refuse(kRunSchema, options.gate.json,
                  {Rejection::Kind::malformed, "run.semantics", folder, "a run about the semantics that --semantics names",
                   "one about others, which its claim names", ""});
  request.load.semantics = options.semantics ? options.semantics : std::move(semantics).value();
  RunProgress progress(false, 0, 0);
  auto checked = runs::check_run(folder, request, interruption_token(), [](std::size_t done, std::size_t all) {
    set_progress(std::to_string(done) + " of " + std::to_string(all) + " results checked");
  });
  conclude();
  if (!checked) return refuse(kRunSchema, options.gate.json, checked.rejection());
  if (!checked.value().unwritten.empty())
    std::fprintf(stderr, "assay: cannot write %s\n", printable(checked.value().unwritten, kLongClaim).c_str());
  const int exit = exit_of(checked.value());
  if (options.gate.json != "-") print_run_check(checked.value());
  const std::string text = runs::to_json(checked.value(), kRunSchema).dump(2, ' ', false, Json::error_handler_t::replace);
  const bool written = write_json(options.gate.json, text) && checked.value().unwritten.empty();
  return written || exit != kExitYes ? exit : kExitUnwritten;
}

}  // namespace assay::cli
