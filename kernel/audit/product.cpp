// Products: builds the graph of the recorded regions between a cotangent and the cotangents that follow from it, and
// compares it with the region that the product belongs to.

#include "kernel/audit/product_case.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kernel/audit/kinks.h"
#include "kernel/audit/point.h"
#include "kernel/audit/rows.h"
#include "kernel/audit/work.h"
#include "kernel/gradients/derivatives/differentiate.h"

namespace assay::audit {

namespace {

using Standing = RecordedProduct::Standing;

constexpr double kManyElements = 0x1p16;  // of all values of both graphs
constexpr double kMostDrawn = 2;          // the largest drawn cotangent

// The surrogate that the product declares in place of the region's result.
Outcome<NodeId> surrogate_of(const Region& region, const Trace::Vjp& vjp, Slice& forward) {
  std::vector<NodeId> inputs;
  for (const TraceTensorId id : region.operands) {
    auto node = forward.node_of(id);
    if (!node) return node;
    inputs.push_back(node.value());
  }
  auto outputs = append_graph(forward.graph(), *vjp.surrogate, inputs);
  if (!outputs) return outputs.rejection();
  return outputs.value()[0];
}

// For an operand whose cotangent was not recorded and is not needed: the reference's cotangent.
Outcome<NodeId> own(const Graph& graph, TraceTensorId id, const std::vector<TraceTensorId>& operands, NodeId y_bar, Slice& backward) {
  const auto position = static_cast<std::size_t>(std::ranges::lower_bound(operands, id) - operands.begin());
  const auto reverse = gradients::differentiate(graph, 0, std::span(&position, 1));
  if (!reverse) return reverse.rejection();
  std::vector<NodeId> inputs = backward.graph().inputs;
  inputs.back() = y_bar;
  auto outputs = append_graph(backward.graph(), reverse.value(), inputs);
  if (!outputs) return outputs.rejection();
  return outputs.value()[0];
}

// Whether one row of a product, and the function it belongs to, are analytic on a box that contains the drawn points
// and all rows of the recorded one.
bool is_analytic_around(const OneRow& row, const std::vector<Tensor>& recorded) {
  std::vector<Interval> box;
  for (const Tensor& tensor : recorded) {
    const gradients::Domain range = recorded_range(tensor);
    for (std::size_t i = 0; is_float(tensor.dtype()) && i < tensor.size(); ++i) {
      if (!std::isfinite(tensor.as_double(i))) return false;
    }
    box.emplace_back(range.lo, range.hi);
  }
  box.back() = hull(box.back(), Interval(-kMostDrawn, kMostDrawn));  // y_bar
  return is_analytic_within(row.backward, box) && is_analytic_within(row.forward, std::span(box).first(box.size() - 1));
}

// The places where a graph reads a node.
struct Reads {
  std::vector<NodeId*> places;
  Reads(Graph& graph, NodeId of, NodeId after) {
    for (NodeId id = after + 1; id < graph.nodes.size(); ++id) {
      for (NodeId& operand : graph.nodes[id].operands) {
        if (operand == of) places.push_back(&operand);
      }
    }
    for (NodeId& output : graph.outputs) {
      if (output == of) places.push_back(&output);
    }
  }
};

}  // namespace

ProductCheck::ProductCheck(const Trace& recorded, const Opened& opened, const Producers& producers, const std::vector<bool>& needed,
                           std::uint64_t seed, bool asks_convention)
    : recorded_(recorded),
      trace_(opened.trace),
      opened_(opened),
      producers_(producers),
      needed_(needed),
      seed_(seed),
      asks_convention_(asks_convention),
      stores_short_(
          std::ranges::any_of(trace_.tensors, [](const Trace::Entry& entry) { return entry.storage != ExecutionModel::Storage::same; })) {}

// The inputs of a region, if the product does not belong to a function of its operands alone: an operand that the run
// computed, and that gets no cotangent here, is replaced by the tensors it was computed from; integers are those of the
// run. The statement about the run is the same: the region and those before it together compute the same result, and
// every cotangent through such an operand is in the product.
std::vector<TraceTensorId> ProductCheck::composed(const Region& region, const Trace::Vjp& vjp) const {
  std::vector<bool> stops(trace_.tensors.size(), false);
  for (const auto& [operand, id] : vjp.cotangents) stops[region.operands[operand]] = true;
  for (const TraceTensorId id : trace_.detached) stops[id] = true;
  Tensors inputs = producers_.ends_of(region.operands, [&](TraceTensorId id) { return stops[id]; });
  std::erase_if(inputs, [&](TraceTensorId id) { return !is_real(id); });
  return inputs;
}

// The recorded product of region r, as a graph from tensors (its distinct operands, or the tensors they are composed
// of) and the cotangent.
Outcome<ProductCheck::Case> ProductCheck::case_of(std::uint32_t r, std::uint32_t k, const Trace::Vjp* vjp, const Tensors& from, Kept kept,
                                                  const std::string& place) const {
  const Region& region = trace_.regions[r];
  Case made;
  made.from = from;
  made.one.name = place;
  Slice forward(trace_, producers_);
  for (const TraceTensorId id : from) {
    if (vjp != nullptr && is_kept(region, *vjp, id, kept)) {
      forward.add_constant(id);
      continue;
    }
    made.operands.push_back(id);
    forward.add_input(id);
    made.one.domains.push_back(recorded_range(trace_.tensors[id].value));
  }
  auto y = vjp != nullptr && vjp->surrogate ? surrogate_of(region, *vjp, forward) : forward.node_of(region.results[k]);
  if (!y) return y.rejection();
  const bool is_value = vjp != nullptr && forward.knows(vjp->cotangent);
  made.one.graph = std::move(forward.graph());
  made.one.graph.mark_output(y.value(), "y");
  const TraceTensorId result = region.results[k];
  const Pairs pairs = vjp != nullptr ? vjp->cotangents : Pairs();
  auto backward = reverse_of(made, region, result, vjp, pairs, is_value);
  if (!backward) return backward.rejection();
  if (asks_convention_ && vjp != nullptr && !vjp->convention.empty() && vjp->convention != vjp->cotangents) {
    if (auto meant = reverse_of(made, region, result, vjp, vjp->convention, false)) made.convention = std::move(meant.value().graph);
  }
  made.backward = std::move(backward).value();
  if (kept.stops) bind_stops(made);
  return made;
}

// Detached operands that regions computed of the other operands have the values that follow from these.
void ProductCheck::bind_stops(Case& of) const {
  for (std::size_t k = 0; k < of.operands.size(); ++k) {
    const TraceTensorId id = of.operands[k];
    if (std::ranges::find(trace_.detached, id) == trace_.detached.end() || producers_.region_of(id) == Producers::kNone) continue;
    Slice slice(trace_, producers_);
    for (const TraceTensorId other : of.operands) {
      if (other != id) {
        slice.add_input(other);
      } else {
        const Tensor& like = trace_.tensors[id].value;
        slice.graph().append_input(like.dtype(), like.shape(), "");
      }
    }
    const auto node = slice.node_of(id);
    if (!node || !slice.is_closed()) continue;
    slice.graph().mark_output(node.value(), "");
    of.one.bound.emplace_back(k, std::move(slice.graph()));
  }
}

// Cotangents of a region's operands, as a graph from the inputs of a case and the cotangent of the region's result.
Outcome<ProductCheck::Reverse> ProductCheck::reverse_of(const Case& of, const Region& region, TraceTensorId result, const Trace::Vjp* vjp,
                                                        const Pairs& pairs, bool is_value) const {
  Reverse made;
  Slice backward(trace_, producers_);
  for (const TraceTensorId id : of.from) {
    if (std::ranges::binary_search(of.operands, id)) {
      backward.add_input(id);
    } else {
      backward.add_constant(id);
    }
  }
  // The product may read the region's results; these are recomputed. The cotangent is an input.
  const Tensor& like = trace_.tensors[result].value;
  made.y_bar = backward.graph().append_input(like.dtype(), like.shape(), "y_bar");
  if (is_value) {
    auto node = backward.node_of(vjp->cotangent);
    if (!node) return node.rejection();
    made.as_value = node.value();
  }
  if (vjp != nullptr) backward.define(vjp->cotangent, made.y_bar);
  for (const TraceTensorId id : of.operands) {
    if (!is_real(id)) continue;
    auto total = has_position(region, pairs, id) ? claimed(region, pairs, id, backward)
                 : needed_[id]                   ? zero(id, backward.graph())
                                                 : own(of.one.graph, id, of.operands, made.y_bar, backward);
    if (!total) return total.rejection();
    backward.graph().mark_output(total.value(), trace_.tensors[id].name);
  }
  made.is_closed = backward.is_closed();
  for (const auto& [id, origin] : backward.origins()) made.origins.emplace(id, recorded_origin(origin));
  made.graph = std::move(backward.graph());
  return made;
}

// A rejection, unless a tensor from elsewhere may be the cause, about which the composition knows nothing;
// then declined.
Rejection ProductCheck::of_closed(const Case& one, Rejection why) {
  if (!one.backward.is_closed) why.kind = Rejection::Kind::declined;
  return why;
}

Outcome<gradients::Adjointness> ProductCheck::outcome_of(const Case& one, std::uint32_t r, const Trace::Vjp* vjp) {
  // A large product is judged by one of its rows. If it has no rows, the recorded point may refute it at less cost.
  const bool is_large = elements_of(one.one.graph) + elements_of(one.backward.graph) > kManyElements;
  const std::optional<OneRow> row = is_large && one.one.bound.empty() ? one_row(one.one.graph, one.backward.graph) : std::nullopt;
  const bool is_known = vjp != nullptr && !one.backward.as_value && composed(trace_.regions[r], *vjp) == one.from;
  if (is_large && !row && is_known) {
    auto why = at_the_point(one, r, *vjp, Standing::refused);
    if (why && why->kind == Rejection::Kind::rejected) return of_closed(one, *std::move(why));
  }
  gradients::AdjointCase of_row{one.one.name, row ? row->forward : Graph{}, one.one.domains, {}, {}};
  if (row) of_row.name += ", one of " + std::to_string(row->count) + " rows";
  auto outcome = row ? check_adjointness(of_row, row->backward, seed_) : check_adjointness(one.one, one.backward.graph, seed_);
  if (vjp == nullptr) return outcome;
  const bool is_rejected = !outcome && outcome.rejection().kind == Rejection::Kind::rejected;
  if (is_rejected && one.backward.as_value) return with_reads(one, r, *vjp, std::move(outcome));
  // Undecided at random points. The recorded point may decide, if the product's operands are known.
  if (outcome || (!is_rejected && composed(trace_.regions[r], *vjp) == one.from)) {
    auto why = at_the_point(one, r, *vjp, outcome ? Standing::proved : Standing::open, row ? &*row : nullptr);
    if (why && (outcome || why->kind == Rejection::Kind::rejected)) return *std::move(why);
  }
  return is_rejected ? of_closed(one, outcome.rejection()) : std::move(outcome);
}

// The cotangent is also a value of the forward pass: a seed that the forward pass reads. Where the product reads that
// tensor, either may be meant. If some choice makes the product right for all operands and all cotangents, it is right
// for the recorded ones, which are equal.
Outcome<gradients::Adjointness> ProductCheck::with_reads(const Case& one, std::uint32_t r, const Trace::Vjp& vjp,
                                                         Outcome<gradients::Adjointness> outcome) {
  constexpr std::size_t kMostReads = 6;
  Case chosen = one;
  const NodeId y_bar = one.backward.y_bar, as_value = *one.backward.as_value;
  const Reads reads(chosen.backward.graph, y_bar, std::max(y_bar, as_value));
  if (reads.places.empty()) return outcome;
  for (std::size_t choice = 1; reads.places.size() <= kMostReads && choice < std::size_t{1} << reads.places.size(); ++choice) {
    for (std::size_t i = 0; i < reads.places.size(); ++i) *reads.places[i] = (choice >> i & 1) != 0 ? as_value : y_bar;
    auto again = check_adjointness(one.one, chosen.backward.graph, seed_);
    if (!again) continue;
    if (auto why = at_the_point(chosen, r, vjp, Standing::proved)) return *std::move(why);
    return again;
  }
  // At the recorded point an operand has the same value in either role. A result does not, since it was rounded.
  if (one.backward.graph.node(as_value).op == Op::input) {
    if (auto why = at_the_point(one, r, vjp, Standing::refused); why && why->kind == Rejection::Kind::rejected) return *std::move(why);
  }
  Rejection why = outcome.rejection();
  why.kind = Rejection::Kind::declined;
  why.found += "; the cotangent '" + trace_.tensors[vjp.cotangent].name + "' is also a value of the forward pass: record a copy of it";
  return why;
}

// The same product at the recorded point. Even if the product is not proved, a value that is wrong there is wrong.
std::optional<Rejection> ProductCheck::at_the_point(const Case& one, std::uint32_t r, const Trace::Vjp& vjp,
                                                    RecordedProduct::Standing standing, const OneRow* row) {
  RecordedProduct product{one.one.graph, one.backward.graph, {}, {}, {}, trace_.regions[r].model, stores_short_};
  product.convention = one.convention ? &*one.convention : nullptr;
  product.standing = standing;
  Tensors arguments = one.operands;
  arguments.push_back(vjp.cotangent);
  product.point = [&] {
    std::vector<Array<Interval>> values;
    for (const TraceTensorId id : arguments) values.push_back(value_of(id));
    for (const auto& [k, graph] : one.one.bound) {
      const auto nodes = values_at(graph, {values.begin(), values.end() - 1});
      if (nodes) values[k] = (*nodes)[graph.outputs[0]];
    }
    return values;
  };
  const bool was_recorded = std::ranges::all_of(arguments, [&](TraceTensorId id) { return id < opened_.recorded; });
  product.lacks_convention =
      asks_convention_ && vjp.convention.empty() && !(was_recorded && has_known_conventions(meant_by(trace_, vjp), vjp));
  if (was_recorded) {
    for (const TraceTensorId id : arguments) product.operands.push_back(trace_.tensors[id].value);
  }
  for (const TraceTensorId id : one.operands) {
    if (!is_real(id)) continue;
    RecordedProduct::Cotangent cotangent{trace_.tensors[id].name, needed_[id] || has_position(trace_.regions[r], vjp.cotangents, id)};
    bool is_recorded = true;
    for (const auto& [operand, part] : vjp.cotangents) {
      if (trace_.regions[r].operands[operand] != id) continue;
      is_recorded = is_recorded && part < opened_.recorded;
      cotangent.parts.push_back(&trace_.tensors[part].value);
      if (cotangent.parts.size() == 1) cotangent.name = trace_.tensors[part].name;
      cotangent.storage = cotangent.parts.size() == 1 ? trace_.tensors[part].storage : ExecutionModel::Storage::same;
    }
    if (!is_recorded) cotangent.parts.clear();
    product.cotangents.push_back(std::move(cotangent));
  }
  product.is_analytic_here = row != nullptr && !product.operands.empty() && is_analytic_around(*row, product.operands);
  std::vector<bool> is_held;
  for (const TraceTensorId id : arguments) is_held.push_back(id < opened_.recorded);
  TakenSteps steps(recorded_, one.backward.graph, one.backward.origins, is_held);
  if (steps.are_any()) product.with_steps = [&steps](const std::vector<Array<Interval>>& point) { return steps.outputs(point); };
  corners_ = 0;
  return check_point(product, one.one.name, &corners_);
}

// For a region that was opened: the recorded region, and its node.
Origin ProductCheck::recorded_origin(const Origin& of) const {
  const Region& region = trace_.regions[of.first];
  const std::uint32_t index = opened_.origin[of.first];
  const Region& whole = recorded_.regions[index];
  if (region.graph.nodes.size() == whole.graph.nodes.size() && region.operands == whole.operands) return {index, of.second};
  const TraceTensorId y = region.results[0];
  if (y >= opened_.recorded) return opened_.inner[y - opened_.recorded];
  const auto at = std::ranges::find(whole.results, y) - whole.results.begin();
  return {index, whole.graph.outputs[static_cast<std::size_t>(at)]};
}

// The value of a tensor: as recorded, or computed by its region from recorded operands, over the reals.
Array<Interval> ProductCheck::value_of(TraceTensorId id) {
  if (id < opened_.recorded) return at_point(trace_.tensors[id].value);
  const auto [index, node] = opened_.inner[id - opened_.recorded];
  const auto known = std::ranges::find(inside_, index, [](const Inside& one) { return one.region; });
  if (known != inside_.end()) return known->nodes[node];
  const Region& region = recorded_.regions[index];
  std::vector<Array<Interval>> inputs;
  for (const TraceTensorId operand : region.operands) inputs.push_back(at_point(recorded_.tensors[operand].value));
  auto nodes = values_at(region.graph, inputs);
  if (!nodes) return {trace_.tensors[id].value.shape(), std::vector(trace_.tensors[id].value.size(), Interval::undefined())};
  std::swap(inside_[0], inside_[1]);
  inside_[0] = {index, *std::move(nodes)};
  return inside_[0].nodes[node];
}

Outcome<NodeId> ProductCheck::zero(TraceTensorId id, Graph& graph) const {
  const Tensor& like = trace_.tensors[id].value;
  return graph.append_constant(Tensor(like.dtype(), like.shape(), std::make_shared<std::vector<std::byte>>(like.bytes().size())));
}

// The sum of the cotangents claimed for all positions of one operand.
Outcome<NodeId> ProductCheck::claimed(const Region& region, const Pairs& pairs, TraceTensorId id, Slice& backward) {
  std::optional<NodeId> sum;
  for (const auto& [operand, cotangent] : pairs) {
    if (region.operands[operand] != id) continue;
    auto node = backward.node_of(cotangent);
    if (!node) return node;
    auto total = sum ? backward.graph().append(Op::add, {*sum, node.value()}) : node;
    if (!total) return total;
    sum = total.value();
  }
  return *sum;
}

}  // namespace assay::audit
