// `assay eval`: what the reference semantics says about a model at a point or on a box, and about its gradient there.
#include <cmath>
#include <cstdio>

#include "cli/assay/file_kind.h"
#include "cli/assay/report.h"
#include "frontends/files.h"
#include "kernel/gradients/derivatives/differentiate.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/integer_range.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr const char* kEvalSchema = "assay.eval/1";

Rejection misfit_of_value(std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, "values.shape",   std::move(place),
          std::move(required),        std::move(found), "give one number per element"};
}

Outcome<Array<Interval>> values_for(const std::map<std::string, std::vector<Interval>>& given, const std::string& name, const Node& node) {
  const auto found = given.find(name);
  const std::size_t count = element_count(node.shape);
  if (found == given.end())
    return misfit_of_value("\"" + name + "\"", std::to_string(count) + " numbers for " + to_string(node.shape), "none");
  if (found->second.size() != count)
    return misfit_of_value("\"" + name + "\"", std::to_string(count) + " numbers for " + to_string(node.shape),
                           std::to_string(found->second.size()));
  for (const Interval& value : found->second) {
    if (is_float(node.dtype)) continue;
    const auto [least, most] = range_of(node.dtype);
    const auto is_value = [&](double x) {
      return x == std::floor(x) && least <= *Rational::from_double(x) && *Rational::from_double(x) <= most;
    };
    if (!is_value(value.lo()) || !is_value(value.hi()))
      return misfit_of_value("\"" + name + "\"", std::string("values of ") + to_string(node.dtype) + ", or ends that are", "another one");
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
  const Outcome<Graph> backward = differentiate(graph, output, wanted);
  if (!backward) return backward.rejection();
  inputs.push_back(cotangent);
  auto sets = results(backward.value(), inputs);
  if (!sets) return sets.rejection();
  for (std::size_t i = 0; i < wanted.size(); ++i) sets.value()[i].name = graph.input_names[wanted[i]];
  return sets;
}

void print_sets(const char* kind, const std::vector<NamedSet>& sets) {
  for (const NamedSet& set : sets) {
    for (std::size_t i = 0; i < set.values.size(); ++i) {
      const Interval& value = set.values[i];
      if (value.is_undefined())
        std::printf("%s %s[%zu] is undefined\n", kind, printable(set.name).c_str(), i);
      else
        std::printf("%s %s[%zu] in [%.17g, %.17g]\n", kind, printable(set.name).c_str(), i, value.lo(), value.hi());
    }
  }
}

}  // namespace

int eval(const EvalOptions& options) {
  limit_memory(MemoryRule{}.most);
  const Outcome<onnx::Model> model = import_model_file(options.model);
  if (!model) return refuse(kEvalSchema, options.json, model.rejection());
  const auto file = read_file(options.values);
  if (!file) return refuse(kEvalSchema, options.json, file.rejection());
  const auto* text = reinterpret_cast<const char*>(file.value().bytes.data());
  const Outcome<EvalRequest> request = read_eval_request(std::string(text, file.value().bytes.size()));
  if (!request)
    return refuse(kEvalSchema, options.json, recognised(in_file(request.rejection(), options.values), options.values, FileKind::json));
  const Graph& graph = model.value().graph;
  if (auto known = check_names(request.value(), graph); !known)
    return refuse(kEvalSchema, options.json, in_file(known.rejection(), options.values));
  std::vector<Array<Interval>> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    auto value = values_for(request.value().inputs, graph.input_names[i], graph.node(graph.inputs[i]));
    if (!value) return refuse(kEvalSchema, options.json, in_file(value.rejection(), options.values));
    inputs.push_back(std::move(value).value());
  }
  auto outputs = results(graph, inputs);
  if (!outputs) return refuse(kEvalSchema, options.json, outputs.rejection());
  std::vector<NamedSet> gradients;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (!request.value().cotangents.contains(graph.output_names[i])) continue;
    auto cotangent = values_for(request.value().cotangents, graph.output_names[i], graph.node(graph.outputs[i]));
    if (!cotangent) return refuse(kEvalSchema, options.json, in_file(cotangent.rejection(), options.values));
    auto sets = gradients_of(graph, i, inputs, cotangent.value());
    if (!sets) return refuse(kEvalSchema, options.json, sets.rejection());
    for (NamedSet& set : sets.value()) gradients.push_back(std::move(set));
  }
  if (options.json != "-") {
    print_sets("output", outputs.value());
    print_sets("gradient", gradients);
  }
  return write_json(options.json, eval_json(outputs.value(), gradients)) ? kExitYes : kExitUnwritten;
}

}  // namespace assay::cli
