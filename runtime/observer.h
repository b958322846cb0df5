// Observer: sees every op that a session runs, as it ran. A recorder of traces is one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/array.h"
#include "runtime/autodiff/emitter.h"
#include "runtime/compiled/program.h"
#include "semantics/graph/op.h"

namespace assay::runtime {

using autodiff::Ref;  // a value's name until the tape is cleared; names from kFirstKept on stay

// The purpose that an op was run for.
struct Role {
  enum class Kind : std::uint8_t {
    forward,
    backward,    // in the gradient rule of the op that gave `node`
    accumulate,  // the sum of two cotangents of `node`
  };
  Kind kind = Kind::forward;
  Ref node = autodiff::kNone;
};

template <class Name>
struct GradientNotes;

class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  // A value from outside: a parameter, an input, a constant; `name` is empty for constants.
  virtual void given(Ref value, const Array& array, std::string_view name) = 0;
  // The value `from` stays under the name `to`: a constant that ops computed. False: given() shall say it instead.
  virtual bool kept(Ref from, Ref to) {
    (void)from;
    (void)to;
    return false;
  }
  // An op: names and contents of its operands and result. The references hold during the call; arrays may be copied, which shares
  // their buffers.
  virtual void ran(Op op, const Attributes& attributes, std::span<const Ref> operands, std::span<const Array* const> contents, Ref result,
                   const Array& result_content, Role role) = 0;
  // `cotangent` is what the rule of the op that gave `node` sends to its operand number `operand`.
  virtual void sent(Ref node, std::size_t operand, Ref cotangent) = 0;
  // A reverse pass from `output` begins with the cotangent `seed`; it gave the gradient `bar` of each leaf.
  virtual void seeded(Ref output, Ref seed) {
    (void)output;
    (void)seed;
  }
  virtual void differentiated(Ref output, Ref seed, std::span<const Ref> leaves, std::span<const Ref> bars) {
    (void)output;
    (void)seed;
    (void)leaves;
    (void)bars;
  }
  // Names from `first` on, but those that stay, are free for other values from now on: the tape was cleared, or a checkpoint drops what
  // it will compute again (its result is then given, with the same bits).
  virtual void forgotten(Ref first) = 0;
  // A program is going to be replayed on these values; the notes are in nodes of its graph. An observer that needs its steps
  // returns an observer of them, and gets the session's names of the outputs; others get these names.
  virtual ProgramObserver* replaying(const Program& program, const GradientNotes<NodeId>& notes, std::span<const Ref> inputs,
                                     std::span<const Array> contents) {
    (void)program;
    (void)notes;
    (void)inputs;
    (void)contents;
    return nullptr;
  }
  virtual void replayed(std::span<const Ref> outputs) { (void)outputs; }
};

}  // namespace assay::runtime
