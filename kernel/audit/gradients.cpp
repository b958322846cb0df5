// Gradients of a recorded run: products, sums of cotangents, and findings.

#include "kernel/audit/gradients.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernel/audit/finite.h"
#include "kernel/audit/kinks.h"
#include "kernel/audit/opened.h"
#include "kernel/audit/product.h"
#include "kernel/audit/slice.h"
#include "kernel/gradients/adjointness/sample.h"
#include "kernel/gradients/numbers/modular.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

namespace {

bool is_real(const Trace& trace, TraceTensorId id) { return is_float(trace.tensors[id].value.dtype()); }

bool is_finite(const Tensor& tensor) {
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    if (!std::isfinite(tensor.as_double(i))) return false;
  }
  return true;
}

Rejection failed(Rejection::Kind kind, const char* code, std::string place, std::string required, std::string found) {
  return {kind, std::string("gradient.") + code, std::move(place), std::move(required), std::move(found), "kernel/audit/gradients.h"};
}

// The cotangents that flow into one tensor, with repetitions.
using Contributions = std::vector<TraceTensorId>;

// The tensors from which a path leads to the output through real results of regions that are not stopped.
class Ways {
 public:
  Ways(const Trace& trace, TraceTensorId output, const std::vector<bool>& stopped) : leads_(trace.tensors.size(), false) {
    leads_[output] = true;
    for (auto region = trace.regions.rbegin(); region != trace.regions.rend(); ++region) {
      const auto is_way = [&](TraceTensorId id) { return leads_[id] && is_real(trace, id) && !stopped[id]; };
      if (std::ranges::none_of(region->results, is_way)) continue;
      for (const TraceTensorId id : region->operands) leads_[id] = true;
    }
  }
  [[nodiscard]] bool lead_from(TraceTensorId id) const { return leads_[id]; }

 private:
  std::vector<bool> leads_;
};

class GradientCheck {
 public:
  GradientCheck(const Trace& recorded, const Opened& opened, const Trace::Gradient* gradient, std::uint64_t seed, KinkConvention convention)
      : recorded_(recorded),
        trace_(opened.trace),
        opened_(opened),
        gradient_(gradient),
        seed_(seed),
        convention_(convention),
        producers_(trace_),
        after_seed_(trace_.tensors.size(), false),
        stopped_(trace_.tensors.size(), false),
        leads_(trace_.tensors.size(), false),
        needed_(trace_.tensors.size(), false),
        into_(trace_.tensors.size()),
        products_(recorded_, opened_, producers_, needed_, seed_, convention == KinkConvention::pytorch) {
    for (const TraceTensorId id : trace_.detached) stopped_[id] = true;
  }

  // `judged` receives a mark for each product that was examined.
  std::vector<GradientStep> run(std::vector<bool>& judged) {
    judged_ = &judged;
    if (gradient_->of.empty() || trace_.regions.empty()) {
      add(failed(Rejection::Kind::declined, "nothing", "gradient of '" + trace_.tensors[gradient_->output].name + "'",
                 "a tensor that the gradient is asked of, and regions that give the output", "none"));
      return std::move(steps_);
    }
    mark();
    is_cut_ = is_cut();
    into_[gradient_->output].push_back(gradient_->seed);
    for (std::uint32_t r = static_cast<std::uint32_t>(trace_.regions.size()); r-- > 0;) visit(r);
    for (const auto& [tensor, value] : gradient_->of) check_delivered(tensor, value);
    return std::move(steps_);
  }

  // Judges the products that no gradient needed.
  std::vector<GradientStep> run_others(std::vector<bool>& judged) {
    judged_ = &judged;
    for (std::uint32_t v = 0; v < trace_.vjps.size(); ++v) {
      const Trace::Vjp& vjp = trace_.vjps[v];
      const auto is_empty = [&](const auto& one) { return element_count(trace_.tensors[one.second].value.shape()) == 0; };
      if (judged[v] || std::ranges::all_of(vjp.cotangents, is_empty)) continue;  // without elements, none is wrong
      check_product(vjp.of, vjp.result, &vjp);
      note_kinks(vjp.of, vjp.result, vjp);
    }
    return std::move(steps_);
  }

