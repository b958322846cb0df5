// Session: runs ops at once, records them on a tape, and differentiates the tape.
//
//   Session session({.seed = 1});
//   const Value w = session.parameter("w", session.normal({3, 2}));
//   const Value loss = mean(square(matmul(x, w) - y));                     // functions.h
//   const auto bars = session.gradients(loss, {w});                       // Outcome<std::vector<Value>>
//   session.clear();                                                       // before the next step
//
// Values are handles. An op that refuses its operands (shapes, element types, positions) makes a failed value, and so does every
// op on a failed value. The first refusal is kept; functions that return an Outcome, and failure(), hand it out. A session and
// its values belong to one thread; the kernels below use several. Results do not depend on their number, so there is no other
// mode to ask for.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/array.h"
#include "runtime/device.h"
#include "runtime/observer.h"
#include "runtime/random.h"
#include "runtime/rule_programs.h"
#include "runtime/tape.h"
#include "semantics/demand.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::runtime {

class Session;
struct RepeatedOps;  // repeated.h

class Value {
 public:
  Value() = default;  // failed, of no session
  [[nodiscard]] bool ok() const { return ref_ != kNone; }
  [[nodiscard]] Session& session() const {
    demand(session_ != nullptr, "Value: one that a session gave");
    return *session_;
  }
  [[nodiscard]] Ref ref() const { return ref_; }
  // Of a failed value, or one that was cleared: float32 [0]. On a device elements are copied here when they are first read.
  [[nodiscard]] const Array& array() const;
  [[nodiscard]] const Shape& shape() const { return array().shape(); }
  [[nodiscard]] DType dtype() const { return array().dtype(); }
  // Where a device does not give them, NaN, and the session has a failure.
  [[nodiscard]] std::vector<double> to_doubles() const;
  [[nodiscard]] double item() const;  // of a value with one element; else NaN

 private:
  friend class Session;
  Value(Session& session, Ref ref, std::uint32_t serial) : session_(&session), ref_(ref), serial_(serial) {}
  Session* session_ = nullptr;
  Ref ref_ = kNone;
  std::uint32_t serial_ = 0;
};

enum class Backend : std::uint8_t { eager, compiled };

// Numbers in which steps of a training::Trainer are taken, where those are not the session's floats: the session then captures what a step
// is, and training/reference evaluates it.
enum class Reference : std::uint8_t { none, exact, interval };

struct SessionOptions {
  Backend backend = Backend::eager;  // how a SessionFunction (compiled_function.h) runs; single ops run at once in either
  DType dtype = DType::float32;      // float32 or float64: of numbers and random values for which no other is named
  std::uint64_t seed = 0;
  std::size_t threads = 0;                   // 0: one per processor; the last session made decides for all (threads.h)
  std::shared_ptr<Device> device = nullptr;  // none: the CPU; else one that gpu/ gives, and float32
  bool requires_grad = true;                 // of parameters, until set_requires_grad() says otherwise
  // float32 values from outside, and what each op computes in float32, are rounded to bfloat16 (to nearest, ties to even) and kept as the
  // float32 numbers that these are. On the CPU, eager, with float32.
  bool bfloat16 = false;
  Reference reference = Reference::none;  // else on the CPU, eager
};

struct GradientOptions {
  std::optional<Value> cotangent;  // of the value to differentiate; 1 if absent, for one element only
  bool differentiable = true;      // the gradients are on the tape; else their intermediate values are let go at once
};

// A value, and its cotangent from some later one.
struct Cotangent {
  Value value, bar;
};

