// CompiledFunction: a function on a session's values that is run once to be captured, and from then on replayed as a program.
//
//   CompiledFunction step(session, [&](std::span<const Value> v) -> Outcome<std::vector<Value>> {
//     const Value loss = cross_entropy(linear(v[0], w, c), v[1]);
//     auto results = session.gradients(loss, {w, c});
//     if (results.ok()) results.value().push_back(loss);
//     return results;
//   }, {w, c});
//   const auto results = step(std::vector<Value>{x, labels});
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/compiled/program.h"
#include "runtime/gradient_notes.h"
#include "runtime/session.h"

namespace assay::runtime {

class CompiledFunction {
 public:
  using Function = std::function<Outcome<std::vector<Value>>(std::span<const Value>)>;
  // Parameters keep being read at each call; other values that the function uses, its arguments apart, stay as they are at the capture.
  CompiledFunction(Session& session, Function function, std::vector<Value> parameters);

  // The results as leaves: what is to be differentiated is differentiated inside. Captured anew for arguments of other types or shapes.
  // Random numbers that the function draws from the session and makes inputs of (dropout does) are drawn again at each call, in the same
  // order, as the function itself would. Rejections: of the function, of
  // Session::capture, and "session.random" for random numbers that are used otherwise, which would be the same at each call: give them as
  // arguments. An observer of the session sees the steps of the replay, but not the run that is captured. In a session on a device the
  // replay runs there.
  Outcome<std::vector<Value>> operator()(std::span<const Value> arguments);
  [[nodiscard]] std::size_t captures() const { return programs_.size(); }

 private:
  struct Captured {
    std::vector<std::pair<DType, Shape>> types;
    Program program;
    GradientNotes<NodeId> notes;
    std::vector<Drawing> drawings;  // inputs of the program between arguments and parameters
  };
  Outcome<Captured> capture(std::span<const Value> arguments);
  Outcome<std::vector<Value>> replay(const Captured& captured, std::span<const Value> inputs);

  Session& session_;
  Function function_;
  std::vector<Value> parameters_;
  std::vector<Captured> programs_;
};

}  // namespace assay::runtime
