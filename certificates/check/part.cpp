// The accounts of a replay, and the place of a rejected step.

#include "certificates/check/part.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace assay::certificate {

Replay::Replay(Reader& from, std::shared_ptr<const logic::Problem> of, const ReplayLimits& within)
    : reader(from),
      problem(std::move(of)),
      limits(within),
      allowed(allowed_after(0)),
      team(limits.threads > 1 ? std::make_shared<Team>(limits.threads) : nullptr),
      all{Session(problem, {allowed, limits.memory}, team), {}, {}, {}} {}

double Replay::allowed_after(std::uint64_t bytes) const {
  return std::floor(std::min(limits.work + limits.work_per_byte * static_cast<double>(bytes), limits.most_work));
}

void Replay::allow(double most) {
  all.session.allow(most - allowed);
  allowed = most;
}

ReplayStatistics Replay::statistics() const {
  ReplayStatistics so_far = all.statistics;
  so_far.work = allowed - all.session.work_left();
  so_far.budget = allowed;
  so_far.memory = all.session.most_memory();
  so_far.helper_seconds = team ? team->helper_seconds() : 0;
  return so_far;
}

Rejection located(const Record& record, const Part& part, Rejection why) {
  std::string place =
      "step " + std::to_string(record.number) + " (" + to_string(record.type) + ") at byte " + std::to_string(record.offset);
  if (part.session.in_group())
    place += ", group " + std::to_string(part.session.group()) + ", depth " + std::to_string(part.session.depth());
  why.place = why.place.empty() ? place : place + ": " + why.place;
  return why;
}

}  // namespace assay::certificate
