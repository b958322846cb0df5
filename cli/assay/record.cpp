// `assay record`: a model's forward pass, and the gradient of the sum of an output, in the runtime; every step goes into a trace.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "cli/assay/gate.h"
#include "cli/assay/report.h"
#include "frontends/files.h"
#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"

namespace assay::cli {
namespace {

constexpr const char* kSchema = "assay.record/1";

Rejection misfit(std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, "values.shape", std::move(place), std::move(required), std::move(found), "see assay record --help"};
}

template <class T>
void fill(std::span<T> to, const std::vector<Interval>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(from[i].lo());
}

// The numbers of a file as they are read; they have to be points, and integers for integers. Rounded to the input's type.
Outcome<runtime::Array> given_values(const Node& node, const std::string& name, const std::vector<Interval>& values) {
  const std::size_t count = element_count(node.shape);
  if (values.size() != count)
    return misfit("\"" + name + "\"", std::to_string(count) + " numbers for " + to_string(node.shape), std::to_string(values.size()));
  for (const Interval& value : values) {
    if (!value.is_point() || (!is_float(node.dtype) && value.lo() != std::floor(value.lo())))
      return misfit("\"" + name + "\"", std::string("single numbers of ") + to_string(node.dtype), "another one");
  }
  runtime::Array array = runtime::Array::empty(node.dtype, node.shape);
  if (node.dtype == DType::float32) {
    fill(array.data<float>(), values);
  } else if (node.dtype == DType::float64) {
    fill(array.data<double>(), values);
  } else if (node.dtype == DType::int64) {
    fill(array.data<std::int64_t>(), values);
  } else if (node.dtype == DType::int32) {
    fill(array.data<std::int32_t>(), values);
  } else if (node.dtype == DType::boolean) {
    fill(array.data<std::uint8_t>(), values);
  } else {
    return misfit("\"" + name + "\"", "float32, float64, int64, int32 or truth values", to_string(node.dtype));
  }
  return array;
}

Outcome<runtime::Array> random_values(runtime::Session& session, const Node& node, const std::string& name,
                                      const std::vector<double>& range) {
  if (is_float(node.dtype) && range.size() == 2) return runtime::uniform(session.next_key(), node.dtype, node.shape, range[0], range[1]);
  if (is_float(node.dtype)) return runtime::normal(session.next_key(), node.dtype, node.shape);
  return misfit("\"" + name + "\"", "values for an input of " + std::string(to_string(node.dtype)), "none: random ones are real");
}

// Weights are the float constants of a model with more than one element: what a training step would change.
bool is_parameter(const Node& node) { return node.op == Op::constant && is_float(node.dtype) && element_count(node.shape) > 1; }

class Run {
 public:
  Run(const Graph& graph, const RecordOptions& options)
      : graph_(graph),
        options_(options),
        session_({runtime::Backend::eager, DType::float32, options.seed, options.threads}),
        recorder_(session_) {}

  Outcome<Trace> record(const EvalRequest& request) {
    if (auto done = add_leaves(request); !done) return done.rejection();
    const auto step = [&](std::span<const runtime::Value> arguments) { return run_step(arguments); };
    runtime::CompiledFunction compiled(session_, step, kept_);
    const auto results = options_.backend == "compiled" ? compiled(arguments_) : step(arguments_);
    if (!results) return results.rejection();
    for (const runtime::Value& value : results.value()) recorder_.output(value);
    return recorder_.take();
  }

 private:
  // What is not computed: inputs, parameters and other constants.
  Outcome<Done> add_leaves(const EvalRequest& request) {
    values_.resize(graph_.nodes.size());
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.node(id);
      if (is_parameter(node)) {
        values_[id] =
            session_.parameter(node.name.empty() ? "constant " + std::to_string(id) : node.name, runtime::Array::from(node.value));
        parameters_.push_back(values_[id]);
        kept_.push_back(values_[id]);
      } else if (node.op == Op::constant) {
        values_[id] = session_.input(node.value, node.name);
      }
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Node& node = graph_.node(graph_.inputs[i]);
      const std::string& name = graph_.input_names[i];
      const auto given = request.inputs.find(name);
      auto array =
          given == request.inputs.end() ? random_values(session_, node, name, options_.range) : given_values(node, name, given->second);
      if (!array) return array.rejection();
      values_[graph_.inputs[i]] = session_.input(std::move(array).value(), name);
      arguments_.push_back(values_[graph_.inputs[i]]);
      if (is_float(node.dtype)) parameters_.push_back(values_[graph_.inputs[i]]);
    }
    add_cotangents();
    return Done{};
  }

