// The point of the run: a product that is right at random points may still be wrong at the recorded one.
//
// Claim. Let x and y_bar be recorded, F the recorded product of x and y_bar over the reals, and D that of the meaning
// (kernel/gradients/derivatives, whose rules `assay adjoint` proves). In forward mode tangents replace y_bar, and D is
// the transpose of the product, which is linear in y_bar. For each element i of a recorded cotangent, or tangent, where
// D_i has a value:
//   P1  F_i and D_i are the same at the recorded point. They differ if their enclosures have no number in common, and
//       F_i also lies outside the enclosure of D_i over a neighbourhood of the point. That enclosure holds every limit
//       of derivatives nearby, hence the Clarke derivative, whatever branch a convention takes at a tie.
//   P3  If a choice is undecided at the recorded point and the product is elementwise, F_i meets the hull of the
//       one-sided derivatives (kernel/audit/corners.h), which is a point where the branches agree in slope.
//   P4  With C the product that the framework of the trace gives by its own convention: F_i and C_i are the same at the
//       recorded point. They differ if their enclosures have no number in common. P4 applies if C_i is a derivative
//       there, in the enclosure of D_i, or if D_i has no value: a result that the framework computes with other
//       constants is no convention. If no C is declared, and a choice is undecided around the point, the ops may
//       determine C (conventions.h). P4 is declined if they do not, or if F_i differs and PyTorch has other numbers too.
//   P2  The recorded value lies in the contract of D, if F_i has no value there (0 / 0) or if that value is not finite.
//   P6  If D_i has no value: let D' be D where a cotangent that is 0 gives 0, whatever it is multiplied with. If D'_i has
//       a value over a neighbourhood of the point, F_i lies in it. If D'_i has one at the point alone, as at the border
//       of a condition, F_i lies in that; otherwise it is declined
//       (gradient.border).
//   P5  With R the product F whose steps (comparisons, integers, signs, floors, quotients of mod) are those of the run
//       (kernel/audit/steps.h): R_i and D_i are the same, or R_i is a limit as in P1, or the recorded value lies in the
//       contract of D. Otherwise it is declined (gradient.step): rounding decided a step, or may have.
//   P7  If D_i has a value at the point and none over a neighbourhood, and a choice is undecided there, a cotangent outside of
//       the contract of D is declined (gradient.border): in where(x = 0, 1, expm1(x) / x) the branch that is taken at 0 says
//       nothing of the derivative, 1/2.
//
// Why P5. The steps of F have exact operands, and those of the run rounded ones. If F jumps between the two, a
// cotangent in the contract of R says nothing about F. If all steps are the same, R is F. If the run's step is not
// known, R has no value. A correct product may branch where the derivative underflows or cancels; the derivative's own
// formula may give the same there. So P5 accuses no product.
// Why the contract is not used everywhere. It belongs to the formula of D. Another formula of the same derivative has
// another set, perhaps a wider one, and the audit has judged the recorded cotangent by the set of F. If F = D, R = D
// and the cotangent is in the contract of R, it is right.
// Why P6. A branch that a choice discards gets the cotangent 0. The branch may have no derivative there, such as that of
// log(x) at 0 in where(x > 1, log(x), 0), and 0 times no value is no value: D_i would admit every F_i. A cotangent that is 0
// on a whole neighbourhood is the derivative of y by that branch, so y is constant in the branch there, and nothing that
// the branch computes matters. At a border both branches matter; P6 accepts the one that is taken, and accuses nobody.
// P2 declines if the run stores anything in 16 bits: the steps of F may have been stored, which the contract of D does
// not cover.
// Where P1 is not needed. Two functions that are analytic on all of the reals and that agree near one point agree
// everywhere. So the random points decide products of such ops alone, if the run recorded no step for P5. The same
// holds for products that are analytic on a box that contains the random points and the recorded one.
#include "kernel/audit/point.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "kernel/audit/conventions.h"
#include "kernel/audit/corners.h"
#include "kernel/audit/slice.h"
#include "kernel/contracts/contract.h"
#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/family.h"

