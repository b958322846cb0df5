#include "runtime/compiled_function.h"

#include <algorithm>
#include <string>
#include <utility>

namespace assay::runtime {

namespace {

// Another observer while it lives.
class Observed {
 public:
  Observed(Session& session, Observer& observer) : session_(session), before_(session.observer()) { session_.set_observer(&observer); }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
  ~Observed() { session_.set_observer(before_); }

 private:
  Session& session_;
  Observer* before_;
};

}  // namespace

CompiledFunction::CompiledFunction(Session& session, Function function, std::vector<Value> parameters)
    : session_(session), function_(std::move(function)), parameters_(std::move(parameters)) {}

Outcome<CompiledFunction::Captured> CompiledFunction::capture(std::span<const Value> arguments) {
  if (session_.options().device != nullptr) {
    return Rejection{Rejection::Kind::unsupported,
                     "session.device",
                     "compiled function",
                     "a session on the CPU",
                     session_.options().device->name(),
                     "programs are replayed on the CPU; run the function itself on the device"};
  }
  const std::uint64_t drawn = session_.keys_drawn();
  GradientNoteTaker notes;  // of the run that is captured nothing else is used than these and the graph
  const Observed scope(session_, notes);
  const auto results = function_(arguments);
  if (!results) return results.rejection();
  if (session_.keys_drawn() != drawn) {
    return Rejection{Rejection::Kind::unsupported,
                     "session.random",
                     "compiled function",
                     "a function of its arguments and parameters",
                     std::to_string(session_.keys_drawn() - drawn) + " draws of random numbers",
                     "draw outside, and give them as arguments"};
  }
  std::vector<Value> inputs(arguments.begin(), arguments.end());
  inputs.insert(inputs.end(), parameters_.begin(), parameters_.end());
  std::unordered_map<Ref, NodeId> nodes;
  const auto graph = session_.capture(inputs, results.value(), &nodes);
  if (!graph) return graph.rejection();
  const auto program = Program::compile(graph.value());
  if (!program) return program.rejection();
  Captured captured{{}, program.value(), renamed<NodeId>(notes.notes(), [&](Ref ref) {
                      const auto found = nodes.find(ref);
                      return found == nodes.end() ? std::nullopt : std::optional(found->second);
                    })};
  for (const Value& value : arguments) captured.types.emplace_back(value.dtype(), value.shape());
  return captured;
}

Outcome<std::vector<Value>> CompiledFunction::operator()(std::span<const Value> arguments) {
  std::vector<std::pair<DType, Shape>> types;
  std::vector<Array> inputs;
  for (const Value& value : arguments) {
    types.emplace_back(value.dtype(), value.shape());
    inputs.push_back(value.array());
  }
  auto known = std::ranges::find_if(programs_, [&](const Captured& one) { return one.types == types; });
  if (known == programs_.end()) {
    auto captured = capture(arguments);
    if (!captured) return captured.rejection();
    programs_.push_back(std::move(captured).value());
    known = programs_.end() - 1;
  }
  for (const Value& parameter : parameters_) inputs.push_back(parameter.array());
  return replay(*known, arguments, inputs);
}

// The results are leaves, which an observer of the steps knows where they come from.
Outcome<std::vector<Value>> CompiledFunction::replay(const Captured& captured, std::span<const Value> arguments,
                                                     std::span<const Array> inputs) {
  Observer* const observer = session_.observer();
  ProgramObserver* steps = nullptr;
  if (observer != nullptr) {
    std::vector<Ref> names;
    for (const Value& value : arguments) names.push_back(value.ref());
    for (const Value& value : parameters_) names.push_back(value.ref());
    steps = observer->replaying(captured.program, captured.notes, names, inputs);
  }
  const auto results = captured.program.replay(inputs, steps);
  if (!results) return results.rejection();
  std::vector<Value> values;
  std::vector<Ref> names;
  for (const Array& array : results.value()) {
    values.push_back(steps == nullptr ? session_.input(array, "compiled") : session_.value_of(session_.tape_.push(array)));
    names.push_back(values.back().ref());
  }
  if (steps != nullptr) observer->replayed(names);
  return values;
}

}  // namespace assay::runtime
