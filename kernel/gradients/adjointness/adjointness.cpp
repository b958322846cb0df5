// Adjointness: computes both sides of the claim, compares them, and reports.

#include "kernel/gradients/adjointness/adjointness.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

#include "kernel/gradients/adjointness/jacobian.h"
#include "kernel/gradients/adjointness/pair.h"
#include "kernel/gradients/adjointness/sample.h"
#include "kernel/gradients/adjointness/wide.h"
#include "kernel/gradients/derivatives/differentiate.h"

namespace assay::gradients {

using namespace adjointness;

namespace {

constexpr Doubts::Codes kAdjointCodes{"adjointness.entry", "adjointness.identity", "adjointness.domain"};

bool is_entry(const Rejection& why) { return why.code == kAdjointCodes.entry || why.code == kAdjointCodes.identity; }

std::size_t entry_count(const Graph& graph) { return real_elements(graph) * graph.size(graph.outputs[0]); }

// Whether A2 is worth its passes: one per element of the real inputs, and one per element of y.
bool has_few_entries(const Graph& graph) {
  const std::size_t x = real_elements(graph), y = graph.size(graph.outputs[0]);
  return x * y <= kMostEntries && (x + y) * (x + y) <= kMostWork;
}

// The elements of y and of all real inputs (concatenated) that took part in A1 at some point.
struct Support {
  std::vector<bool> y, x;
  std::vector<bool> is_open = {};  // at the last point: elements of x whose cotangent has no residue
  [[nodiscard]] bool is_full() const {
    return std::ranges::all_of(y, [](bool one) { return one; }) && std::ranges::all_of(x, [](bool one) { return one; });
  }
};

// The tangents and cotangents of one random pair, with 0 in place of every unusable number. Of a point's independent
// roots, half have no residue; the zeros still give the identity on the other elements. `whole_*` are the images of the
// pair without those zeros, but with the cotangent 0 at infinite elements of y, which have no derivative. Where x_bar
// equals whole_x_bar, no entry of the rule was left out (cotangents are random, so they do not cancel); where y_dot
// equals whole_y_dot, none of the meaning was.
template <class S>
struct Pair {
  Array<S> y_bar;
  Arrays<S> x_dot;
  std::vector<S> y_dot, x_bar, whole_y_dot, whole_x_bar;
};

template <class S>
Outcome<Pair<S>> random_pair(const AdjointCase& one, const Graph& vjp, const Arrays<S>& x, Random& random) {
  Pair<S> pair{random_array<S>(one.graph.node(one.graph.outputs[0]).shape, random), zeros(x), {}, {}, {}, {}};
  const std::vector<std::size_t> inputs = real_inputs(one.graph);
  for (const std::size_t k : inputs) pair.x_dot[k] = random_array<S>(x[k].shape, random);
  auto y_dot = tangents(one.graph, x, pair.x_dot);
  if (!y_dot) return y_dot.rejection();
  pair.whole_y_dot = y_dot.value();
  for (std::size_t j = 0; j < pair.y_bar.values.size(); ++j) {
    if (is_infinite(y_dot.value()[j])) pair.y_bar.values[j] = S{};
  }
  const Array<S> whole_y_bar = pair.y_bar;
  bool changed = false;
  for (std::size_t j = 0; j < pair.y_bar.values.size(); ++j) {
    if (!has_value(y_dot.value()[j]) || is_usable(y_dot.value()[j])) continue;
    pair.y_bar.values[j] = S{};
    changed = true;
  }
  auto x_bar = cotangents(vjp, x, pair.y_bar);
  auto whole_x_bar = changed ? cotangents(vjp, x, whole_y_bar) : x_bar;
  if (!x_bar) return x_bar.rejection();
  if (!whole_x_bar) return whole_x_bar.rejection();
  pair.whole_x_bar = std::move(whole_x_bar).value();
  std::size_t at = 0;
  changed = false;
  for (const std::size_t k : inputs) {
    for (S& element : pair.x_dot[k].values) {
      const S& cotangent = x_bar.value()[at++];
      if (!has_value(cotangent) || is_usable(cotangent)) continue;
      element = S{};
      changed = true;
    }
  }
  if (changed) y_dot = tangents(one.graph, x, pair.x_dot);
  if (!y_dot) return y_dot.rejection();
  pair.y_dot = std::move(y_dot).value();
  pair.x_bar = std::move(x_bar).value();
  return pair;
}

// A1. Returns whether any element took part.
template <class S>
Outcome<bool> check_form(const AdjointCase& one, const Graph& vjp, const Arrays<S>& x, Random& random, Support& covered) {
  auto made = random_pair(one, vjp, x, random);
  if (!made) return made.rejection();
  const Pair<S>& pair = made.value();
  covered.is_open.clear();
  for (const S& element : pair.whole_x_bar) covered.is_open.push_back(!is_usable(element));
  Support support{std::vector<bool>(pair.y_dot.size()), std::vector<bool>(pair.x_bar.size())};
  std::vector<S> meanings, rules;
  bool any = pair.y_dot.empty();
  for (std::size_t j = 0; j < pair.y_dot.size(); ++j) {
    support.y[j] = is_infinite(pair.whole_y_dot[j]);
    if (is_zero(pair.y_bar.values[j])) continue;
    any = true;
    meanings.push_back(pair.y_bar.values[j] * pair.y_dot[j]);
    support.y[j] = is_same(pair.y_dot[j], pair.whole_y_dot[j]);
  }
  std::size_t at = 0;
  for (const std::size_t k : real_inputs(one.graph)) {
    for (const S& element : pair.x_dot[k].values) {
      if (!is_zero(element)) {
        rules.push_back(pair.x_bar[at] * element);
        support.x[at] = is_same(pair.x_bar[at], pair.whole_x_bar[at]);
      }
      ++at;
    }
  }
  if constexpr (std::is_same_v<S, Rational>) {  // often the terms are the same, which saves long exact sums
    std::erase_if(rules, is_zero<S>);
    std::erase_if(meanings, is_zero<S>);
    if (rules == meanings) rules = meanings = {};
  }
  auto fine = check_pair(one, "<y_bar, J x_dot> with <J^T y_bar, x_dot>", sum_of(std::move(rules)), sum_of(std::move(meanings)));
  if (!fine || !fine.value() || !any) return fine ? Outcome<bool>(false) : fine;
  covered.y.resize(support.y.size());
  covered.x.resize(support.x.size());
  for (std::size_t j = 0; j < support.y.size(); ++j) covered.y[j] = covered.y[j] || support.y[j];
  for (std::size_t i = 0; i < support.x.size(); ++i) covered.x[i] = covered.x[i] || support.x[i];
  return true;
}

// A2, for entries of which both sides are usable.
template <class S>
Outcome<Done> check_entries(const AdjointCase& one, const Matrix<S>& rule, const Matrix<S>& meaning) {
  for (std::size_t i = 0; i < meaning.size(); ++i) {
    for (std::size_t j = 0; j < meaning[i].size(); ++j) {
      const auto fine = check_pair(one, entry_name(one.graph, i, j), rule[i][j], meaning[i][j]);
      if (!fine) return fine.rejection();
    }
  }
  return Done{};
}

// Finds one wrong entry if A1 fails and there are many entries, at the cost of a few products instead of one per
// element of y. The reference's product shows which element i of x to examine, and halving finds the element j of y.
// The reported entry was compared itself. `form` is the failure of A1, which is reported if the halves hide the error.
template <class S>
Rejection located(const AdjointCase& one, const Graph& vjp, const Arrays<S>& x, Random& random, const Rejection& form) {
  const auto reference = reverse_of(one.graph);
  const auto pair = random_pair(one, vjp, x, random);
  if (!reference || !pair) return form;
  const Array<S>& y_bar = pair.value().y_bar;
  const auto right = cotangents(reference.value(), x, y_bar);
  if (!right) return form;
  const std::vector<S>& wrong = pair.value().x_bar;
  std::size_t i = 0;
  while (i < wrong.size() && check_pair(one, "", wrong[i], right.value()[i])) ++i;
  if (i == wrong.size()) return form;
  Arrays<S> unit = zeros(x);
  unit_element(one.graph, unit, i) = ScalarTraits<S>::from_double(1);
  const auto column = tangents(one.graph, x, unit);
  if (!column) return form;
  std::vector<std::size_t> inside, outside;  // the elements of y that depend on x_i, and the others
  for (std::size_t j = 0; j < y_bar.values.size(); ++j) (is_zero(column.value()[j]) ? outside : inside).push_back(j);
  const auto differs = [&](std::span<const std::size_t> rows) {
    Array<S> part{y_bar.shape, std::vector<S>(y_bar.values.size())};
    std::vector<S> meanings;
    for (const std::size_t j : rows) {
      part.values[j] = y_bar.values[j];
      meanings.push_back(y_bar.values[j] * column.value()[j]);
    }
    const auto x_bar = cotangents(vjp, x, std::move(part));
    return x_bar.ok() && !check_pair(one, "", x_bar.value()[i], sum_of(std::move(meanings)));
  };
  std::span<const std::size_t> rows = differs(inside) ? inside : outside;
  while (rows.size() > 1) {
    const auto half = rows.first(rows.size() / 2);
    rows = differs(half) ? half : rows.subspan(half.size());
  }
  if (rows.empty()) return form;
  Array<S> e{y_bar.shape, std::vector<S>(y_bar.values.size())};
  e.values[rows[0]] = ScalarTraits<S>::from_double(1);
  const auto row = cotangents(vjp, x, std::move(e));
  if (!row) return form;
  const auto entry = check_pair(one, entry_name(one.graph, i, rows[0]), row.value()[i], column.value()[rows[0]]);
  return entry ? form : entry.rejection();
}

// A1 to A3 at one point; returns whether the point was usable. If A1 fails, the entries decide, because they name
// the place.
template <class S>
Outcome<bool> check_point(const AdjointCase& one, const Graph& vjp, const Arrays<S>& x, Random& random, Support& covered) {
  Outcome<bool> form = check_form(one, vjp, x, random, covered);
  const bool rejected = !form && (form.rejection().kind == Rejection::Kind::rejected || is_entry(form.rejection()));
  const bool few = has_few_entries(one.graph);
  if (rejected && !few) return located(one, vjp, x, random, form.rejection());
  if (!few || (!form && !rejected) || (form && !form.value())) return form;
  const auto meaning = by_meaning(one.graph, x);
  if (!meaning) return meaning.rejection();
  const auto rule = by_rule(one.graph, vjp, x);
  if (!rule) return rule.rejection();
  const auto entries = check_entries(one, rule.value(), meaning.value());
  if (!entries) return entries.rejection();
  return form;
}

// Makes a point at which more elements have residues than at a new one. Independent lines have a residue at half of all
// points each, so few points have all. Therefore elements whose cotangents have residues stay, and the others are drawn
// again. An operand none of whose cotangents has one is read by every line, including the lines without residues; it
// stays as long as other elements differ. Each element that stays was drawn at random, under the condition that
// everything that depends on it has residues. So the probability that an error is 0 at most doubles for each line.
template <class S>
void keep(const Graph& graph, const std::vector<bool>& is_open, const Arrays<S>& last, Arrays<S>& next) {
  std::size_t at = 0;
  std::vector<std::pair<std::size_t, std::size_t>> whole;  // operands that stay: the position, and its first element
  bool differs = false;
  for (const std::size_t k : real_inputs(graph)) {
    const std::size_t size = last[k].values.size();
    const auto open =
        static_cast<std::size_t>(std::count_if(is_open.begin() + static_cast<std::ptrdiff_t>(at),
                                               is_open.begin() + static_cast<std::ptrdiff_t>(at + size), [](bool one) { return one; }));
    differs = differs || (open > 0 && open < size);
    if (open == size) whole.emplace_back(k, at);
    for (std::size_t i = 0; i < size && open < size; ++i) {
      if (!is_open[at + i]) next[k].values[i] = last[k].values[i];
    }
    at += size;
  }
  if (!differs) return;
  for (const auto& [k, first] : whole) next[k] = last[k];
}

template <class S>
Outcome<Adjointness> check_points(const AdjointCase& one, const Graph& vjp, std::size_t points, Random& random, AdjointMethod method) {
  Adjointness result{method, 0, 0, 0, 0, 0};
  Doubts doubts(vjp, kAdjointCodes, [&] { return reverse_of(one.graph); });
  Support covered;
  Arrays<S> x;
  for (int tries = 0; result.points < points || !covered.is_full(); ++tries) {
    if (tries == most_tries(one.graph)) {
      return Rejection{Rejection::Kind::declined,
                       "adjointness.points",
                       "case '" + one.name + "'",
                       "points at which both sides have a value, for every element",
                       std::to_string(result.points) + " in " + std::to_string(tries),
                       "change the domain of the case"};
    }
    const bool is_near = tries > kFresh / 8 && tries % 2 == 1;
    const Arrays<double> drawn = generic_point(one, random, is_near);
    Arrays<S> next = on_scalar<S>(one.graph, drawn, random, draw_of(tries));
    const bool goes_on = tries % kFresh != 0 && std::ranges::any_of(covered.is_open, [](bool each) { return each; });
    if (goes_on) keep(one.graph, covered.is_open, x, next);
    auto at = bound(one, std::move(next));
    if (!at) return at.rejection();
    x = std::move(at).value();
    const auto used = check_point(one, vjp, x, random, covered);
    if (!used) {
      if (auto why = doubts.judged(used.rejection(), numbers_of(one, x, drawn), random)) return *std::move(why);
      covered.is_open.clear();
    } else if (used.value()) {
      ++result.points;
    }
  }
  if (doubts.open()) return *doubts.open();
  result.entries = has_few_entries(one.graph) ? points * entry_count(one.graph) : 0;
  if (method == AdjointMethod::probed) result.miss_log2 = miss_of_a_point(one.graph, vjp) * static_cast<double>(points);
  return result;
}

// A5: checks that the rule's result beside the point lies within its result at the point. Both have the same roundings,
// except for functions of arguments that no displacement moves, whose guides are wider; such a case could be rejected
// although it is right. With A4, the derivative lies within the set, too.
Outcome<Done> check_inside(const AdjointCase& one, const Matrix<Opaque>& side, const Matrix<Interval>& set) {
  for (std::size_t i = 0; i < side.size(); ++i) {
    for (std::size_t j = 0; j < side[i].size(); ++j) {
      if (set[i][j].contains(side[i][j].guide())) continue;
      return broken("adjointness.kink", one, entry_name(one.graph, i, j), "the one-sided derivative in the set of the rule",
                    text(side[i][j].guide()) + " and " + text(set[i][j]));
    }
  }
  return Done{};
}
// A6, with the set at 257 bits, so that the roundings of the hull are the larger ones.
Outcome<Done> check_inside(const AdjointCase& one, const Matrix<WideInterval>& set, const Matrix<Interval>& hull) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    for (std::size_t j = 0; j < set[i].size(); ++j) {
      const Interval inner = set[i][j].to_interval();
      if (hull[i][j].contains(inner)) continue;
      return broken("adjointness.hull", one, entry_name(one.graph, i, j), "the set of the rule in the hull of the derivatives",
                    text(inner) + " and " + text(hull[i][j]));
    }
  }
  return Done{};
}

