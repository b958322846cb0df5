#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "certificates/search/deadline.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "kernel/kernel.h"
#include "kernel/proof/statement_text.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr const char* kBoundsSchema = "assay.bounds/1";
constexpr double kLeastSeconds = 1e-9;  // of back-substitution per group, when the time is up: none

// Boxes and back-substitution, each under a time limit.
class Tightening {
 public:
  Tightening(kernel::Scope& scope, const kernel::Problem& problem, search::Deadline limit)
      : scope_(scope), problem_(problem), limit_(limit) {
    scope_.stop_when([this] { return now_until_.has_passed() || is_interrupted(); });
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

  // By chunks of the node's elements, so that a stop loses one chunk only.
  Outcome<Done> operator()(NodeId node, kernel::Selection::Kind kind) {
    now_until_ = deadline_;
    constexpr std::size_t kChunk = 512;
    const std::vector<std::uint32_t> elements = scope_.selected(node, {kind, {}});
    for (std::size_t first = 0; first < elements.size(); first += kChunk) {
      kernel::Selection chunk{kernel::Selection::Kind::mask, std::vector<bool>(problem_.graph().size(node), false)};
      for (std::size_t k = first; k < std::min(first + kChunk, elements.size()); ++k) chunk.mask[elements[k]] = true;
      auto tightened = scope_.tighten(node, chunk, {});
      if (tightened) continue;
      if (tightened.rejection().code != "kernel.stopped") return tightened;
      stopped_ = true;
      break;
    }
    return Done{};
  }

 private:
  kernel::Scope& scope_;
  const kernel::Problem& problem_;
  search::Deadline limit_, deadline_, now_until_;
  bool stopped_ = false;
};

// Boxes of all nodes that time allows; with back-substitution for `seconds`, a fifth of which is kept for the outputs (0: without a limit).
Outcome<Done> derive_bounds(const kernel::Problem& problem, kernel::Scope& scope, bool crown, double seconds, bool& stopped) {
  constexpr double kHiddenShare = 0.8;
  const Graph& graph = problem.graph();
  const double limit = seconds > 0 ? seconds : std::numeric_limits<double>::infinity();
  const auto end = search::Deadline::in(limit);
  Tightening tighten(scope, problem, end);
  tighten.until(search::Deadline::in(kHiddenShare * limit));
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    if (problem.is_constant(node) || graph.node(node).op == Op::input) continue;
    if (is_interrupted()) break;
    if (crown && !std::ranges::binary_search(problem.active_nodes(), node)) continue;
    auto boxed = tighten.propagate_box(node);
    if (!boxed) return boxed.rejection();
    if (!boxed.value()) break;
    if (!crown || !std::ranges::binary_search(problem.pre_activations(), node)) continue;
    if (auto done = tighten(node, kernel::Selection::Kind::unstable); !done) return done;
  }
  tighten.until(end);
  for (const NodeId output : graph.outputs) {
    if (!crown || problem.is_constant(output) || graph.node(output).op == Op::input || !scope.has_box(output)) continue;
    if (auto done = tighten(output, kernel::Selection::Kind::all); !done) return done;
  }
  stopped = tighten.stopped();
  return Done{};
}

GroupBounds collect(const kernel::Problem& problem, const kernel::Scope& scope, std::size_t group, bool outputs_only) {
  const Graph& graph = problem.graph();
  GroupBounds bounds{group, problem.group_cases(group).size(), 0, 0, false, {}};
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    const bool output = std::ranges::find(graph.outputs, node) != graph.outputs.end();
    if (problem.is_constant(node) || !scope.has_box(node) || (outputs_only && !output)) continue;
    bounds.nodes.push_back({node, std::string(op_row(graph.node(node).op).name), graph.node(node).name, to_string(graph.node(node).shape),
                            output, scope.box(node).lo, scope.box(node).hi});
  }
  return bounds;
}

