// The reverse pass over a session's tape, and what is built on it.
#include <algorithm>
#include <string>

#include "runtime/autodiff/rules.h"
#include "runtime/kernels/composed.h"
#include "runtime/misuse.h"
#include "runtime/tape_emitter.h"

namespace assay::runtime {

// The state of one reverse pass over the entries floor .. top - 1 and the kept values.
struct Session::Sweep {
  Sweep(Session& owner, Ref first, Ref last, bool keep_all)
      : session(owner),
        floor(first),
        top(last),
        born(owner.tape_.size()),
        differentiable(keep_all),
        emitter(owner),
        marks(last - first),
        kept_marks(owner.tape_.kept_size()) {}

  struct Mark {
    Ref bar = kNone;
    bool depends = false;  // on a leaf
    bool is_leaf = false;
    bool is_sum = false;  // the bar is a sum that accumulate() made: elements of its own, and no part of another array
    std::vector<std::pair<PadAttributes, Ref>> parts = {};  // cotangents of slices, which wait for the others
  };
  Session& session;
  Ref floor, top, born;  // values from `born` on are made by this pass
  bool differentiable;
  TapeEmitter emitter;
  std::vector<Mark> marks, kept_marks;
  std::vector<std::pair<Ref, Mark>> below;  // leaves below the floor
  std::vector<std::uint16_t> holders;       // of values made by this pass: how many bars are this value
  std::vector<bool> wanted;
  std::vector<Ref> operands;

  // The mark of a value, or null for one that no leaf is reached from.
  Mark* find(Ref ref) {
    if (ref >= kFirstKept) return ref - kFirstKept < kept_marks.size() ? &kept_marks[ref - kFirstKept] : nullptr;
    if (ref >= floor) return ref < top ? &marks[ref - floor] : nullptr;
    for (auto& [leaf, mark] : below) {
      if (leaf == ref) return &mark;
    }
    return nullptr;
  }
  bool depends(Ref ref) {
    const Mark* mark = find(ref);
    return mark != nullptr && mark->depends;
  }
  void add_leaf(Ref ref) {
    if (ref < floor && find(ref) == nullptr) below.emplace_back(ref, Mark{});
    Mark* mark = find(ref);
    if (mark != nullptr) mark->depends = mark->is_leaf = true;
  }
  void find_dependants() {
    for (Ref ref = floor; ref < top; ++ref) {
      const Entry& entry = session.tape_[ref];
      if (!is_float(entry.value.dtype()) || entry.kind == Entry::Kind::detached) continue;
      for (const Ref operand : session.tape_.operands(entry)) {
        if (depends(operand)) marks[ref - floor].depends = true;
      }
    }
  }

  void hold(Ref bar) {
    if (bar < born || bar >= kFirstKept) return;
    if (holders.size() <= bar - born) holders.resize(bar - born + 1, 0);
    ++holders[bar - born];
  }
  // One holder less; a value that nobody holds any more gives its memory back.
  void let_go(Ref bar) {
    if (differentiable || bar < born || bar >= kFirstKept) return;
    if (--holders[bar - born] == 0) release(bar);
  }
  void release(Ref ref) { const Array gone = std::move(session.tape_[ref].value); }
  void release_unheld(Ref from) {
    if (differentiable) return;
    holders.resize(session.tape_.size() - born, 0);
    for (Ref ref = from; ref < session.tape_.size(); ++ref) {
      if (holders[ref - born] == 0) release(ref);
    }
  }

  // Whether ops may be done in another way that gives the same bits: nobody looks on, nothing is differentiated again, and results are
  // stored as they were computed.
  [[nodiscard]] bool free() const {
    const SessionOptions& options = session.options_;
    return !differentiable && session.observer_ == nullptr && !session.mirror_ && !options.bfloat16 && options.reference == Reference::none;
  }

