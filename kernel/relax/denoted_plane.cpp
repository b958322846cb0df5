// Rule denoted_plane: linear functions below and above an op, from its denotation.
//
// The rule serves every op without a rule of its own. Run on Symbolic variables, the denotation gives each result
// element as an affine form in the operands' elements and in the steps of a formula (semantics/numbers/steps.h). The
// steps are bounded one by one on the operands' boxes (bounded.h).
// Reason: the formula is the op's meaning; the inequalities are those of bounded.cpp.
// The formula of a product of numbers or of matrices is the same on every box, so a network keeps it (formula.h).
// Choices: per element the mixes of the McCormick planes below and above every product in its formula; per step those
// that bounded.cpp names. A plane replaces the node's own box only if it is nearer at the box's centre, except for mul,
// or if the choice insists.
// Rounding: slopes are rounded to doubles, and the intercept absorbs the effect over the box.
// Floats only: between integers a quotient rounds.

#include <algorithm>
#include <cmath>

#include "kernel/relax/bounded.h"
#include "kernel/relax/choices.h"
#include "kernel/relax/formula.h"
#include "kernel/relax/relaxation.h"
#include "semantics/interrupt.h"
#include "semantics/ops/denote.h"

namespace assay::relax {
namespace {

// The approximate number of terms and products in the formulas of all result elements.
std::size_t terms_of(const Graph& graph, const Node& node) {
  const Shape& x = graph.node(node.operands[0]).shape;
  const Attributes& attributes = node.attributes;
  const std::size_t size = element_count(node.shape);
  std::vector<std::int64_t> axes;  // the axes that a result element runs over
  if (std::holds_alternative<WindowAttributes>(attributes)) return size * graph.size(node.operands[1]);
  if (node.op == Op::matmul) axes = {static_cast<std::int64_t>(x.size()) - 1};
  if (const auto* gemm = std::get_if<GemmAttributes>(&attributes)) axes = {gemm->transpose_a ? 0 : 1};
  if (const auto* softmax = std::get_if<SoftmaxAttributes>(&attributes)) axes = {softmax->axis};
  if (const auto* masked = std::get_if<MaskedSoftmaxAttributes>(&attributes)) axes = {masked->axis};
  if (const auto* running = std::get_if<CumulativeAttributes>(&attributes)) axes = {running->axis};
  if (const auto* normalise = std::get_if<NormaliseAttributes>(&attributes)) axes = normalise->axes;
  if (node.op == Op::reduce_prod) axes = std::get<ReduceAttributes>(attributes).axes;
  std::size_t joined = 1;
  for (const std::int64_t axis : axes) joined *= static_cast<std::size_t>(x[static_cast<std::size_t>(axis)]);
  return (node.op == Op::reduce_prod ? element_count(x) : size) * joined;
}

// The variables of an op: the elements of its operands, each operand once.
struct Variables {
  std::vector<NodeId> operands;
  std::vector<std::uint32_t> first;  // the number of the first variable of each operand, then the number of variables

