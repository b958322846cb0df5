// A session's tape as a graph.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "runtime/session.h"

namespace assay::runtime {

namespace {

Rejection refused(std::string place, std::string required, std::string found, std::string advice) {
  return {Rejection::Kind::unsupported, "session.capture", std::move(place), std::move(required), std::move(found), std::move(advice)};
}

// The entries that the outputs need, in order; nothing below an input.
std::vector<Ref> needed(const Tape& tape, std::span<const Ref> inputs, std::span<const Ref> outputs) {
  std::vector<bool> on_tape(tape.size(), false), kept(tape.kept_size(), false);
  const auto need = [&](Ref ref) { ref >= kFirstKept ? kept[ref - kFirstKept] = true : on_tape[ref] = true; };
  for (const Ref output : outputs) need(output);
  for (Ref ref = tape.size(); ref-- > 0;) {
    if (!on_tape[ref] || std::ranges::find(inputs, ref) != inputs.end()) continue;
    for (const Ref operand : tape.operands(tape[ref])) need(operand);
  }
  std::vector<Ref> found;
  for (Ref k = 0; k < tape.kept_size(); ++k) {
    if (kept[k]) found.push_back(kFirstKept + k);
  }
  for (Ref ref = 0; ref < tape.size(); ++ref) {
    if (on_tape[ref]) found.push_back(ref);
  }
  return found;
}

}  // namespace

Outcome<Graph> Session::capture(std::span<const Value> inputs, std::span<const Value> outputs, std::unordered_map<Ref, NodeId>* nodes) {
  bool detached = false;
  std::vector<Ref> from, to;
  if (!refs_of(inputs, "capture, inputs", from) || !refs_of(outputs, "capture, outputs", to)) return refusal();
  Graph graph;
  std::unordered_map<Ref, NodeId> ids;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const Array& array = tape_[from[k]].value;
    const bool named = from[k] >= kFirstKept && !name_of(inputs[k]).empty();
    const NodeId id = graph.append_input(array.dtype(), array.shape(), named ? name_of(inputs[k]) : "input " + std::to_string(k));
    if (!ids.emplace(from[k], id).second) {
      return refused("input " + std::to_string(k), "inputs that differ", "one value twice", "list each value once");
    }
  }
  std::vector<NodeId> operands;
  for (const Ref ref : needed(tape_, from, to)) {
    if (ids.count(ref) != 0) continue;
    const Entry& entry = tape_[ref];
    if (const auto fixed = std::ranges::find(fixed_, ref); fixed != fixed_.end()) {  // numbers that no float holds stay what ops give
      const auto which = static_cast<std::size_t>(fixed - fixed_.begin());
      ids[ref] = autodiff::GraphEmitter(graph).fixed(static_cast<autodiff::Fixed>(which / 2), entry.value.dtype());
      continue;
    }
    if (entry.kind == Entry::Kind::leaf) {
      if (auto done = entry.value.fetch(); !done) return done.rejection();
      ids[ref] = graph.append_constant(entry.value.to_tensor());
      continue;
    }
    if (entry.kind == Entry::Kind::detached) {
      ids[ref] = ids.at(tape_.operands(entry)[0]);
      detached = true;
      continue;
    }
    if (entry.kind != Entry::Kind::op) {
      const char *found = "a result that was not recorded", *advice = "leave NoGrad, and take gradients that are differentiable";
      if (entry.kind == Entry::Kind::checkpoint) found = "a checkpoint", advice = "capture a run without checkpoints";
      if (entry.kind == Entry::Kind::replayed) found = "a compiled function's result", advice = "capture the function itself, run eagerly";
      return refused("value " + std::to_string(ref), "ops on the tape", found, advice);
    }
    operands.clear();
    for (const Ref operand : tape_.operands(entry)) {
      if (operand >= kFirstKept && tape_[operand].changed_at > ref) {
        return refused("parameter '" + kept_name(operand) + "'", "the value that the tape was made with", "another one, assigned since",
                       "capture before assign()");
      }
      operands.push_back(ids.at(operand));
    }
    const Outcome<NodeId> id = graph.append(entry.op, operands, entry.attributes);
    if (!id) return id.rejection();
    ids[ref] = id.value();
  }
  for (std::size_t k = 0; k < to.size(); ++k) graph.mark_output(ids.at(to[k]), "output " + std::to_string(k));
  if (nodes != nullptr) *nodes = detached ? std::unordered_map<Ref, NodeId>() : std::move(ids);
  return graph;
}

}  // namespace assay::runtime