namespace assay::audit {

namespace {

using Intervals = std::vector<Array<Interval>>;

std::optional<Intervals> results(const Graph& graph, const Intervals& point) {
  const auto nodes = values_at(graph, point);
  if (!nodes) return std::nullopt;
  Intervals found;
  for (const NodeId output : graph.outputs) found.push_back(without_infinities((*nodes)[output]));  // several may be one node
  return found;
}

// The values of a product's nodes, where a cotangent that is 0 gives 0. The inputs from this position on are cotangents.
std::optional<Intervals> without_dead_branches(const Graph& graph, std::size_t first, const Intervals& point) {
  std::vector<bool> is_bar(graph.nodes.size(), false);
  for (std::size_t k = first; k < graph.inputs.size(); ++k) is_bar[graph.inputs[k]] = true;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const NodeId operand : graph.node(id).operands) is_bar[id] = is_bar[id] || is_bar[operand];
  }
  return nodes_taken(graph, point, [&](NodeId id, Intervals& values, const auto& by_op) {
    const Node& node = graph.node(id);
    if (!by_op()) return false;
    const auto is_zero = [&](std::size_t k, std::size_t i) {
      const NodeId operand = node.operands[k];
      return is_bar[operand] && values[operand].values[place_in(graph.node(operand).shape, node.shape, i)] == Interval();
    };
    for (std::size_t i = 0; is_bar[id] && i < values[id].values.size(); ++i) {
      if (!values[id].values[i].is_undefined()) continue;
      const bool is_dead = (node.op == Op::mul && (is_zero(0, i) || is_zero(1, i))) || (node.op == Op::div && is_zero(0, i));
      if (is_dead) values[id].values[i] = Interval();
    }
    return true;
  });
}

bool meet(const Interval& a, const Interval& b) { return a.lo() <= b.hi() && b.lo() <= a.hi(); }

std::string text(double value) { return Rational::from_double(value) ? Rational::from_double(value)->to_string() : std::to_string(value); }
std::string text(const Interval& set) {
  return set.is_point() ? text(set.lo()) : std::string("[").append(text(set.lo())).append(", ").append(text(set.hi())).append("]");
}

class PointCheck {
 public:
  PointCheck(const RecordedProduct& product, const std::string& place) : product_(product), place_(place) {}

  [[nodiscard]] std::size_t corners() const { return corner_count_; }

  std::optional<Rejection> run() {
    if (product_.standing == RecordedProduct::Standing::proved && !product_.with_steps &&
        (product_.is_analytic_here || (is_analytic(product_.forward) && is_analytic(product_.backward))) && all_finite())
      return std::nullopt;
    auto reference = product_.reference ? product_.reference() : gradients::reverse_of(product_.forward);
    if (!reference && product_.reference) return declined("a graph of the derivative", reference.rejection().to_text());
    if (!reference) return std::nullopt;  // the random points compared with a derivative, so a rule exists
    reference_ = without_dead_nodes(reference.value());
    Graph both = reference_;  // computes common parts once
    const auto outputs = append_graph(both, without_dead_nodes(product_.backward), both.inputs, true);
    if (!outputs) return declined("two graphs of the same operands", outputs.rejection().to_text());
    for (const NodeId output : outputs.value()) both.mark_output(output, "");
    corners_.emplace(reference_);
    has_choices_ = corners_->has_choices();
    point_ = product_.point();
    auto values = results(both, point_);
    if (!values) return declined("a value of the product at the recorded point", "an op without one");
    right_ = std::move(*values);
    found_.assign(right_.begin() + static_cast<std::ptrdiff_t>(right_.size() / 2), right_.end());
    right_.resize(found_.size());
    if (product_.with_steps && product_.standing == RecordedProduct::Standing::proved) taken_ = product_.with_steps(point_);
    if (product_.convention != nullptr) meant_ = results(without_dead_nodes(*product_.convention), point_);
    for (std::size_t k = 0; k < right_.size(); ++k) {
      if (!product_.cotangents[k].is_claimed) continue;
      for (std::size_t i = 0; i < right_[k].values.size(); ++i) {
        if (auto why = judge(k, i)) return why;
        if (auto why = by_convention(k, i)) return why;
        by_recorded_steps(k, i);
      }
    }
    if (doubt_) return doubt_;
    return product_.lacks_convention && is_open() ? by_ops() : std::nullopt;
  }