void print_table(const GroupBounds& bounds) {
  std::printf("group %zu (%s)\n", bounds.group, counted(bounds.cases, "case").c_str());
  std::printf("%6s  %-14s %-18s %14s %14s %14s  %s\n", "node", "op", "shape", "least lo", "greatest hi", "mean width", "name");
  for (const NodeBounds& node : bounds.nodes) {
    if (node.lo.empty()) continue;
    double width = 0;
    for (std::size_t i = 0; i < node.lo.size(); ++i) width += (node.hi[i] - node.lo[i]) / static_cast<double>(node.lo.size());
    std::printf("%6u  %-14s %-18s %14.6g %14.6g %14.6g  %s\n", node.node, node.op.c_str(), node.shape.c_str(),
                *std::ranges::min_element(node.lo), *std::ranges::max_element(node.hi), width, printable(node.name).c_str());
  }
  if (bounds.stopped)
    std::printf("  stopped after %.1f s: the nodes that back-substitution did not reach have interval bounds, those not listed none\n",
                bounds.seconds);
  for (const NodeBounds& node : bounds.nodes) {
    for (std::size_t i = 0; node.output && i < node.lo.size(); ++i)
      std::printf("  output %s[%zu] in [%.17g, %.17g]\n", printable(node.name).c_str(), i, node.lo[i], node.hi[i]);
  }
}

}  // namespace

int bounds(const BoundsOptions& options) {
  LoadOptions load_options;
  load_options.semantics = options.semantics;
  load_options.limits = options.limits;
  load_options.polynomials = vnnlib::Polynomials::leave_out;
  auto loaded = load_files(options.model, options.property, load_options);
  if (!loaded) return refuse(kBoundsSchema, options.json, loaded.rejection());
  const auto& problem = loaded.value().problem;
  const std::vector<std::string> notes = loaded.value().notes();
  if (options.json != "-" && !options.statement.empty() && !is_file(options.statement))
    std::fputs(kernel::statement_text(*problem, is_full(options.statement)).c_str(), stdout);
  if (options.json != "-") print_notes(stdout, notes);
  std::vector<GroupBounds> groups;
  bool complete = true;  // every output has bounds
  const double begin = wall_seconds();
  for (std::size_t group = 0; group < problem->group_count() && !is_interrupted(); ++group) {
    set_progress(std::to_string(group) + " of " + counted(problem->group_count(), "input box", "es") + " bounded");
    if (problem->group_is_empty(group)) {
      std::fprintf(stderr, "group %zu: its input box is empty\n", group);
      continue;
    }
    const double wall = wall_seconds(), cpu = thread_cpu_seconds();
    auto scope = kernel::Scope::root(problem, group);
    if (!scope) return refuse(kBoundsSchema, options.json, scope.rejection());
    const auto share = (options.timeout - (wall - begin)) / static_cast<double>(problem->group_count() - group);
    bool stopped = false;
    const double seconds_for_it = options.timeout > 0 ? std::max(share, kLeastSeconds) : 0;
    if (auto done = derive_bounds(*problem, scope.value(), options.method == "crown", seconds_for_it, stopped); !done)
      return refuse(kBoundsSchema, options.json, done.rejection());
    const double seconds = wall_seconds() - wall, cpu_seconds = thread_cpu_seconds() - cpu;
    groups.push_back(collect(*problem, scope.value(), group, options.nodes == "outputs"));
    groups.back().seconds = seconds;
    groups.back().cpu_seconds = cpu_seconds;
    groups.back().stopped = stopped;
    if (options.json != "-") print_table(groups.back());
    for (const NodeId output : problem->graph().outputs)
      complete = complete && (problem->is_constant(output) || scope.value().has_box(output));
    if (options.json.empty()) groups.clear();
  }
  conclude();
  const std::optional<Rejection> why = is_interrupted() ? std::optional(interruption()) : std::nullopt;
  if (why) print_rejection(stderr, "assay", *why);
  const bool written = write_statement(options.statement, *problem);
  if (!write_json(options.json, bounds_json(options, notes, groups, why)) || !written) return kExitUnwritten;
  return complete && !why ? kExitYes : kExitUndecided;
}

}  // namespace assay::cli
