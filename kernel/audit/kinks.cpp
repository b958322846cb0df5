// Kinks: the admissible values of a recorded cotangent where the derivative of a choice is a set.
//
// Claim. Let y = f(x) be recorded with x at a kink of f, together with y_bar and x_bar. For each element i of x whose
// derivative is a set,
//   K1  x_bar[i] is a float that some row-wise choice J of the Clarke derivative can give: it lies in the contract of
//       the product of the set and y_bar.
//   K2  For an extremum, the weights of all elements that tie for y[j] sum to 1: the sum of their x_bar is y_bar[j],
//       apart from roundings. A negated element counts with its negative, and of the terms of a sum, which share a
//       weight, the first counts.
//
// Which regions. A region is judged if it is one choice alone (is_choice below), or a chain of sums, differences,
// negations and choices (is_chained) without broadcasting, in which each value is read once. Then x_bar[i] is one
// product of a weight with one element of y_bar (or, if operands are broadcast and windows overlap, a sum of such
// products). So no correct program is rejected:
// - The ends of the set are 0, 1, -1 or the slope of leaky_relu. Products with 0, 1 and -1 are exact, and rounding is
//   monotone. So the rounded w y_bar lies between the ends' rounded products, whatever steps computed w and w y_bar.
//   Sums are judged in any order.
// - In K2 a weight in [0, 1] and its product have at most kRoundings roundings; all have the sign of y_bar.
//
// Which elements. The kinks are exact; no distance to a kink is compared. Over Interval at the recorded point, with
// y_bar = 1, a derivative away from kinks is a point (0, 1, -1, a slope, sums of these), and at a kink a set. Elements
// whose set is not finite (y_bar infinite) are left out. If two elements of y share a candidate, K2 and conventions are
// left out (rows), because the recording does not show which of the two it served. If an element may tie that has no
// weight of its own (a constant, or a choice that is flat or at a kink there), K2 requires a sum of at most 1.
#include "kernel/audit/kinks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "kernel/audit/corners.h"
#include "kernel/audit/point.h"
#include "kernel/audit/slice.h"
#include "kernel/contracts/contract.h"
#include "kernel/gradients/derivatives/differentiate.h"
#include "semantics/graph/family.h"
#include "semantics/numbers/directed.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

namespace {

// Of a weight and its product: 1, its division by a count, the product, and one spare.
constexpr double kRoundings = 4;

// The primitives with kinks in the op table: relu, leaky_relu, abs, clip and the extrema. Excluded are sort, where tied
// elements share several results, and defined ops (elu, prelu and the like), whose weights are computed.
bool is_choice(Op op) {
  const OpRow& row = op_row(op);
  return row.smoothness == Smoothness::kink && row.op_class != OpClass::defined && op != Op::sort;
}
bool is_extremum(Op op) { return is_choice(op) && family_of(op) == Family::choice; }
// In a chain weights are multiplied, which is exact for 0, 1 and -1, but not for the slope of leaky_relu.
bool is_chained(Op op) { return is_choice(op) && op_row(op).op_class == OpClass::elementwise && op != Op::leaky_relu; }
bool is_linear(Op op) { return op == Op::add || op == Op::sub || op == Op::neg; }
bool is_leaf(Op op) { return op == Op::input || op == Op::constant; }

bool is_judged(const Region& region) {
  const Graph& graph = region.graph;
  std::size_t computing = 0;
  bool chain = true, chooses = false;
  std::vector<std::size_t> readers(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const NodeId operand : node.operands) ++readers[operand];
    if (is_leaf(node.op)) continue;
    ++computing;
    chooses = chooses || is_choice(node.op);
    chain = chain && (is_chained(node.op) || is_linear(node.op)) && node.shape == graph.nodes.back().shape;
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op != Op::constant) chain = chain && readers[id] <= 1 && node.shape == graph.nodes.back().shape;
  }
  std::vector<TraceTensorId> operands = region.operands;
  std::ranges::sort(operands);
  const bool distinct = std::ranges::adjacent_find(operands) == operands.end();
  return chooses && distinct && region.results.size() == 1 && graph.outputs[0] + 1 == graph.nodes.size() && (computing == 1 || chain);
}