 private:
  [[nodiscard]] bool all_finite() const {
    for (const RecordedProduct::Cotangent& one : product_.cotangents) {
      for (std::size_t i = 0; !one.parts.empty() && i < one.parts[0]->size(); ++i) {
        if (!std::isfinite(recorded(one, i))) return false;
      }
    }
    return true;
  }
  static double recorded(const RecordedProduct::Cotangent& one, std::size_t i) {
    double sum = 0;
    for (const Tensor* part : one.parts) sum += part->as_double(i);
    return sum;
  }

  std::optional<Rejection> judge(std::size_t k, std::size_t i) {
    const Interval &right = right_[k].values[i], &found = found_[k].values[i];
    if (right.is_undefined()) return by_taken_branch(k, i);
    const RecordedProduct::Cotangent& one = product_.cotangents[k];
    const bool is_finite = one.parts.empty() || std::isfinite(recorded(one, i));
    if (!is_finite || (found.is_undefined() && product_.standing == RecordedProduct::Standing::proved)) return by_contract(k, i);
    if (found.is_undefined() || product_.standing == RecordedProduct::Standing::open) return std::nullopt;
    const bool is_met = meet(right, found);
    if (is_met && !has_choices_) return std::nullopt;
    const Interval near = around(k, i);
    if (near.is_undefined()) return is_met ? std::nullopt : at_gap(k, i);
    if (!is_met && !meet(near, found)) return broken(k, i, "the derivative's " + text(right), text(found));
    return at_corner(k, i);
  }

  // P6.
  std::optional<Rejection> by_taken_branch(std::size_t k, std::size_t i) {
    const Interval& found = found_[k].values[i];
    if (found.is_undefined() || product_.standing == RecordedProduct::Standing::open) return std::nullopt;
    if (!live_) {
      const std::size_t first = product_.forward.inputs.size();
      live_.emplace();
      for (const Intervals& point : {neighbourhood(), point_})
        live_->push_back(without_dead_branches(reference_, first, point).value_or(Intervals()));
    }
    const auto value = [&](const Intervals& nodes) {
      const Interval one = nodes.empty() ? Interval::undefined() : nodes[reference_.outputs[k]].values[i];
      return is_infinite(one) ? Interval::undefined() : one;
    };
    const Interval near = value((*live_)[0]), here = value((*live_)[1]);
    if (!near.is_undefined())
      return meet(near, found) ? std::nullopt : std::optional(broken(k, i, "the taken branch's " + text(near), text(found)));
    if (!here.is_undefined() && !meet(here, found) && !doubt_ && is_open())
      doubt("gradient.border", k, i,
            "the taken branch's " + text(here) + ", at the border of a condition beside which the other branch has no value", text(found));
    return std::nullopt;
  }

  // P7.
  std::optional<Rejection> at_gap(std::size_t k, std::size_t i) {
    auto why = by_contract(k, i);
    if (!why || !is_open()) return why;
    doubt("gradient.border", k, i, why->required + ", or the derivative beside the condition that holds here", text(found_[k].values[i]));
    return std::nullopt;
  }

  // D over the neighbourhood.
  Interval around(std::size_t k, std::size_t i) {
    if (!nearby_) nearby_ = values_at(reference_, neighbourhood()).value_or(Intervals());
    return nearby_->empty() ? Interval::undefined() : (*nearby_)[reference_.outputs[k]].values[i];
  }

  // P5.
  void by_recorded_steps(std::size_t k, std::size_t i) {
    if (!taken_ || doubt_) return;
    const Interval &right = right_[k].values[i], &taken = (*taken_)[k].values[i];
    if (right.is_undefined() || meet(right, taken) || meet(around(k, i), taken)) return;
    const RecordedProduct::Cotangent& one = product_.cotangents[k];
    if (!product_.operands.empty() && sets(true)) {
      const contracts::FloatSet set = set_of(k, i, true);
      const bool is_whole = one.parts.size() == 1;
      if (is_whole ? set.contains(recorded(one, i)) : set.lo <= taken.hi() && taken.lo() <= set.hi) return;
    }
    doubt("gradient.step", k, i,
          "steps that rounding does not decide, or a recorded number in the contract of the derivative, near " + text(right),
          taken.is_undefined() ? "a step of the product that rounding may have decided"
                               : text(taken) + ", which the product gives with the steps of the run");
  }

