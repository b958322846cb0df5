// Tangents: computes both sides of the claim at random points, and compares them.

#include "kernel/gradients/adjointness/tangent.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernel/gradients/adjointness/jacobian.h"
#include "kernel/gradients/adjointness/pair.h"
#include "kernel/gradients/adjointness/sample.h"
#include "kernel/gradients/adjointness/wide.h"
#include "kernel/gradients/derivatives/differentiate.h"

namespace assay::gradients {

using namespace adjointness;

namespace {

constexpr Doubts::Codes kTangentCodes{"tangent.entry", "tangent.identity", "tangent.domain"};

Rejection wrong_tangent(const char* code, const TangentCase& one, std::string place, const char* required, std::string found) {
  Rejection why = broken(code, one.one, std::move(place), required, std::move(found));
  why.advice = "kernel/gradients/adjointness/tangent.h";
  return why;
}

// J1 and J2 for one element; returns whether the element was usable.
template <class S>
Outcome<bool> check_element(const TangentCase& one, std::size_t j, const S& rule, const S& meaning) {
  const auto place = [&] { return "y_dot[" + std::to_string(j) + "]"; };
  if (has_value(meaning) && !has_value(rule))
    return wrong_tangent(kTangentCodes.domain, one, place(), "a value where the meaning has a derivative",
                         text(rule) + " for " + text(meaning));
  const bool usable = is_usable(rule) && is_usable(meaning), differ = must_differ(rule, meaning);
  if (!differ && (!usable || is_same(rule, meaning))) return usable;
  const std::string found = text(rule) + " and " + text(meaning);
  Rejection why = wrong_tangent(kTangentCodes.entry, one, place(), "the tangent = J x_dot by the meaning", found);
  if (std::is_same_v<S, Opaque> && !differ) why.kind = Rejection::Kind::declined, why.code = kTangentCodes.identity;
  return why;
}

// The results of the rule and of the meaning at one point.
template <class S>
struct Sides {
  std::vector<S> rule, meaning;
};

template <class S>
Outcome<Sides<S>> sides_at(const TangentCase& one, Arrays<S> x, Random& random) {
  const Graph &graph = one.one.graph, &rule = one.rule;
  Arrays<S> tangent, x_dot = zeros(x);
  for (std::size_t k = graph.inputs.size(); k < rule.inputs.size(); ++k)
    tangent.push_back(random_array<S>(rule.node(rule.inputs[k]).shape, random));
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (one.tangent_of[k]) x_dot[k] = tangent[*one.tangent_of[k]];
  }
  auto meaning = tangents(graph, x, x_dot);
  if (!meaning) return meaning.rejection();
  for (Array<S>& each : tangent) x.push_back(std::move(each));
  auto nodes = evaluate<S>(rule, x);
  if (!nodes) return nodes.rejection();
  return Sides<S>{std::move(nodes.value()[rule.outputs[0]].values), std::move(meaning).value()};
}

// Returns whether the point could be used, and marks the elements that took part.
template <class S>
Outcome<bool> check_point(const TangentCase& one, const Arrays<S>& x, Random& random, std::vector<bool>& covered, Tangency& result) {
  const auto sides = sides_at(one, x, random);
  if (!sides) return sides.rejection();
  bool any = covered.empty();
  for (std::size_t j = 0; j < covered.size(); ++j) {
    if (is_infinite(sides.value().meaning[j])) covered[j] = true;
    const auto fine = check_element(one, j, sides.value().rule[j], sides.value().meaning[j]);
    if (!fine) return fine.rejection();
    if (!fine.value()) continue;
    any = covered[j] = true;
    ++result.proof.entries;
    result.moves = result.moves || !is_zero(sides.value().meaning[j]);
  }
  return any;
}

template <class S>
Outcome<Tangency> check_tangents_at(const TangentCase& one, std::size_t points, Random& random, AdjointMethod method) {
  Tangency result{{method, 0, 0, 0, 0, 0}};
  std::vector<std::size_t> moving, reads;  // the rule's inputs that the derivative reads: those of y, and the tangents of what moves
  for (std::size_t k = 0; k < one.tangent_of.size(); ++k) reads.push_back(k);
  for (std::size_t k = 0; k < one.tangent_of.size(); ++k) {
    if (!one.tangent_of[k]) continue;
    moving.push_back(k);
    reads.push_back(one.tangent_of.size() + *one.tangent_of[k]);
  }
  Doubts doubts(
      one.rule, kTangentCodes, [&] { return jvp(one.one.graph, 0, moving); }, reads);
  std::vector<bool> covered(one.rule.size(one.rule.outputs[0]), false);
  for (int tries = 0; result.proof.points < points || !std::ranges::all_of(covered, [](bool each) { return each; }); ++tries) {
    if (tries == kMostTries) {
      Rejection why =
          wrong_tangent("adjointness.points", one, "random points", "points at which both sides have a value, for every element",
                        std::to_string(result.proof.points) + " in " + std::to_string(kMostTries));
      why.kind = Rejection::Kind::declined;
      return why;
    }
    const Arrays<double> drawn = generic_point(one.one, random);
    const Arrays<S> x = on_scalar<S>(one.one.graph, drawn, random, draw_of(tries));
    const auto used = check_point<S>(one, x, random, covered, result);
    if (!used) {
      if (auto why = doubts.judged(used.rejection(), numbers_of(one.one, x, drawn), random)) return *std::move(why);
    } else if (used.value()) {
      ++result.proof.points;
    }
  }
  if (doubts.open()) return *doubts.open();
  if (method == AdjointMethod::probed) result.proof.miss_log2 = miss_of_a_point(one.one.graph, one.rule) * static_cast<double>(points);
  return result;
}

// Whether the graphs fit together.
bool fits(const TangentCase& one) {
  const Graph &graph = one.one.graph, &rule = one.rule;
  const auto type_of = [](const Graph& in, NodeId id) { return std::pair(in.node(id).dtype, in.node(id).shape); };
  const std::size_t inputs = graph.inputs.size();
  bool fine = graph.outputs.size() == 1 && rule.outputs.size() == 1 && is_float(graph.node(graph.outputs[0]).dtype) &&
              one.one.domains.size() == inputs && one.tangent_of.size() == inputs && rule.inputs.size() >= inputs &&
              validate(without_infinities(rule)).empty();
  fine = fine && type_of(graph, graph.outputs[0]) == type_of(rule, rule.outputs[0]);
  for (std::size_t k = 0; fine && k < inputs; ++k) {
    fine = type_of(graph, graph.inputs[k]) == type_of(rule, rule.inputs[k]);
    if (!fine || !one.tangent_of[k]) continue;
    const std::size_t at = inputs + *one.tangent_of[k];
    fine = at < rule.inputs.size() && is_float(graph.node(graph.inputs[k]).dtype) &&
           type_of(graph, graph.inputs[k]) == type_of(rule, rule.inputs[at]);
  }
  return fine;
}

std::string problem_of(const TangentCase& one) {
  const auto problems = validate(without_infinities(one.rule));
  return problems.empty() ? std::string("other types") : problems.front().to_text();
}

}  // namespace

Outcome<Tangency> check_tangent(const TangentCase& one, std::uint64_t seed) {
  if (!fits(one)) {
    Rejection why = wrong_tangent("tangent.graph", one, "its graphs", "one real output; the inputs and their tangents in, its tangent out",
                                  problem_of(one));
    why.kind = Rejection::Kind::malformed;
    return why;
  }
  const Graph& graph = one.one.graph;
  Random random{seed};
  const bool is_real = !has_infinities(graph) && !has_infinities(one.rule);
  const auto by_opaque = [&] {
    return check_tangents_at<Opaque>(one, worthwhile_points(graph, kOpaquePoints), random, AdjointMethod::opaque);
  };
  Outcome<Tangency> result = is_real ? check_tangents_at<Modular>(one, kProbes, random, AdjointMethod::probed) : by_opaque();
  if (is_real && lacks_scalar(result))
    result = check_tangents_at<Rational>(one, worthwhile_points(graph, kExactPoints), random, AdjointMethod::exact);
  if (is_real && lacks_scalar(result)) result = by_opaque();
  return result;
}

}  // namespace assay::gradients
