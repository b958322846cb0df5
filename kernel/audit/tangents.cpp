// Tangents of a recorded run.
//
// Claim. Let K be the tensors that are known to move, each with its tangent: at first those of `from`, then also each
// proved tensor of `to`. A tensor y of `to`, with the recorded tangent y_dot, is proved if
//   F1  y = f(k, p) for tensors k of K and p that do not move, y_dot = g(k, k_dot, p), both by the recorded regions,
//       and g is the Jacobian-vector product of f in the direction k_dot (kernel/gradients/adjointness/tangent.h).
//       Tensors p that y reads are drawn at random, as those of K are; tensors that only y_dot reads have their
//       recorded values.
//   F2  The same holds at the recorded point (kernel/audit/point.cpp).
// By the chain rule y then moves by y_dot. F1 treats the tensors of K as independent, which proves more than is needed.
// If it fails, y is composed down to `from` and judged once more, so that a tangent that recomputes an intermediate
// value is not rejected.
#include "kernel/audit/tangents.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kernel/audit/point.h"
#include "kernel/audit/slice.h"
#include "kernel/audit/steps.h"
#include "kernel/gradients/adjointness/tangent.h"
#include "kernel/gradients/derivatives/differentiate.h"

namespace assay::audit {

namespace {

using Known = std::map<TraceTensorId, TraceTensorId>;  // tensor, its tangent

bool is_zero_everywhere(const Tensor& tensor) {
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    if (tensor.as_double(i) != 0) return false;
  }
  return tensor.size() > 0;
}

// y and y_dot as graphs of the same inputs.
struct Composed {
  gradients::TangentCase one;
  std::vector<TraceTensorId> inputs;  // inputs of the rule: those of y, then tangents
  Origins origins = {};               // of the rule's nodes
  bool reads_opaque = false;
  // The rule reads no tensor, except single numbers, that y does not read; nothing is known of such tensors.
  bool is_closed = true;
};

class TangentCheck {
 public:
  TangentCheck(const Trace& trace, const Trace::Tangents& claim, std::uint64_t seed)
      : trace_(trace),
        claim_(claim),
        seed_(seed),
        producers_(trace),
        detached_(claim.detached.begin(), claim.detached.end()),
        stores_short_(
            std::ranges::any_of(trace.tensors, [](const Trace::Entry& entry) { return entry.storage != ExecutionModel::Storage::same; })) {
    for (const Trace::Opaque& opaque : trace.opaque) opaque_.insert(opaque.results.begin(), opaque.results.end());
  }

  std::vector<TangentStep> run() {
    const Known from(claim_.from.begin(), claim_.from.end());
    Known known = from;
    auto to = claim_.to;
    std::ranges::sort(to, {}, [&](const auto& pair) { return std::pair(producers_.region_of(pair.first), pair.first); });
    std::vector<TangentStep> steps;
    for (const auto& [tensor, tangent] : to) {
      TangentStep step{"tangent of '" + trace_.tensors[tensor].name + "'", producers_.region_of(tensor), tangent, {}, {}, false};
      auto outcome = judged(tensor, tangent, known, step);
      if (!outcome && outcome.rejection().kind == Rejection::Kind::rejected && known != from) {
        auto whole = judged(tensor, tangent, from, step);
        if (whole || whole.rejection().kind == Rejection::Kind::rejected) {
          if (whole) outcome = std::move(whole);
        } else {
          outcome = undecided(outcome.rejection());  // a recomputed value may be the cause
        }
      }
      if (outcome) {
        step.proof = outcome.value();
      } else {
        step.failure = outcome.rejection();
      }
      known.insert_or_assign(tensor, tangent);
      steps.push_back(std::move(step));
    }
    return steps;
  }

 private:
  static Rejection undecided(Rejection why) {
    why.kind = Rejection::Kind::declined;
    return why;
  }

  // The tensors at which the paths back from `wanted` end: known ones (but not the first), detached ones, and those
  // given to the run.
  [[nodiscard]] std::set<TraceTensorId> ends_of(TraceTensorId wanted, const Known& known, bool with_tangents) const {
    std::set<TraceTensorId> stops;
    for (const auto& [tensor, tangent] : known) {
      stops.insert(tensor);
      if (with_tangents) stops.insert(tangent);
    }
    const auto ends = producers_.ends_of({wanted}, [&](TraceTensorId id) {
      return stops.contains(id) || (detached_.contains(id) && is_float(trace_.tensors[id].value.dtype()));
    });
    return {ends.begin(), ends.end()};
  }

