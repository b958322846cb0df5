// The accounts of a replay, and the place of a rejected step.

#include "certificates/check/part.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "semantics/statement/words.h"

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
  if (const auto open = all.session.open_case()) so_far.open_case = {all.session.group(), *open};
  so_far.helper_seconds = team ? team->helper_seconds() : 0;
  return so_far;
}

namespace {

// Names the splits around a refused step, and what is odd about them.
void add_splits(const Graph& graph, const std::vector<logic::Literal>& splits, Rejection& why) {
  if (why.place.find(" where ") == std::string::npos) why.place += statement::where_text(graph, splits);
  if (splits.empty() || (why.code != "conclude.S3" && why.code != "tighten.S3")) return;
  why.advice += statement::kCompareHalves;
  const auto of_relu = std::ranges::find_if(splits, [&](const logic::Literal& one) { return graph.node(one.node).op == Op::relu; });
  if (of_relu != splits.end()) why.advice = statement::split_of_relu(graph, of_relu->node) + "; " + why.advice;
}

}  // namespace

Rejection located(const Record& record, const Part& part, Rejection why) {
  std::string place =
      "step " + std::to_string(record.number) + " (" + to_string(record.type) + ") at byte " + std::to_string(record.offset);
  if (part.session.in_group())
    place += ", group " + std::to_string(part.session.group()) + ", depth " + std::to_string(part.session.depth());
  why.place = why.place.empty() ? place : place + ": " + why.place;
  if (part.session.in_group() && why.kind != Rejection::Kind::declined)
    add_splits(part.session.problem().graph(), part.session.scope().literals(), why);
  return why;
}

}  // namespace assay::certificate
