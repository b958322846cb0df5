// Gradients of a recorded run: products, sums of cotangents, and findings.

#include "kernel/audit/gradients.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "kernel/audit/kinks.h"
#include "kernel/audit/opened.h"
#include "kernel/audit/point.h"
#include "kernel/audit/slice.h"
#include "kernel/gradients/adjointness/sample.h"
#include "kernel/gradients/derivatives/differentiate.h"
#include "kernel/gradients/numbers/modular.h"
#include "semantics/ops/denote.h"

namespace assay::kernel {

namespace {

bool is_real(const Trace& trace, TraceTensorId id) { return is_float(trace.tensors[id].value.dtype()); }

Rejection failed(Rejection::Kind kind, const char* code, std::string place, std::string required, std::string found) {
  return {kind, std::string("gradient.") + code, std::move(place), std::move(required), std::move(found), "kernel/audit/gradients.h"};
}

// The cotangents that flow into one tensor, with repetitions.
using Contributions = std::vector<TraceTensorId>;

class GradientCheck {
 public:
  GradientCheck(const Trace& recorded, const Opened& opened, const Trace::Gradient& gradient, std::uint64_t seed, KinkConvention convention)
      : recorded_(recorded),
        trace_(opened.trace),
        opened_(opened),
        gradient_(gradient),
        seed_(seed),
        convention_(convention),
        producers_(trace_),
        after_seed_(trace_.tensors.size(), false),
        leads_(trace_.tensors.size(), false),
        needed_(trace_.tensors.size(), false),
        into_(trace_.tensors.size()),
        stores_short_(std::ranges::any_of(trace_.tensors,
                                          [](const Trace::Entry& entry) { return entry.storage != ExecutionModel::Storage::same; })) {}

  std::vector<GradientStep> run() {
    mark();
    into_[gradient_.output].push_back(gradient_.seed);
    for (std::uint32_t r = static_cast<std::uint32_t>(trace_.regions.size()); r-- > 0;) visit(r);
    for (const auto& [tensor, value] : gradient_.of) check_sum(tensor, value, "gradient of '" + trace_.tensors[tensor].name + "'", 0, 0);
    return std::move(steps_);
  }

 private:
  // What comes after the seed, what leads to the output, and what the wanted tensors reach without a detached one.
  void mark() {
    after_seed_[gradient_.seed] = true;
    std::vector<bool> stopped(trace_.tensors.size(), false);
    for (const TraceTensorId id : trace_.detached) stopped[id] = true;
    for (const auto& [tensor, value] : gradient_.of) needed_[tensor] = true;
    for (const Region& region : trace_.regions) {
      const auto any = [&](const std::vector<bool>& marked) {
        return std::ranges::any_of(region.operands, [&](TraceTensorId id) { return marked[id]; });
      };
      const bool after = any(after_seed_), needed = any(needed_);
      for (const TraceTensorId id : region.results) {
        after_seed_[id] = after_seed_[id] || after;
        needed_[id] = needed_[id] || (needed && is_real(trace_, id) && !stopped[id]);
      }
    }
    leads_[gradient_.output] = true;
    for (auto region = trace_.regions.rbegin(); region != trace_.regions.rend(); ++region) {
      if (std::ranges::none_of(region->results, [&](TraceTensorId id) { return leads_[id]; })) continue;
      for (const TraceTensorId id : region->operands) leads_[id] = true;
    }
  }

  [[nodiscard]] std::string place_of(std::uint32_t r) const {
    const std::string& name = trace_.regions[r].name;
    return "region " + std::to_string(opened_.origin[r]) + (name.empty() ? "" : " (" + name + ")");
  }

  // Told about the regions that were recorded.
  void add(GradientStep step) {
    const std::uint32_t origin = opened_.origin.empty() ? step.region : opened_.origin[step.region];
    if (origin != step.region) step.result = 0;
    step.region = origin;
    steps_.push_back(std::move(step));
  }

  // The product of region r for one result: of those recorded, the one after this seed, or of a cotangent that flows here though it does not
  // depend on the seed: zeros. Which one is taken is no matter of trust: its cotangent has to be the sum of all that flow here.
  [[nodiscard]] const Trace::Vjp* vjp_of(std::uint32_t r, std::uint32_t result) const {
    const Contributions& parts = into_[trace_.regions[r].results[result]];
    const Trace::Vjp* other = nullptr;
    for (const Trace::Vjp& vjp : trace_.vjps) {
      if (vjp.of != r || vjp.result != result) continue;
      if (after_seed_[vjp.cotangent]) return &vjp;
      if (std::ranges::find(parts, vjp.cotangent) != parts.end()) other = &vjp;
    }
    return other;
  }

