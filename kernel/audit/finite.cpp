// A recorded gradient that is not finite.
//
// Why the gradient is examined as a whole. Each local product may be right and the gradient NaN: the root's derivative
// at 0 is infinite, the branch that is not taken passes it the cotangent 0, and 0 times infinity is NaN.
//
// Claim. Let x be the tensor, and y the output as a function of x by the recorded regions over the reals. All other
// tensors given to the run have their recorded values, and so have detached tensors. Let s be the recorded seed. For an
// element i whose recorded gradient is not finite, Dual<Interval> over the least neighbourhood of the recorded x gives
// a set. It contains d<s, y>/dx[i] wherever that exists nearby, hence all its limits, the Clarke derivative and the
// one-sided derivatives.
//   F1  If that set is bounded, and within the range of the gradient's format, the recorded element is wrong: rejected.
//   F2  Otherwise the derivative is not known: it may not exist, be infinite, or be too hard to enclose. Declined,
//       never passed.
// Also declined: a run that declares surrogates or something opaque (the recorded gradient is not meant to be that
// derivative, or passes through code without a meaning here), and one that stores anything in 16 bits, where steps may
// overflow that do not over the reals.
#include "kernel/audit/finite.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernel/audit/point.h"
#include "kernel/audit/slice.h"
#include "kernel/audit/work.h"
#include "semantics/numbers/dual.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

namespace {

constexpr std::size_t kMostPasses = 16;   // of the gradient's elements: each is a pass through the run
constexpr double kMostPassWork = 0x1p24;  // in all passes together

std::string in_words(double value) { return std::isnan(value) ? "NaN" : value > 0 ? "infinite" : "minus infinite"; }
std::string set_in_words(const Interval& set) {
  const auto number = [](double value) { return Rational::from_double(value)->to_string(); };
  return set.is_point() ? number(set.lo()) : "in [" + std::to_string(set.lo()) + ", " + std::to_string(set.hi()) + "]";
}

// y as a function of x.
Outcome<Graph> function_of(const Trace& trace, TraceTensorId x, TraceTensorId y) {
  const Producers producers(trace);
  Slice slice(trace, producers);
  for (const TraceTensorId id : trace.detached) slice.define(id, slice.graph().append_constant(trace.tensors[id].value));
  slice.add_input(x);
  auto node = slice.node_of(y);
  if (!node) return node.rejection();
  slice.graph().mark_output(node.value(), "y");
  return without_dead_nodes(slice.graph());
}

// d<s, y>/dx[i] around the recorded x[i], with the other elements fixed.
Interval derivative_at(const Graph& graph, const Array<Interval>& x, const Array<Interval>& s, std::size_t i) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<Array<Dual<Interval>>> duals = {{x.shape, {x.values.begin(), x.values.end()}}};
  const Interval& at = x.values[i];
  if (at.is_undefined()) return at;
  duals[0].values[i] = {Interval(std::nextafter(at.lo(), -kInfinity), std::nextafter(at.hi(), kInfinity)), Interval(1)};
  if (graph.inputs.empty()) duals.clear();  // y does not depend on x
  const auto nodes = nodes_of<Dual<Interval>>(graph, std::move(duals));
  if (!nodes) return Interval::undefined();
  Interval sum;
  const auto& y = (*nodes)[graph.outputs[0]].values;
  for (std::size_t j = 0; j < y.size(); ++j) {
    if (s.values[j] == Interval()) continue;  // the seed ignores this element
    sum += s.values[j] * y[j].tangent();
  }
  return sum;
}

Rejection not_finite(Rejection::Kind kind, const std::string& place, std::string required, std::string found) {
  return {kind, "gradient.finite", place, std::move(required), std::move(found), "kernel/audit/finite.cpp"};
}

}  // namespace

std::optional<Rejection> check_finite(const Trace& trace, const Trace::Gradient& gradient, TraceTensorId tensor, TraceTensorId value,
                                      const std::string& place) {
  const Tensor& recorded = trace.tensors[value].value;
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (!std::isfinite(recorded.as_double(i))) wrong.push_back(i);
  }
  if (wrong.empty()) return std::nullopt;
  const std::string found = in_words(recorded.as_double(wrong[0])) + " at element " + std::to_string(wrong[0]) + " and in " +
                            std::to_string(wrong.size()) + " of " + std::to_string(recorded.size()) + " elements of '" +
                            trace.tensors[value].name + "'";
  const auto open = [&](const char* why) {
    return not_finite(Rejection::Kind::declined, place, "a finite gradient, or a derivative that is known to be none", found + ": " + why);
  };
  const auto is_short = [](const Trace::Entry& entry) { return entry.storage != ExecutionModel::Storage::same; };
  if (std::ranges::any_of(trace.vjps, [](const Trace::Vjp& vjp) { return vjp.surrogate.has_value(); }) || !trace.opaque.empty())
    return open("the run declares surrogates, or something opaque, so that its derivative is not known");
  if (std::ranges::any_of(trace.tensors, is_short)) return open("the run stores numbers in 16 bits, where steps may overflow");
  const auto graph = function_of(trace, tensor, gradient.output);
  if (!graph) return open("the run could not be composed");
  const Array<Interval> x = enclosed(trace.tensors[tensor].value), s = enclosed(trace.tensors[gradient.seed].value);
  const double passes = kMostPassWork / std::max(1.0, work_of(graph.value()));
  if (!(passes >= 1)) return open("the run is too large to enclose its derivative");
  const std::size_t count = std::min({kMostPasses, wrong.size(), static_cast<std::size_t>(passes)});
  const double most =
      recorded.dtype() == DType::float32 ? static_cast<double>(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = wrong[k * wrong.size() / count];
    const Interval set = derivative_at(graph.value(), x, s, i);
    if (set.is_undefined() || !(set.lo() > -most) || !(set.hi() < most)) continue;
    return not_finite(Rejection::Kind::rejected, place + ", element " + std::to_string(i),
                      "a finite number: the derivative of the run there is " + set_in_words(set),
                      in_words(recorded.as_double(i)) + "; " + found);
  }
  return open("the derivative there does not exist, is infinite, or could not be enclosed");
}

}  // namespace assay::audit
