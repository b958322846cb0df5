// The judgement of regions as cases of a report.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "api/reports/report.h"
#include "explain/explain.h"

namespace assay::reports {
namespace {

// Words joined by a separator.
class Joined {
 public:
  explicit Joined(const char* separator) : separator_(separator) {}
  void add(std::string_view word) {
    if (!text_.empty()) text_ += separator_;
    text_ += word;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const char* separator_;
  std::string text_;
};

void add_violations(const Trace& trace, std::size_t index, const audit::RegionAudit& audit, const Judging& judging, GateCase& one) {
  const auto& known_faults = judging.known_faults;
  const Region& region = trace.regions[index];
  for (std::size_t i = 0; i < audit.results.size(); ++i) {
    if (audit.results[i].failed == 0) continue;
    Finding finding{
        Finding::Kind::failure, "contract." + one.op, trace.tensors[region.results[i]].name, {}, {}, audit.results[i].failed, {}};
    finding.message = std::to_string(audit.results[i].failed) + " of " + std::to_string(trace.tensors[region.results[i]].value.size()) +
                      " elements of '" + finding.subject + "' are outside their contract";
    const std::vector<std::size_t>& failed = audit.failed_at[i];
    finding.failed_at.assign(failed.begin(), failed.begin() + static_cast<std::ptrdiff_t>(std::min(failed.size(), kMostFailedAt)));
    finding.details = {"shapes " + shapes_of(trace, region)};
    for (const std::string& line : known_faults ? known_faults(trace, region) : std::vector<std::string>())
      finding.details.push_back("the result " + line);
    for (const auto& [name, violation] : {std::pair("first", &audit.first), std::pair("worst", &audit.worst)}) {
      if (!*violation || (*violation)->result != i) continue;
      finding.places.push_back(
          {name, explain::index_of(trace.tensors[region.results[i]].value.shape(), (*violation)->element), **violation});
    }
    for (std::string& line : explain::failure_lines(trace, index, audit, i)) finding.details.push_back(std::move(line));
    one.findings.push_back(std::move(finding));
  }
}

// Result by result: one of whose elements more than half are vacuous was not judged.
void add_vacuous(const Trace& trace, const Region& region, const audit::RegionAudit& audit, GateCase& one) {
  for (std::size_t i = 0; i < audit.results.size(); ++i) {
    const audit::RegionAudit::Counts& counts = audit.results[i];
    if (counts.vacuous == 0) continue;
    const std::size_t judged = counts.passed + counts.failed + counts.vacuous;
    const auto kind = counts.vacuous > judged / 2 ? Finding::Kind::undecided : Finding::Kind::vacuous;
    const std::string& name = trace.tensors[region.results[i]].name;
    Finding finding{kind, kVacuousRule, name, {}, {}, counts.vacuous, {}};
    finding.message =
        std::to_string(counts.vacuous) + " of " + std::to_string(judged) + " elements of '" + name + "' have sets too wide to say anything";
    one.findings.push_back(std::move(finding));
  }
}

}  // namespace

std::string shapes_of(const Trace& trace, const Region& region) {
  Joined operands(", "), results(", ");
  for (const TraceTensorId id : region.operands) operands.add(to_string(trace.tensors[id].value.shape()));
  for (const TraceTensorId id : region.results) results.add(to_string(trace.tensors[id].value.shape()));
  return operands.text() + " -> " + results.text();
}

std::string ops_of(const Graph& graph) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string_view> names;
  std::uint32_t digest = 2166136261U;  // FNV-1a
  for (const Node& node : graph.nodes) {
    if (node.op == Op::input || node.op == Op::constant) continue;
    names.push_back(op_row(node.op).name);
    for (const char letter : names.back()) digest = (digest ^ static_cast<unsigned char>(letter)) * 16777619U;
    digest = (digest ^ '+') * 16777619U;
  }
  Joined ops("+");
  if (names.size() <= kMost) {
    for (const std::string_view name : names) ops.add(name);
    return ops.text().empty() ? "none" : ops.text();
  }
  std::array<char, 16> hex{};
  std::snprintf(hex.data(), hex.size(), "%06x", digest >> 8U);
  for (const std::string_view name : {names.front(), std::string_view("..."), names.back()}) ops.add(name);
  return ops.text() + "(" + std::to_string(names.size()) + ":" + hex.data() + ")";
}

void call(GateCase& one, const std::string& name) {
  for (Finding& finding : one.findings)
    if (finding.rule == "contract." + one.op) finding.rule = "contract." + name;
  one.op = name;
}

GateCase case_of(const Trace& trace, std::size_t index) {
  const Region& region = trace.regions[index];
  GateCase one;
  one.name = "region " + std::to_string(index) + (region.name.empty() ? "" : " (" + region.name + ")");
  one.op = ops_of(region.graph);
  one.model = to_string(region.model);
  return one;
}

namespace {

GateCase judged_region(const Trace& trace, std::size_t index, const Judging& judging) {
  GateCase one = case_of(trace, index);
  const Region& region = trace.regions[index];
  const double start = judging.seconds ? judging.seconds() : 0;
  const auto audit = audit::audit_region(trace, index, judging.sampling);
  one.seconds = (judging.seconds ? judging.seconds() : 0) - start;
  if (!audit) {
    one.findings.push_back({Finding::Kind::undecided, audit.rejection().code, one.name, sentence(audit.rejection()), {}, 1, {}});
    return one;
  }
  const audit::RegionAudit::Counts counts = audit.value().total();
  std::tie(one.passed, one.failed, one.vacuous, one.unsupported) =
      std::tie(counts.passed, counts.failed, counts.vacuous, counts.unsupported);
  one.unsampled = counts.unsampled;
  one.head_room_used = audit.value().head_room_used;
  add_violations(trace, index, audit.value(), judging, one);
  add_vacuous(trace, region, audit.value(), one);
  if (audit.value().unsupported)
    one.findings.push_back({Finding::Kind::unsupported,
                            audit.value().unsupported->code,
                            one.name,
                            sentence(*audit.value().unsupported),
                            {},
                            counts.unsupported,
                            {}});
  return one;
}

GateCase judged_or_too_large(const Trace& trace, std::size_t region, const Judging& judging) {
  try {
    return judged_region(trace, region, judging);
  } catch (const std::bad_alloc&) {
    if (!judging.too_large) throw;
    return judging.too_large(case_of(trace, region));
  }
}

}  // namespace

void judge_regions(const Trace& trace, const Judging& judging, unsigned jobs, const std::function<bool(std::size_t, GateCase)>& take) {
  const std::size_t count = trace.regions.size();
  std::atomic<std::size_t> next{0};
  std::atomic<bool> is_over{false}, is_too_large{false};  // no exception leaves a thread
  const auto work = [&] {
    try {
      for (std::size_t r = next++; r < count && !is_over; r = next++)
        if (!take(r, judged_or_too_large(trace, r, judging))) is_over = true;
    } catch (const std::bad_alloc&) {
      is_too_large = is_over = true;
    }
  };
  std::vector<std::thread> others;
  others.reserve(jobs);
  try {
    for (unsigned k = 1; k < std::min<std::size_t>(jobs, count); ++k) others.emplace_back(work);
  } catch (const std::system_error&) {  // no room for another stack: those that there are do its work
  }
  work();
  for (std::thread& other : others) other.join();
  if (is_too_large) throw std::bad_alloc();
}

}  // namespace assay::reports
