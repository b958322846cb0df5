#include "cli/check.h"

#include <cstdio>
#include <new>
#include <utility>

#include "cli/cost.h"
#include "cli/units.h"
#include "kernel/proof/statement_text.h"

namespace assay::cli {
namespace {

CheckReport refused(CheckReport report, const Rejection& why, bool before_certificate) {
  report.word = before_certificate || why.kind == Rejection::Kind::declined ? "declined" : "rejected";
  report.exit = exit_code(why.kind);
  report.why = why;
  return report;
}

}  // namespace

CheckReport check(const std::string& model, const std::string& property, const std::string& certificate, const LoadOptions& options) try {
  CheckReport report;
  const double start = thread_cpu_seconds();
  auto loaded = property.empty() ? load_statement(model, options) : load(model, property, options);
  const double loaded_at = thread_cpu_seconds();
  report.load_seconds = loaded_at - start;
  if (!loaded) return refused(std::move(report), loaded.rejection(), true);
  report.notes = loaded.value().notes();
  report.problem = loaded.value().problem;
  auto reader = certificate::Reader::open(certificate);
  if (!reader) return refused(std::move(report), in_file(reader.rejection(), certificate), false);
  const std::uint64_t certificate_bytes = file_bytes(certificate);
  limit_memory(memory_rule(options.limits).of(loaded.value().stored() + certificate_bytes));
  const auto limits = replay_limits(loaded.value(), options.limits, certificate_bytes);
  auto theorem = certificate::replay(*reader.value(), loaded.value().problem, &report.statistics, limits);
  report.cpu_seconds = thread_cpu_seconds() - loaded_at;
  report.certificate_bytes = reader.value()->bytes_read();
  if (!theorem) return refused(std::move(report), in_file(theorem.rejection(), certificate), false);
  report.word = "accepted";
  report.exit = kExitYes;
  report.theorem = std::move(theorem).value();
  return report;
} catch (const std::bad_alloc&) {
  return refused(
      {}, {Rejection::Kind::declined, "check.memory", certificate, "memory within the limit", "more is needed", "allow more with --memory"},
      false);
}

void print_report(const char* program, const CheckReport& report, bool full) {
  std::printf("%s\n", report.word.c_str());
  if (report.theorem) {
    const std::string text = kernel::theorem_text(*report.theorem, full);
    std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
    print_notes(stdout, report.notes);
  }
  std::fflush(stdout);
  if (report.why) print_rejection(stderr, program, *report.why);
  std::fprintf(stderr, "check cpu seconds: %.6f\n", report.cpu_seconds);
}

}  // namespace assay::cli