// A4 to A6 at one kink; returns the number of directions that had a value.
Outcome<std::size_t> check_kink(const AdjointCase& one, const Graph& vjp, const Arrays<Rational>& at, Random& random) {
  constexpr int kDirections = 8;
  const auto set = by_rule(one.graph, vjp, lifted<Interval>(at));
  if (!set) return set.rejection();
  std::size_t used = 0;
  for (int direction = 0; direction < kDirections; ++direction) {
    const Arrays<Opaque> x = displaced(one.graph, at, random);
    Support covered;
    const auto fine = check_point(one, vjp, x, random, covered);
    if (!fine) return fine.rejection();
    if (!fine.value()) continue;
    const auto side = by_rule(one.graph, vjp, x);
    if (!side) return side.rejection();
    const auto inside = check_inside(one, side.value(), set.value());
    if (!inside) return inside.rejection();
    ++used;
  }
  const auto narrow = by_rule(one.graph, vjp, lifted<WideInterval>(at));
  if (!narrow) return narrow.rejection();
  const auto hull = by_meaning(one.graph, lifted<Interval>(at));
  if (!hull) return hull.rejection();
  const auto inside = check_inside(one, narrow.value(), hull.value());
  if (!inside) return inside.rejection();
  return used;
}

Outcome<Done> check_kinks(const AdjointCase& one, const Graph& vjp, Random& random, Adjointness& result) {
  constexpr int kKinks = 6;
  for (int kink = 0; kink < kKinks; ++kink) {
    const Arrays<Rational> at = kink_point(one, random);
    const auto directions = check_kink(one, vjp, at, random);
    if (!directions) return directions.rejection();
    result.directions += directions.value();
    if (directions.value() > 0) ++result.kinks;
  }
  if (result.kinks > 0) return Done{};
  return Rejection{
      Rejection::Kind::declined,     "adjointness.points", "case '" + one.name + "'", "a kink with one-sided derivatives", "none",
      "change the kinks of the case"};
}

