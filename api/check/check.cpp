#include "assay/check.h"

#include <new>
#include <utility>

#include "api/check/cost.h"

namespace assay::check {
namespace {

Report refused(Report report, const Rejection& why, bool before_certificate) {
  report.verdict = before_certificate || why.kind == Rejection::Kind::declined ? Verdict::declined : Verdict::rejected;
  report.why = why;
  return report;
}

// Without a property, `model` is a statement file.
Report decided(const std::string& model, const std::string& property, const std::string& certificate, const LoadOptions& options) try {
  Report report;
  const double start = thread_cpu_seconds();
  auto loaded = property.empty() ? load_statement(model, options) : load_problem(model, property, options);
  const double loaded_at = thread_cpu_seconds();
  report.load_seconds = loaded_at - start;
  if (!loaded) return refused(std::move(report), loaded.rejection(), true);
  report.notes = loaded.value().notes;
  report.problem = loaded.value().problem;
  auto reader = certificate::Reader::open(certificate);
  if (!reader) return refused(std::move(report), in_file(reader.rejection(), certificate), reader.rejection().code == "certificate.io");
  const std::uint64_t certificate_bytes = file_bytes(certificate);
  if (options.limit_memory) options.limit_memory(memory_rule(options.limits).of(loaded.value().stored + certificate_bytes));
  const auto limits = replay_limits(loaded.value(), options.limits, certificate_bytes);
  auto theorem = certificate::replay(*reader.value(), loaded.value().problem, &report.statistics, limits);
  report.cpu_seconds = thread_cpu_seconds() - loaded_at + report.statistics.helper_seconds;
  report.certificate_bytes = reader.value()->bytes_read();
  if (!theorem) return refused(std::move(report), in_file(theorem.rejection(), certificate), false);
  report.verdict = Verdict::accepted;
  report.theorem = std::move(theorem).value();
  return report;
} catch (const std::bad_alloc&) {
  return refused(
      {}, {Rejection::Kind::declined, "check.memory", certificate, "memory within the limit", "more is needed", "allow more with --memory"},
      false);
}

}  // namespace

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::accepted:
      return "accepted";
    case Verdict::rejected:
      return "rejected";
    case Verdict::declined:
      return "declined";
  }
  return "declined";
}

Report check_certificate(const std::string& model, const std::string& property, const std::string& certificate,
                         const LoadOptions& options) {
  if (property.empty())
    return refused({}, {Rejection::Kind::malformed, "check.property", model, "a property file", "an empty name", ""}, true);
  return decided(model, property, certificate, options);
}

Report check_statement(const std::string& statement, const std::string& certificate, const LoadOptions& options) {
  return decided(statement, "", certificate, options);
}

}  // namespace assay::check
