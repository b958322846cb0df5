#include "runtime/compiled_function.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/misuse.h"

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

CompiledFunction::Function CompiledFunction::through(Session& session, Function function, std::vector<Value> parameters,
                                                     std::vector<std::size_t> places) {
  return [&session, function = std::move(function), parameters = std::move(parameters),
          places = std::move(places)](std::span<const Value> values) -> Outcome<std::vector<Value>> {
    const auto arguments = values.first(values.size() - places.size()), tangents = values.last(places.size());
    auto results = function(arguments);
    if (!results) return results;
    std::vector<Value> of;
    for (const std::size_t place : places) of.push_back(place < arguments.size() ? arguments[place] : parameters[place - arguments.size()]);
    for (std::size_t k = 0, count = results.value().size(); k < count; ++k) {
      auto moved = session.jvp(results.value()[k], of, tangents);
      if (!moved) return moved.rejection();
      results.value().push_back(moved.value());
    }
    return results;
  };
}

namespace {

// Where each value that moves stands among the arguments and then the parameters.
Outcome<std::vector<std::size_t>> places_of(std::span<const Tangent> tangents, std::span<const Value> arguments,
                                            std::span<const Value> parameters) {
  std::vector<std::size_t> places;
  std::vector<Value> all(arguments.begin(), arguments.end());
  all.insert(all.end(), parameters.begin(), parameters.end());
  for (const Tangent& one : tangents) {
    const auto found = std::ranges::find(all, one.of.ref(), &Value::ref);
    if (found != all.end()) {
      places.push_back(static_cast<std::size_t>(found - all.begin()));
      continue;
    }
    return misuse("tangent", "jvp, tangent " + std::to_string(places.size()), "of an argument or a parameter", "of another value",
                  "give it to the function as an argument");
  }
  return places;
}

std::vector<Value> with_tangents(std::span<const Value> arguments, std::span<const Tangent> tangents) {
  std::vector<Value> values(arguments.begin(), arguments.end());
  for (const Tangent& one : tangents) values.push_back(one.tangent);
  return values;
}

Outcome<Moved> halves(Outcome<std::vector<Value>> values) {
  if (!values) return values.rejection();
  const auto middle = values.value().begin() + static_cast<std::ptrdiff_t>(values.value().size() / 2);
  return Moved{{values.value().begin(), middle}, {middle, values.value().end()}};
}

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
  if (session_.drawings_ != nullptr) return function_(arguments);
  if (session_.options().bfloat16) {
    return Rejection{Rejection::Kind::unsupported,
                     "session.bfloat16",
                     "compiled function",
                     "numbers that a fused pass computes",
                     "bfloat16, to which each op is rounded by itself",
                     "run the function eagerly"};
  }
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

// The results are leaves, whose origin an observer of the steps has.
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
  std::vector<Ref> read;
  for (const Value& value : inputs) read.push_back(value.ref());
  for (const Array& array : results.value()) {
    const Ref ref = steps == nullptr ? session_.leaf(array, "compiled") : session_.tape_.push(array);
    if (ref == kNone) return session_.refusal();
    session_.tape_[ref].kind = Entry::Kind::replayed;
    session_.tape_.set_operands(session_.tape_[ref], read);
    values.push_back(session_.value_of(ref));
    names.push_back(ref);
  }
  if (steps != nullptr) observer->replayed(names);
  return values;
}

Outcome<Moved> CompiledFunction::jvp(std::span<const Value> arguments, std::span<const Tangent> tangents) {
  auto places = places_of(tangents, arguments, parameters_);
  if (!places) return places.rejection();
  std::unique_ptr<CompiledFunction>& forward = forward_[places.value()];
  if (forward == nullptr) {
    forward = std::make_unique<CompiledFunction>(session_, through(session_, function_, parameters_, places.value()), parameters_);
  }
  std::vector<Value> values = with_tangents(arguments, tangents), seen = parameters_;
  for (std::size_t k = 0; k < values.size(); ++k) {  // a tangent may be any value, but a program has each input once
    const bool is_known = std::ranges::find(seen, values[k].ref(), &Value::ref) != seen.end();
    if (k >= arguments.size() && is_known && values[k].ok()) values[k] = session_.input(Array(values[k].array()), "tangent");
    seen.push_back(values[k]);
  }
  return halves((*forward)(values));
}

CompiledFunction* SessionFunction::compiled() {
  if (session_.options().backend == Backend::eager) return nullptr;
  std::vector<Value> parameters = session_.parameters();
  if (!compiled_ || parameters.size() != parameter_count_) {
    parameter_count_ = parameters.size();
    compiled_.emplace(session_, function_, std::move(parameters));
  }
  return &*compiled_;
}

Outcome<std::vector<Value>> SessionFunction::operator()(std::span<const Value> arguments) {
  CompiledFunction* const replayed = compiled();
  return replayed != nullptr ? (*replayed)(arguments) : function_(arguments);
}

Outcome<Moved> SessionFunction::jvp(std::span<const Value> arguments, std::span<const Tangent> tangents) {
  if (CompiledFunction* const replayed = compiled(); replayed != nullptr) return replayed->jvp(arguments, tangents);
  const std::vector<Value> parameters = session_.parameters();
  auto places = places_of(tangents, arguments, parameters);
  if (!places) return places.rejection();
  return halves(CompiledFunction::through(session_, function_, parameters, places.value())(with_tangents(arguments, tangents)));
}

}  // namespace assay::runtime
