#include "app/models/outputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/file_kind.h"
#include "app/queries/values_json.h"
#include "gpu/devices.h"
#include "runtime/compiled_function.h"
#include "runtime/graph_module.h"
#include "runtime/random.h"
#include "training/reference/numbers.h"

namespace assay::models {
namespace {

using Json = nlohmann::ordered_json;
using reference::Kind;
using reference::Numbers;

Rejection unfit(const OutputRequest& options, std::string required, std::string found, std::string advice = "see assay run --help") {
  return {Rejection::Kind::unsupported, "run.dtype", "--dtype " + options.dtype, std::move(required), std::move(found), std::move(advice)};
}

bool is_reference(const OutputRequest& options) { return options.dtype == "exact" || options.dtype == "interval"; }

// Refuses element types in which the model cannot be run.
Outcome<Done> check_dtype(const OutputRequest& options, const Graph& graph) {
  const auto has = [&](DType dtype) { return std::ranges::any_of(graph.nodes, [&](const Node& node) { return node.dtype == dtype; }); };
  const bool is_plain = options.dtype.empty() || options.dtype == "float32";
  if (options.dtype == "complex64") return unfit(options, "real values", "a model, whose ops are about real numbers");
  if ((options.dtype == "float32" || options.dtype == "bfloat16") && has(DType::float64))
    return unfit(options, "a model of float32", "float64 in it");
  if (options.dtype == "float64" && has(DType::float32))
    return unfit(options, "a model of float64", "float32 in it",
                 "--dtype interval and --dtype exact compute a float32 model with more digits");
  if (options.backend == "compiled" && is_reference(options))
    return unfit(options, "--backend eager", "compiled: the reference semantics replays nothing");
  if (options.backend == "compiled" && options.dtype == "bfloat16")
    return unfit(options, "--backend eager", "compiled: a fused pass keeps float32 between its ops");
  if (options.device != "cpu" && !is_plain) return unfit(options, "--device cpu", options.device + ": devices compute float32");
  return Done{};
}

// Given numbers, or normal ones.
Outcome<std::vector<runtime::Array>> inputs_of(const Graph& graph, const queries::EvaluationRequest& request, std::uint64_t seed) {
  std::vector<runtime::Array> inputs;
  const runtime::RandomKey key(seed);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Node& node = graph.node(graph.inputs[i]);
    const auto given = request.inputs.find(graph.input_names[i]);
    if (given == request.inputs.end() && is_float(node.dtype)) {
      inputs.push_back(runtime::normal(key.split(i), node.dtype, node.shape));
      continue;
    }
    if (given == request.inputs.end()) return no_values(node, graph.input_names[i]);
    auto array = given_values(node, graph.input_names[i], given->second);
    if (!array) return array.rejection();
    inputs.push_back(std::move(array).value());
  }
  return inputs;
}

// As they are: doubles do not hold all of them.
void set_integers(Output& output, const runtime::Value& y) {
  for (const std::int64_t x : y.array().to_tensor().to_ints()) {
    output.texts.push_back("= " + std::to_string(x));
    output.values.emplace_back(x);
  }
}

Outcome<std::vector<Output>> run_floats(const OutputRequest& options, const Graph& graph, std::span<const runtime::Array> inputs) {
  auto device = gpu::device_named(options.device);
  if (!device) return device.rejection();
  runtime::Session session({.backend = options.backend == "compiled" ? runtime::Backend::compiled : runtime::Backend::eager,
                            .threads = options.threads,
                            .device = std::move(device).value(),
                            .bfloat16 = options.dtype == "bfloat16"});
  const runtime::GraphModule module(session, graph);
  runtime::SessionFunction function(session, [&](std::span<const runtime::Value> values) { return module(values); });
  std::vector<runtime::Value> values;
  for (const runtime::Array& input : inputs) values.push_back(session.input(input));
  const auto results = function(values);
  if (!results) return results.rejection();
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < results.value().size(); ++i) {
    const runtime::Value& y = results.value()[i];
    Output output{graph.output_names[i], y.shape(), {}, {}};
    if (!is_float(y.dtype())) set_integers(output, y);
    for (const double x : is_float(y.dtype()) ? y.to_doubles() : std::vector<double>()) {
      std::array<char, 40> text{};
      std::snprintf(text.data(), text.size(), y.dtype() == DType::float32 ? "%.9g" : "%.17g", x);
      output.texts.push_back(std::string("= ") + text.data());
      output.values.push_back(std::isfinite(x) ? Json(x) : Json(queries::word_of(x)));
    }
    outputs.push_back(std::move(output));
  }
  if (auto fine = session.check(); !fine) return fine.rejection();
  return outputs;
}

Outcome<std::vector<Output>> run_reference(const OutputRequest& options, const Graph& graph, std::span<const runtime::Array> inputs) {
  const Kind kind = options.dtype == "exact" ? Kind::exact : Kind::interval;
  std::vector<Numbers> numbers;
  for (const runtime::Array& input : inputs) {
    const std::vector<double> values = is_float(input.dtype()) ? input.to_tensor().to_doubles() : std::vector<double>();
    if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); }))
      return unfit(options, "finite numbers, as infinities and NaN are no reals", "an infinity or NaN");
    auto made = Numbers::from(kind, input.to_tensor());
    if (!made) return made.rejection();
    numbers.push_back(std::move(made).value());
  }
  const auto results = reference::evaluate(graph, numbers, kind);
  if (!results) return results.rejection();
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < results.value().size(); ++i) {
    const Numbers& y = results.value()[i];
    Output output{graph.output_names[i], y.shape(), {}, {}};
    for (std::size_t k = 0; k < y.size(); ++k) {
      output.texts.push_back((kind == Kind::exact ? "= " : "in ") + y.text(k));
      output.values.push_back(kind == Kind::exact ? Json(y.text(k)) : Json{{"lo", y.lo(k)}, {"hi", y.hi(k)}});
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace

Outcome<std::vector<Output>> outputs_of(const OutputRequest& options, const Program& program) {
  const Outcome<onnx::Model> model = queries::import_model_file(options.model, options.limits);
  if (!model) return queries::unread(model.rejection(), options.model);
  const Graph& graph = model.value().graph;
  if (auto fits = check_dtype(options, graph); !fits) return fits.rejection();
  queries::EvaluationRequest request;
  if (!options.values.empty()) {
    auto read = queries::read_values_file(options.values);
    if (!read) return read.rejection();
    request = std::move(read).value();
    if (auto known = queries::check_names(request, graph); !known) return check::in_file(known.rejection(), options.values);
  }
  const auto inputs = inputs_of(graph, request, options.seed);
  if (!inputs) return options.values.empty() ? inputs.rejection() : check::in_file(inputs.rejection(), options.values);
  if (is_reference(options)) return run_reference(options, graph, inputs.value());
  if (auto fits = check::check_run_size(graph, options.limits, 1); !fits) return check::in_file(fits.rejection(), options.model);
  std::optional<Outcome<std::vector<Output>>> outputs;
  program.without_limit([&] { outputs = run_floats(options, graph, inputs.value()); });
  return *std::move(outputs);
}

}  // namespace assay::models