  void visit(std::uint32_t r) {
    const Region& region = trace_.regions[r];
    if (std::ranges::none_of(region.operands, [&](TraceTensorId id) { return needed_[id]; })) return;
    for (std::uint32_t k = 0; k < region.results.size(); ++k) {
      const TraceTensorId y = region.results[k];
      if (!leads_[y] || !needed_[y] || after_seed_[y] || into_[y].empty()) continue;
      const Trace::Vjp* vjp = vjp_of(r, k);
      if (vjp != nullptr) check_sum(y, vjp->cotangent, "cotangent of '" + trace_.tensors[y].name + "'", r, k);
      check_product(r, k, vjp);
      if (vjp == nullptr) continue;
      note_kinks(r, k, *vjp);
      for (const auto& [operand, id] : vjp->cotangents) {
        if (needed_[region.operands[operand]]) into_[region.operands[operand]].push_back(id);
      }
    }
  }

  // `total` is the sum of what flows into `tensor`: as polynomials in the contributions, at random residues.
  void check_sum(TraceTensorId tensor, TraceTensorId total, std::string place, std::uint32_t r, std::uint32_t k) {
    const Contributions& parts = into_[tensor];
    if (parts.size() == 1 && parts[0] == total) return;
    GradientStep step{std::move(place), r, k, std::nullopt, 0, std::nullopt};
    std::string names;
    for (const TraceTensorId id : parts) {
      names += names.empty() ? "'" : " + '";
      names += trace_.tensors[id].name + "'";
    }
    if (!is_sum(total, parts)) {
      step.failure = failed(Rejection::Kind::rejected, "accumulation", step.place,
                            "'" + trace_.tensors[total].name + "' = " + (names.empty() ? "0" : names), "another function of them");
    }
    add(std::move(step));
  }

  [[nodiscard]] bool is_sum(TraceTensorId total, const Contributions& parts) const {
    Slice slice(trace_, producers_);
    Contributions different = parts;
    std::ranges::sort(different);
    different.erase(std::unique(different.begin(), different.end()), different.end());
    for (const TraceTensorId id : different) slice.add_input(id);
    auto node = slice.node_of(total);
    if (!node || !slice.is_closed()) return false;
    adjointness::Random random{seed_};
    std::vector<Array<Modular>> inputs;
    for (const TraceTensorId id : different) {
      inputs.push_back({trace_.tensors[id].value.shape(), {}});
      for (std::size_t i = 0; i < trace_.tensors[id].value.size(); ++i)
        inputs.back().values.emplace_back(static_cast<std::int64_t>(random.next() >> 3));
    }
    const auto values = evaluate<Modular>(slice.graph(), inputs);
    if (!values) return false;
    std::vector<Modular> sum(trace_.tensors[total].value.size());
    for (const TraceTensorId id : parts) {
      const auto at = static_cast<std::size_t>(std::ranges::lower_bound(different, id) - different.begin());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += inputs[at].values[i];
    }
    return values.value()[node.value()].values == sum;
  }

  void check_product(std::uint32_t r, std::uint32_t k, const Trace::Vjp* vjp) {
    GradientStep step{place_of(r), r, k, std::nullopt, 0, std::nullopt, vjp != nullptr && vjp->surrogate};
    const Region& region = trace_.regions[r];
    auto outcome = product_outcome(r, k, vjp, different(region.operands));
    if (vjp != nullptr && !outcome && outcome.rejection().kind == Rejection::Kind::rejected) {
      if (const auto inputs = composed(region, *vjp); inputs != different(region.operands)) {
        if (auto again = product_outcome(r, k, vjp, inputs)) outcome = again;
      }
    }
    if (outcome) {
      step.proof = outcome.value();
      if (vjp == nullptr && step.proof) return add(std::move(step));  // its derivative is 0
    } else if (vjp == nullptr) {
      step.failure = failed(Rejection::Kind::rejected, "missing", step.place, "a recorded product, or a derivative that is 0", "none");
    } else {
      const Rejection& why = outcome.rejection();
      const bool decided = why.kind == Rejection::Kind::rejected;
      const bool at_point = why.code == "gradient.value";
      step.failure = at_point ? why
                              : failed(decided ? Rejection::Kind::rejected : Rejection::Kind::declined, "product", step.place, why.required,
                                       why.code + " at " + why.place + ": " + why.found);
    }
    add(std::move(step));
  }

