#include "app/queries/trim.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <utility>

#include "api/check/cost.h"
#include "app/files/output_file.h"
#include "certificates/check/replay.h"
#include "semantics/interrupt.h"

namespace assay::queries {
namespace {

struct Checked {
  logic::Theorem theorem;
  double work = 0;
  std::uint64_t bytes = 0;
};

Outcome<Checked> checked(const check::Loaded& loaded, const check::Limits& limits, const std::string& path) {
  auto reader = certificate::Reader::open(path);
  if (!reader) return check::in_file(reader.rejection(), path);
  certificate::ReplayStatistics statistics;
  const std::uint64_t bytes = check::file_bytes(path);
  auto theorem = certificate::replay(*reader.value(), loaded.problem, &statistics, check::replay_limits(loaded, limits, bytes));
  if (!theorem) return check::in_file(theorem.rejection(), path);
  return Checked{std::move(theorem).value(), statistics.work, reader.value()->bytes_read()};
}

bool is_unchanged(const certificate::TrimStatistics& s) {
  return s.refined == s.kept && s.slopes_dropped + s.splits_dropped + s.sweeps_joined == 0;
}

// Writes the trimmed certificate. Returns nothing if the result is better than `from`, else the reason why it is not. `is_over`
// ends the trials, `stop` the check of the result.
std::optional<std::string> attempt(const check::Loaded& loaded, const check::Limits& limits, const std::string& from, const std::string& to,
                                   const std::function<bool()>& is_over, const std::function<bool()>& stop, TrimReport& report) {
  auto groups = certificate::read_proof(from, *loaded.problem);
  if (!groups) return groups.rejection().required + " can be trimmed, and there is " + groups.rejection().found;
  auto statistics = certificate::trim(loaded.problem, groups.value(), is_over);
  if (!statistics) return statistics.rejection().to_text();
  report.statistics = statistics.value();
  auto writer = certificate::Writer::open(to, *loaded.problem);
  if (!writer) return writer.rejection().to_text();
  certificate::write_proof(groups.value(), *writer.value());
  if (auto written = writer.value()->finish(); !written) return written.rejection().to_text();
  report.bytes_after = check::file_bytes(to);
  if (report.bytes_after > report.bytes_before) return "the trimmed one is larger";
  if (report.bytes_after == report.bytes_before && is_unchanged(report.statistics)) return "nothing was found to leave out";
  const StopScope watch(stop);
  const auto after = checked(loaded, limits, to);
  if (!after) return "the trimmed one is not accepted: " + after.rejection().to_text();
  report.work_after = after.value().work;
  if (report.work_before && report.work_after > *report.work_before) return "the trimmed one takes more work to check";
  return std::nullopt;
}

}  // namespace

TrimReport trim_proof(const check::Loaded& loaded, const check::Limits& limits, const std::string& from, const std::string& to,
                      double seconds, const search::Limit& limit) {
  TrimReport report;
  report.bytes_before = check::file_bytes(from);
  const auto is_over = [&limit, end = check::thread_cpu_seconds() + seconds] {
    return limit.reached() || check::thread_cpu_seconds() >= end;
  };
  try {
    report.reason = attempt(loaded, limits, from, to, is_over, limit.question(), report).value_or("");
  } catch (const std::bad_alloc&) {
    report.reason = "it takes more memory than there is";
  }
  report.trimmed = report.reason.empty();
  if (!report.trimmed) report.bytes_after = report.bytes_before;
  return report;
}

TrimmedProof trim_in_place(const check::Loaded& loaded, const check::Limits& limits, const std::string& proof, double seconds,
                           const search::Limit& limit) {
  const double start = check::thread_cpu_seconds();
  TrimmedProof trimmed;
  TrimReport& report = trimmed.report;
  report.reason = "it is no regular file";
  if (std::filesystem::is_regular_file(proof)) {
    files::Replacement file(proof);
    if (file.name().empty())
      report.reason = std::strerror(errno);
    else
      report = trim_proof(loaded, limits, proof, file.name(), seconds, limit);
    if (report.trimmed && !file.take_place()) {
      report.trimmed = false;
      report.reason = std::strerror(errno);
      report.bytes_after = report.bytes_before;
    }
  }
  trimmed.seconds = check::thread_cpu_seconds() - start;
  return trimmed;
}

Outcome<TrimReport> trim(const check::Loaded& loaded, const check::Limits& limits, const std::string& from, const std::string& to,
                         const search::Limit& limit) {
  const auto before = checked(loaded, limits, from);
  if (!before) return before.rejection();
  TrimReport report;
  report.answer = search::answer_of(before.value().theorem);
  report.bytes_before = report.bytes_after = before.value().bytes;
  report.work_before = report.work_after = before.value().work;
  if (auto kept = attempt(loaded, limits, from, to, limit.question(), {}, report)) {
    report.reason = *std::move(kept);
    report.bytes_after = report.bytes_before;
    report.work_after = *report.work_before;
    std::error_code failed;
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, failed);
    if (failed)
      return Rejection{Rejection::Kind::declined,    "trim.write",     to,
                       "a file that can be written", failed.message(), "check path, permissions and space"};
    return report;
  }
  report.trimmed = true;
  return report;
}

}  // namespace assay::queries
