#include "app/queries/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <type_traits>
#include <utility>

#include "api/check/cost.h"
#include "app/words.h"
#include "kernel/gradients/derivatives/differentiate.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/numbers/wide_interval.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/integer_range.h"
#include "semantics/printable.h"

namespace assay::queries {
namespace {

Rejection misfit_of_value(std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, "values.shape",   std::move(place),
          std::move(required),        std::move(found), "give one number per element"};
}

std::string shown(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "\"nan\"" : x > 0 ? "\"inf\"" : "\"-inf\"";
  std::array<char, 40> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.17g", x))};
}

Outcome<Array<Interval>> values_for(const std::map<std::string, std::vector<Interval>>& given, const std::string& name, const Node& node) {
  const auto found = given.find(name);
  const std::size_t count = element_count(node.shape);
  if (found == given.end())
    return misfit_of_value("\"" + name + "\"", std::to_string(count) + " numbers for " + to_string(node.shape), "none");
  if (found->second.size() != count)
    return misfit_of_value("\"" + name + "\"", std::to_string(count) + " numbers for " + to_string(node.shape),
                           std::to_string(found->second.size()));
  for (std::size_t i = 0; i < count; ++i) {
    const Interval& value = found->second[i];
    const std::string place = "\"" + name + "\", element " + std::to_string(i);
    if (!std::isfinite(value.lo()) || !std::isfinite(value.hi()))
      return Rejection{Rejection::Kind::malformed, "values.shape", place, "a finite number: eval is about real numbers",
                       queries::shown(value),      "use assay run"};
    if (!is_float(node.dtype) && !holds(node.dtype, value))
      return misfit_of_value(place, std::string("a value of ") + to_string(node.dtype) + ", or ends that are", queries::shown(value));
  }
  return Array<Interval>{node.shape, found->second};
}

Interval narrowed(const Interval& x) { return x; }
Interval narrowed(const WideInterval& x) { return x.to_interval(); }

template <class S>
Outcome<std::vector<NamedSet>> results(const Graph& graph, const std::vector<Array<S>>& inputs) {
  auto values = evaluate<S>(graph, inputs);
  if (!values) return values.rejection();
  std::vector<NamedSet> sets;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Array<S>& one = values.value()[graph.outputs[i]];
    NamedSet& set = sets.emplace_back(NamedSet{graph.output_names[i], one.shape, {}});
    for (const S& value : one.values) set.values.push_back(narrowed(value));
  }
  return sets;
}

double largest_magnitude(const NamedSet& set) {
  double most = 0;
  for (const Interval& value : set.values) most = std::max(most, value.is_undefined() ? 0 : value.magnitude());
  return most;
}

// True where some element is undefined, or wider than this share of the largest magnitude.
bool is_wide(const NamedSet& set, double share) {
  const double most = share * largest_magnitude(set);
  return std::ranges::any_of(set.values, [&](const Interval& value) { return !(value.width_up() <= most); });
}

// What is asked, with its sets over one of both scalars.
template <class S>
struct Question {
  std::vector<Array<S>> inputs;
  std::map<std::size_t, Array<S>> cotangents;  // by output
};

template <class S>
bool within_limits(const Graph& graph) {
  constexpr double kMostWork = 5e7, kMostElements = 1e7;  // about 30 seconds, and 4 GiB
  return std::is_same_v<S, Interval> || (check::work_of(graph) <= kMostWork && check::elements_of(graph) <= kMostElements);
}

// The gradients of one output with respect to all float inputs, named after these; nullopt where a limit forbids them.
template <class S>
Outcome<std::optional<std::vector<NamedSet>>> gradients_of(const Graph& graph, std::size_t output, const Question<S>& question) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (is_float(graph.node(graph.inputs[i]).dtype)) wanted.push_back(i);
  }
  const Outcome<Graph> backward = gradients::differentiate(graph, output, wanted);
  if (!backward) return backward.rejection();
  if (!within_limits<S>(backward.value())) return std::optional<std::vector<NamedSet>>();
  std::vector<Array<S>> inputs = question.inputs;
  inputs.push_back(question.cotangents.at(output));
  auto sets = results(backward.value(), inputs);
  if (!sets) return sets.rejection();
  for (std::size_t i = 0; i < wanted.size(); ++i) sets.value()[i].name = graph.input_names[wanted[i]];
  return std::optional(std::move(sets).value());
}

// nullopt where a limit forbids the evaluation.
template <class S>
Outcome<std::optional<Evaluation>> evaluated(const Graph& graph, const Question<S>& question) {
  if (!within_limits<S>(graph)) return std::optional<Evaluation>();
  auto outputs = results(graph, question.inputs);
  if (!outputs) return outputs.rejection();
  Evaluation evaluation{std::move(outputs).value(), {}, std::is_same_v<S, Interval> ? 53 : 257};
  for (const auto& [output, cotangent] : question.cotangents) {
    auto sets = gradients_of(graph, output, question);
    if (!sets) return sets.rejection();
    if (!sets.value()) return std::optional<Evaluation>();
    for (NamedSet& set : *sets.value()) evaluation.gradients.push_back(std::move(set));
  }
  return std::optional(std::move(evaluation));
}

