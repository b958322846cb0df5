#include <bit>
#include <cmath>
#include <limits>

#include "kernel/audit/audit.h"
#include "semantics/demand.h"
#include "semantics/numbers/directed.h"

namespace assay::kernel {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers of the format from a to b >= a, for a report.
double steps_between(contracts::Format format, double a, double b) {
  double steps = 0;
  if (format == contracts::Format::binary32) {
    const auto place = [](double x) {  // order of the floats as integers
      const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(static_cast<float>(std::fabs(x))));
      return std::signbit(x) ? -bits : bits;
    };
    steps = static_cast<double>(place(b) - place(a));
  } else {
    const auto place = [](double x) {
      const auto bits = std::bit_cast<std::int64_t>(std::fabs(x));
      return std::signbit(x) ? -bits : bits;
    };
    steps = static_cast<double>(place(b)) - static_cast<double>(place(a));
  }
  return std::fmin(steps, 0x1p53);
}

Violation violation_of(const contracts::Admissible& admissible, const Tensor& received, std::size_t result, std::size_t element) {
  Violation one{result, element, contracts::describe(admissible, received, element), kInfinity, kInfinity};
  const contracts::FloatSet& set = admissible.sets.values[element];
  const Interval& exact = admissible.exact[element];
  const double value = contracts::recorded_value(received, element).value_or(std::numeric_limits<double>::quiet_NaN());
  if (!std::isfinite(value) || !set.has_finite()) return one;
  const bool above = contracts::before(set.hi, value);
  const auto format = contracts::format_of(admissible.sets.dtype);
  one.steps = above ? steps_between(format, set.hi, value) : steps_between(format, value, set.lo);
  if (exact.is_undefined() || set.lo == set.hi) return one;
  const double error = above ? value - exact.lo() : exact.hi() - value;
  const double room = above ? set.hi - exact.hi() : exact.lo() - set.lo;
  if (room > 0) one.allowance_units = error / room;
  return one;
}

bool is_worse(const Violation& a, const Violation& b) {
  return a.allowance_units != b.allowance_units ? a.allowance_units > b.allowance_units : a.steps > b.steps;
}

RegionAudit all_unsupported(const Trace& trace, const Region& region, const Rejection& why) {
  RegionAudit audit;
  audit.unsupported = why;
  for (const TraceTensorId id : region.results) audit.results.push_back({0, 0, 0, trace.tensors[id].value.size()});
  return audit;
}

// Failures are looked at one by one; of many, that many.
constexpr std::size_t kMostViolations = 1 << 12;

}  // namespace

RegionAudit::Counts& RegionAudit::Counts::operator+=(const Counts& other) {
  passed += other.passed;
  failed += other.failed;
  vacuous += other.vacuous;
  unsupported += other.unsupported;
  return *this;
}

RegionAudit::Counts RegionAudit::total() const {
  Counts sum;
  for (const Counts& one : results) sum += one;
  return sum;
}

Outcome<RegionAudit> audit_region(const Trace& trace, std::size_t index) {
  demand(index < trace.regions.size(), "audit_region: a region of the trace");
  demand(floating_point_environment_is_standard(), "audit_region: rounding to nearest, subnormal numbers");
  const Region& region = trace.regions[index];
  std::vector<Tensor> operands;
  for (const TraceTensorId id : region.operands) operands.push_back(trace.tensors[id].value);
  std::vector<contracts::Recording> recordings;
  if (region.results.size() > 1) {
    for (std::size_t i = 0; i < region.results.size(); ++i)
      recordings.push_back({region.graph.outputs[i], trace.tensors[region.results[i]].value});
  }
  const auto sets = contracts::admissible(region.graph, region.model, operands, recordings);
  if (!sets && sets.rejection().kind == Rejection::Kind::unsupported) return all_unsupported(trace, region, sets.rejection());
  if (!sets) return sets.rejection();
  RegionAudit audit;
  for (std::size_t i = 0; i < region.results.size(); ++i) {
    const contracts::Admissible& admissible = sets.value()[i];
    const Tensor& received = trace.tensors[region.results[i]].value;
    const auto judged = contracts::judge(admissible, received);
    if (!judged) return judged.rejection();
    audit.results.push_back({judged.value().passed, judged.value().failed, judged.value().vacuous, 0});
    audit.head_room_used = std::fmax(audit.head_room_used, judged.value().head_room_used);
    std::size_t seen = 0;
    for (std::size_t element = judged.value().first_failure.value_or(received.size()); element < received.size() && seen < kMostViolations;
         ++element) {
      const auto value = contracts::recorded_value(received, element);
      if (value && admissible.sets.values[element].contains(*value)) continue;
      const Violation one = violation_of(admissible, received, i, element);
      if (!audit.first) audit.first = one;
      if (!audit.worst || is_worse(one, *audit.worst)) audit.worst = one;
      ++seen;
    }
  }
  return audit;
}

}  // namespace assay::kernel
