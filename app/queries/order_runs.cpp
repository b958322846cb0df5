#include "app/queries/order_runs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <random>
#include <utility>

#include "app/queries/witness_point.h"
#include "search/strategy/deadline.h"

namespace assay::queries {
namespace {

constexpr std::uint32_t kMostRuns = 400;

// The terms of a node's sums: an axis of each of its operands, of the same extent.
struct TermAxes {
  std::vector<std::int64_t> axis;  // by operand
  std::int64_t extent = 1;
};

std::optional<TermAxes> term_axes(const Graph& graph, const Node& node) {
  const Shape& first = graph.node(node.operands[0]).shape;
  const auto rank = static_cast<std::int64_t>(first.size());
  if (node.op == Op::gemm) {
    const auto& gemm = std::get<GemmAttributes>(node.attributes);
    const std::int64_t axis = gemm.transpose_a ? 0 : 1;
    return TermAxes{{axis, gemm.transpose_b ? 1 : 0}, first[static_cast<std::size_t>(axis)]};
  }
  if (node.op == Op::matmul) {
    const auto second = static_cast<std::int64_t>(graph.node(node.operands[1]).shape.size());
    return TermAxes{{rank - 1, std::max<std::int64_t>(second - 2, 0)}, first.back()};
  }
  if (node.op == Op::conv && std::get<WindowAttributes>(node.attributes).groups == 1) return TermAxes{{1, 1}, first[1]};
  if (node.op == Op::reduce_sum || node.op == Op::reduce_mean) {
    const auto& axes = std::get<ReduceAttributes>(node.attributes).axes;
    if (axes.size() == 1) return TermAxes{{axes[0]}, first[static_cast<std::size_t>(axes[0])]};
  }
  return std::nullopt;
}

// Run 0 is as written, 1 in reverse, others are shuffled.
std::string name_of(std::uint32_t run) {
  return run == 0 ? "as written" : run == 1 ? "in reverse" : "shuffled by seed " + std::to_string(run);
}
std::vector<std::int64_t> order_of(std::int64_t extent, std::uint32_t run, std::mt19937& draw) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
  std::iota(order.begin(), order.end(), 0);
  if (run == 1) std::ranges::reverse(order);
  if (run > 1) std::ranges::shuffle(order, draw);
  return order;
}

// The graph with the terms of its sums in another order; `place` of each node in it.
struct Reordered {
  Graph graph;
  std::vector<NodeId> place;
};
std::optional<Reordered> reordered(const Graph& graph, std::uint32_t run) {
  std::mt19937 draw(run);
  Reordered result;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::input) {
      result.place.push_back(result.graph.append_input(node.dtype, node.shape, node.name));
      continue;
    }
    if (node.op == Op::constant) {
      result.place.push_back(result.graph.append_constant(node.value));
      continue;
    }
    std::vector<NodeId> operands;
    for (const NodeId operand : node.operands) operands.push_back(result.place[operand]);
    if (const auto terms = term_axes(graph, node); terms && run > 0) {
      const std::vector<std::int64_t> order = order_of(terms->extent, run, draw);
      for (std::size_t k = 0; k < terms->axis.size(); ++k) {
        auto moved = result.graph.append(Op::gather, {operands[k]}, GatherAttributes{terms->axis[k], order, {terms->extent}});
        if (!moved) return std::nullopt;
        operands[k] = moved.value();
      }
    }
    auto copy = result.graph.append(node.op, std::move(operands), node.attributes);
    if (!copy) return std::nullopt;
    result.place.push_back(copy.value());
  }
  return result;
}

template <class T>
std::optional<OrderRun> run_once(const logic::Problem& problem, const logic::Witness& point, std::uint32_t run, bool& violates) {
  const Graph& graph = problem.graph();
  const auto moved = reordered(graph, run);
  if (!moved) return std::nullopt;
  const auto values = evaluate<T>(moved->graph, inputs_at<T>(graph, point));
  if (!values) return std::nullopt;
  const auto value_of = [&](const statement::Variable& variable) {
    return static_cast<double>(values.value()[moved->place[problem.node_of(variable)]].values[variable.element]);
  };
  const auto holds_here = [&](const statement::Row& row) { return holds(row, value_of); };
  OrderRun result{name_of(run), 0, {}};
  for (const NodeId id : graph.outputs)
    for (const T value : values.value()[moved->place[id]].values) result.outputs.push_back(value);
  const std::vector<statement::Case>& cases = problem.statement().property.cases;
  violates = false;
  for (const std::uint32_t index : problem.group_cases(problem.group_of_case(point.case_index))) {
    violates = violates || std::ranges::all_of(cases[index].rows, holds_here);
    result.case_index = index;
    if (violates) break;
  }
  return result;
}

}  // namespace

OrderRuns run_in_orders(const logic::Problem& problem, const logic::Witness& point, double seconds) {
  OrderRuns runs;
  const ExecutionModel& model = problem.statement().semantics;
  if (model.kind != ExecutionModel::Kind::floating || model.storage != ExecutionModel::Storage::same ||
      model.input_rounding != ExecutionModel::InputRounding::none || model.accumulator != ExecutionModel::Accumulator::any_order ||
      model.accumulator_format != ExecutionModel::AccumulatorFormat::same)
    return runs;
  const auto begin = search::Clock::now();
  for (std::uint32_t run = 0; run < kMostRuns && search::seconds_since(begin) < seconds && !(runs.violating && runs.keeping); ++run) {
    bool violates = false;
    auto one = model.format == ExecutionModel::Format::binary32 ? run_once<float>(problem, point, run, violates)
                                                                : run_once<double>(problem, point, run, violates);
    if (!one) break;
    ++runs.tried;
    std::optional<OrderRun>& of_kind = violates ? runs.violating : runs.keeping;
    if (!of_kind) of_kind = std::move(one);
  }
  return runs;
}

std::vector<std::string> lines_of(const OrderRuns& runs) {
  constexpr std::size_t kMostOutputs = 8;
  std::vector<std::string> lines;
  for (const std::optional<OrderRun>* run : {&runs.violating, &runs.keeping}) {
    if (!*run) continue;
    const bool violates = run == &runs.violating;
    std::string line = "sums with their terms " + (*run)->order + " give";
    for (std::size_t i = 0; i < (*run)->outputs.size() && i < kMostOutputs; ++i) {
      std::array<char, 80> text{};
      (void)std::snprintf(text.data(), text.size(), " Y_%zu = %a", i, (*run)->outputs[i]);
      line += text.data();
    }
    if ((*run)->outputs.size() > kMostOutputs) line += " ...";
    lines.push_back(line + (violates ? ": in the unsafe set, case " + std::to_string((*run)->case_index) : ": not in the unsafe set"));
  }
  if (lines.size() == 1 && runs.tried > 1)
    lines.push_back(
        "so do " + std::to_string(runs.tried - 1) +
        " other orders: nothing shows that executions differ. Fused operations and rewrites were not tried, and the error bounds "
        "may be too wide");
  return lines;
}

}  // namespace assay::queries