class Session {
 public:
  explicit Session(const SessionOptions& options = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;
  [[nodiscard]] const SessionOptions& options() const { return options_; }

  // Leaves. Parameters stay until the session ends; others until clear().
  Value parameter(std::string name, Array value);
  Value input(Array value, std::string_view name = {});
  Value input(const Tensor& value, std::string_view name = {}) { return input(Array::from(value), name); }
  Value number(double value) { return number(value, options_.dtype); }
  Value number(double value, DType dtype);
  // Another value for a parameter, of its type and shape. Results that were computed from the old one can no longer be
  // differentiated.
  Outcome<Done> assign(const Value& parameter, Array value);
  [[nodiscard]] const std::string& name_of(const Value& parameter) const { return kept_name(parameter.ref_); }
  // All parameters, in the order in which they were made.
  [[nodiscard]] std::vector<Value> parameters();
  // Sets whether gradients go to this parameter. Asking for a gradient that is not required is refused (session.requires_grad),
  // and no rule computes its cotangent. Other values follow those that they depend on.
  Outcome<Done> set_requires_grad(const Value& parameter, bool wanted);
  [[nodiscard]] bool requires_grad(const Value& parameter) const;
  // Another name for a value of the tape, until clear(), and the value of a name: a named one or an input, else a parameter; of
  // two with one name the later one.
  Value name(const Value& value, std::string_view name);
  [[nodiscard]] std::optional<Value> find(std::string_view name);

  [[nodiscard]] const Array& content(Ref value) const { return tape_[value].value; }  // of a name that an observer was told
  [[nodiscard]] const std::string& kept_name(Ref kept) const { return kept_[kept - kFirstKept].name; }  // empty for numbers

  Value apply(Op op, std::span<const Value> operands, Attributes attributes = NoAttributes{});
  Value apply(Op op, std::initializer_list<Value> operands, Attributes attributes = NoAttributes{}) {
    return apply(op, std::span(operands.begin(), operands.size()), std::move(attributes));
  }
  // The same elements as a leaf: no gradient passes.
  Value detach(const Value& value);

  // The first refusal since clear(), if any.
  [[nodiscard]] const std::optional<Rejection>& failure() const { return failure_; }
  [[nodiscard]] Outcome<Done> check() const { return failure_ ? Outcome<Done>(*failure_) : Outcome<Done>(Done{}); }
  Value refuse(Rejection why);  // keeps it if it is the first

  // Forgets all values but parameters, the hooks on them, and the failure. The memory is used again.
  void clear();
  [[nodiscard]] std::size_t tape_length() const { return tape_.size(); }

  // J^T cotangent for each value of `of`, float values that were made before; zeros where `loss` does not depend on one.
  Outcome<std::vector<Value>> gradients(const Value& loss, std::span<const Value> of, const GradientOptions& options = {});
  Outcome<std::vector<Value>> gradients(const Value& loss, std::initializer_list<Value> of, const GradientOptions& options = {}) {
    return gradients(loss, std::span(of.begin(), of.size()), options);
  }
  // The cotangents of all at once: of every parameter that requires gradients and every float value of the tape on which `loss` depends, in
  // the order in which they were made.
  Outcome<std::vector<Cotangent>> all_gradients(const Value& loss, const GradientOptions& options = {});
  // The sum of J tangent over the values and tangents.
  Outcome<Value> jvp(const Value& y, std::span<const Value> of, std::span<const Value> tangents);
  // The Hessian of `loss` (one element) in the direction of the tangents.
  Outcome<std::vector<Value>> hvp(const Value& loss, std::span<const Value> of, std::span<const Value> tangents);
  // [y's shape..., x's shape...] for each x.
  Outcome<std::vector<Value>> jacobian(const Value& y, std::span<const Value> of);
  Outcome<Value> jacobian(const Value& y, const Value& x);
  // The second derivatives of `loss` (one element): at [i][j] those by of[i] and of[j], of shape [of[i]'s shape..., of[j]'s
  // shape...]. One reverse pass for each element of the values.
  Outcome<std::vector<std::vector<Value>>> hessian(const Value& loss, std::span<const Value> of);
  // The gradients of loss(sample) for each sample of the batch, values whose first axis counts samples; a sample keeps that axis with
  // extent 1. Results are [samples, parameter's shape...].
  using Loss = std::function<Value(std::span<const Value>)>;
  Outcome<std::vector<Value>> per_sample_gradients(const Loss& loss, std::span<const Value> batch, std::span<const Value> of);

  // The tape's computation of `outputs` from `inputs` (leaves, parameters or values on the way), as a graph: gradients included
  // where they are on the tape. Leaves that are not listed become constants with their present values. Names: those of
  // parameters, else "input 0", ..., "output 0", ... Refused where a checkpoint, or a result that was not recorded, lies between.
  // `nodes`, if given, has the node of each value of the tape that the graph has. It is empty if a value was detached: for the
  // graph that and the value are one.
  Outcome<Graph> capture(std::span<const Value> inputs, std::span<const Value> outputs, std::unordered_map<Ref, NodeId>* nodes = nullptr);

  // f(values), of which nothing but the result is kept: a gradient computes it again. Parameters and other values that f uses get
  // their gradients as well; random numbers are drawn as they were.
  Value checkpoint(Loss f, std::vector<Value> values);

  // Called with the gradient of `value` when it is complete, before it is used; the gradient that the hook returns is used
  // instead. Hooks run in the order in which they were added. Returns a number for remove_hook().
  using Hook = std::function<Value(const Value&)>;
  std::size_t on_gradient(const Value& value, Hook hook);
  void remove_hook(std::size_t number);

  [[nodiscard]] bool recording() const { return recording_; }
  // Null: none; it outlives its use. Constants of gradient rules are computed again, so that it sees how.
  [[nodiscard]] Observer* observer() const { return observer_; }
  void set_observer(Observer* observer) {
    observer_ = observer;
    fixed_.fill(kNone);
  }

  // Ops on the session's device, outside the tape; null: the CPU.
  [[nodiscard]] Mirror* mirror() { return mirror_ ? &*mirror_ : nullptr; }

  // Random numbers: every call takes the next key of the session's seed. They are made on the session's device, with the same bits as here.
  RandomKey next_key() { return random_.split(drawn_++); }
  [[nodiscard]] std::uint64_t keys_drawn() const { return drawn_; }
  void set_keys_drawn(std::uint64_t count) { drawn_ = count; }  // as after so many draws: a run that is resumed continues there
  Array uniform(const Shape& shape, double lo = 0, double hi = 1) { return drawn({Drawing::Kind::uniform, options_.dtype, shape, lo, hi}); }
  Array normal(const Shape& shape) { return drawn({Drawing::Kind::normal, options_.dtype, shape}); }
  Array bernoulli(double p, const Shape& shape) { return bernoulli(p, shape, options_.dtype); }
  Array bernoulli(double p, const Shape& shape, DType dtype) { return drawn({Drawing::Kind::bernoulli, dtype, shape, p}); }

 private:
  friend class Value;
  friend class NoGrad;
  friend class CompiledFunction;
  friend class Repeated;
  class TapeEmitter;
  struct Seed {
    Ref value, cotangent;
  };
  struct Checkpoint {
    Loss function;
    std::vector<Value> values;
    std::uint64_t drawn;
  };
  struct Drawn {
    Drawing drawing;
    Array array;
  };
  // Entries first .. end - 1 of the tape, which ran as one program on the values outside.
  struct Together {
    Ref first, end;
    std::vector<Ref> outside;
    std::shared_ptr<RepeatedOps> ops;
  };
  struct HookEntry {
    std::size_t number;
    Ref ref;
    Hook hook;
  };
  struct Sweep;
  struct Kept {
    std::string name;           // numbers have none
    bool is_parameter = false;  // else a number that rules or functions need again and again
    bool requires_grad = false;
  };

  // Nobody looks on, and results are stored as the CPU computed them: ops may be done in another way that gives the same bits.
  [[nodiscard]] bool is_plain() const {
    return observer_ == nullptr && !mirror_ && !options_.bfloat16 && options_.reference == Reference::none;
  }
  [[nodiscard]] Array stored(Array value) const;  // rounded, in a session of bfloat16
  Ref keep(Array value) { return keep(std::move(value), Kept()); }
  Ref keep(Array value, Kept how);
  [[nodiscard]] Outcome<Array> computed(Op op, const Attributes& attributes, std::span<const Array* const> operands, DType dtype,
                                        Shape shape);
  Ref execute(Op op, std::span<const Ref> operands, Attributes attributes);
  [[nodiscard]] bool infer_result(Op op, std::span<const Ref> operands, const Attributes& attributes, DType& dtype, Shape& shape);
  Ref leaf(Array value, std::string_view name);
  void forget(Ref first);  // the tape from there on, and hooks on it
  Ref kept_number(double value, DType dtype);
  Ref kept_fixed(autodiff::Fixed which, DType dtype);
  [[nodiscard]] bool owns(const Value& value) const;
  [[nodiscard]] bool is_parameter(const Value& value) const {
    return owns(value) && value.ref_ >= kFirstKept && kept_[value.ref_ - kFirstKept].is_parameter;
  }
  [[nodiscard]] bool refs_of(std::span<const Value> values, const char* what, std::vector<Ref>& refs);
  [[nodiscard]] Value value_of(Ref ref) { return ref == kNone ? failed() : Value(*this, ref, tape_[ref].serial); }
  [[nodiscard]] Value failed() { return {*this, kNone, 0}; }
  Rejection refusal();
  Array drawn(Drawing drawing);
  [[nodiscard]] bool fetched(const Array& array);  // false after a refusal

  // reverse.cpp. Refs per leaf, kNone where no seed depends on it; entries below `floor` are passed by.
  Outcome<std::vector<Ref>> reverse(std::span<const Seed> seeds, std::span<const Ref> leaves, bool differentiable, Ref floor);
  std::vector<Ref> cotangents(Sweep& sweep, Ref id, Ref bar);
  bool pass_back(Sweep& sweep, Ref id);
  bool pass_back_together(Sweep& sweep, const Together& group);
  std::optional<std::vector<std::optional<Array>>> cotangents_together(const Together& group, std::span<const Seed> seeds,
                                                                       std::span<const Ref> leaves, const std::vector<bool>& key);
  bool recompute(Sweep& sweep, Ref id, Ref bar);
  Ref hooked(Ref id, Ref bar);
  Ref zeros_like(Ref ref);
  Outcome<Done> check_second_pass(std::span<const Value> of, std::span<const Value> tangents, const char* what);
  Outcome<std::vector<Value>> values_of(std::span<const Ref> bars, std::span<const Ref> leaves);
  struct Pulled {
    Seed seed;
    std::vector<Ref> bars;  // by leaf
  };
  Outcome<Pulled> pull(const Value& loss, std::span<const Ref> leaves, const GradientOptions& options);

  SessionOptions options_;
  Tape tape_;
  std::vector<Kept> kept_;
  std::vector<std::pair<std::string, Ref>> names_;  // of values on the tape
  std::optional<Rejection> failure_;
  std::vector<Checkpoint> checkpoints_;
  std::vector<Together> together_;  // in the order of the tape
  std::vector<HookEntry> hooks_;
  std::size_t hook_count_ = 0;
  bool recording_ = true;
  Role role_;
  Observer* observer_ = nullptr;
  std::optional<Mirror> mirror_;  // of the device's arrays, if there is one
  RandomKey random_;
  std::uint64_t drawn_ = 0;
  std::vector<Drawn>* drawings_ = nullptr;  // notes of drawings, if a caller asked for them
  struct KeptNumber {
    double value;
    DType dtype;
    Ref ref;
  };
  std::vector<KeptNumber> numbers_;
  std::array<Ref, static_cast<std::size_t>(2 * autodiff::kFixedCount)> fixed_;
  RulePrograms rules_;
  Graph scratch_;  // the nodes that shape inference reads
  std::vector<NodeId> scratch_ids_;
};

// While it lives, the session remembers no ops.
class NoGrad {
 public:
  explicit NoGrad(Session& session) : session_(session), before_(session.recording_) { session.recording_ = false; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;
  ~NoGrad() { session_.recording_ = before_; }

 private:
  Session& session_;
  bool before_;
};

}  // namespace assay::runtime
