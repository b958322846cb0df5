#include "app/queries/bounds.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "api/check/load.h"
#include "certificates/check/meter.h"
#include "kernel/inspect/inspect.h"
#include "search/strategy/deadline.h"

namespace assay::queries {
namespace {

constexpr double kLeastSeconds = 1e-9;  // of back-substitution per group, when the time is up: none

double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Boxes and back-substitution, each under a time limit.
class Tightening {
 public:
  Tightening(logic::Scope& scope, const logic::Problem& problem, search::Deadline limit, const std::function<bool()>& stop)
      : scope_(scope), problem_(problem), limit_(limit) {
    scope_.stop_when([this, stop] { return now_until_.has_passed() || (stop && stop()); });
  }
  ~Tightening() { scope_.stop_when({}); }
  // Of back-substitution; that of boxes is the limit.
  void until(search::Deadline deadline) { deadline_ = deadline; }
  [[nodiscard]] bool stopped() const { return stopped_; }

  // False: out of time.
  Outcome<bool> propagate_box(NodeId node) {
    now_until_ = limit_;
    auto boxed = scope_.propagate_box(node);
    if (boxed) return true;
    if (boxed.rejection().code != "kernel.stopped") return boxed.rejection();
    stopped_ = true;
    return false;
  }

  // Works by chunks of the node's elements, so that a stop discards one chunk only.
  Outcome<Done> operator()(NodeId node, inspect::Selection::Kind kind) {
    now_until_ = deadline_;
    constexpr std::size_t kChunk = 512;
    const std::vector<std::uint32_t> elements = inspect::selected(scope_, node, {kind, {}});
    for (std::size_t first = 0; first < elements.size(); first += kChunk) {
      inspect::Selection chunk{inspect::Selection::Kind::mask, std::vector<bool>(problem_.graph().size(node), false)};
      for (std::size_t k = first; k < std::min(first + kChunk, elements.size()); ++k) chunk.mask[elements[k]] = true;
      auto tightened = inspect::tighten(scope_, node, chunk, {});
      if (tightened) continue;
      if (tightened.rejection().code != "kernel.stopped") return tightened;
      stopped_ = true;
      break;
    }
    return Done{};
  }

 private:
  logic::Scope& scope_;
  const logic::Problem& problem_;
  search::Deadline limit_, deadline_, now_until_;
  bool stopped_ = false;
};

// Boxes of all nodes that time allows; with back-substitution for `seconds`, a fifth of which is kept for the outputs (0: without a limit).
Outcome<Done> bound_group(const logic::Problem& problem, logic::Scope& scope, const BoundsRequest& request, double seconds, bool& stopped) {
  const bool crown = request.crown;
  constexpr double kHiddenShare = 0.8;
  const Graph& graph = problem.graph();
  const double limit = seconds > 0 ? seconds : std::numeric_limits<double>::infinity();
  const auto end = search::Deadline::in(limit);
  Tightening tighten(scope, problem, end, request.stop);
  tighten.until(search::Deadline::in(kHiddenShare * limit));
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    if (problem.is_constant(node) || graph.node(node).op == Op::input) continue;
    if (request.stop && request.stop()) break;
    if (crown && !std::ranges::binary_search(inspect::active_nodes(problem), node)) continue;
    auto boxed = tighten.propagate_box(node);
    if (!boxed) return boxed.rejection();
    if (!boxed.value()) break;
    if (!crown || !std::ranges::binary_search(inspect::pre_activations(problem), node)) continue;
    if (auto done = tighten(node, inspect::Selection::Kind::unstable); !done) return done;
  }
  tighten.until(end);
  for (const NodeId output : graph.outputs) {
    if (!crown || problem.is_constant(output) || graph.node(output).op == Op::input || !scope.has_box(output)) continue;
    if (auto done = tighten(output, inspect::Selection::Kind::all); !done) return done;
  }
  stopped = tighten.stopped();
  return Done{};
}

GroupBounds collect(const logic::Problem& problem, const logic::Scope& scope, std::size_t group, bool outputs_only) {
  const Graph& graph = problem.graph();
  GroupBounds bounds;
  bounds.group = group;
  bounds.cases = problem.group_cases(group).size();
  for (const NodeId output : graph.outputs) bounds.complete = bounds.complete && (problem.is_constant(output) || scope.has_box(output));
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    const bool output = std::ranges::find(graph.outputs, node) != graph.outputs.end();
    if (problem.is_constant(node) || !scope.has_box(node) || (outputs_only && !output)) continue;
    bounds.nodes.push_back({node, std::string(op_row(graph.node(node).op).name), graph.node(node).name, graph.node(node).shape, output,
                            scope.box(node).lo, scope.box(node).hi});
  }
  return bounds;
}

}  // namespace

Outcome<Done> derive_bounds(const std::shared_ptr<const logic::Problem>& problem, const BoundsRequest& request,
                            const std::function<void(GroupBounds)>& take) {
  const double begin = wall_seconds();
  for (std::size_t group = 0; group < problem->group_count() && !(request.stop && request.stop()); ++group) {
    if (request.on_group) request.on_group(group);
    if (problem->group_is_empty(group)) {
      GroupBounds none;
      none.group = group;
      none.cases = problem->group_cases(group).size();
      none.empty = true;
      take(std::move(none));
      continue;
    }
    const double wall = wall_seconds(), cpu = check::thread_cpu_seconds();
    auto scope = logic::Scope::root(problem, group);
    if (!scope) return scope.rejection();
    scope.value().pay(certificate::meter_of(*problem));
    const auto share = (request.seconds - (wall - begin)) / static_cast<double>(problem->group_count() - group);
    bool stopped = false;
    const double seconds = request.seconds > 0 ? std::max(share, kLeastSeconds) : 0;
    if (auto done = bound_group(*problem, scope.value(), request, seconds, stopped); !done) return done;
    GroupBounds bounds = collect(*problem, scope.value(), group, request.outputs_only);
    bounds.seconds = wall_seconds() - wall;
    bounds.cpu_seconds = check::thread_cpu_seconds() - cpu;
    bounds.stopped = stopped;
    take(std::move(bounds));
  }
  return Done{};
}

}  // namespace assay::queries