  void note_kinks(std::uint32_t r, std::uint32_t k, const Trace::Vjp& vjp) {
    const Region& region = trace_.regions[r];
    const auto was_recorded = [&](TraceTensorId id) { return id < opened_.recorded; };
    const bool whole = std::ranges::all_of(region.operands, was_recorded) && std::ranges::all_of(region.results, was_recorded) &&
                       was_recorded(vjp.cotangent) &&
                       std::ranges::all_of(vjp.cotangents, [&](const auto& one) { return was_recorded(one.second); });
    if (!whole) return;
    GradientStep step{"kinks of " + place_of(r), r, k, std::nullopt, 0, std::nullopt, vjp.surrogate.has_value()};
    KinkOutcome outcome = check_kinks(trace_, vjp, convention_, step.place);
    step.kinks = outcome.judged;
    step.failure = std::move(outcome.failure);
    if (step.kinks > 0 || step.failure) add(std::move(step));
  }

  static Contributions different(Contributions ids) {
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  // What a region reads, where it is no function of its operands alone that the product is of: an operand that the run computed and that gets no
  // cotangent here is composed of what it was computed from, and integers are those of the run. That says the same of the run: the region and
  // those before it together compute the same result, and all that flows through such an operand is in the product.
  [[nodiscard]] Contributions composed(const Region& region, const Trace::Vjp& vjp) const {
    std::vector<bool> stops(trace_.tensors.size(), false);
    for (const auto& [operand, id] : vjp.cotangents) stops[region.operands[operand]] = true;
    for (const TraceTensorId id : trace_.detached) stops[id] = true;
    Contributions inputs = producers_.ends_of(region.operands, [&](TraceTensorId id) { return stops[id]; });
    std::erase_if(inputs, [&](TraceTensorId id) { return !is_real(trace_, id); });
    return inputs;
  }

  // The recorded product of region r, as a graph from tensors (different operands, or what they are composed of) and the cotangent.
  Outcome<Adjointness> product_outcome(std::uint32_t r, std::uint32_t k, const Trace::Vjp* vjp, const Contributions& operands) {
    const Region& region = trace_.regions[r];
    AdjointCase one;
    one.name = place_of(r);
    Slice forward(trace_, producers_), backward(trace_, producers_);
    for (const TraceTensorId id : operands) {
      forward.add_input(id);
      backward.add_input(id);
      one.domains.push_back(recorded_range(trace_.tensors[id].value));
    }
    auto y = vjp != nullptr && vjp->surrogate ? surrogate_of(region, *vjp, forward) : forward.node_of(region.results[k]);
    if (!y) return y.rejection();
    one.graph = std::move(forward.graph());
    one.graph.mark_output(y.value(), "y");
    // The region's results may be read by its product: they are computed again. The cotangent is an input.
    const Tensor& like = trace_.tensors[region.results[k]].value;
    const NodeId y_bar = backward.graph().append_input(like.dtype(), like.shape(), "y_bar");
    if (vjp != nullptr) backward.define(vjp->cotangent, y_bar);
    for (const TraceTensorId id : operands) {
      if (!is_real(trace_, id)) continue;
      auto total = vjp != nullptr && needed_[id] ? claimed(region, *vjp, id, backward)
                   : needed_[id]                 ? zero(id, backward.graph())
                                                 : own(one.graph, id, operands, y_bar, backward);
      if (!total) return total.rejection();
      backward.graph().mark_output(total.value(), trace_.tensors[id].name);
    }
    auto outcome = check_adjointness(one, backward.graph(), seed_);
    if (outcome && vjp != nullptr) {
      if (auto why = at_the_point(one, backward.graph(), r, *vjp, operands)) return *std::move(why);
    }
    if (outcome || backward.is_closed() || outcome.rejection().kind != Rejection::Kind::rejected) return outcome;
    Rejection why = outcome.rejection();  // perhaps because of a tensor from elsewhere, of which the composition knows nothing
    why.kind = Rejection::Kind::declined;
    return why;
  }

  // What the product declares in place of the region's result.
  static Outcome<NodeId> surrogate_of(const Region& region, const Trace::Vjp& vjp, Slice& forward) {
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

  // The same product at the recorded point; `operands` are the different ones.
  std::optional<Rejection> at_the_point(const AdjointCase& one, const Graph& backward, std::uint32_t r, const Trace::Vjp& vjp,
                                        const Contributions& operands) {
    RecordedProduct product{one.graph, backward, {}, {}, {}, trace_.regions[r].model, stores_short_};
    Contributions arguments = operands;
    arguments.push_back(vjp.cotangent);
    product.point = [&] {
      std::vector<Array<Interval>> values;
      for (const TraceTensorId id : arguments) values.push_back(value_of(id));
      return values;
    };
    if (std::ranges::all_of(arguments, [&](TraceTensorId id) { return id < opened_.recorded; })) {
      for (const TraceTensorId id : arguments) product.operands.push_back(trace_.tensors[id].value);
    }
    for (const TraceTensorId id : operands) {
      if (!is_real(trace_, id)) continue;
      RecordedProduct::Cotangent cotangent{trace_.tensors[id].name, needed_[id]};
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
    return check_point(product, one.name);
  }

  // What a tensor holds: as it was recorded, or what its region computes of recorded operands, over the reals.
  Array<Interval> value_of(TraceTensorId id) {
    if (id < opened_.recorded) return enclosed(trace_.tensors[id].value);
    const auto [index, node] = opened_.inner[id - opened_.recorded];
    const auto known = std::ranges::find(inside_, index, [](const Inside& one) { return one.region; });
    if (known != inside_.end()) return known->nodes[node];
    const Region& region = recorded_.regions[index];
    std::vector<Array<Interval>> inputs;
    for (const TraceTensorId operand : region.operands) inputs.push_back(enclosed(recorded_.tensors[operand].value));
    auto nodes = evaluate<Interval>(region.graph, inputs);
    if (!nodes) return {trace_.tensors[id].value.shape(), std::vector(trace_.tensors[id].value.size(), Interval::undefined())};
    std::swap(inside_[0], inside_[1]);
    inside_[0] = {index, std::move(nodes).value()};
    return inside_[0].nodes[node];
  }

  static Outcome<NodeId> zero_like(Graph& graph, const Tensor& like) {
    return graph.append_constant(Tensor(like.dtype(), like.shape(), std::make_shared<std::vector<std::byte>>(like.bytes().size())));
  }
  [[nodiscard]] Outcome<NodeId> zero(TraceTensorId id, Graph& graph) const { return zero_like(graph, trace_.tensors[id].value); }

  // The sum of what is claimed for all positions of one operand.
  [[nodiscard]] Outcome<NodeId> claimed(const Region& region, const Trace::Vjp& vjp, TraceTensorId id, Slice& backward) const {
    std::optional<NodeId> sum;
    for (const auto& [operand, cotangent] : vjp.cotangents) {
      if (region.operands[operand] != id) continue;
      auto node = backward.node_of(cotangent);
      if (!node) return node;
      auto total = sum ? backward.graph().append(Op::add, {*sum, node.value()}) : node;
      if (!total) return total;
      sum = total.value();
    }
    return sum ? Outcome<NodeId>(*sum) : zero(id, backward.graph());
  }

  // An operand whose cotangent nobody asked for: the reference's.
  static Outcome<NodeId> own(const Graph& graph, TraceTensorId id, const Contributions& operands, NodeId y_bar, Slice& backward) {
    const auto position = static_cast<std::size_t>(std::ranges::lower_bound(operands, id) - operands.begin());
    const auto reverse = differentiate(graph, 0, std::span(&position, 1));
    if (!reverse) return reverse.rejection();
    std::vector<NodeId> inputs = backward.graph().inputs;
    inputs.back() = y_bar;
    auto outputs = append_graph(backward.graph(), reverse.value(), inputs);
    if (!outputs) return outputs.rejection();
    return outputs.value()[0];
  }

  const Trace& recorded_;
  const Trace& trace_;
  const Opened& opened_;
  const Trace::Gradient& gradient_;
  std::uint64_t seed_;
  KinkConvention convention_;
  Producers producers_;
  std::vector<bool> after_seed_, leads_, needed_;  // per tensor
  std::vector<Contributions> into_;                // per tensor
  bool stores_short_;                              // any tensor in 16 bits
  std::vector<GradientStep> steps_;
  // The values of all nodes of a region, of the two that were asked for last: one forward, one backward.
  struct Inside {
    std::uint32_t region = UINT32_MAX;
    std::vector<Array<Interval>> nodes;
  };
  std::array<Inside, 2> inside_;
};

}  // namespace

std::vector<GradientStep> check_gradient(const Trace& trace, std::size_t gradient, std::uint64_t seed, KinkConvention convention) {
  const Opened view = opened(trace);
  return GradientCheck(trace, view, trace.gradients[gradient], seed, convention).run();
}

GradientStep check_recorded_kinks(const Trace& trace, std::size_t index, KinkConvention convention) {
  const Trace::Vjp& vjp = trace.vjps[index];
  GradientStep step{
      "kinks of region " + std::to_string(vjp.of), vjp.of, vjp.result, std::nullopt, 0, std::nullopt, vjp.surrogate.has_value()};
  KinkOutcome outcome = check_kinks(trace, vjp, convention, step.place);
  step.kinks = outcome.judged;
  step.failure = std::move(outcome.failure);
  return step;
}

}  // namespace assay::kernel
