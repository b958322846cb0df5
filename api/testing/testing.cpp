// The helpers for other people's tests: each builds a trace of what was received and has kernel/audit judge it.
#include "assay/testing.h"

#include <algorithm>
#include <optional>

#include "api/reports/report.h"
#include "explain/explain.h"
#include "kernel/audit/audit.h"
#include "kernel/audit/gradients.h"
#include "kernel/gradients/derivatives/differentiate.h"
#include "probes/faults.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"

namespace assay::testing {

namespace {

constexpr std::size_t kMostLines = 60;  // of text

bool is_full(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')) >= kMostLines; }

void add_line(std::string& text, const std::string& line) {
  if (!is_full(text)) text += line + "\n";
}

const char* word_of(Checked::Kind kind) {
  switch (kind) {
    case Checked::Kind::passed:
      return "passed";
    case Checked::Kind::vacuous:
      return "vacuous";
    case Checked::Kind::undecided:
      return "undecided";
    case Checked::Kind::failed:
      return "failed";
  }
  return "";
}

Checked concluded(Checked checked) {
  using Kind = Checked::Kind;
  const auto wide = static_cast<double>(checked.vacuous), others = static_cast<double>(checked.passed + checked.failed);
  const bool is_one_of_many = checked.vacuous == 1 && checked.passed + checked.failed + 1 >= kShareOfOne;
  if (checked.failed > 0) checked.kind = Kind::failed;
  if (checked.kind == Kind::passed && checked.unsupported > 0) checked.kind = Kind::undecided;
  if (checked.kind == Kind::passed && !is_one_of_many && wide > kMostVacuous * (wide + others)) checked.kind = Kind::vacuous;
  const std::string counts = std::string(word_of(checked.kind)) + ": " + std::to_string(checked.passed) + " elements passed, " +
                             std::to_string(checked.failed) + " failed, " + std::to_string(checked.vacuous) +
                             " have sets too wide to say anything, " + std::to_string(checked.unsupported) + " unsupported";
  checked.text = counts + (checked.text.empty() ? "" : "\n" + checked.text);
  return checked;
}

void note(Checked& checked, const Rejection& why) {
  const bool is_failure = why.kind == Rejection::Kind::rejected;
  if (is_failure || checked.kind == Checked::Kind::passed) checked.kind = is_failure ? Checked::Kind::failed : Checked::Kind::undecided;
  add_line(checked.text, why.to_text());
}

void add_region(const Trace& trace, std::size_t r, const reports::GateCase& one, Checked& checked) {
  using Kind = reports::Finding::Kind;
  checked.passed += one.passed;
  checked.failed += one.failed;
  checked.vacuous += one.vacuous;
  checked.unsupported += one.unsupported;
  for (const reports::Finding& finding : one.findings) {
    const bool is_without_contract = finding.kind == Kind::undecided && finding.rule != reports::kVacuousRule;
    if (is_without_contract && checked.kind == Checked::Kind::passed) checked.kind = Checked::Kind::undecided;
    if (is_without_contract || finding.kind == Kind::unsupported) add_line(checked.text, finding.message);
  }
  for (const reports::Finding& finding : one.findings) {
    if (finding.kind != Kind::failure) continue;
    add_line(checked.text, trace.regions[r].name + ": " + std::to_string(finding.elements) + " elements of '" + finding.subject +
                               "' are outside their contract");
    for (std::size_t k = 1; k < finding.details.size(); ++k) add_line(checked.text, "  " + finding.details[k]);  // behind the shapes
  }
}

void add_trace(const Trace& trace, Checked& checked) {
  if (const auto whole = audit::check_continuity(trace); !whole) return note(checked, whole.rejection());
  // To try the bank takes longer than to judge: only while there is room for the words.
  const auto known_faults = [&checked](const Trace& run, const Region& region) {
    return is_full(checked.text) ? std::vector<std::string>() : probes::explanations(run, region);
  };
  reports::judge_regions(trace, {.known_faults = known_faults}, 1, [&](std::size_t r, const reports::GateCase& one) {
    add_region(trace, r, one, checked);
    return true;
  });
}

TraceTensorId add_tensor(Trace& trace, std::string name, Trace::Origin origin, Tensor value) {
  trace.tensors.push_back({std::move(name), origin, std::move(value)});
  return static_cast<TraceTensorId>(trace.tensors.size() - 1);
}

// A region with operands and results of its own; for float64 the model's format is exchanged.
Trace trace_of(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands, const std::vector<Tensor>& results) {
  Trace trace;
  Region region{"the function", graph, model, {}, {}};
  const auto name = [](const std::vector<std::string>& names, std::size_t k, const char* other) {
    return k < names.size() && !names[k].empty() ? names[k] : other + std::to_string(k);
  };
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].dtype() == DType::float64) region.model.format = ExecutionModel::Format::binary64;
    region.operands.push_back(add_tensor(trace, name(graph.input_names, k, "x"), Trace::Origin::input, operands[k]));
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    region.results.push_back(add_tensor(trace, name(graph.output_names, i, "y"), Trace::Origin::result, results[i]));
  trace.outputs = region.results;
  trace.regions.push_back(std::move(region));
  return trace;
}

std::vector<std::size_t> real_inputs(const Graph& graph) {
  std::vector<std::size_t> real;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k)
    if (is_float(graph.node(graph.inputs[k]).dtype)) real.push_back(k);
  return real;
}

