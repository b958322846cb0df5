// Bounds of nodes: intervals and back-substitution as the kernel proves them, beside what the nodes take at points of the box.
#include <algorithm>
#include <cmath>
#include <random>

#include "app/queries/bounds.h"
#include "app/views/sheet.h"
#include "app/words.h"
#include "semantics/ops/denote.h"

namespace assay::views {
namespace {

using queries::GroupBounds;
using queries::NodeBounds;

// Of the elements of a node.
struct Range {
  std::vector<double> lo, hi;

  [[nodiscard]] bool is_known() const { return !lo.empty(); }
  [[nodiscard]] double width(std::size_t i) const { return hi[i] - lo[i]; }
  [[nodiscard]] double mean_width() const {
    double sum = 0;
    for (std::size_t i = 0; i < lo.size(); ++i) sum += width(i) / static_cast<double>(lo.size());
    return sum;
  }
};

// By node, on the first box.
Outcome<std::vector<Range>> bounds_of(const std::shared_ptr<const logic::Problem>& problem, bool crown, double seconds,
                                      const std::function<bool()>& stop, std::string& remark) {
  std::vector<Range> ranges(problem->graph().nodes.size());
  bool is_done = false;
  queries::BoundsRequest request;
  request.crown = crown;
  request.seconds = seconds;
  request.stop = [&] { return is_done || stop(); };
  const auto take = [&](GroupBounds bounds) {
    is_done = true;
    if (bounds.empty) remark = "the input box is empty";
    if (bounds.stopped) remark = "back-substitution ended with its time";
    for (NodeBounds& node : bounds.nodes) ranges[node.node] = {std::move(node.lo), std::move(node.hi)};
  };
  if (auto done = queries::derive_bounds(problem, request, take); !done) return done.rejection();
  return ranges;
}

// Both corners, the middle, then points that are drawn: each coordinate at an end or uniform between them, whole for integers.
std::vector<Array<double>> point(const Graph& graph, const statement::InputBox& box, std::size_t number, std::mt19937_64& random) {
  std::vector<Array<double>> inputs;
  std::size_t at = 0;
  for (const NodeId input : graph.inputs) {
    Array<double> array{graph.node(input).shape, {}};
    for (std::size_t i = 0; i < graph.size(input); ++i, ++at) {
      const double lo = box.lo[at].double_up(), hi = box.hi[at].double_down();
      const double share = std::uniform_real_distribution<double>(-0.5, 1.5)(random);
      double x = number == 0 ? lo : number == 1 ? hi : number == 2 ? lo + (hi - lo) / 2 : lo + (hi - lo) * std::clamp(share, 0.0, 1.0);
      if (!is_float(graph.node(input).dtype)) x = std::floor(x);
      array.values.push_back(lo <= hi ? std::clamp(x, lo, hi) : lo);
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}

// By node, what double executions of so many points give.
std::vector<Range> sampled(const Graph& graph, const statement::InputBox& box, std::size_t samples, const std::function<bool()>& stop,
                           std::string& remark) {
  std::vector<Range> ranges(graph.nodes.size());
  std::mt19937_64 random(1);
  for (std::size_t k = 0; k < samples && !stop(); ++k) {
    const auto inputs = point(graph, box, k, random);
    const auto values = evaluate<double>(graph, inputs);
    if (!values) {
      remark = "no point was run: " + values.rejection().code + " at " + values.rejection().place;
      return ranges;
    }
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const std::vector<double>& found = values.value()[id].values;
      Range& range = ranges[id];
      if (k == 0) range = {found, found};
      for (std::size_t i = 0; i < found.size(); ++i) {
        range.lo[i] = std::fmin(range.lo[i], found[i]);
        range.hi[i] = std::fmax(range.hi[i], found[i]);
      }
    }
  }
  return ranges;
}

pages::Json least(const Range& range) { return range.is_known() ? pages::number(*std::ranges::min_element(range.lo)) : pages::Json(); }
pages::Json greatest(const Range& range) { return range.is_known() ? pages::number(*std::ranges::max_element(range.hi)) : pages::Json(); }
pages::Json mean_width(const Range& range) { return range.is_known() ? pages::number(range.mean_width()) : pages::Json(); }

// The mean share of its proved width that an element was seen to take.
pages::Json tightness(const Range& proved, const Range& seen) {
  if (!proved.is_known() || !seen.is_known()) return {};
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < proved.lo.size(); ++i) {
    if (!(proved.width(i) > 0) || !std::isfinite(proved.width(i))) continue;
    sum += seen.width(i) / proved.width(i);
    ++count;
  }
  return count == 0 ? pages::Json() : pages::number(sum / static_cast<double>(count));
}

}  // namespace

Outcome<Done> add_ranges(const std::shared_ptr<const logic::Problem>& problem, const InspectRequest& options, Sheet& sheet) {
  std::string remark;
  const auto intervals = bounds_of(problem, false, options.timeout, options.program.stop, remark);
  if (!intervals) return intervals.rejection();
  const auto crown = options.method == "crown" ? bounds_of(problem, true, options.timeout, options.program.stop, remark) : intervals;
  if (!crown) return crown.rejection();
  const auto seen = sampled(problem->graph(), problem->group_box(0), options.samples, options.program.stop, remark);
  sheet.facts.emplace_back("bounds", std::string(options.method == "crown" ? "back-substitution" : "interval propagation") +
                                         " on input box 1 of " + std::to_string(problem->group_count()) + ", beside " +
                                         counted(options.samples, "point") + " of it");
  if (!remark.empty()) sheet.facts.emplace_back("note", remark);
  constexpr std::ptrdiff_t kShape = 4;  // columns in front: node, op, dtype, shape
  pages::Table& table = sheet.tables.front();
  const std::vector<std::string> columns{"lo", "hi", "mean width", "interval width", "sampled lo", "sampled hi", "tightness"};
  table.columns.insert(table.columns.begin() + kShape, columns.begin(), columns.end());
  for (std::size_t id = 0; id < table.rows.size(); ++id) {
    const Range& proved = crown.value()[id].is_known() ? crown.value()[id] : intervals.value()[id];
    const bool is_variable = proved.is_known();
    const std::vector<pages::Json> cells{least(proved),
                                         greatest(proved),
                                         mean_width(proved),
                                         mean_width(intervals.value()[id]),
                                         is_variable ? least(seen[id]) : pages::Json(),
                                         is_variable ? greatest(seen[id]) : pages::Json(),
                                         tightness(proved, seen[id])};
    table.rows[id].insert(table.rows[id].begin() + kShape, cells.begin(), cells.end());
  }
  table.note =
      "Bounds hold for every input of the box: least and greatest over a node's elements, and the mean width. Tightness is the mean share "
      "of "
      "an element's proved width that the sampled points take; sampled values are computed in float64 and prove nothing.";
  sheet.heats.insert(sheet.heats.begin(), {"mean width", "tightness"});
  return Done{};
}

}  // namespace assay::views
