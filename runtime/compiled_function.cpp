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

// The drawings of a run are leaves of the tape, which become inputs.
Outcome<CompiledFunction::Captured> CompiledFunction::capture(std::span<const Value> arguments) {
  const std::uint64_t drawn = session_.keys_drawn();
  const Ref first = static_cast<Ref>(session_.tape_length());
  GradientNoteTaker notes;  // of the run that is captured nothing else is used than these and the graph
  std::vector<Session::Drawn> drawings;
  const Observed scope(session_, notes);
  session_.drawings_ = &drawings;
  const auto results = function_(arguments);
  session_.drawings_ = nullptr;
  if (!results) return results.rejection();
  std::vector<Value> inputs(arguments.begin(), arguments.end());
  for (const Session::Drawn& one : drawings) {
    for (Ref ref = first; ref < session_.tape_length(); ++ref) {
      const Entry& entry = session_.tape_[ref];
      if (entry.kind == Entry::Kind::leaf && entry.value.shares_buffer_with(one.array)) inputs.push_back(session_.value_of(ref));
    }
  }
  if (session_.keys_drawn() != drawn + drawings.size() || inputs.size() != arguments.size() + drawings.size()) {
    return Rejection{Rejection::Kind::unsupported,
                     "session.random",
                     "compiled function",
                     "random numbers that the session draws and that are inputs, each of one value",
                     std::to_string(session_.keys_drawn() - drawn) + " draws that are used otherwise",
                     "draw with session.uniform(), normal() or bernoulli(), or outside, and give them as arguments"};
  }
  inputs.insert(inputs.end(), parameters_.begin(), parameters_.end());
  std::unordered_map<Ref, NodeId> nodes;
  const auto graph = session_.capture(inputs, results.value(), &nodes);
  if (!graph) return graph.rejection();
  const auto program = Program::compile(graph.value());
  if (!program) return program.rejection();
  Captured captured{{},
                    program.value(),
                    renamed<NodeId>(notes.notes(),
                                    [&](Ref ref) {
                                      const auto found = nodes.find(ref);
                                      return found == nodes.end() ? std::nullopt : std::optional(found->second);
                                    }),
                    {}};
  for (const Value& value : arguments) captured.types.emplace_back(value.dtype(), value.shape());
  for (Session::Drawn& one : drawings) captured.drawings.push_back(std::move(one.drawing));
  session_.drawn_ = drawn;  // the replay draws these
  return captured;
}

Outcome<std::vector<Value>> CompiledFunction::operator()(std::span<const Value> arguments) {
  std::vector<std::pair<DType, Shape>> types;
  for (const Value& value : arguments) types.emplace_back(value.dtype(), value.shape());
  auto known = std::ranges::find_if(programs_, [&](const Captured& one) { return one.types == types; });
  if (known == programs_.end()) {
    auto captured = capture(arguments);
    if (!captured) return captured.rejection();
    programs_.push_back(std::move(captured).value());
    known = programs_.end() - 1;
  }
  std::vector<Value> inputs(arguments.begin(), arguments.end());
  for (const Drawing& drawing : known->drawings) inputs.push_back(session_.input(session_.drawn(drawing), "random"));
  inputs.insert(inputs.end(), parameters_.begin(), parameters_.end());
  return replay(*known, inputs);
}

// The results are leaves, which an observer of the steps knows where they come from.
Outcome<std::vector<Value>> CompiledFunction::replay(const Captured& captured, std::span<const Value> inputs) {
  Observer* const observer = session_.observer();
  ProgramObserver* steps = nullptr;
  std::vector<Array> contents;
  for (const Value& value : inputs) contents.push_back(value.array());
  if (observer != nullptr) {
    std::vector<Ref> names;
    for (const Value& value : inputs) {
      if (auto done = value.array().fetch(); !done) return done.rejection();
      names.push_back(value.ref());
    }
    steps = observer->replaying(captured.program, captured.notes, names, contents);
  }
  const auto results = captured.program.replay(contents, steps, session_.mirror());
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
