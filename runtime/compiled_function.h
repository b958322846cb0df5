// CompiledFunction: a function on a session's values that is run once to be captured, and from then on replayed as a program.
//
//   CompiledFunction step(session, [&](std::span<const Value> v) -> Outcome<std::vector<Value>> {
//     const Value loss = cross_entropy(linear(v[0], w, c), v[1]);
//     auto results = session.gradients(loss, {w, c});
//     if (results.ok()) results.value().push_back(loss);
//     return results;
//   }, {w, c});
//   const auto results = step(std::vector<Value>{x, labels});
//
// SessionFunction: the same, or the function as it is, by SessionOptions::backend alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/compiled/program.h"
#include "runtime/gradient_notes.h"
#include "runtime/session.h"

namespace assay::runtime {

// The results of forward mode, and J tangent for each of them.
struct Moved {
  std::vector<Value> results, tangents;
};
// An argument or a parameter of a function that moves, and how.
struct Tangent {
  Value of, tangent;
};

class CompiledFunction {
 public:
  using Function = std::function<Outcome<std::vector<Value>>(std::span<const Value>)>;
  // Parameters keep being read at each call; other values that the function uses, its arguments apart, stay as they are at the capture.
  CompiledFunction(Session& session, Function function, std::vector<Value> parameters);

  // The results, which are differentiated inside: a gradient through one is refused (session.replayed). Captured anew for
  // arguments of other types or shapes. Inside of another function that is captured, the ops of this one become ops of that one.
  // Random numbers that the function draws from the session and makes inputs of (dropout does) are drawn again at each call, in
  // the same order, as the function itself would. Rejections: of the function, of Session::capture, and "session.random" for
  // random numbers that are used otherwise, which would be the same at each call: give them as arguments. An observer of the
  // session sees the steps of the replay, but not the run that is captured. In a session on a device the replay runs there.
  Outcome<std::vector<Value>> operator()(std::span<const Value> arguments);
  // Forward mode, captured and replayed as well, once for each choice of the moved values. Results are float values. Rejection
  // "session.tangent": a tangent of a value that is no argument and no parameter.
  Outcome<Moved> jvp(std::span<const Value> arguments, std::span<const Tangent> tangents);
  [[nodiscard]] std::size_t captures() const { return programs_.size(); }

 private:
  struct Captured {
    std::vector<std::pair<DType, Shape>> types;
    Program program;
    GradientNotes<NodeId> notes;
    std::vector<Drawing> drawings;  // inputs of the program between arguments and parameters
  };
  friend class SessionFunction;
  // Of arguments and then tangents, of the values at these places of the arguments and then the parameters: results and then
  // their tangents.
  static Function through(Session& session, Function function, std::vector<Value> parameters, std::vector<std::size_t> places);
  Outcome<Captured> capture(std::span<const Value> arguments);
  Outcome<std::vector<Value>> replay(const Captured& captured, std::span<const Value> inputs);

  Session& session_;
  Function function_;
  std::vector<Value> parameters_;
  std::vector<Captured> programs_;
  std::map<std::vector<std::size_t>, std::unique_ptr<CompiledFunction>> forward_;  // by the places of what moves
};

// A function as the session's backend runs it; parameters are all of the session's. Results have the same bits. One thing depends
// on the backend: a compiled function refuses to be differentiated from outside.
class SessionFunction {
 public:
  SessionFunction(Session& session, CompiledFunction::Function function) : session_(session), function_(std::move(function)) {}
  Outcome<std::vector<Value>> operator()(std::span<const Value> arguments);
  Outcome<Moved> jvp(std::span<const Value> arguments, std::span<const Tangent> tangents);
  [[nodiscard]] std::size_t captures() const { return compiled_ ? compiled_->captures() : 0; }

 private:
  CompiledFunction* compiled();  // null: eager. Made anew when there are more parameters

  Session& session_;
  CompiledFunction::Function function_;
  std::optional<CompiledFunction> compiled_;
  std::size_t parameter_count_ = 0;
};

}  // namespace assay::runtime
