#include "app/queries/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "app/words.h"
#include "kernel/gradients/derivatives/differentiate.h"
#include "semantics/numbers/scalar_traits.h"
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

Outcome<std::vector<NamedSet>> results(const Graph& graph, const std::vector<Array<Interval>>& inputs) {
  auto values = evaluate<Interval>(graph, inputs);
  if (!values) return values.rejection();
  std::vector<NamedSet> sets;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    Array<Interval>& one = values.value()[graph.outputs[i]];
    sets.push_back({graph.output_names[i], one.shape, one.values});
  }
  return sets;
}

// The gradients of one output with respect to all float inputs, named after these.
Outcome<std::vector<NamedSet>> gradients_of(const Graph& graph, std::size_t output, std::vector<Array<Interval>> inputs,
                                            const Array<Interval>& cotangent) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (is_float(graph.node(graph.inputs[i]).dtype)) wanted.push_back(i);
  }
  const Outcome<Graph> backward = gradients::differentiate(graph, output, wanted);
  if (!backward) return backward.rejection();
  inputs.push_back(cotangent);
  auto sets = results(backward.value(), inputs);
  if (!sets) return sets.rejection();
  for (std::size_t i = 0; i < wanted.size(); ++i) sets.value()[i].name = graph.input_names[wanted[i]];
  return sets;
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

Outcome<Evaluation> evaluate_sets(const Graph& graph, const EvaluationRequest& request) {
  if (auto known = check_names(request, graph); !known) return known.rejection();
  std::vector<Array<Interval>> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    auto value = values_for(request.inputs, graph.input_names[i], graph.node(graph.inputs[i]));
    if (!value) return value.rejection();
    inputs.push_back(std::move(value).value());
  }
  auto outputs = results(graph, inputs);
  if (!outputs) return outputs.rejection();
  Evaluation evaluation{std::move(outputs).value(), {}};
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!request.cotangents.contains(graph.output_names[i])) continue;
    auto cotangent = values_for(request.cotangents, graph.output_names[i], graph.node(graph.outputs[i]));
    if (!cotangent) return cotangent.rejection();
    auto sets = gradients_of(graph, i, inputs, cotangent.value());
    if (!sets) return sets.rejection();
    for (NamedSet& set : sets.value()) evaluation.gradients.push_back(std::move(set));
  }
  return evaluation;
}

}  // namespace assay::queries