 private:
  // Marks the tensors after the seed, those that lead to the output, and those reached from the wanted tensors without
  // a detached one.
  void mark() {
    after_seed_[gradient_->seed] = true;
    for (const auto& [tensor, value] : gradient_->of) needed_[tensor] = true;
    for (const Region& region : trace_.regions) {
      const auto any = [&](const std::vector<bool>& marked) {
        return std::ranges::any_of(region.operands, [&](TraceTensorId id) { return marked[id]; });
      };
      const bool after = any(after_seed_), needed = any(needed_);
      for (const TraceTensorId id : region.results) {
        after_seed_[id] = after_seed_[id] || after;
        needed_[id] = needed_[id] || (needed && is_real(trace_, id) && !stopped_[id]);
      }
    }
    leads_[gradient_->output] = true;
    for (auto region = trace_.regions.rbegin(); region != trace_.regions.rend(); ++region) {
      if (std::ranges::none_of(region->results, [&](TraceTensorId id) { return leads_[id]; })) continue;
      for (const TraceTensorId id : region->operands) leads_[id] = true;
    }
  }

  [[nodiscard]] std::string place_of(std::uint32_t r) const {
    const std::string& name = trace_.regions[r].name;
    return "region " + std::to_string(opened_.origin[r]) + (name.empty() ? "" : " (" + name + ")");
  }

  // Reports in terms of the recorded regions.
  void add(GradientStep step) {
    const std::uint32_t origin = opened_.origin.empty() ? step.region : opened_.origin[step.region];
    if (origin != step.region) step.result = 0;
    step.region = origin;
    steps_.push_back(std::move(step));
  }
  void add(Rejection failure) {
    GradientStep step;
    step.place = failure.place;
    step.failure = std::move(failure);
    steps_.push_back(std::move(step));
  }

  // Selects the recorded product of region r for one result: one whose cotangent flows here, otherwise the one after
  // this seed. Soundness does not depend on the selection, since its cotangent has to be the sum of all that flow here.
  // Values read by the forward pass do not matter either: a seed may be one of them.
  [[nodiscard]] const Trace::Vjp* vjp_of(std::uint32_t r, std::uint32_t result) {
    const TraceTensorId y = trace_.regions[r].results[result];
    std::vector<const Trace::Vjp*> candidates;
    for (const Trace::Vjp& vjp : trace_.vjps) {
      if (vjp.of == r && vjp.result == result) candidates.push_back(&vjp);
    }
    if (candidates.size() == 1) return candidates[0];
    const auto found = std::ranges::find_if(candidates, [&](const auto* vjp) { return flows_into(y, vjp->cotangent); });
    if (found != candidates.end()) return *found;
    const auto after = std::ranges::find_if(candidates, [&](const auto* vjp) { return after_seed_[vjp->cotangent]; });
    return after != candidates.end() ? *after : nullptr;
  }
  [[nodiscard]] bool flows_into(TraceTensorId tensor, TraceTensorId total) {
    const Contributions& parts = into_[tensor];
    return (parts.size() == 1 && parts[0] == total) || is_sum(total, parts);
  }