  // P3.
  std::optional<Rejection> at_corner(std::size_t k, std::size_t i) {
    if (!corners_->is_open(*nearby_, k, i)) return std::nullopt;
    const auto set = corners_->cotangent(point_, k, i);
    if (!set) return std::nullopt;
    ++corner_count_;
    if (meet(*set, found_[k].values[i])) return std::nullopt;
    return broken(k, i,
                  "a cotangent " + std::string(set->is_point() ? "" : "in ") + text(*set) + ", which the derivatives on all sides give",
                  text(found_[k].values[i]));
  }

  // P4.
  [[nodiscard]] std::optional<Rejection> by_convention(std::size_t k, std::size_t i) const {
    if (!meant_) return std::nullopt;
    const Interval &right = right_[k].values[i], &found = found_[k].values[i], &meant = (*meant_)[k].values[i];
    if (meant.is_undefined() || found.is_undefined() || meet(meant, found)) return std::nullopt;
    if (!right.is_undefined() && !meet(right, meant)) return std::nullopt;
    Rejection why = broken(k, i, about(meant.lo()) + ", by PyTorch's convention", about(found.lo()));
    why.code = "gradient.convention";
    return why;
  }

  [[nodiscard]] bool is_open() {
    if (!has_choices_) return false;
    if (!nearby_) nearby_ = values_at(reference_, neighbourhood()).value_or(Intervals());
    return nearby_->empty() || corners_->is_any_open(*nearby_);
  }
  // P4 of a product that declares no convention.
  [[nodiscard]] std::optional<Rejection> by_ops() {
    auto convention = convention_at(product_.forward, reference_, point_);
    const Graph backward = without_dead_nodes(product_.backward);
    const auto own = values_at(backward, point_);
    if (!convention || !own || Corners(backward).is_any_open(*own)) return unknown_convention();
    meant_ = std::move(convention->cotangents);
    for (std::size_t k = 0; k < right_.size(); ++k) {
      for (std::size_t i = 0; product_.cotangents[k].is_claimed && i < right_[k].values.size(); ++i) {
        auto why = by_convention(k, i);
        const bool is_known = !(*meant_)[k].values[i].is_undefined() && !found_[k].values[i].is_undefined();
        if (!is_known || (why && convention->is_one_of_several)) return unknown_convention();
        if (why) return why;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] Rejection unknown_convention() const {
    Rejection why = declined("the number that PyTorch gives at a kink", "none: the trace declares no convention for this product");
    why.code = "gradient.convention";
    return why;
  }

  // The point, with real operands widened by the least step of double on either side.
  [[nodiscard]] Intervals neighbourhood() const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Intervals wide = point_;
    for (std::size_t k = 0; k < product_.forward.inputs.size(); ++k) {
      if (!is_float(product_.forward.node(product_.forward.inputs[k]).dtype)) continue;
      for (Interval& value : wide[k].values) {
        if (!value.is_undefined() && !is_infinite(value))
          value = Interval(std::nextafter(value.lo(), -kInfinity), std::nextafter(value.hi(), kInfinity));
      }
    }
    return wide;
  }

  // P2.
  std::optional<Rejection> by_contract(std::size_t k, std::size_t i) {
    const RecordedProduct::Cotangent& one = product_.cotangents[k];
    const bool is_whole = one.parts.size() == 1 || (!one.parts.empty() && !std::isfinite(recorded(one, i)));
    if (product_.operands.empty() || !is_whole)
      return declined("a recorded cotangent where the derivative is in " + text(right_[k].values[i]), "a value that nobody recorded");
    if (!sets()) return declined(sets().rejection().required, sets().rejection().found);
    if (set_of(k, i).contains(recorded(one, i))) return std::nullopt;
    if (product_.is_stored_short)
      return declined("a cotangent that the contract of the derivative admits without rounding steps to 16 bits", text(recorded(one, i)));
    return broken(k, i, "a value that the contract of the derivative admits, near " + text(right_[k].values[i]), text(recorded(one, i)));
  }

  // The contract of D; with its steps stored as its results are, or not.
  const Outcome<std::vector<contracts::Admissible>>& sets(bool stores_steps = false) {
    auto& found = sets_[stores_steps ? 1 : 0];
    if (!found) {
      ExecutionModel model = product_.model;
      model.accumulator = ExecutionModel::Accumulator::any_order;
      model.tree_height = 0;
      std::vector<contracts::Storage> stored;
      for (const RecordedProduct::Cotangent& cotangent : product_.cotangents) {
        stored.push_back(cotangent.storage);
        if (stores_steps && cotangent.storage != ExecutionModel::Storage::same) model.storage = cotangent.storage;
      }
      Graph graph = reference_;
      std::vector<Tensor> operands = product_.operands;
      make_infinities_inputs(graph, operands);
      found = contracts::admissible(graph, model, operands, {}, stored);
    }
    return *found;
  }
  contracts::FloatSet set_of(std::size_t k, std::size_t i, bool stores_steps = false) {
    return contracts::with_both_zeros(sets(stores_steps).value()[k].sets.values[i]);
  }

  [[nodiscard]] Rejection broken(std::size_t k, std::size_t i, std::string required, std::string found) const {
    return {Rejection::Kind::rejected,
            "gradient.value",
            place_ + ", '" + product_.cotangents[k].name + "' element " + std::to_string(i) + ", at the recorded point",
            std::move(required),
            std::move(found),
            "kernel/audit/point.cpp"};
  }
  void doubt(const char* code, std::size_t k, std::size_t i, std::string required, std::string found) {
    if (doubt_) return;
    doubt_ = broken(k, i, std::move(required), std::move(found));
    doubt_->kind = Rejection::Kind::declined;
    doubt_->code = code;
  }
  [[nodiscard]] Rejection declined(std::string required, std::string found) const {
    return {Rejection::Kind::declined, "gradient.value", place_ + ", at the recorded point",
            std::move(required),       std::move(found), "kernel/audit/point.cpp"};
  }

  const RecordedProduct& product_;
  const std::string& place_;
  Graph reference_;
  Intervals point_, right_, found_;  // the point, and D and F there
  std::optional<Intervals> meant_;   // C at the point
  std::optional<Intervals> taken_;   // R at the point; nullopt: no step was rounded, or an op has no value
  std::optional<Rejection> doubt_;   // the doubt of P5; a certain error is reported first
  // All nodes of D around the point; empty if they have no value.
  std::optional<Intervals> nearby_;
  // The nodes of D' around the point and at it; empty if they have no value.
  std::optional<std::vector<Intervals>> live_;
  std::optional<Corners> corners_;
  bool has_choices_ = false;
  std::size_t corner_count_ = 0;
  std::array<std::optional<Outcome<std::vector<contracts::Admissible>>>, 2> sets_;
};

}  // namespace

