#include "training/reference/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "semantics/demand.h"
#include "semantics/numbers/exact_work.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"

namespace assay::reference {

struct Numbers::Held {
  std::variant<Array<Rational>, Array<Interval>> array;
};

namespace {

constexpr double kMostWork = 2e10;  // word operations of one graph, as within_exact_work() counts them

Interval around(const Rational& x) { return Interval(x); }
Interval around(const Interval& x) { return x; }

// Where a tensor has an element that no S is.
template <class S>
std::optional<Rejection> unfit(const Tensor& tensor, const std::string& place) {
  for (std::size_t i = 0; is_float(tensor.dtype()) && i < tensor.size(); ++i) {
    if (ScalarTraits<S>::can_hold(tensor.as_double(i))) continue;
    return Rejection{Rejection::Kind::unsupported,
                     "reference.value",
                     place + ", element " + std::to_string(i),
                     std::string("a number of ") + ScalarTraits<S>::name,
                     std::to_string(tensor.as_double(i)),
                     "run it with a float type"};
  }
  return std::nullopt;
}

bool has_ends(const Array<Interval>& array) {
  return std::ranges::all_of(array.values, [](const Interval& x) { return std::isfinite(x.lo()) && std::isfinite(x.hi()); });
}

// The op where finite intervals became what has no finite ends.
std::optional<Rejection> unbounded(const Graph& graph, const std::vector<Array<Interval>>& values) {
  if (std::ranges::all_of(graph.outputs, [&](NodeId output) { return has_ends(values[output]); })) return std::nullopt;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    const auto is_finite = [&](NodeId operand) { return has_ends(values[operand]); };
    if (node.operands.empty() || has_ends(values[id]) || !std::ranges::all_of(node.operands, is_finite)) continue;
    const std::string name(op_row(node.op).name);
    return Rejection{Rejection::Kind::declined,
                     "reference.unbounded",
                     "node " + std::to_string(id) + " (" + name + ")",
                     "intervals with finite ends",
                     "operands so wide that " + name + " may be undefined or infinite",
                     "take fewer steps, or a float type"};
  }
  return Rejection{Rejection::Kind::declined,    "reference.unbounded",       "outputs",
                   "intervals with finite ends", "an infinity in a constant", "run it with a float type"};
}

std::optional<Rejection> unbounded(const Graph& /*graph*/, const std::vector<Array<Rational>>& /*values*/) { return std::nullopt; }

template <class S>
Outcome<std::vector<Array<S>>> outputs_of(const Graph& graph, const std::vector<Array<S>>& inputs) {
  for (const Node& node : graph.nodes) {
    if (node.op != Op::constant) continue;
    if (auto why = unfit<S>(node.value, "constant '" + node.name + "'")) return *std::move(why);
  }
  std::optional<Outcome<std::vector<Array<S>>>> values;
  if (!within_exact_work(kMostWork, [&] { values = assay::evaluate<S>(graph, inputs); })) {
    return Rejection{Rejection::Kind::declined,
                     "reference.work",
                     "exact numbers",
                     "fractions of a length that can be computed with",
                     "longer ones: their length may double with each product",
                     "take fewer steps, intervals, or a float type"};
  }
  if (!*values) {
    Rejection why = values->rejection();
    if (why.code == "denote.scalar") {
      why.kind = Rejection::Kind::unsupported;
      why.found = std::string(ScalarTraits<S>::name) + " numbers";
      why.advice = "run it over intervals, or with a float type";
    }
    return why;
  }
  if (auto why = unbounded(graph, values->value())) return *std::move(why);
  std::vector<Array<S>> results;
  for (const NodeId output : graph.outputs) results.push_back(values->value()[output]);
  return results;
}

}  // namespace

Outcome<Numbers> Numbers::from(Kind kind, const Tensor& tensor) {
  if (auto why = kind == Kind::exact ? unfit<Rational>(tensor, "tensor") : unfit<Interval>(tensor, "tensor")) return *std::move(why);
  return Numbers(std::make_shared<Held>(kind == Kind::exact ? Held{lift<Rational>(tensor)} : Held{lift<Interval>(tensor)}));
}

const Shape& Numbers::shape() const {
  return std::visit([](const auto& array) -> const Shape& { return array.shape; }, held_->array);
}
std::size_t Numbers::size() const {
  return std::visit([](const auto& array) { return array.values.size(); }, held_->array);
}
double Numbers::lo(std::size_t i) const {
  return std::visit([i](const auto& array) { return around(array.values[i]).lo(); }, held_->array);
}
double Numbers::hi(std::size_t i) const {
  return std::visit([i](const auto& array) { return around(array.values[i]).hi(); }, held_->array);
}
double Numbers::nearest(std::size_t i) const {
  const auto* exact = std::get_if<Array<Rational>>(&held_->array);
  return exact != nullptr ? ScalarTraits<double>::from_rational(exact->values[i])
                          : std::get<Array<Interval>>(held_->array).values[i].midpoint();
}

std::string Numbers::text(std::size_t i) const {
  if (const auto* exact = std::get_if<Array<Rational>>(&held_->array)) return exact->values[i].to_string();
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "[%.17g, %.17g]", lo(i), hi(i));
  return text.data();
}

double Numbers::width() const {
  double most = 0;
  if (const auto* sets = std::get_if<Array<Interval>>(&held_->array)) {
    for (const Interval& x : sets->values) most = std::max(most, x.width_up());
  }
  return most;
}

std::size_t Numbers::length() const {
  std::size_t most = 0;
  if (const auto* exact = std::get_if<Array<Rational>>(&held_->array)) {
    for (const Rational& x : exact->values) most = std::max(most, x.to_string().size());
  }
  return most;
}

Outcome<std::vector<Numbers>> evaluate(const Graph& graph, std::span<const Numbers> inputs, Kind kind) {
  const auto over = [&]<class S>(S) -> Outcome<std::vector<Numbers>> {
    std::vector<Array<S>> arrays;
    for (const Numbers& input : inputs) {
      demand(std::holds_alternative<Array<S>>(input.held_->array), "reference: inputs of one kind");
      arrays.push_back(std::get<Array<S>>(input.held_->array));
    }
    auto outputs = outputs_of<S>(graph, arrays);
    if (!outputs) return outputs.rejection();
    std::vector<Numbers> results;
    for (Array<S>& one : outputs.value()) results.push_back(Numbers(std::make_shared<Numbers::Held>(Numbers::Held{std::move(one)})));
    return results;
  };
  return kind == Kind::exact ? over(Rational()) : over(Interval());
}

}  // namespace assay::reference