  // The cotangent of a slice waits, so that those of several slices are put together at once.
  bool keep_part(const Entry& entry, Ref operand, Ref bar) {
    Mark& mark = *find(operand);
    if (entry.op != Op::slice || !free() || mark.bar != kNone) return false;
    const auto& [starts, steps, extents] = std::get<SliceAttributes>(entry.attributes);
    const Shape& shape = session.tape_[operand].value.shape();
    PadAttributes pad{starts, starts, 0};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (steps[i] != 1) return false;
      pad.after[i] = shape[i] - starts[i] - extents[i];
    }
    if (!part_of(pad, shape)) return false;
    mark.parts.emplace_back(std::move(pad), bar);
    hold(bar);
    return true;
  }
  // Those that waited become the bar: at once where they lie apart, else padded and added one after the other.
  void put_parts_together(Ref node) {
    const auto waiting = std::exchange(find(node)->parts, {});
    if (waiting.empty()) return;
    const Array like = session.tape_[node].value;
    std::vector<Part> parts;
    std::vector<const Array*> values;
    for (const auto& [pad, bar] : waiting) {
      parts.push_back(*part_of(pad, like.shape()));
      values.push_back(&session.tape_[bar].value);
    }
    if (are_apart(parts)) {
      Array sum = Array::empty(like.dtype(), like.shape());
      put_together(parts, values, sum);
      accumulate(node, session.leaf(std::move(sum), {}));
    } else {
      for (const auto& [pad, bar] : waiting) {
        const Ref padded = emitter.op(Op::pad, std::span(&bar, 1), pad);
        accumulate(node, padded);
      }
    }
    for (const auto& [pad, bar] : waiting) let_go(bar);
  }

  // Whether nothing but this mark has its sum, or elements of it.
  [[nodiscard]] bool is_alone(const Mark& mark) const {
    return mark.is_sum && mark.parts.empty() && holders[mark.bar - born] == 1 && session.tape_[mark.bar].value.buffer().use_count() == 1;
  }

  // The cotangent of a factor is one product, which is added to the sum that its operand has, in place, where that gives the same bits.
  class Adding final : public autodiff::Emitter {
   public:
    Adding(Sweep& sweep, Ref sum) : sweep_(sweep), sum_(sum) {}
    Ref op(Op op, std::span<const Ref> operands, Attributes attributes) override {
      Tape& tape = sweep_.session.tape_;
      const auto* const gemm = operands.size() == 2 ? std::get_if<GemmAttributes>(&attributes) : nullptr;
      if (gemm != nullptr && add_product(*gemm, tape[operands[0]].value, tape[operands[1]].value, tape[sum_].value)) return sum_;
      return sweep_.emitter.op(op, operands, std::move(attributes));
    }
    [[nodiscard]] const Shape& shape(Ref value) const override { return sweep_.emitter.shape(value); }
    [[nodiscard]] DType dtype(Ref value) const override { return sweep_.emitter.dtype(value); }
    Ref constant(Tensor value) override { return sweep_.emitter.constant(std::move(value)); }

   private:
    Sweep& sweep_;
    Ref sum_;
  };
  void add_products(Ref id, Ref bar) {
    const Entry& entry = session.tape_[id];
    if (entry.op != Op::gemm || !free() || !session.hooks_.empty()) return;
    for (std::size_t k = 0; k < 2; ++k) {
      if (!wanted[k]) continue;
      const Mark& mark = *find(operands[k]);
      if (!is_alone(mark)) continue;
      std::vector<bool> this_one(operands.size(), false);
      this_one[k] = true;
      Adding adding(*this, mark.bar);
      const Ref sent = autodiff::cotangents_of({adding, entry.op, entry.attributes, operands, id, bar, this_one})[k];
      if (sent != mark.bar) accumulate(operands[k], sent);
      wanted[k] = false;
    }
  }

  void accumulate(Ref node, Ref more) {
    put_parts_together(node);
    Mark& mark = *find(node);
    if (mark.bar == kNone) {
      mark.bar = more;
      return hold(more);
    }
    session.role_ = {Role::Kind::accumulate, node};
    const Ref both[] = {mark.bar, more};
    const Ref sum = emitter.op(Op::add, both, NoAttributes{});
    hold(sum);
    hold(more);
    let_go(more);
    let_go(mark.bar);
    mark.bar = sum;
    mark.is_sum = true;
  }
};

namespace {

Ref above_all(std::span<const Ref> refs, Ref least) {
  for (const Ref ref : refs) {
    if (ref < kFirstKept) least = std::max(least, ref + 1);
  }
  return least;
}

}  // namespace

