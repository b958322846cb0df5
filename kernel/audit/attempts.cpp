// The ways in which a product is judged, one after the other, until one of them proves it.

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernel/audit/product_case.h"
#include "kernel/audit/underflow.h"

namespace assay::audit {

namespace {

std::vector<TraceTensorId> different(std::vector<TraceTensorId> ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// Whether a recorder left elements out of a softmax because they were far below the others: then a mask may have put them there.
bool leaves_out(const Graph& graph) {
  return std::ranges::any_of(
      graph.nodes, [&](const Node& node) { return node.op == Op::masked_softmax && graph.node(node.operands[1]).op == Op::constant; });
}

}  // namespace

Outcome<gradients::Adjointness> ProductCheck::judge(std::uint32_t r, std::uint32_t k, const Trace::Vjp* vjp, const std::string& place) {
  corners_ = 0;
  is_limited_ = false;
  const Region& region = trace_.regions[r];
  const Tensors operands = different(region.operands);
  const auto judged = [&](const Tensors& from, Kept kept) -> Outcome<gradients::Adjointness> {
    const auto one = case_of(r, k, vjp, from, kept, place);
    if (!one) return one.rejection();
    return outcome_of(one.value(), r, vjp);
  };
  auto outcome = judged(operands, {});
  const auto is_open = [](const auto& one) {
    return !one && (one.rejection().kind == Rejection::Kind::rejected || one.rejection().code == "adjointness.points" ||
                    one.rejection().code == "adjointness.identity");
  };
  if (vjp == nullptr || !is_open(outcome)) return outcome;
  const bool may_keep = is_zero_at_infinities(region.results[k], vjp->cotangent);
  bool is_doubted = false;  // the run's own infinities decide nothing, so numbers in their place accuse nobody
  const Tensors inputs = composed(region, *vjp);
  for (const Tensors& from : {operands, inputs}) {
    const bool has_fills = std::ranges::any_of(from, [&](TraceTensorId id) { return is_kept(region, *vjp, id, {true}); });
    auto again = from == operands ? outcome : judged(from, {});
    if (!again && may_keep && has_fills) {
      again = judged(from, {true});
      is_doubted = is_doubted || (!again && again.rejection().kind != Rejection::Kind::rejected);
    }
    if (again) return again;
    if (outcome.rejection().kind != Rejection::Kind::rejected && is_open(again)) outcome = std::move(again);
  }
  if (vjp->surrogate) {
    auto again = judged(inputs, {may_keep, false, true});
    if (again) return again;
  }
  const auto one = case_of(r, k, vjp, inputs, {may_keep, true}, place);
  const auto limited = one ? at_limits(one.value(), vjp->cotangent) : std::nullopt;
  if (limited || (one && one.value().operands != inputs && leaves_out(one.value().one.graph))) {
    auto again = outcome_of(limited ? *limited : one.value(), r, vjp);
    is_limited_ = limited.has_value() && again.ok();
    if (again || again.rejection().kind == Rejection::Kind::rejected) return again;  // then about numbers that a float holds
    is_doubted = true;
  }
  if (!is_doubted) return outcome;
  Rejection why = outcome.rejection();
  why.kind = Rejection::Kind::declined;
  return why;
}

// A product that keeps the infinities of a run, at points with other numbers, is judged for cotangents that are 0 where
// y is infinite. So the recorded one has to be.
bool ProductCheck::is_zero_at_infinities(TraceTensorId y, TraceTensorId y_bar) const {
  if (y >= opened_.recorded || y_bar >= opened_.recorded) return false;
  const Tensor &value = trace_.tensors[y].value, &cotangent = trace_.tensors[y_bar].value;
  for (std::size_t j = 0; j < value.size(); ++j) {
    if (std::isinf(value.as_double(j)) && cotangent.as_double(j) != 0) return false;
  }
  return true;
}
bool ProductCheck::is_kept(const Region& region, const Trace::Vjp& vjp, TraceTensorId id, Kept kept) const {
  if (needed_[id] || has_position(region, vjp.cotangents, id)) return false;
  return (kept.fills && is_fill(trace_, producers_, id)) || (kept.masks && is_mask(trace_, producers_, id));
}

// The same product, where functions have their limits at elements that are far away; nullopt if there are none.
std::optional<ProductCheck::Case> ProductCheck::at_limits(Case one, TraceTensorId y_bar) {
  std::vector<Array<Interval>> point;
  for (const TraceTensorId id : one.operands) point.push_back(value_of(id));
  auto forward = with_limits(one.one.graph, point);
  point.push_back(value_of(y_bar));
  auto backward = with_limits(one.backward.graph, point);
  if (!forward && !backward) return std::nullopt;
  if (forward) one.one.graph = std::move(forward->graph);
  if (one.convention) {
    if (auto meant = with_limits(*one.convention, point)) one.convention = std::move(meant->graph);
  }
  if (!backward) return one;
  Origins origins;
  for (const auto& [id, origin] : one.backward.origins) origins.emplace(backward->at[id], origin);
  one.backward.graph = std::move(backward->graph);
  one.backward.origins = std::move(origins);
  one.backward.y_bar = backward->at[one.backward.y_bar];
  if (one.backward.as_value) one.backward.as_value = backward->at[*one.backward.as_value];
  return one;
}

}  // namespace assay::audit