  explicit Variables(const Graph& graph, const Node& node) : first{0} {
    for (const NodeId operand : node.operands) {
      if (std::ranges::find(operands, operand) != operands.end()) continue;
      operands.push_back(operand);
      first.push_back(first.back() + static_cast<std::uint32_t>(graph.size(operand)));
    }
  }
  // Of each variable, by the boxes of the node's operands.
  [[nodiscard]] std::vector<Interval> ranges(const Node& node, std::span<const Box* const> boxes) const {
    std::vector<Interval> x;
    for (const NodeId operand : operands) {
      const Box& box = *boxes[static_cast<std::size_t>(std::ranges::find(node.operands, operand) - node.operands.begin())];
      for (std::size_t k = 0; k < box.lo.size(); ++k) x.emplace_back(box.lo[k], box.hi[k]);
    }
    return x;
  }
};

bool is_product(const Node& node) { return node.op == Op::mul || node.op == Op::matmul; }

// The formula of a product holds for all boxes. For other ops, variables whose box is a point become numbers, so that
// masks are decided and exponents known. Null: the op has no formula.
std::shared_ptr<const Formula> formula_of(const Graph& graph, const Node& node, const Variables& variables, std::span<const Interval> x) {
  std::vector<double> middles;
  for (const Interval& range : x) middles.push_back(range.midpoint());
  const auto formula = std::make_shared<Formula>(std::move(middles));
  std::vector<Array<Symbolic>> arrays;
  for (const NodeId operand : node.operands) {
    const auto which = static_cast<std::size_t>(std::ranges::find(variables.operands, operand) - variables.operands.begin());
    arrays.push_back({graph.node(operand).shape, {}});
    for (std::size_t v = variables.first[which]; v < variables.first[which + 1]; ++v)
      arrays.back().values.push_back(x[v].is_point() && !is_product(node) ? Symbolic(x[v]) : formula->steps.variable(v));
  }
  auto results = denote<Symbolic>(node, pointers_to(arrays));
  if (!results) return nullptr;
  formula->results = std::move(results).value().values;
  return formula;
}

bool has_planes(const Graph& graph, const Node& node) {
  return is_float(node.dtype) && element_count(node.shape) != 0 && terms_of(graph, node) <= kMostTerms;
}

struct Plane {
  double t = 0;
  std::vector<std::pair<std::uint32_t, double>> slopes;
};

// The form with double slopes. Since a x = slope x + (a - slope) x, the range of the last term goes into t. Without
// slopes: the box's end.
Plane settled(const Form& form, std::span<const Interval> x, bool lower, double end, bool insists) {
  poll(50 * form.terms.size());
  Plane plane;
  plane.slopes.reserve(form.terms.size());
  Interval rest = form.constant;
  double centre = 0;
  for (const auto& [k, a] : form.terms) {
    const double slope = a.midpoint();
    if (!(a == Interval(slope))) rest += (a - Interval(slope)) * x[k];
    if (slope == 0) continue;
    if (!std::isfinite(slope) || !std::isfinite(x[k].lo()) || !std::isfinite(x[k].hi())) return {end, {}};
    plane.slopes.emplace_back(k, slope);
    centre += slope * x[k].midpoint();
  }
  plane.t = lower ? rest.lo() : rest.hi();
  if (!std::isfinite(plane.t) || !((insists && !plane.slopes.empty()) || (lower ? centre + plane.t > end : centre + plane.t < end)))
    return {end, {}};
  return plane;
}

// Appends the terms of one result element: the variables that occur in either plane.
void append_terms(const Variables& variables, const Plane& below, const Plane& above, Relaxation& result) {
  auto lower = below.slopes.begin(), upper = above.slopes.begin();
  for (std::size_t p = 0; p < result.parts.size(); ++p) {
    Relaxation::Part& part = result.parts[p];
    const std::uint32_t first = variables.first[p], last = variables.first[p + 1];
    while (true) {
      const std::uint32_t of_lower = lower != below.slopes.end() ? lower->first : last;
      const std::uint32_t v = std::min(of_lower, upper != above.slopes.end() ? upper->first : last);
      if (v >= last) break;
      part.index.push_back(v - first);
      part.lower.push_back(v == of_lower ? (lower++)->second : 0.0);
      part.upper.push_back(upper != above.slopes.end() && upper->first == v ? (upper++)->second : 0.0);
    }
    part.start.push_back(static_cast<std::uint32_t>(part.index.size()));
  }
}

}  // namespace

std::shared_ptr<const Formula> kept_formula(const Graph& graph, NodeId id, std::size_t& terms) {
  const Node& node = graph.node(id);
  if (!is_product(node) || !has_planes(graph, node) || terms_of(graph, node) > kMostKept - terms) return nullptr;
  terms += terms_of(graph, node);
  const Variables variables(graph, node);
  return formula_of(graph, node, variables, std::vector<Interval>(variables.first.back()));  // on any box
}

std::optional<Relaxation> denoted_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box,
                                        const Choices& choices, const Formula* formula) {
  if (!has_planes(graph, node)) return std::nullopt;
  const Variables variables(graph, node);
  const std::vector<Interval> x = variables.ranges(node, boxes);
  const auto own = formula != nullptr ? nullptr : formula_of(graph, node, variables, x);
  if (formula == nullptr) formula = own.get();
  if (formula == nullptr) return std::nullopt;
  const std::vector<Symbolic>& y = formula->results;
  BoundedSteps bounded(formula->steps, choices, x, y);
  Relaxation result{{}, result_box.lo, result_box.hi};
  for (const NodeId operand : variables.operands) result.parts.push_back({operand, {}, {}, {}, {0}});
  for (std::size_t j = 0; j < y.size(); ++j) {
    Plane planes[2];
    if (y[j].is_linear()) {
      const auto forms = bounded.planes(y[j], Interval(result_box.lo[j], result_box.hi[j]), choices.mixes(j));
      for (const bool lower : {true, false}) {
        double& end = (lower ? result.lower_intercept : result.upper_intercept)[j];
        planes[lower ? 0 : 1] = settled(lower ? *forms.first : *forms.second, x, lower, end, node.op == Op::mul || choices.insists(lower));
        end = planes[lower ? 0 : 1].t;
      }
    }
    append_terms(variables, planes[0], planes[1], result);
  }
  return result;
}

}  // namespace assay::relax