Ref Session::kept_fixed(autodiff::Fixed which, DType dtype) {
  Ref& ref = fixed_[static_cast<std::size_t>(which) * 2 + (dtype == DType::float64 ? 1 : 0)];
  if (ref == kNone) {
    TapeEmitter emitter(*this);
    const NoGrad unrecorded(*this);
    const Ref made = emitter.Emitter::fixed(which, dtype);
    ref = keep(tape_[made].value);
    if (observer_ != nullptr && !observer_->kept(made, ref)) observer_->given(ref, tape_[ref].value, {});
  }
  return ref;
}

Ref Session::zeros_like(Ref ref) {
  const Shape shape = tape_[ref].value.shape();
  const Ref zero = kept_number(0, tape_[ref].value.dtype());
  return shape.empty() ? zero : execute(Op::expand, std::span(&zero, 1), ShapeAttributes{shape});
}

Ref Session::hooked(Ref id, Ref bar) {
  for (std::size_t i = 0; i < hooks_.size(); ++i) {  // a hook may add hooks
    if (hooks_[i].ref != id) continue;
    const Hook hook = hooks_[i].hook;
    const Value changed = hook(value_of(bar));
    const Array &before = tape_[bar].value, &after = changed.array();
    if (!owns(changed) || after.shape() != before.shape() || after.dtype() != before.dtype()) {
      refuse(misuse("hook", "hook " + std::to_string(hooks_[i].number), "a gradient of shape " + to_string(before.shape()),
                    owns(changed) ? to_string(after.shape()) : "no value of this session", "give a gradient of the same type and shape"));
      return kNone;
    }
    bar = changed.ref_;
  }
  return bar;
}

// By a program where nobody looks on and nothing is differentiated again, else op by op: the bits are the same.
std::vector<Ref> Session::cotangents(Sweep& sweep, Ref id, Ref bar) {
  const Entry& entry = tape_[id];
  if (sweep.free()) {
    std::vector<const Array*> operands;
    for (const Ref operand : sweep.operands) operands.push_back(&tape_[operand].value);
    const auto bars = rules_.run({entry.op, entry.attributes, operands, entry.value, tape_[bar].value, sweep.wanted});
    if (bars) {
      std::vector<Ref> sent;
      for (const std::optional<Array>& one : *bars) sent.push_back(one ? leaf(*one, {}) : kNone);
      return sent;
    }
  }
  return autodiff::cotangents_of({sweep.emitter, entry.op, entry.attributes, sweep.operands, id, bar, sweep.wanted});
}

// The cotangent of one entry goes to its operands. False where something was refused.
bool Session::pass_back(Sweep& sweep, Ref id) {
  sweep.put_parts_together(id);
  Sweep::Mark& mark = sweep.marks[id - sweep.floor];
  Ref bar = mark.bar;
  if (!hooks_.empty()) {
    bar = hooked(id, bar);
    if (bar == kNone) return false;
    sweep.hold(bar);
    sweep.let_go(mark.bar);
    mark.bar = bar;
  }
  const Entry& entry = tape_[id];
  if (!mark.depends || entry.operand_count == 0) return true;
  const std::span<const Ref> listed = tape_.operands(entry);
  sweep.operands.assign(listed.begin(), listed.end());
  sweep.wanted.clear();
  bool any = false;
  for (const Ref operand : sweep.operands) {
    if (operand >= kFirstKept && tape_[operand].changed_at > id) {
      refuse(misuse("changed", "parameter '" + kept_name(operand) + "'", "the value that the tape was made with",
                    "another one, assigned since", "take gradients before assign(), or clear() and compute again"));
      return false;
    }
    sweep.wanted.push_back(sweep.depends(operand));
    any = any || sweep.wanted.back();
  }
  if (!any) return true;
  if (entry.kind == Entry::Kind::replayed) {
    refuse(misuse("replayed", "value " + std::to_string(id), "ops on the tape", "a compiled function's result",
                  "take gradients inside the function, detach() the result, or run it eagerly"));
    return false;
  }
  if (entry.kind == Entry::Kind::checkpoint) return recompute(sweep, id, bar);
  if (sweep.keep_part(entry, sweep.operands[0], bar)) {
    if (!mark.is_leaf) sweep.let_go(bar);
    return true;
  }
  const Ref before = tape_.size();
  role_ = {Role::Kind::backward, id};
  sweep.add_products(id, bar);
  const auto sent = cotangents(sweep, id, bar);
  for (std::size_t k = 0; k < sent.size(); ++k) {
    if (!sweep.wanted[k] || sent[k] == kNone) continue;
    if (observer_ != nullptr) observer_->sent(id, k, sent[k]);
    sweep.accumulate(sweep.operands[k], sent[k]);
  }
  sweep.release_unheld(before);
  if (!mark.is_leaf) sweep.let_go(bar);
  return true;
}