using Intervals = std::vector<Array<Interval>>;

class KinkCheck {
 public:
  KinkCheck(const Trace& trace, const Trace::Vjp& vjp, KinkConvention convention, const std::string& place)
      : trace_(trace), vjp_(vjp), region_(meant_by(trace, vjp)), convention_(convention), place_(place) {}

  KinkOutcome run() {
    if (!is_judged(region_) || !differentiated() || !found_kinks()) return {};
    KinkOutcome outcome;
    outcome.failure = judge(outcome.judged);
    for (const At& at : kinks_) {
      const Interval& weight = weights_[at.claim].values[at.element];
      outcome.weights = outcome.weights ? hull(*outcome.weights, weight) : weight;
    }
    if (!outcome.failure && is_extremum(region_.graph.nodes.back().op)) outcome.failure = judge_rows();
    if (!outcome.failure && convention_ == KinkConvention::pytorch) outcome.failure = judge_convention();
    return outcome;
  }

 private:
  struct At {
    std::size_t claim, element;  // position in vjp_.cotangents, and in that tensor
  };

  [[nodiscard]] const Tensor& recorded(std::size_t claim) const { return trace_.tensors[vjp_.cotangents[claim].second].value; }
  [[nodiscard]] const Tensor& y_bar() const { return trace_.tensors[vjp_.cotangent].value; }
  // If the run stores anything in 16 bits, a cotangent may have been stored on its way. The result is the coarsest
  // format in use.
  [[nodiscard]] contracts::Storage shortest() const {
    auto found = region_.model.storage;
    for (const Trace::Entry& entry : trace_.tensors) {
      if (found != contracts::Storage::bfloat16 && entry.storage != contracts::Storage::same) found = entry.storage;
    }
    return found;
  }

  // Computes the reference product, with a result for each recorded cotangent.
  bool differentiated() {
    std::vector<std::size_t> positions;
    for (const auto& [operand, id] : vjp_.cotangents) positions.push_back(operand);
    auto reverse = gradients::differentiate(region_.graph, 0, positions);
    if (!reverse || positions.empty()) return false;
    reverse_ = std::move(reverse).value();
    return true;
  }

  // The results of the reference product over Interval at the recorded point, for these cotangents.
  [[nodiscard]] std::optional<Intervals> results(const std::vector<double>& cotangents) const {
    Intervals arguments;
    for (const TraceTensorId id : region_.operands) arguments.push_back(enclosed(trace_.tensors[id].value));
    arguments.push_back({y_bar().shape(), {cotangents.begin(), cotangents.end()}});
    auto nodes = evaluate<Interval>(reverse_, arguments);
    if (!nodes) return std::nullopt;
    Intervals found;
    // Several outputs may be one node.
    for (const NodeId output : reverse_.outputs) found.push_back(nodes.value()[output]);
    return found;
  }

