#include "runtime/repeated.h"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "runtime/kernels/composed.h"

namespace assay::runtime {

namespace {

constexpr std::size_t kMostKnown = 64;  // kinds of values; beyond, ops run one by one

// Returns true if adding up the cotangents of the ops first changes the order of no sum: the value has one reader, or slices that
// lie apart read it.
bool has_one_reader(const RepeatedOps& all, std::size_t value) {
  std::vector<Part> parts;
  std::size_t readers = 0;
  for (const RepeatedOps::One& one : all.ops) {
    const auto uses = std::ranges::count(one.operands, value);
    readers += static_cast<std::size_t>(uses);
    if (uses == 0 || one.op != Op::slice) continue;
    const Shape& shape = all.types[value].second;
    const auto pad = pad_of(std::get<SliceAttributes>(one.attributes), shape);
    const auto part = pad ? part_of(*pad, shape) : std::nullopt;
    if (part) parts.push_back(*part);
  }
  return readers <= 1 || (parts.size() == readers && are_apart(parts));
}

// The values that ran ops got, for a later request for a value that was not kept.
struct Later {
  std::shared_ptr<RepeatedOps> ops;
  std::vector<Array> given, computed;
  std::mutex computing;  // of all values of one call, which several threads may read
};
Array value_later(const std::shared_ptr<Later>& later, std::size_t k) {
  const Graph& graph = later->ops->graph;
  const Node& node = graph.node(graph.outputs[k]);
  return Array::computed_later(node.dtype, node.shape, [later, k]() -> Outcome<Array> {
    const std::lock_guard lock(later->computing);
    if (later->computed.empty()) {
      auto made = later->ops->all->replay(later->given);
      if (!made) return made.rejection();
      later->computed = std::move(made).value();
    }
    return later->computed[k];
  });
}

}  // namespace

std::vector<Value> Repeated::operator()(std::span<const Value> values) {
  std::vector<Ref> outside;
  bool all_fine = session_.recording_ && session_.is_plain();
  for (const Value& value : values) {  // one value given twice is two for a program, with a cotangent each
    all_fine = all_fine && session_.owns(value) && std::ranges::find(outside, value.ref()) == outside.end();
    outside.push_back(value.ref());
  }
  if (!all_fine) return function_(values);
  const auto fits = [&](const auto& one) {
    return std::ranges::equal(one->types, values,
                              [](const auto& type, const Value& v) { return type.first == v.dtype() && type.second == v.shape(); });
  };
  const auto found = std::ranges::find_if(known_, fits);
  const Ref first = session_.tape_.size();
  if (found == known_.end()) {
    const auto beside_ops = [&] { return std::tuple(session_.hook_count_, session_.names_.size(), session_.keys_drawn()); };
    const auto before = beside_ops();
    std::vector<Value> results = function_(values);
    if (known_.size() >= kMostKnown) return results;
    known_.push_back(recorded(values, results, first));
    if (before != beside_ops()) known_.back()->all.reset();  // a hook, a name or a random number is the first call's alone
    return results;
  }
  const std::shared_ptr<RepeatedOps> known = *found;
  if (!known->all) return function_(values);
  const auto later = std::make_shared<Later>();
  later->ops = known;
  for (const Ref ref : outside) later->given.push_back(session_.tape_[ref].value);
  auto computed = known->forward->replay(later->given);
  if (!computed) return function_(values);  // the ops say why
  const auto ref_of = [&](std::size_t k) { return k < outside.size() ? outside[k] : first + static_cast<Ref>(k - outside.size()); };
  std::vector<Ref> operands;
  for (std::size_t k = 0, output = 0; k < known->ops.size(); ++k) {
    Array value = known->kept[k] ? std::move(computed.value()[output++]) : value_later(later, k);
    Entry& entry = session_.tape_[session_.tape_.push(std::move(value))];
    entry.kind = Entry::Kind::op;
    entry.op = known->ops[k].op;
    entry.attributes = known->ops[k].attributes;
    operands.clear();
    for (const std::size_t operand : known->ops[k].operands) operands.push_back(ref_of(operand));
    session_.tape_.set_operands(entry, operands);
  }
  std::vector<Value> results;
  for (const std::size_t result : known->results) results.push_back(session_.value_of(ref_of(result)));
  session_.together_.push_back({first, session_.tape_.size(), std::move(outside), known});
  return results;
}

// The ops that ran since `first`; without a program where they cannot be one.
std::shared_ptr<RepeatedOps> Repeated::recorded(std::span<const Value> values, std::span<const Value> results, Ref first) {
  auto made = std::make_shared<RepeatedOps>();
  for (const Value& value : values) made->types.emplace_back(value.dtype(), value.shape());
  const Ref end = session_.tape_.size();
  const auto place_of = [&](Ref ref) -> std::optional<std::size_t> {
    const auto given = std::ranges::find(values, ref, &Value::ref);
    if (given != values.end()) return static_cast<std::size_t>(given - values.begin());
    return ref >= first && ref < end ? std::optional(values.size() + (ref - first)) : std::nullopt;
  };
  std::vector<Value> all;
  for (Ref ref = first; ref < end; ++ref) {
    const Entry& entry = session_.tape_[ref];
    if (entry.kind != Entry::Kind::op || !is_float(entry.value.dtype())) return made;
    made->ops.push_back({entry.op, entry.attributes, {}});
    for (const Ref operand : session_.tape_.operands(entry)) {
      const auto place = place_of(operand);
      if (!place) return made;
      made->ops.back().operands.push_back(*place);
    }
    all.push_back(session_.value_of(ref));
  }
  for (const Value& result : results) {
    const auto place = result.ok() ? place_of(result.ref()) : std::nullopt;
    if (!place) return made;
    made->results.push_back(*place);
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!has_one_reader(*made, k)) return made;
  }
  auto graph = session_.capture(values, all);
  if (!graph) return made;
  made->graph = std::move(graph).value();
  auto program = Program::compile(made->graph);
  if (!program || program.value().summary().fused == 0) return made;
  made->all = made->forward = std::move(program).value();
  made->kept.assign(all.size(), true);
  return made;
}

void RepeatedOps::keep_all() {
  forward = all;
  kept.assign(ops.size(), true);
}

void RepeatedOps::keep_what_is_read() {
  kept.assign(ops.size(), false);
  const auto keep = [&](std::size_t value) {
    if (value >= types.size() && value < types.size() + ops.size()) kept[value - types.size()] = true;
  };
  for (const std::size_t result : results) keep(result);
  for (const auto& [key, pass] : backward) {
    for (const std::size_t value : pass.reads) keep(value);
    if (!pass.program) kept.assign(ops.size(), true);  // op by op
  }
  Graph lean = graph;
  lean.outputs.clear();
  lean.output_names.clear();
  for (std::size_t k = 0; k < ops.size(); ++k) {
    if (kept[k]) lean.mark_output(graph.outputs[k], graph.output_names[k]);
  }
  auto program = Program::compile(lean);
  if (!program) return keep_all();
  forward = std::move(program).value();
}

}  // namespace assay::runtime