  // Real tensors become inputs; integers and truth values are those of the run.
  [[nodiscard]] Outcome<Composed> composed(TraceTensorId tensor, TraceTensorId tangent, const Known& known) const {
    std::set<TraceTensorId> ends = ends_of(tensor, known, false);
    std::vector<TraceTensorId> moving;
    Composed made;
    made.one.one.name = "'" + trace_.tensors[tangent].name + "'";
    std::set<TraceTensorId> tangents;
    for (const auto& [moved, dot] : known) tangents.insert(dot);
    for (const TraceTensorId id : ends_of(tangent, known, true)) {
      const bool is_given = producers_.region_of(id) == Producers::kNone && !known.contains(id);  // unless y reads it
      if (!tangents.contains(id) && !is_given) ends.insert(id);
      made.reads_opaque = made.reads_opaque || opaque_.contains(id);
    }
    for (const TraceTensorId id : ends) {
      if (tangents.contains(id) && is_float(trace_.tensors[id].value.dtype()))
        return Rejection{Rejection::Kind::declined,
                         "tangent.twice",
                         made.one.one.name,
                         "tensors that move, and tangents: different ones",
                         "'" + trace_.tensors[id].name + "' is both",
                         "record a copy of it as the tangent"};
      made.reads_opaque = made.reads_opaque || opaque_.contains(id);
    }
    Slice forward(trace_, producers_), rule(trace_, producers_);
    std::erase_if(ends, [&](TraceTensorId id) { return !is_float(trace_.tensors[id].value.dtype()); });
    std::map<TraceTensorId, std::size_t> position;
    for (const TraceTensorId id : ends) {
      if (const auto found = known.find(id); found != known.end() && position.try_emplace(found->second, position.size()).second)
        moving.push_back(found->second);
    }
    for (const TraceTensorId id : ends) {
      forward.add_input(id);
      rule.add_input(id);
      made.inputs.push_back(id);
      made.one.one.domains.push_back(recorded_range(trace_.tensors[id].value));
      const auto found = known.find(id);
      made.one.tangent_of.push_back(found == known.end() ? std::nullopt : std::optional(position.at(found->second)));
    }
    for (const TraceTensorId id : moving) rule.add_input(id);
    made.inputs.insert(made.inputs.end(), moving.begin(), moving.end());
    auto y = forward.node_of(tensor), y_dot = rule.node_of(tangent);
    if (!y || !y_dot) return (y ? y_dot : y).rejection();
    forward.graph().mark_output(y.value(), "y");
    rule.graph().mark_output(y_dot.value(), "y_dot");
    made.is_closed = rule.is_closed();
    made.origins = rule.origins();
    made.one.one.graph = std::move(forward.graph());
    made.one.rule = std::move(rule.graph());
    return made;
  }

  [[nodiscard]] Outcome<gradients::Adjointness> judged(TraceTensorId tensor, TraceTensorId tangent, const Known& known,
                                                       TangentStep& step) const {
    const auto made = composed(tensor, tangent, known);
    if (!made) return undecided(made.rejection());
    const auto outcome = check_tangent(made.value().one, seed_);
    std::optional<Rejection> why;
    if (!outcome) {
      const Rejection& found = outcome.rejection();
      const bool decided = found.kind == Rejection::Kind::rejected;
      why = Rejection{decided ? Rejection::Kind::rejected : Rejection::Kind::declined, "tangent.product",        step.place, found.required,
                      found.code + " at " + found.place + ": " + found.found,          "kernel/audit/tangents.h"};
    } else {
      why = at_the_point(made.value(), tensor, tangent, step.place);
      step.is_dead = outcome.value().moves && is_zero_everywhere(trace_.tensors[tangent].value);
    }
    if (!why) return outcome.value().proof;
    if (made.value().reads_opaque || !made.value().is_closed) why = undecided(*std::move(why));
    return *std::move(why);
  }

  // F2.
  [[nodiscard]] std::optional<Rejection> at_the_point(const Composed& made, TraceTensorId tensor, TraceTensorId tangent,
                                                      const std::string& place) const {
    const Region& region = trace_.regions[producers_.region_of(tensor)];
    RecordedProduct product{made.one.one.graph, made.one.rule, {}, {}, {}, region.model, stores_short_};
    for (const TraceTensorId id : made.inputs) product.operands.push_back(trace_.tensors[id].value);
    product.point = [&] {
      std::vector<Array<Interval>> values;
      for (const TraceTensorId id : made.inputs) values.push_back(at_point(trace_.tensors[id].value));
      return values;
    };
    product.reference = [&] { return reference_of(made); };
    TakenSteps steps(trace_, made.one.rule, made.origins, std::vector(made.inputs.size(), true));
    if (steps.are_any()) product.with_steps = [&steps](const std::vector<Array<Interval>>& point) { return steps.outputs(point); };
    const Trace::Entry& entry = trace_.tensors[tangent];
    product.cotangents.push_back({entry.name, true, {&entry.value}, entry.storage});
    return check_point(product, place);
  }

  // The derivative's graph, with the inputs of the rule.
  static Outcome<Graph> reference_of(const Composed& made) {
    const Graph &graph = made.one.one.graph, &rule = made.one.rule;
    Graph result;
    std::vector<NodeId> inputs;
    for (std::size_t k = 0; k < rule.inputs.size(); ++k) {
      const Node& like = rule.node(rule.inputs[k]);
      inputs.push_back(result.append_input(like.dtype, like.shape, rule.input_names[k]));
    }
    std::vector<std::size_t> moving;
    std::vector<NodeId> read(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(graph.inputs.size()));
    for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
      if (!made.one.tangent_of[k]) continue;
      moving.push_back(k);
      read.push_back(inputs[graph.inputs.size() + *made.one.tangent_of[k]]);
    }
    const auto derivative = gradients::jvp(graph, 0, moving);
    if (!derivative) return derivative.rejection();
    const auto outputs = append_graph(result, derivative.value(), read);
    if (!outputs) return outputs.rejection();
    result.mark_output(outputs.value()[0], "y_dot");
    return result;
  }

  const Trace& trace_;
  const Trace::Tangents& claim_;
  std::uint64_t seed_;
  Producers producers_;
  std::set<TraceTensorId> detached_, opaque_;
  bool stores_short_;  // some tensor is stored in 16 bits
};

}  // namespace

std::vector<TangentStep> check_tangents(const Trace& trace, std::size_t claim, std::uint64_t seed) {
  return TangentCheck(trace, trace.tangents[claim], seed).run();
}

}  // namespace assay::audit