// Compares the received cotangents with the derivative: the forward region, its result left open, with one recorded product.
std::vector<std::string> pattern_of(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands,
                                    const Tensor& cotangent, const std::vector<Tensor>& received) {
  const Tensor unknown(cotangent.dtype(), cotangent.shape(), std::make_shared<std::vector<std::byte>>(cotangent.bytes().size()));
  Trace trace = trace_of(graph, model, operands, {unknown});
  Trace::Vjp vjp{0, 0, add_tensor(trace, "y_bar", Trace::Origin::input, cotangent), {}};
  const std::vector<std::size_t> real = real_inputs(graph);
  for (std::size_t i = 0; i < real.size(); ++i)
    vjp.cotangents.emplace_back(
        static_cast<std::uint32_t>(real[i]),
        add_tensor(trace, std::string("cotangent ").append(std::to_string(real[i])), Trace::Origin::input, received[i]));
  trace.vjps = {vjp};
  trace.gradients = {{trace.regions[0].results[0], vjp.cotangent, {}}};
  audit::GradientStep step;
  step.failure = Rejection{Rejection::Kind::rejected, "gradient.product", "", "", "", ""};
  return explain::gradient_lines(trace, 0, step);
}

}  // namespace

Checked check_region(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands,
                     const std::vector<Tensor>& received, const std::vector<ExecutionModel::Storage>& stored) {
  Checked checked;
  Trace trace = trace_of(graph, model, operands, received);
  for (std::size_t i = 0; i < std::min(stored.size(), received.size()); ++i) trace.tensors[trace.regions[0].results[i]].storage = stored[i];
  add_trace(trace, checked);
  return concluded(std::move(checked));
}

Checked check_contract(Op op, const Attributes& attributes, const ExecutionModel& model, const std::vector<Tensor>& operands,
                       const Tensor& received) {
  const auto graph = probes::graph_of(op, attributes, operands);
  if (graph) return check_region(graph.value(), model, operands, {received});
  Checked checked;
  note(checked, graph.rejection());
  return concluded(std::move(checked));
}

Checked check_gradient(const Function& f, const std::vector<Tensor>& inputs, std::uint64_t seed) {
  const DType dtype = inputs.empty() ? DType::float32 : inputs[0].dtype();
  runtime::Session session({runtime::Backend::eager, dtype, seed, 1});
  runtime::Recorder recorder(session);
  std::vector<runtime::Value> values, real;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.push_back(session.input(inputs[i], std::string("input").append(std::to_string(i))));
    if (is_float(inputs[i].dtype())) real.push_back(values.back());
  }
  Checked checked;
  const runtime::Value y = f(session, values);
  if (!y.ok()) {
    const Rejection none{Rejection::Kind::malformed,        "testing.function", "the function", "a value", "none: the session says why",
                         "look at failure() of the session"};
    note(checked, session.check() ? none : session.check().rejection());
    return concluded(std::move(checked));
  }
  const auto bars = recorder.gradients(y.array().size() == 1 ? y : runtime::sum(y), real);
  if (!bars) {
    note(checked, bars.rejection());
    return concluded(std::move(checked));
  }
  const Trace trace = recorder.take();
  add_trace(trace, checked);
  if (checked.kind == Checked::Kind::failed) return concluded(std::move(checked));
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, seed)) {
    if (!step.failure) continue;
    for (const std::string& line : explain::gradient_lines(trace, 0, step)) add_line(checked.text, line);
    note(checked, *step.failure);
  }
  return concluded(std::move(checked));
}

