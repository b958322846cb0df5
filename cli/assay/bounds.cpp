#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/assay/report.h"
#include "kernel/session.h"

namespace assay::cli {
namespace {

constexpr const char* kSchema = "assay.bounds/1";

Outcome<kernel::Scope> bounded_scope(const std::shared_ptr<const kernel::Problem>& problem, std::size_t group, bool crown) {
  auto root = kernel::Scope::root(problem, group);
  if (!root) return root.rejection();
  kernel::Scope scope = std::move(root).value();
  const Graph& graph = problem->graph();
  if (crown) {
    if (auto swept = kernel::sweep(*problem, scope, 0, false); !swept) return swept.rejection();
    for (const NodeId output : graph.outputs) {
      if (problem->is_constant(output) || graph.node(output).op == Op::input) continue;
      if (auto refined = scope.refine(output, {kernel::Selection::Kind::all, {}}, {}); !refined) return refined.rejection();
    }
    return scope;
  }
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    if (problem->is_constant(node) || graph.node(node).op == Op::input) continue;
    if (auto boxed = scope.derive_box(node); !boxed) return boxed.rejection();
  }
  return scope;
}

GroupBounds collect(const kernel::Problem& problem, const kernel::Scope& scope, std::size_t group, bool outputs_only) {
  const Graph& graph = problem.graph();
  GroupBounds bounds{group, problem.group_cases(group).size(), 0, 0, {}};
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
                *std::ranges::min_element(node.lo), *std::ranges::max_element(node.hi), width, node.name.c_str());
  }
  for (const NodeBounds& node : bounds.nodes) {
    for (std::size_t i = 0; node.output && i < node.lo.size(); ++i)
      std::printf("  output %s[%zu] in [%.17g, %.17g]\n", node.name.c_str(), i, node.lo[i], node.hi[i]);
  }
}

}  // namespace

int bounds(const BoundsOptions& options) {
  LoadOptions load_options;
  load_options.semantics_real = options.semantics == "real";
  auto loaded = load(options.model, options.property, load_options);
  if (!loaded) return refuse(kSchema, options.json, loaded.rejection());
  const auto& problem = loaded.value().problem;
  const std::vector<std::string> notes = loaded.value().notes();
  if (options.json != "-") print_notes(stdout, notes);
  std::vector<GroupBounds> groups;
  for (std::size_t group = 0; group < problem->group_count(); ++group) {
    if (problem->group_is_empty(group)) {
      std::fprintf(stderr, "group %zu: its input box is empty\n", group);
      continue;
    }
    const double wall = wall_seconds(), cpu = thread_cpu_seconds();
    auto scope = bounded_scope(problem, group, options.method == "crown");
    const double seconds = wall_seconds() - wall, cpu_seconds = thread_cpu_seconds() - cpu;
    if (!scope) return refuse(kSchema, options.json, scope.rejection());
    groups.push_back(collect(*problem, scope.value(), group, options.nodes == "outputs"));
    groups.back().seconds = seconds;
    groups.back().cpu_seconds = cpu_seconds;
    if (options.json != "-") print_table(groups.back());
    if (options.json.empty()) groups.clear();
  }
  return write_json(options.json, bounds_json(options, notes, groups)) ? kExitYes : kExitUnwritten;
}

}  // namespace assay::cli
