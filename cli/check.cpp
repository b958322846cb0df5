#include "cli/check.h"

#include <cstdio>

#include "api/check/vacuity.h"
#include "kernel/logic/theorem_text.h"

namespace assay::cli {

CheckReport check_files(const std::string& model, const std::string& property, const std::string& certificate, const LoadOptions& options) {
  if (property.empty()) return check::check_statement(model, certificate, limiting(options));
  return check::check_certificate(model, property, certificate, limiting(options));
}

int exit_code(const CheckReport& report) {
  if (report.verdict == check::Verdict::accepted) return report.theorem ? kExitYes : kExitInternal;
  return report.why ? exit_code(report.why->kind) : kExitInternal;
}

void print_report(const char* program, const CheckReport& report, bool full, const std::string& meaning) {
  std::printf("%s\n", check::word(report.verdict));
  if (report.theorem) {
    const std::string text = logic::theorem_text(*report.theorem, full);
    if (const std::string why = check::vacuity(*report.theorem); !why.empty()) std::printf("vacuous: %s\n", why.c_str());
    std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
    print_notes(stdout, report.notes);
  }
  std::fflush(stdout);
  if (report.why) print_rejection(stderr, program, *report.why, meaning);
  std::fprintf(stderr, "check cpu seconds: %.6f\n", report.cpu_seconds);
}

}  // namespace assay::cli