  bool found_kinks() {
    auto weights = results(std::vector<double>(y_bar().size(), 1));
    if (!weights) return false;
    weights_ = std::move(*weights);
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      for (std::size_t i = 0; i < weights_[k].values.size(); ++i) {
        const Interval& weight = weights_[k].values[i];
        if (!weight.is_undefined() && !weight.is_point()) kinks_.push_back({k, i});
      }
    }
    return !kinks_.empty();
  }

  [[nodiscard]] Rejection broken(const At& at, std::string required, std::string found) const {
    const auto& [operand, id] = vjp_.cotangents[at.claim];
    return {Rejection::Kind::rejected,
            "gradient.kink",
            place_ + ", '" + trace_.tensors[id].name + "' element " + std::to_string(at.element) + ", where '" +
                trace_.tensors[region_.operands[operand]].name + "' is at a kink",
            std::move(required),
            std::move(found),
            "kernel/audit/kinks.cpp"};
  }
  static std::string text(double value) { return Rational::from_double(value) ? Rational::from_double(value)->to_string() : "not finite"; }
  static std::string text(const contracts::FloatSet& set) {
    return std::string("[").append(text(set.lo)).append(", ").append(text(set.hi)).append("]");
  }
  [[nodiscard]] double value(const At& at) const { return recorded(at.claim).as_double(at.element); }

  // K1.
  std::optional<Rejection> judge(std::size_t& judged) const {
    ExecutionModel model = region_.model;
    model.accumulator = ExecutionModel::Accumulator::any_order;
    model.tree_height = 0;
    model.storage = shortest();
    std::vector<Tensor> operands;
    for (const TraceTensorId id : region_.operands) operands.push_back(trace_.tensors[id].value);
    operands.push_back(y_bar());
    std::vector<contracts::Storage> stored;
    for (const auto& [operand, id] : vjp_.cotangents) stored.push_back(trace_.tensors[id].storage);
    const auto sets = contracts::admissible(reverse_, model, operands, {}, stored);
    if (!sets) return std::nullopt;  // the audit counts such regions as unsupported
    for (const At& at : kinks_) {
      const contracts::FloatSet set = contracts::with_both_zeros(sets.value()[at.claim].sets.values[at.element]);
      if (!set.is_finite()) continue;
      ++judged;
      const Interval& weight = weights_[at.claim].values[at.element];
      if (set.contains(value(at))) continue;
      return broken(at, "a cotangent in " + text(set) + ", the derivative being in [" + text(weight.lo()) + ", " + text(weight.hi()) + "]",
                    text(value(at)));
    }
    return std::nullopt;
  }

  // The elements that tie for each y[j]; empty if an element serves several.
  [[nodiscard]] std::map<std::size_t, std::vector<At>> rows() const {
    std::map<std::size_t, std::vector<At>> found;
    for (const Array<Interval>& weights : weights_) {
      for (const Interval& weight : weights.values) {
        if (weight.is_undefined() || weight.hi() > 1 || (weight.hi() <= 0 && weight.lo() < -1)) return {};
      }
    }
    std::vector<double> numbers(y_bar().size());
    std::iota(numbers.begin(), numbers.end(), 1.0);
    const auto numbered = results(numbers);
    if (!numbered) return {};
    for (const At& at : kinks_) {
      // A multiple of the number if the element is negated.
      const Interval& number = (*numbered)[at.claim].values[at.element];
      found[static_cast<std::size_t>(number.hi() > 0 ? number.hi() : -number.lo()) - 1].push_back(at);
    }
    return found;
  }

  // Whether the weights of the elements behind each node sum to 1 at y[j]; `nodes` are enclosures.
  [[nodiscard]] bool is_whole(const Intervals& nodes, std::size_t j) const {
    const Graph& graph = region_.graph;
    std::vector<bool> whole(graph.nodes.size(), false);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.node(id);
      const auto value = [&](NodeId of) { return nodes[of].values[place_in(graph.node(of).shape, node.shape, j)]; };
      const auto loses = [&](NodeId of) {
        const Interval x = value(of), y = value(id);
        return x.lo() <= y.hi() && y.lo() <= x.hi() && !whole[of];
      };
      if (is_leaf(node.op)) {
        whole[id] = node.op == Op::input;
      } else if (is_linear(node.op)) {
        whole[id] = whole[first_term(node)];
      } else if (node.op == Op::min || node.op == Op::max) {
        whole[id] = std::ranges::none_of(node.operands, loses);
      } else if (is_extremum(node.op)) {
        whole[id] = whole[node.operands[0]];
      } else {
        // Away from its kinks, and not flat.
        const Interval x = value(node.operands[0]), y = value(id);
        const bool moves = x.lo() > 0 || (node.op == Op::abs && x.hi() < 0);
        const auto* clip = std::get_if<ClipAttributes>(&node.attributes);
        whole[id] = whole[node.operands[0]] && (clip != nullptr ? y.lo() > clip->lo && y.hi() < clip->hi : moves);
      }
    }
    return whole.back();
  }
  [[nodiscard]] NodeId first_term(const Node& node) const {
    const auto is_constant = [&](NodeId id) { return region_.graph.node(id).op == Op::constant; };
    return node.operands.size() > 1 && is_constant(node.operands[0]) ? node.operands[1] : node.operands[0];
  }
  // By node: whether its elements count in K2.
  [[nodiscard]] std::vector<bool> counted() const {
    std::vector<bool> found(region_.graph.nodes.size(), true);
    for (NodeId id = static_cast<NodeId>(found.size()); id-- > 0;) {
      const Node& node = region_.graph.node(id);
      for (const NodeId operand : node.operands) found[operand] = found[id] && (!is_linear(node.op) || operand == first_term(node));
    }
    return found;
  }

  // K2.
  [[nodiscard]] std::optional<Rejection> judge_rows() const {
    std::size_t real = 0;
    for (const TraceTensorId id : region_.operands) real += is_float(trace_.tensors[id].value.dtype()) ? 1 : 0;
    if (vjp_.cotangents.size() != real) return std::nullopt;  // others may have received a share
    Intervals arguments;
    for (const TraceTensorId id : region_.operands) arguments.push_back(enclosed(trace_.tensors[id].value));
    const auto nodes = evaluate<Interval>(region_.graph, arguments);
    if (!nodes) return std::nullopt;
    const std::vector<bool> counts = counted();
    const auto format = contracts::format_of(y_bar().dtype());
    const floats::Precision precision = floats::precision_of(shortest());
    const double u = std::fmax(contracts::unit_roundoff(format), format == contracts::Format::binary32 ? precision.unit : 0);
    const double least = std::fmax(contracts::smallest_number(format), format == contracts::Format::binary32 ? precision.smallest : 0);
    const double gamma = div_up(kRoundings * u, sub_down(1, kRoundings * u));
    for (const auto& [j, elements] : rows()) {
      const double expected = y_bar().as_double(j);
      if (!std::isfinite(expected)) continue;
      Interval sum;
      for (const At& at : elements) {
        if (!counts[region_.graph.inputs[vjp_.cotangents[at.claim].first]]) continue;
        sum += Interval(weights_[at.claim].values[at.element].lo() < 0 ? -value(at) : value(at));
      }
      const double most = add_up(mul_up(gamma, std::fabs(expected)), mul_up(kRoundings * static_cast<double>(elements.size()), least));
      const bool whole = is_whole(nodes.value(), j);
      if (whole ? sum.lo() <= add_up(expected, most) && sum.hi() >= sub_down(expected, most)
                : abs(sum).lo() <= add_up(std::fabs(expected), most))
        continue;
      return broken(elements[0],
                    "weights of " + std::to_string(elements.size()) + " tied elements whose sum is " + (whole ? "" : "at most ") +
                        "1: cotangents that sum to " + text(expected),
                    "a sum of " + text(sum.lo()));
    }
    return std::nullopt;
  }

  // Whether an element is the first of those that tie for y[j], and their number, including constants and operands
  // without a cotangent.
  [[nodiscard]] std::pair<bool, std::size_t> place_of(const std::vector<At>& elements, std::size_t rank, std::size_t j) const {
    const Node& node = region_.graph.nodes.back();
    if (node.op != Op::min && node.op != Op::max) return {rank == 0, elements.size()};
    const Tensor& y = trace_.tensors[region_.results[0]].value;
    const std::uint32_t own = vjp_.cotangents[elements[rank].claim].first;
    std::size_t count = 0;
    bool is_first = false;
    for (const NodeId id : node.operands) {
      const Node& operand = region_.graph.node(id);
      const auto input = std::ranges::find(region_.graph.inputs, id) - region_.graph.inputs.begin();
      const bool is_input = operand.op == Op::input;
      const Tensor& value = is_input ? trace_.tensors[region_.operands[static_cast<std::size_t>(input)]].value : operand.value;
      if (value.as_double(place_in(operand.shape, node.shape, j)) != y.as_double(j)) continue;
      is_first = is_first || (count == 0 && is_input && static_cast<std::uint32_t>(input) == own);
      ++count;
    }
    return {is_first, count};
  }

  // The weights that operations of PyTorch with the meaning of the region's op give an element; of elements that tie,
  // the first may get all.
  [[nodiscard]] std::vector<double> shares(bool is_first, std::size_t count) const {
    const Node& node = region_.graph.nodes.back();
    if (node.op == Op::leaky_relu) return {std::get<LeakyReluAttributes>(node.attributes).slope};
    if (node.op == Op::max_pool) return {is_first ? 1.0 : 0.0};
    if (is_extremum(node.op)) return {1 / static_cast<double>(count), is_first ? 1.0 : 0.0};
    return node.op == Op::clip ? std::vector<double>{0, 1} : std::vector<double>{0};  // relu, abs
  }

  [[nodiscard]] bool may_be(const At& at, std::size_t j, double weight) const {
    const Tensor one = cut(y_bar(), j);
    ExecutionModel model = region_.model;
    model.storage = shortest();
    const contracts::Storage stored = trace_.tensors[vjp_.cotangents[at.claim].second].storage;
    const auto set = contracts::admissible(Op::scale, ScaleAttributes{weight}, model, std::span(&one, 1), stored);
    return !set || contracts::with_both_zeros(set.value().sets.values[0]).contains(value(at));
  }

  // For a product that declares no convention; the op determines the possible ones.
  [[nodiscard]] std::optional<Rejection> judge_convention() const {
    if (!has_known_conventions(region_, vjp_) || vjp_.convention == vjp_.cotangents) return std::nullopt;
    for (const auto& [j, elements] : rows()) {
      if (!std::isfinite(y_bar().as_double(j))) continue;
      for (std::size_t rank = 0; rank < elements.size(); ++rank) {
        const auto [is_first, count] = place_of(elements, rank, j);
        const std::vector<double> weights = shares(is_first, count);
        if (std::ranges::any_of(weights, [&, j = j, i = elements[rank]](double weight) { return may_be(i, j, weight); })) continue;
        const double own = y_bar().as_double(j);
        const std::string other = weights.size() > 1 ? " or " + about(weights[1] * own) : "";
        Rejection why = broken(elements[rank], about(weights[0] * own) + other + ", by PyTorch's convention", about(value(elements[rank])));
        why.code = "gradient.convention";
        return why;
      }
    }
    return std::nullopt;
  }
  static Tensor cut(const Tensor& tensor, std::size_t i) {
    const std::size_t width = byte_size(tensor.dtype());
    const auto part = tensor.bytes().subspan(i * width, width);
    return {tensor.dtype(), {}, std::make_shared<const std::vector<std::byte>>(part.begin(), part.end())};
  }

  const Trace& trace_;
  const Trace::Vjp& vjp_;
  const Region region_;
  KinkConvention convention_;
  const std::string& place_;
  Graph reverse_;
  Intervals weights_;  // one per recorded cotangent
  std::vector<At> kinks_;
};

}  // namespace

bool has_known_conventions(const Region& region, const Trace::Vjp& vjp) {
  const Graph& graph = region.graph;
  const auto is_computing = [](const Node& node) { return !is_leaf(node.op); };
  if (!is_judged(region) || std::ranges::count_if(graph.nodes, is_computing) != 1) return false;
  const Node& choice = graph.nodes.back();
  if (const auto* w = std::get_if<WindowAttributes>(&choice.attributes)) {
    for (std::size_t k = 0; k < w->kernel.size(); ++k) {
      if (w->strides[k] <= w->dilations[k] * (w->kernel[k] - 1)) return false;
    }
  }
  const auto is_broadcast = [&](const auto& one) { return graph.size(graph.inputs[one.first]) != graph.size(graph.outputs[0]); };
  return (choice.op != Op::min && choice.op != Op::max) || std::ranges::none_of(vjp.cotangents, is_broadcast);
}

KinkOutcome check_kinks(const Trace& trace, const Trace::Vjp& vjp, KinkConvention convention, const std::string& place) {
  return KinkCheck(trace, vjp, convention, place).run();
}

}  // namespace assay::audit