Outcome<Done> check_signature(const AdjointCase& one, const Graph& vjp) {
  const Graph& graph = one.graph;
  const auto type_of = [](const Graph& in, NodeId id) { return std::pair(in.node(id).dtype, in.node(id).shape); };
  const std::vector<std::size_t> inputs = real_inputs(graph);
  bool fits = graph.outputs.size() == 1 && is_float(graph.node(graph.outputs[0]).dtype) && one.domains.size() == graph.inputs.size() &&
              vjp.inputs.size() == graph.inputs.size() + 1 && vjp.outputs.size() == inputs.size() &&
              validate(one.kinks.empty() ? without_infinities(vjp) : vjp).empty();
  fits = fits && type_of(vjp, vjp.inputs.back()) == type_of(graph, graph.outputs[0]);
  for (std::size_t k = 0; fits && k < graph.inputs.size(); ++k) fits = type_of(vjp, vjp.inputs[k]) == type_of(graph, graph.inputs[k]);
  for (std::size_t k = 0; fits && k < inputs.size(); ++k) fits = type_of(vjp, vjp.outputs[k]) == type_of(graph, graph.inputs[inputs[k]]);
  if (fits) return Done{};
  return Rejection{Rejection::Kind::malformed,
                   "adjointness.graph",
                   "case '" + one.name + "'",
                   "one real output; the inputs and y_bar in, a cotangent for each real input out",
                   "another graph",
                   ""};
}

}  // namespace

