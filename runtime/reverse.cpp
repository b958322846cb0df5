// The reverse pass over a session's tape, and what is built on it.
#include <algorithm>
#include <string>

#include "runtime/misuse.h"
#include "runtime/repeated.h"
#include "runtime/sweep.h"

namespace assay::runtime {

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

// Runs as a program if there is no observer and nothing is differentiated again, else op by op: the bits are the same.
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
  sweep.settle(id);
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
  sweep.keep_products(id, bar);
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

// The cotangents of ops that ran as one program pass back through one as well. False where they go op by op.
bool Session::pass_back_together(Sweep& sweep, const Together& group) {
  if (!sweep.free() || !hooks_.empty()) return false;
  std::vector<Seed> seeds;
  std::vector<Ref> leaves;
  std::vector<bool> key;
  for (Ref ref = group.first; ref < group.end; ++ref) {
    const Sweep::Mark& mark = sweep.marks[ref - sweep.floor];
    if (mark.is_leaf) return false;
    key.push_back(mark.is_reached());
    if (!mark.is_reached()) continue;
    sweep.settle(ref);
    seeds.push_back({ref, mark.bar});
  }
  for (const Ref ref : group.outside) {
    if (ref >= kFirstKept && tape_[ref].changed_at > group.first) return false;
    key.push_back(sweep.depends(ref));
    if (key.back()) leaves.push_back(ref);
  }
  if (seeds.empty() || leaves.empty()) return false;
  auto sent = cotangents_together(group, seeds, leaves, key);
  if (!sent) return false;
  const Ref before = tape_.size();
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if ((*sent)[k]) sweep.accumulate(leaves[k], leaf(*(*sent)[k], {}));
  }
  sweep.release_unheld(before);
  for (const Seed& seed : seeds) sweep.let_go(seed.cotangent);
  return true;
}

namespace {

// The numbers of the inputs that stay: those that outputs need.
std::vector<std::size_t> drop_unread_inputs(Graph& graph) {
  std::vector<bool> needed(graph.nodes.size(), false);
  for (const NodeId id : graph.outputs) needed[id] = true;
  for (std::size_t id = graph.nodes.size(); id-- > 0;) {
    for (const NodeId operand : graph.nodes[id].operands) needed[operand] = needed[operand] || needed[id];
  }
  const std::vector<NodeId> inputs = std::exchange(graph.inputs, {});
  const std::vector<std::string> names = std::exchange(graph.input_names, {});
  std::vector<std::size_t> reads;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!needed[inputs[k]]) continue;
    reads.push_back(k);
    graph.inputs.push_back(inputs[k]);
    graph.input_names.push_back(names[k]);
  }
  return reads;
}

}  // namespace

// By leaf; the first time op by op, recorded, which gives the program.
std::optional<std::vector<std::optional<Array>>> Session::cotangents_together(const Together& group, std::span<const Seed> seeds,
                                                                              std::span<const Ref> leaves, const std::vector<bool>& key) {
  constexpr std::size_t kMostKeys = 8;  // programs that stay as long as the repeated ops do
  if (group.ops->backward.size() >= kMostKeys && group.ops->backward.count(key) == 0) {
    group.ops->keep_all();  // values that are read op by op would be computed again each time
    return std::nullopt;
  }
  const auto [found, is_new] = group.ops->backward.try_emplace(key);
  RepeatedOps::Backward& backward = found->second;
  const auto read_with = [&](std::span<const Seed> sent) {
    std::vector<Ref> read = group.outside;
    for (Ref ref = group.first; ref < group.end; ++ref) read.push_back(ref);
    for (const Seed& seed : sent) read.push_back(seed.cotangent);
    return read;
  };
  if (is_new) {
    const Ref start = tape_.size();
    std::vector<Seed> apart(seeds.begin(), seeds.end());  // one cotangent may be that of several values, or one of the values
    for (Seed& seed : apart) seed.cotangent = leaf(Array(tape_[seed.cotangent].value), {});
    const bool before = std::exchange(recording_, true);
    const auto bars = reverse(apart, leaves, true, group.first);
    recording_ = before;
    std::vector<Value> inputs, outputs;
    for (const Ref ref : read_with(apart)) inputs.push_back(value_of(ref));
    for (std::size_t k = 0; bars && k < leaves.size(); ++k) {
      backward.sends.push_back(bars.value()[k] != kNone);
      if (backward.sends[k]) outputs.push_back(value_of(bars.value()[k]));
    }
    auto graph = bars ? capture(inputs, outputs) : Outcome<Graph>(bars.rejection());
    if (graph) backward.reads = drop_unread_inputs(graph.value());
    auto program = graph ? Program::compile(graph.value()) : Outcome<Program>(graph.rejection());
    if (program) backward.program = std::move(program).value();
    forget(start);
    group.ops->keep_what_is_read();
  }
  if (!backward.program) return std::nullopt;
  const std::vector<Ref> read = read_with(seeds);
  std::vector<Array> inputs;
  for (const std::size_t k : backward.reads) inputs.push_back(tape_[read[k]].value);
  auto results = backward.program->replay(inputs);
  if (!results) return std::nullopt;
  std::vector<std::optional<Array>> sent(leaves.size());
  for (std::size_t k = 0, output = 0; k < sent.size(); ++k) {
    if (backward.sends[k]) sent[k] = std::move(results.value()[output++]);
  }
  return sent;
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
    std::size_t groups = together_.size();
    for (Ref id = sweep.top; fine && id-- > floor;) {
      while (groups > 0 && together_[groups - 1].end > id + 1) --groups;
      if (groups > 0 && together_[groups - 1].end == id + 1 && together_[groups - 1].first >= floor) {
        const Together group = together_[groups - 1];
        if (pass_back_together(sweep, group)) {
          id = group.first;
          continue;
        }
      }
      const Sweep::Mark& mark = sweep.marks[id - floor];
      if (mark.is_reached()) fine = pass_back(sweep, id);
    }
    for (const Ref leaf : leaves) {
      if (fine && sweep.find(leaf) != nullptr) sweep.settle(leaf);
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
  // An observer tells the seed from the number 1 that ops read.
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
