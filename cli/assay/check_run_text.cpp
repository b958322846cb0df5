#include "cli/assay/check_run_text.h"

#include <algorithm>
#include <cstdio>

#include "app/runs/claim.h"
#include "cli/assay/report.h"
#include "cli/assay/robust_text.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr std::size_t kLongLine = 2000;  // characters of a line

std::string text_of(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

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
    return "if you received the folder, ask for it again; if the run is yours, `assay " + check.kind +
           "` with its arguments and --resume decides these again, and keeps the results that pass";
  return is_limited ? "check again with more --memory or --budget" : "";
}

void print_counts(const runs::RunCheck& check) {
  if (!check.largest.empty()) return print_largest(check.largest, check.question == runs::question_words(true));
  const bool robust = check.kind == "robust";
  if (robust) std::printf("question: %s\n", check.question.c_str());
  for (const runs::CheckedCount& one : check.counts) {
    const std::string wrong = one.misclassified == 0 ? "" : " (" + std::to_string(one.misclassified) + " misclassified)";
    const std::string lost = one.unanswered == 0 ? "" : ", " + std::to_string(one.unanswered) + " without an accepted result";
    std::printf(robust ? "radius %s: %zu certified, %zu falsified%s, %zu undecided%s, of %zu\n"
                       : "%s: %zu unsat, %zu sat%s, %zu undecided%s, of %zu\n",
                printable(one.name).c_str(), one.proved, one.refuted, wrong.c_str(), one.undecided - one.unanswered, lost.c_str(),
                one.proved + one.refuted + one.undecided);
  }
}

}  // namespace

void print_run_check(const runs::RunCheck& check) {
  std::printf("%s\n", runs::word(runs::verdict_of(check)));
  std::printf("%s: %zu with accepted certificates, %zu follow from those, %zu undecided\n", counted(check.results, "result").c_str(),
              check.accepted, check.follow, check.undecided);
  if (const std::string scope = scope_of(check); !scope.empty()) std::printf("%s\n", scope.c_str());
  print_counts(check);
  for (const auto& [key, value] : check.claim.items()) {
    if (!value.empty() && value != Json(""))
      std::printf("claim: %s\n", printable(key + " " + (value.is_string() ? value.get<std::string>() : text_of(value)), kLongLine).c_str());
  }
  for (const std::string& one : check.assumptions) std::printf("assumption: %s\n", one.c_str());
  constexpr std::size_t kMost = 50;
  for (std::size_t i = 0; i < check.findings.size() && i < kMost; ++i) {
    const runs::RunFinding& one = check.findings[i];
    std::printf("%s: %s: %s\n", runs::word(one.fault), printable(one.place, kLongLine).c_str(), printable(one.why, kLongLine).c_str());
  }
  if (check.findings.size() > kMost) std::printf("... and %zu more\n", check.findings.size() - kMost);
  for (std::size_t i = 0; i < std::min(kMost, check.without.size()); ++i)
    std::printf("without a result: %s\n", printable(check.without[i], kLongLine).c_str());
  if (check.open > kMost) std::printf("... and %zu more\n", check.open - kMost);
  if (check.open > 0)
    std::printf("not there: %s of %zu that the claim asks for%s\n", counted(check.open, "result").c_str(), check.asked,
                check.is_cut_off ? "; the last line of results.jsonl is cut off" : "");
  if (const std::string next = next_step(check); !next.empty()) std::printf("next: %s\n", next.c_str());
  std::fprintf(stderr, "%zu certificates, %llu bytes, check cpu seconds: %.3f\n", check.certificates,
               static_cast<unsigned long long>(check.certificate_bytes), check.cpu_seconds);
}

}  // namespace assay::cli