// The checkpoint's function runs again, recorded, and the cotangent goes through what it made.
bool Session::recompute(Sweep& sweep, Ref id, Ref bar) {
  const Checkpoint again = checkpoints_[tape_[id].checkpoint];
  const std::vector<Ref> operands = sweep.operands;
  std::vector<Ref> leaves;
  for (const Ref operand : operands) {
    if (sweep.depends(operand)) leaves.push_back(operand);
  }
  const Ref start = tape_.size();
  const std::uint64_t drawn = std::exchange(drawn_, again.drawn);
  const bool before = std::exchange(recording_, true);
  role_ = {};
  const Value result = again.function(again.values);
  recording_ = before;
  drawn_ = drawn;
  if (!owns(result)) {
    refuse(refusal());
    return false;
  }
  const Seed seed{result.ref_, bar};
  const auto bars = reverse(std::span(&seed, 1), leaves, sweep.differentiable, start);
  if (!bars) return false;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (bars.value()[k] != kNone) sweep.accumulate(leaves[k], bars.value()[k]);
  }
  sweep.release_unheld(start);
  if (!sweep.marks[id - sweep.floor].is_leaf) sweep.let_go(bar);
  return true;
}

Outcome<std::vector<Ref>> Session::reverse(std::span<const Seed> seeds, std::span<const Ref> leaves, bool differentiable, Ref floor) {
  Ref top = floor;
  for (const Seed& seed : seeds) top = above_all(std::span(&seed.value, 1), top);
  Sweep sweep(*this, floor, std::max(top, above_all(leaves, top)), differentiable);
  for (const Ref leaf : leaves) sweep.add_leaf(leaf);
  sweep.find_dependants();
  const bool before = std::exchange(recording_, recording_ && differentiable);
  bool fine = true;
  try {
    for (const Seed& seed : seeds) {
      if (sweep.depends(seed.value)) sweep.accumulate(seed.value, seed.cotangent);
    }
    for (Ref id = sweep.top; fine && id-- > floor;) {
      const Sweep::Mark& mark = sweep.marks[id - floor];
      if (mark.bar != kNone || !mark.parts.empty()) fine = pass_back(sweep, id);
    }
    for (const Ref leaf : leaves) {
      if (fine && sweep.find(leaf) != nullptr) sweep.put_parts_together(leaf);
    }
    if (!hooks_.empty()) {
      for (Ref k = 0; fine && k < sweep.kept_marks.size(); ++k) {
        Ref& bar = sweep.kept_marks[k].bar;
        if (bar == kNone || floor > 0) continue;  // inside a checkpoint the gradient is not complete
        bar = hooked(kFirstKept + k, bar);
        fine = bar != kNone;
      }
    }
  } catch (const TapeEmitter::Refused&) {
    fine = false;
  }
  recording_ = before;
  role_ = {};
  if (!fine) return refusal();
  std::vector<Ref> bars;
  for (const Ref leaf : leaves) {
    const Sweep::Mark* mark = sweep.find(leaf);
    bars.push_back(mark == nullptr ? kNone : mark->bar);
  }
  return bars;
}

Outcome<std::vector<Value>> Session::values_of(std::span<const Ref> bars, std::span<const Ref> leaves) {
  std::vector<Value> values;
  for (std::size_t k = 0; k < bars.size(); ++k) {
    const Ref ref = bars[k] != kNone ? bars[k] : zeros_like(leaves[k]);
    if (ref == kNone) return refusal();
    values.push_back(value_of(ref));
  }
  return values;
}