// The same question about points, at 257 bits; nullopt where some set of it is no point.
std::optional<Question<WideInterval>> pinned(const Graph& graph, const EvaluationRequest& request, const Question<Interval>& question) {
  Question<WideInterval> wide;
  for (std::size_t i = 0; i < question.inputs.size(); ++i) {
    Array<WideInterval>& array = wide.inputs.emplace_back(Array<WideInterval>{question.inputs[i].shape, {}});
    if (const auto exact = request.points.find(graph.input_names[i]); exact != request.points.end()) {
      for (const Rational& value : exact->second) array.values.emplace_back(value);
      continue;
    }
    if (!std::ranges::all_of(question.inputs[i].values, &Interval::is_point)) return std::nullopt;
    array.values.assign(question.inputs[i].values.begin(), question.inputs[i].values.end());
  }
  for (const auto& [output, cotangent] : question.cotangents)
    wide.cotangents[output] = {cotangent.shape, {cotangent.values.begin(), cotangent.values.end()}};
  return wide;
}

}  // namespace

Outcome<Done> check_names(const EvaluationRequest& request, const Graph& graph) {
  const auto check = [&](const auto& given, const std::vector<std::string>& known, const auto& nodes, const char* part) -> Outcome<Done> {
    for (const auto& [name, values] : given) {
      const auto found = std::ranges::find(known, name);
      if (found == known.end())
        return Rejection{Rejection::Kind::malformed,    "values.name",           part, "names of the model: " + listed(known),
                         "\"" + printable(name) + "\"", "use one of these names"};
      const DType dtype = graph.node(nodes[static_cast<std::size_t>(found - known.begin())]).dtype;
      if (const auto truth = request.truths.find(name); truth != request.truths.end() && is_float(dtype))
        return misfit_of_value("\"" + printable(name) + "\", element " + std::to_string(truth->second),
                               std::string("a number of ") + to_string(dtype), "true or false");
    }
    return Done{};
  };
  if (auto inputs = check(request.inputs, graph.input_names, graph.inputs, "inputs"); !inputs) return inputs;
  return check(request.cotangents, graph.output_names, graph.outputs, "cotangents");
}

std::string shown(const Interval& value) {
  if (value.is_point() || value.is_undefined()) return shown(value.lo());
  return "[" + shown(value.lo()) + ", " + shown(value.hi()) + "]";
}

bool holds(DType dtype, const Interval& value) {
  if (dtype != DType::boolean && !is_integer(dtype)) return false;
  const auto [least, most] = range_of(dtype);
  const auto is_value = [&, least = least, most = most](double x) {
    return std::isfinite(x) && x == std::floor(x) && least <= *Rational::from_double(x) && *Rational::from_double(x) <= most;
  };
  return is_value(value.lo()) && is_value(value.hi());
}

bool is_narrow(const Evaluation& evaluation) {
  const auto loses = [](const NamedSet& set) { return is_wide(set, 1e-6); };
  return std::ranges::none_of(evaluation.outputs, loses) && std::ranges::none_of(evaluation.gradients, loses);
}

Outcome<Evaluation> evaluate_sets(const Graph& graph, const EvaluationRequest& request,
                                  const std::function<bool(const Evaluation&)>& is_enough) {
  if (auto known = check_names(request, graph); !known) return known.rejection();
  Question<Interval> question;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    auto value = values_for(request.inputs, graph.input_names[i], graph.node(graph.inputs[i]));
    if (!value) return value.rejection();
    question.inputs.push_back(std::move(value).value());
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!request.cotangents.contains(graph.output_names[i])) continue;
    auto cotangent = values_for(request.cotangents, graph.output_names[i], graph.node(graph.outputs[i]));
    if (!cotangent) return cotangent.rejection();
    question.cotangents[i] = std::move(cotangent).value();
  }
  auto narrow = evaluated(graph, question);
  if (!narrow) return narrow.rejection();
  Evaluation& evaluation = *narrow.value();
  if (is_enough(evaluation)) return std::move(evaluation);
  const std::optional<Question<WideInterval>> points = pinned(graph, request, question);
  if (!points) return std::move(evaluation);
  auto wide = evaluated(graph, *points);
  if (wide && wide.value()) return std::move(*wide.value());
  for (const NamedSet& set : evaluation.outputs) {
    if (is_wide(set, 0.5)) evaluation.vacuous.push_back(set.name);
  }
  return std::move(evaluation);
}

}  // namespace assay::queries