std::string about(double value) {
  std::array<char, 40> words{};
  const int length = std::snprintf(words.data(), words.size(), "%.6g", value);
  return {words.data(), static_cast<std::size_t>(length)};
}

gradients::Domain recorded_range(const Tensor& tensor) {
  double lo = std::numeric_limits<double>::infinity(), hi = -lo;
  const bool real = is_float(tensor.dtype());
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const double value = real ? tensor.as_double(i) : static_cast<double>(tensor.as_int(i));
    if (!std::isfinite(value)) continue;
    lo = std::fmin(lo, value);
    hi = std::fmax(hi, value);
  }
  if (!(lo <= hi)) return {};
  if (!real) return {lo, hi};
  // Wide enough that drawn numbers differ.
  constexpr double kMost = std::numeric_limits<double>::max(), kLeast = 0x1p-900;
  const double room = std::fmax(std::fabs(lo), std::fabs(hi)) * 0x1p-20;
  if (hi - lo > room && hi - lo > kLeast) return {lo, hi};
  if (!(room > kLeast)) return {lo, lo + 1};
  return {std::fmax(lo - room, -kMost), std::fmin(hi + room, kMost)};
}

std::optional<Rejection> check_point(const RecordedProduct& product, const std::string& place, std::size_t* corners) {
  PointCheck check(product, place);
  auto why = check.run();
  if (corners != nullptr) *corners += check.corners();
  return why;
}

}  // namespace assay::audit