  void visit(std::uint32_t r) {
    const Region& region = trace_.regions[r];
    if (std::ranges::none_of(region.operands, [&](TraceTensorId id) { return needed_[id]; })) return;
    for (std::uint32_t k = 0; k < region.results.size(); ++k) {
      const TraceTensorId y = region.results[k];
      if (!leads_[y] || !needed_[y] || stopped_[y] || into_[y].empty()) continue;  // a detached tensor may be asked for itself
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

  // Whether the output depends on tensors of the gradient, but on all of them only through detached ones.
  [[nodiscard]] bool is_cut() const {
    const Ways all(trace_, gradient_->output, std::vector(trace_.tensors.size(), false)), left(trace_, gradient_->output, stopped_);
    const auto leads_by = [&](const Ways& ways) {
      return std::ranges::any_of(gradient_->of, [&](const auto& one) { return ways.lead_from(one.first); });
    };
    return leads_by(all) && !leads_by(left);
  }

  // Checks a gradient that the run delivered: it is the sum of all cotangents that flow into its tensor, by paths that
  // are not all detached, and it is finite where the derivative is.
  void check_delivered(TraceTensorId tensor, TraceTensorId value) {
    const std::string place = "gradient of '" + trace_.tensors[tensor].name + "'";
    check_sum(tensor, value, place, 0, 0);
    if (!steps_.empty() && steps_.back().place == place && steps_.back().failure) return;
    if (is_cut_) {
      add(failed(Rejection::Kind::declined, "detached", place, "a way to the output that no detached tensor cuts",
                 "every way of every tensor that was asked for passes one: what was recorded is 0 because the trace says so"));
      return;
    }
    if (auto why = check_finite(recorded_, *gradient_, tensor, value, place)) add(*std::move(why));
  }

  // Checks that `total` is the sum of the cotangents that flow into `tensor`: as polynomials in these, at
  // random residues.
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
    const auto is_a_number = [](const Node& one) { return one.op != Op::constant || !is_float(one.dtype) || is_finite(one.value); };
    if (!node || !slice.is_closed() || !std::ranges::all_of(slice.graph().nodes, is_a_number)) return false;
    gradients::adjointness::Random random{seed_};
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
    if (vjp != nullptr) step.vjp = index_of(*vjp);
    if (vjp != nullptr) (*judged_)[*step.vjp] = true;
    const auto outcome = products_.judge(r, k, vjp, step.place);
    step.corners = products_.corners();
    step.is_limited = products_.is_limited();
    if (outcome) {
      step.proof = outcome.value();  // without a product the derivative is proved to be 0
    } else if (vjp == nullptr) {
      step.failure = failed(Rejection::Kind::rejected, "missing", step.place, "a recorded product, or a derivative that is 0", "none");
    } else {
      const Rejection& why = outcome.rejection();
      const bool decided = why.kind == Rejection::Kind::rejected;
      const bool at_point = why.code.starts_with("gradient.");
      step.failure = at_point ? why
                              : failed(decided ? Rejection::Kind::rejected : Rejection::Kind::declined, "product", step.place, why.required,
                                       why.code + " at " + why.place + ": " + why.found);
    }
    add(std::move(step));
  }
  [[nodiscard]] std::uint32_t index_of(const Trace::Vjp& vjp) const { return static_cast<std::uint32_t>(&vjp - trace_.vjps.data()); }

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
    step.weights = outcome.weights;
    step.failure = std::move(outcome.failure);
    if (step.kinks > 0 || step.failure) add(std::move(step));
  }

  const Trace& recorded_;
  const Trace& trace_;
  const Opened& opened_;
  const Trace::Gradient* gradient_;  // null: only its products are judged
  std::uint64_t seed_;
  KinkConvention convention_;
  Producers producers_;
  std::vector<bool> after_seed_, stopped_, leads_, needed_;  // by tensor
  std::vector<Contributions> into_;                          // by tensor
  ProductCheck products_;
  std::vector<bool>* judged_ = nullptr;  // by product
  bool is_cut_ = false;                  // detached tensors cut every path from the tensors of the gradient
  std::vector<GradientStep> steps_;
};

}  // namespace

std::vector<GradientStep> check_gradient(const Trace& trace, std::size_t gradient, std::uint64_t seed, KinkConvention convention,
                                         std::vector<bool>* judged) {
  const Opened view = opened(trace);
  std::vector<bool> own(trace.vjps.size(), false);
  return GradientCheck(trace, view, &trace.gradients[gradient], seed, convention).run(judged != nullptr ? *judged : own);
}

std::vector<GradientStep> check_other_products(const Trace& trace, std::vector<bool> judged, std::uint64_t seed,
                                               KinkConvention convention) {
  if (std::ranges::all_of(judged, [](bool each) { return each; })) return {};
  const Opened view = opened(trace);
  return GradientCheck(trace, view, nullptr, seed, convention).run_others(judged);
}

GradientStep check_recorded_kinks(const Trace& trace, std::size_t index, KinkConvention convention) {
  const Trace::Vjp& vjp = trace.vjps[index];
  GradientStep step{
      "kinks of region " + std::to_string(vjp.of), vjp.of, vjp.result, std::nullopt, 0, std::nullopt, vjp.surrogate.has_value()};
  KinkOutcome outcome = check_kinks(trace, vjp, convention, step.place);
  step.kinks = outcome.judged;
  step.weights = outcome.weights;
  step.failure = std::move(outcome.failure);
  return step;
}

}  // namespace assay::audit