Outcome<Graph> reverse_of(const Graph& graph) { return differentiate(graph, 0, real_inputs(graph)); }

Outcome<Adjointness> check_adjointness(const AdjointCase& one, const Graph& vjp, std::uint64_t seed) {
  if (const auto fits = check_signature(one, vjp); !fits) return fits.rejection();
  Random random{seed};
  const bool is_real = !has_infinities(one.graph) && !has_infinities(vjp);
  const auto by_opaque = [&] {
    return check_points<Opaque>(one, vjp, worthwhile_points(one.graph, kOpaquePoints), random, AdjointMethod::opaque);
  };
  Outcome<Adjointness> result = is_real ? check_points<Modular>(one, vjp, kProbes, random, AdjointMethod::probed) : by_opaque();
  if (is_real && lacks_scalar(result) && !lacks_rationals(one.graph) && !lacks_rationals(vjp))
    result = check_points<Rational>(one, vjp, worthwhile_points(one.graph, kExactPoints), random, AdjointMethod::exact);
  if (is_real && (lacks_scalar(result) || divides_by_zero(result))) result = by_opaque();
  // A product with an infinity may have no value where the real product, which has no infinity, is a number: 0 times infinity.
  if (!is_real && !result && result.rejection().code == "adjointness.domain") {
    Rejection why = result.rejection();
    why.kind = Rejection::Kind::declined;
    return why;
  }
  if (!result || one.kinks.empty()) return result;
  const auto kinks = check_kinks(one, vjp, random, result.value());
  if (!kinks) return kinks.rejection();
  return result;
}

Outcome<Adjointness> check_adjointness(const AdjointCase& one, std::uint64_t seed) {
  const Outcome<Graph> vjp = reverse_of(one.graph);
  if (!vjp) return vjp.rejection();
  return check_adjointness(one, vjp.value(), seed);
}

}  // namespace assay::gradients