  [[nodiscard]] bool is_wanted(std::size_t output) const {
    return options_.output.empty() ? is_float(graph_.node(graph_.outputs[output]).dtype) : graph_.output_names[output] == options_.output;
  }

  // Of the weighted loss, for each output that is wanted.
  void add_cotangents() {
    cotangents_.resize(graph_.outputs.size());
    for (std::size_t i = 0; i < graph_.outputs.size() && options_.weighted; ++i) {
      const Node& node = graph_.node(graph_.outputs[i]);
      if (!is_wanted(i) || !is_float(node.dtype)) continue;
      cotangents_[i] =
          session_.input(runtime::normal(session_.next_key(), node.dtype, node.shape), "cotangent of " + graph_.output_names[i]);
      kept_.push_back(*cotangents_[i]);
    }
  }

  // The outputs, the loss and the gradients; the arguments are the inputs.
  Outcome<std::vector<runtime::Value>> run_step(std::span<const runtime::Value> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) values_[graph_.inputs[i]] = arguments[i];
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.node(id);
      if (op_row(node.op).op_class == OpClass::leaf) continue;
      std::vector<runtime::Value> operands;
      for (const NodeId operand : node.operands) operands.push_back(values_[operand]);
      values_[id] = session_.apply(node.op, operands, node.attributes);
    }
    if (auto fine = session_.check(); !fine) return fine.rejection();
    std::vector<runtime::Value> results;
    for (const NodeId output : graph_.outputs) results.push_back(values_[output]);
    if (options_.forward_only) return results;
    const auto loss = loss_of();
    if (!loss) return loss.rejection();
    results.push_back(loss.value());
    const auto bars = session_.gradients(loss.value(), parameters_);
    if (!bars) return bars.rejection();
    results.insert(results.end(), bars.value().begin(), bars.value().end());
    return results;
  }

  Outcome<runtime::Value> loss_of() {
    std::optional<runtime::Value> loss;
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (!is_wanted(i)) continue;
      const runtime::Value& y = values_[graph_.outputs[i]];
      if (!options_.weighted) return runtime::sum(y);
      if (!cotangents_[i]) continue;
      const runtime::Value part = runtime::sum(y * *cotangents_[i]);
      loss = loss ? *loss + part : part;
    }
    if (loss) return *loss;
    return Rejection{Rejection::Kind::malformed,
                     "record.output",
                     options_.model,
                     options_.output.empty() ? "a real output" : "an output \"" + options_.output + "\"",
                     "none",
                     "name one, or record with --forward-only"};
  }

  const Graph& graph_;
  const RecordOptions& options_;
  runtime::Session session_;
  runtime::Recorder recorder_;
  std::vector<runtime::Value> values_;      // by node
  std::vector<runtime::Value> parameters_;  // that are differentiated
  std::vector<runtime::Value> arguments_, kept_;
  std::vector<std::optional<runtime::Value>> cotangents_;  // by output
};

}  // namespace

Outcome<Trace> record_model(const RecordOptions& options) {
  const Outcome<onnx::Model> model = onnx::import_model(options.model);
  if (!model) return in_file(model.rejection(), options.model);
  EvalRequest request;
  if (!options.values.empty()) {
    const auto file = read_file(options.values);
    if (!file) return file.rejection();
    const auto* text = reinterpret_cast<const char*>(file.value().bytes.data());
    auto read = read_eval_request(std::string(text, file.value().bytes.size()));
    if (!read) return in_file(read.rejection(), options.values);
    request = std::move(read).value();
  }
  return Run(model.value().graph, options).record(request);
}

int record(const RecordOptions& options) {
  const auto trace = record_model(options);
  if (!trace) return refuse(kSchema, JsonTarget(), trace.rejection());
  if (!write_trace_file(trace.value(), options.trace)) return kExitUnwritten;
  std::printf("%s: %s, %s, %s\n", options.trace.c_str(), counted(trace.value().regions.size(), "region").c_str(),
              counted(trace.value().tensors.size(), "tensor").c_str(), counted(trace.value().gradients.size(), "gradient").c_str());
  return kExitYes;
}

}  // namespace assay::cli
