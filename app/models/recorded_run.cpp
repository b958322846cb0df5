#include "app/models/recorded_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/file_kind.h"
#include "app/queries/values_json.h"
#include "app/words.h"
#include "frontends/files.h"
#include "gpu/devices.h"
#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"

namespace assay::models {
namespace {

Rejection misfit_of_run(std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, "values.shape", std::move(place), std::move(required), std::move(found), "see assay record --help"};
}

template <class T>
void fill(std::span<T> to, const std::vector<Interval>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(from[i].lo());
}

// One draw of random inputs. Draw 0 is the requested one. The others reach layers that are dead in it, by other scales and
// offsets; in a range they use its ends and points near them. The seed continues from draw to draw.
class Draw {
 public:
  Draw(std::size_t index, std::uint64_t seed, const std::vector<double>& range)
      : seed_(seed + index), range_(range), normal_(kNormals[index % kNormals.size()]), warp_(index % kWarps.size()) {}

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::string text() const {
    std::string text = "normal, scale " + number(normal_.first) + (normal_.second == 0 ? "" : ", mean " + number(normal_.second));
    if (range_.size() == 2) text = kWarps[warp_] + (" " + number(range_[0])) + " and " + number(range_[1]);
    return text + ", seed " + std::to_string(seed_);
  }
  Outcome<runtime::Array> values(runtime::Session& session, const Node& node, const std::string& name) const {
    if (!is_float(node.dtype)) return no_values(node, name);
    const runtime::RandomKey key = session.next_key();
    if (range_.size() == 2 && warp_ == 0) return runtime::uniform(key, node.dtype, node.shape, range_[0], range_[1]);
    auto array = range_.size() == 2 ? runtime::uniform(key, node.dtype, node.shape) : runtime::normal(key, node.dtype, node.shape);
    if (node.dtype == DType::float32) {
      for (float& value : array.data<float>()) value = static_cast<float>(moved(static_cast<double>(value)));
    } else {
      for (double& value : array.data<double>()) value = moved(value);
    }
    return array;
  }

 private:
  static constexpr std::array<std::pair<double, double>, 12> kNormals = {
      {{1, 0}, {0.0625, 0}, {0.5, 0.5}, {16, 0}, {1, 1}, {1, -1}, {0.00390625, 0}, {256, 0}, {1, 16}, {1, -16}, {16, 16}, {1, 0}}};
  static constexpr std::array<const char*, 4> kWarps = {"uniform between", "close to the first of", "close to the last of", "one of"};

  static std::string number(double value) {
    std::array<char, 40> text{};
    return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.10g", value))};
  }
  // Of a standard normal number, or of a uniform one of [0, 1].
  [[nodiscard]] double moved(double value) const {
    if (range_.size() != 2) return value * normal_.first + normal_.second;
    const double power = std::pow(value, 8), share = warp_ == 1 ? power : warp_ == 2 ? 1 - power : std::round(value);
    return std::clamp(range_[0] + (range_[1] - range_[0]) * share, range_[0], range_[1]);
  }

  std::uint64_t seed_;
  const std::vector<double>& range_;
  std::pair<double, double> normal_;
  std::size_t warp_;
};

// Weights are the float constants of a model with more than one element: what a training step would change.
bool is_parameter(const Node& node) { return node.op == Op::constant && is_float(node.dtype) && element_count(node.shape) > 1; }

class Run {
 public:
  Run(const Graph& graph, const ModelRunRequest& options, const Draw& draw, std::shared_ptr<runtime::Device> device)
      : graph_(graph),
        options_(options),
        draw_(draw),
        session_({runtime::Backend::eager, DType::float32, draw.seed(), options.threads, std::move(device)}),
        recorder_(session_) {}

  Outcome<Trace> record(const queries::EvaluationRequest& request) {
    if (auto done = add_leaves(request); !done) return done.rejection();
    const auto step = [&](std::span<const runtime::Value> arguments) { return run_step(arguments); };
    runtime::CompiledFunction compiled(session_, step, kept_);
    const auto results = options_.backend == "compiled" ? compiled(arguments_) : step(arguments_);
    if (!results) return results.rejection();
    for (const runtime::Value& value : results.value()) recorder_.output(value);
    return recorder_.take();
  }

 private:
  // Adds the values that are not computed: inputs, parameters and other constants.
  Outcome<Done> add_leaves(const queries::EvaluationRequest& request) {
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
      auto array = given == request.inputs.end() ? draw_.values(session_, node, name) : given_values(node, name, given->second);
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
                     options_.output.empty() ? "a real output" : "a real output \"" + options_.output + "\"",
                     "the outputs " + listed(graph_.output_names),
                     "name one of them, or record with --forward-only"};
  }

