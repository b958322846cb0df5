// `assay check RUN/`: every certificate of a run, against model and data.
#include <cstdio>

#include "assay/runs/check_run.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/run_progress.h"
#include "cli/assay/run_verbs.h"
#include "cli/semantics.h"

namespace assay::cli {
namespace {

using runs::Json;

constexpr const char* kRunSchema = "assay.check-run/1";

// The worst: a proof that something is wrong, then what cannot be read, then what is open.
int exit_of(const runs::RunCheck& check) {
  const auto has = [&check](runs::RunFault fault) {
    return std::ranges::any_of(check.findings, [fault](const runs::RunFinding& one) { return one.fault == fault; });
  };
  if (has(runs::RunFault::rejected)) return kExitNo;
  if (has(runs::RunFault::damaged) || has(runs::RunFault::missing)) return kExitBadInput;
  return has(runs::RunFault::declined) || check.open > 0 ? kExitUndecided : kExitYes;
}

Json json_of(const runs::RunCheck& check, int exit) {
  Json findings = Json::array(), counts = Json::array();
  for (const runs::RunFinding& one : check.findings)
    findings.push_back({{"fault", runs::word(one.fault)}, {"place", one.place}, {"why", one.why}});
  for (const runs::CheckedCount& one : check.counts)
    counts.push_back({{"name", one.name}, {"proved", one.proved}, {"refuted", one.refuted}, {"undecided", one.undecided}});
  return {{"schema", kRunSchema},
          {"verdict", exit == kExitYes  ? "accepted"
                      : exit == kExitNo ? "rejected"
                                        : "declined"},
          {"kind", check.kind},
          {"claim", check.claim},
          {"results", check.results},
          {"accepted", check.accepted},
          {"following", check.follow},
          {"undecided", check.undecided},
          {"open", check.open},
          {"counts", counts},
          {"findings", findings},
          {"assumptions", check.assumptions},
          {"certificates", check.certificates},
          {"certificate_bytes", check.certificate_bytes},
          {"cpu_seconds", check.cpu_seconds}};
}

void print_run_check(const runs::RunCheck& check, int exit) {
  std::printf("%s\n", exit == kExitYes ? "accepted" : exit == kExitNo ? "rejected" : "declined");
  std::printf("%zu results: %zu with accepted certificates, %zu follow from those, %zu undecided\n", check.results, check.accepted,
              check.follow, check.undecided);
  for (const runs::CheckedCount& one : check.counts)
    std::printf(check.kind == "robust" ? "radius %s: %zu certified, %zu falsified, %zu not shown, of %zu\n"
                                       : "%s: %zu unsat, %zu sat, %zu not shown, of %zu\n",
                one.name.c_str(), one.proved, one.refuted, one.undecided, one.proved + one.refuted + one.undecided);
  for (const auto& [key, value] : check.claim.items()) {
    if (!value.empty() && value != Json(""))
      std::printf("claim: %s %s\n", key.c_str(), value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
  }
  for (const std::string& one : check.assumptions) std::printf("assumption: %s\n", one.c_str());
  constexpr std::size_t kMost = 50;
  for (std::size_t i = 0; i < check.findings.size() && i < kMost; ++i) {
    const runs::RunFinding& one = check.findings[i];
    std::printf("%s: %s: %s\n", runs::word(one.fault), one.place.c_str(), one.why.c_str());
  }
  if (check.findings.size() > kMost) std::printf("... and %zu more\n", check.findings.size() - kMost);
  if (check.open > 0) std::printf("open: %zu results that the claim asks for are not there: go on with --resume\n", check.open);
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

int check_run_verb(const CheckOptions& options) {
  const std::string& folder = options.files.front();
  runs::RunCheckRequest request{options.model, options.data, options.labels, options.properties, options.jobs, {}, {}};
  request.load.exact = options.exact;
  request.load.limits = options.limits;
  request.load.limit_memory = limit_memory;
  auto semantics = semantics_of_run(folder);
  if (!semantics) return refuse(kRunSchema, options.gate.json, semantics.rejection());
  request.load.semantics = std::move(semantics).value();
  RunProgress progress(false, 0, 0);
  auto checked = runs::check_run(folder, request, interruption_token(), [](std::size_t done, std::size_t all) {
    set_progress(std::to_string(done) + " of " + std::to_string(all) + " results checked");
  });
  conclude();
  if (!checked) return refuse(kRunSchema, options.gate.json, checked.rejection());
  const int exit = exit_of(checked.value());
  if (options.gate.json != "-") print_run_check(checked.value(), exit);
  const std::string text = json_of(checked.value(), exit).dump(2, ' ', false, Json::error_handler_t::replace);
  return write_json(options.gate.json, text) ? exit : kExitUnwritten;
}

}  // namespace assay::cli