namespace {

Outcome<Done> check_float(std::span<const Value> values, const char* what) {
  for (const Value& value : values) {
    if (!is_float(value.dtype()))
      return misuse("dtype", what, "float values", to_string(value.dtype()), "whole numbers and truth values have no gradient");
  }
  return Done{};
}

Tensor one_of(DType dtype) {
  const double one = 1;
  const float narrow = 1;
  return dtype == DType::float64 ? Tensor::of_doubles({}, std::span(&one, 1)) : Tensor::of_floats({}, std::span(&narrow, 1));
}

}  // namespace

Outcome<Session::Pulled> Session::pull(const Value& loss, std::span<const Ref> leaves, const GradientOptions& options) {
  std::vector<Ref> seed_refs;
  // Who looks on tells the seed from the number 1 that ops read.
  const Value seed_value = options.cotangent      ? *options.cotangent
                           : observer_ != nullptr ? input(one_of(loss.dtype()), "seed")
                                                  : number(1, loss.dtype());
  const Value both[] = {loss, seed_value};
  if (!refs_of(both, "gradients", seed_refs)) return refusal();
  if (auto fine = check_float(both, "gradients"); !fine) return fine.rejection();
  Ref bar = seed_refs[1];
  if (!options.cotangent && loss.array().size() == 1 && !loss.shape().empty()) {
    bar = execute(Op::reshape, std::span(&bar, 1), ShapeAttributes{loss.shape()});
  }
  if (bar == kNone) return refusal();
  if (tape_[bar].value.shape() != loss.shape() || tape_[bar].value.dtype() != loss.dtype()) {
    return misuse("cotangent", "gradients of a value " + to_string(loss.shape()), "a cotangent of its type and shape",
                  to_string(tape_[bar].value.shape()), "sum or average it first, or give GradientOptions::cotangent");
  }
  const Seed seed{seed_refs[0], bar};
  if (observer_ != nullptr) observer_->seeded(seed.value, seed.cotangent);
  auto bars = reverse(std::span(&seed, 1), leaves, options.differentiable, 0);
  if (!bars) return bars.rejection();
  return Pulled{seed, std::move(bars).value()};
}

Outcome<std::vector<Value>> Session::gradients(const Value& loss, std::span<const Value> of, const GradientOptions& options) {
  std::vector<Ref> leaves;
  if (!refs_of(of, "gradients", leaves)) return refusal();
  if (auto fine = check_float(of, "gradients"); !fine) return fine.rejection();
  for (const Value& value : of) {
    if (is_parameter(value) && !requires_grad(value)) {
      return misuse("requires_grad", "parameter '" + name_of(value) + "'", "a parameter that requires gradients", "one that does not",
                    "leave it out, or set_requires_grad() it");
    }
  }
  const auto pulled = pull(loss, leaves, options);
  if (!pulled) return pulled.rejection();
  auto values = values_of(pulled.value().bars, leaves);
  if (observer_ == nullptr || !values) return values;
  std::vector<Ref> given;
  for (const Value& value : values.value()) given.push_back(value.ref());
  observer_->differentiated(pulled.value().seed.value, pulled.value().seed.cotangent, leaves, given);
  return values;
}

Outcome<std::vector<Cotangent>> Session::all_gradients(const Value& loss, const GradientOptions& options) {
  std::vector<Ref> all, leaves, bars;
  for (Ref k = 0; k < tape_.kept_size(); ++k) {
    if (kept_[k].requires_grad && is_float(tape_[kFirstKept + k].value.dtype())) all.push_back(kFirstKept + k);
  }
  for (Ref ref = 0; ref < tape_.size(); ++ref) {
    if (is_float(tape_[ref].value.dtype())) all.push_back(ref);
  }
  const auto pulled = pull(loss, all, options);
  if (!pulled) return pulled.rejection();
  std::vector<Cotangent> found;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (pulled.value().bars[k] == kNone) continue;
    leaves.push_back(all[k]);
    bars.push_back(pulled.value().bars[k]);
    found.push_back({value_of(leaves.back()), value_of(bars.back())});
  }
  if (observer_ != nullptr) observer_->differentiated(pulled.value().seed.value, pulled.value().seed.cotangent, leaves, bars);
  return found;
}

}  // namespace assay::runtime