  const Graph& graph_;
  const ModelRunRequest& options_;
  const Draw& draw_;
  runtime::Session session_;
  runtime::Recorder recorder_;
  std::vector<runtime::Value> values_;      // by node
  std::vector<runtime::Value> parameters_;  // that are differentiated
  std::vector<runtime::Value> arguments_, kept_;
  std::vector<std::optional<runtime::Value>> cotangents_;  // by output
};

// Which inputs of the run may be anything else in their range: those of the model that are drawn, and cotangents.
audit::TraceDomain domain_of(const Trace& trace, const Graph& graph, const ModelRunRequest& options,
                             const queries::EvaluationRequest& request) {
  constexpr double kMost = std::numeric_limits<float>::max();
  audit::TraceDomain domain;
  for (TraceTensorId id = 0; id < trace.tensors.size(); ++id) {
    const Trace::Entry& entry = trace.tensors[id];
    if (entry.origin == Trace::Origin::result || !is_float(entry.value.dtype())) continue;
    const bool is_input = std::ranges::find(graph.input_names, entry.name) != graph.input_names.end();
    if (is_input && !request.inputs.contains(entry.name))
      domain.emplace_back(id, options.range.size() == 2 ? Interval(options.range[0], options.range[1]) : Interval(-kMost, kMost));
    if (entry.name.starts_with("cotangent of ")) domain.emplace_back(id, Interval(-kMost, kMost));
  }
  return domain;
}

// Draws until every product is alive; else the run with the fewest dead ones, and whether they are dead on the whole domain.
Outcome<ModelTrace> run_alive(const Graph& graph, const ModelRunRequest& options, const queries::EvaluationRequest& request,
                              const std::function<bool()>& stop) {
  const bool is_random = std::ranges::any_of(graph.input_names, [&](const std::string& name) { return !request.inputs.contains(name); });
  const std::size_t draws = is_random && !options.forward_only ? options.draws : 1;
  const auto device = gpu::device_named(options.device);
  if (!device) return device.rejection();
  std::optional<ModelTrace> best;
  std::size_t tried = 0;
  while (tried < draws && (!best || !best->life.dead.empty()) && !(best && stop())) {
    const Draw draw(tried++, options.seed, options.range);
    auto trace = Run(graph, options, draw, device.value()).record(request);
    if (!trace && !best) return trace.rejection();
    if (!trace) continue;
    auto life = audit::liveness(trace.value());
    if (best && best->life.dead.size() <= life.dead.size()) continue;
    best = ModelTrace{std::move(trace).value(), std::move(life), is_random ? draw.text() : "given", 0};
  }
  best->draws = is_random ? tried : 0;
  if (is_random && !best->life.dead.empty()) best->life = audit::liveness(best->trace, domain_of(best->trace, graph, options, request));
  return std::move(*best);
}

}  // namespace

Rejection no_values(const Node& node, const std::string& name) {
  return {Rejection::Kind::malformed,   "values.shape",
          "\"" + name + "\"",           "values for an input of " + std::string(to_string(node.dtype)),
          "none: random ones are real", "write them into a file for --values, or make the input a constant with --set"};
}

Outcome<runtime::Array> given_values(const Node& node, const std::string& name, const std::vector<Interval>& values) {
  const std::size_t count = element_count(node.shape);
  if (values.size() != count)
    return misfit_of_run("\"" + name + "\"", std::to_string(count) + " numbers for " + to_string(node.shape),
                         std::to_string(values.size()));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string place = "\"" + name + "\", element " + std::to_string(i);
    if (!values[i].is_point() && !values[i].is_undefined())
      return Rejection{Rejection::Kind::malformed, "values.shape", place, "single numbers only", "a set of numbers", "use assay eval"};
    if (!is_float(node.dtype) && !queries::holds(node.dtype, values[i]))
      return misfit_of_run(place, std::string("a value of ") + to_string(node.dtype), queries::shown(values[i]));
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
    return misfit_of_run("\"" + name + "\"", "float32, float64, int64, int32 or truth values", to_string(node.dtype));
  }
  return array;
}

Outcome<ModelTrace> run_model(const ModelRunRequest& options, const Program& program) {
  const Outcome<onnx::Model> model = queries::import_model_file(options.model, options.limits);
  if (!model) return queries::unread(model.rejection(), options.model);
  if (auto fits = check::check_run_size(model.value().graph, options.limits, options.kept); !fits)
    return check::in_file(fits.rejection(), options.model);
  queries::EvaluationRequest request;
  if (!options.values.empty()) {
    auto read = queries::read_values_file(options.values);
    if (!read) return read.rejection();
    request = std::move(read).value();
    if (auto known = queries::check_names(request, model.value().graph); !known) return check::in_file(known.rejection(), options.values);
  }
  std::optional<Outcome<ModelTrace>> found;
  program.without_limit([&] { found = run_alive(model.value().graph, options, request, program.stop); });
  return *std::move(found);
}

}  // namespace assay::models