namespace {

// `problem`: what is wrong with the question.
std::optional<Rejection> add_backward(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands,
                                      const Tensor& cotangent, const std::vector<Tensor>& received, Checked& checked) {
  const std::vector<std::size_t> real = real_inputs(graph);
  const auto reverse = gradients::differentiate(graph, 0, real);
  if (!reverse) return reverse.rejection();
  if (received.size() != real.size())
    return Rejection{Rejection::Kind::rejected,
                     "testing.backward",
                     "the backward pass",
                     std::to_string(real.size()) + " cotangents, one per float operand",
                     std::to_string(received.size()),
                     "api/assay/testing.h"};
  std::vector<Tensor> arguments = operands;
  arguments.push_back(cotangent);
  Trace trace = trace_of(reverse.value(), model, arguments, received);
  trace.regions[0].name = "the backward pass";
  const std::size_t failed = checked.failed;
  const std::string before = std::exchange(checked.text, {});
  add_trace(trace, checked);
  std::string opening;  // text for the reader, before the decisions
  if (checked.failed > failed)
    for (const std::string& line : pattern_of(graph, model, operands, cotangent, received)) add_line(opening, line);
  checked.text = before + opening + checked.text;
  return std::nullopt;
}

std::optional<Rejection> problem_of(const Graph& graph) {
  if (const auto problems = validate(graph); !problems.empty()) return problems.front();
  if (graph.outputs.size() == 1 && is_float(graph.node(graph.outputs[0]).dtype)) return std::nullopt;
  return Rejection{Rejection::Kind::malformed, "testing.backward",           "the graph",
                   "one float result",         "a graph with other results", "api/assay/testing.h"};
}

}  // namespace

Checked check_backward(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands, const Tensor& cotangent,
                       const std::vector<Tensor>& received) {
  Checked checked;
  auto problem = problem_of(graph);
  if (!problem) problem = add_backward(graph, model, operands, cotangent, received, checked);
  if (problem) note(checked, *problem);
  return concluded(std::move(checked));
}

Checked check_backward(const Graph& graph, const ExecutionModel& model, const Backward& backward, std::vector<gradients::Domain> domains,
                       std::vector<double> kinks, std::uint64_t seed) {
  Checked checked;
  auto problem = problem_of(graph);
  domains.resize(graph.inputs.size());
  const gradients::AdjointCase one{"the backward pass", graph, std::move(domains), std::move(kinks)};
  if (problem) note(checked, *problem);
  for (std::vector<Tensor>& point : problem ? std::vector<std::vector<Tensor>>() : probes::product_probes(one, seed)) {
    const Tensor cotangent = point.back();
    point.pop_back();
    problem = add_backward(graph, model, point, cotangent, backward(point, cotangent), checked);
    if (problem) note(checked, *problem);
    if (problem || checked.failed > 0) break;  // one point says where
  }
  return concluded(std::move(checked));
}

Checked check_run(Op op, const probes::PlanRun& run) {
  Checked checked;
  for (const probes::PlanRun::Note& fault : run.faults) note(checked, fault.why);
  add_trace(run.trace, checked);
  if (run.trace.regions.empty()) {
    const Rejection none{Rejection::Kind::declined,
                         "testing.kernel",
                         std::string(op_row(op).name),
                         "probes that the kernel runs",
                         std::to_string(run.declined.size()) + " declined",
                         "probes/plan.h"};
    note(checked, run.declined.empty() ? none : run.declined[0].why);
    if (checked.kind == Checked::Kind::failed && run.faults.empty()) checked.kind = Checked::Kind::undecided;
  }
  return concluded(std::move(checked));
}

Checked check_kernel(Op op, const probes::Launcher& kernel, const ExecutionModel& model, const probes::PlanOptions& options) {
  return check_run(op, probes::run_plan(probes::probe_plan(op, options), kernel, model));
}

}  // namespace assay::testing
