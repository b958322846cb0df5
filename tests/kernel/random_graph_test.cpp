// Soundness at sampled points: for random graphs, boxes, hints and literals, every value of every node lies in every box,
// and nothing that a point reaches is ever refuted; filter and exact path agree.
#include "tests/kernel/random_graph.h"
#include "kernel/inspect/inspect.h"

namespace assay::test {
namespace {

// The first element of a node whose value at some sample lies outside its box, in words; empty if there is none.
std::string escape(const Problem& problem, const Scope& scope, const std::vector<Sample>& points) {
  for (NodeId node = 0; node < problem.graph().nodes.size(); ++node) {
    if (!scope.has_box(node)) continue;
    const Box& box = scope.box(node);
    for (const Sample& point : points) {
      for (std::size_t i = 0; i < box.lo.size(); ++i) {
        const WideInterval& z = point.values[node].values[i];
        const bool inside =
            !certainly_less(z, WideInterval(box.lo[i])) && !certainly_less(WideInterval(box.hi[i]), z) && box.lo[i] <= box.hi[i];
        if (!inside)
          return "node " + std::to_string(node) + " (" + std::string(op_row(problem.graph().node(node).op).name) + "), element " +
                 std::to_string(i);
      }
    }
  }
  return {};
}

float random_slope(RandomGraph& random) {
  switch (random.pick(8)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return static_cast<float>(random.real(-50, 50));
    case 3:
      return 1e30F;
    case 4:
      return -1e-40F;
    default:
      return static_cast<float>(random.real(-0.25, 1.25));
  }
}

Hints random_hints(const Problem& problem, std::size_t literals, RandomGraph& random, bool wild) {
  Hints hints;
  for (auto* slopes : {&hints.lower, &hints.upper}) {
    if (random.pick(4) == 0) continue;
    for (NodeId node = 0; node < problem.graph().nodes.size(); ++node) {
      if (random.pick(2) == 0) continue;
      std::vector<float>& array = (*slopes)[node];
      array.resize(problem.graph().size(node));
      for (float& s : array) s = wild ? random_slope(random) : static_cast<float>(random.real(0, 1));
    }
  }
  for (std::size_t i = 0; i < literals; ++i) hints.beta.push_back(random.pick(3) == 0 ? 0.0F : static_cast<float>(random.real(0, 2)));
  for (int i = 0; i < 3; ++i) hints.cuts.push_back(random.pick(3) == 0 ? 0.0F : static_cast<float>(random.real(0, 0.5)));
  return hints;
}

// A sum over elements of some nodes.
std::vector<logic::Cut::Term> random_terms(const Problem& problem, RandomGraph& random) {
  std::vector<logic::Cut::Term> terms;
  for (int i = 0; i < 4; ++i) {
    const auto node = static_cast<NodeId>(random.pick(problem.graph().nodes.size()));
    if (problem.is_constant(node) || problem.graph().size(node) == 0) continue;
    terms.push_back({node, static_cast<std::uint32_t>(random.pick(problem.graph().size(node))), static_cast<float>(random.real(-2, 2))});
  }
  return terms;
}

// The first cut that a sample violates, in words; empty if there is none.
std::string broken_cut(const Scope& scope, const std::vector<Sample>& points) {
  for (std::size_t k = 0; k < scope.cuts().size(); ++k) {
    const logic::Cut& cut = *scope.cuts()[k];
    for (const Sample& point : points) {
      WideInterval sum;
      for (const auto& term : cut.terms)
        sum += WideInterval(static_cast<double>(term.coefficient)) * point.values[term.node].values[term.element];
      if (certainly_less(sum, WideInterval(static_cast<double>(cut.bound)))) return "cut " + std::to_string(k);
    }
  }
  return {};
}

// A literal near the value of a random element at a random sample.
Literal random_literal(const Problem& problem, const std::vector<Sample>& points, RandomGraph& random) {
  const auto& nodes = inspect::active_nodes(problem);
  NodeId node = 0;
  do node = nodes[static_cast<std::size_t>(random.pick(static_cast<std::int64_t>(nodes.size())))];
  while (problem.graph().size(node) == 0);
  const auto element = static_cast<std::uint32_t>(random.pick(static_cast<std::int64_t>(problem.graph().size(node))));
  const Sample& at = points[static_cast<std::size_t>(random.pick(static_cast<std::int64_t>(points.size())))];
  const double value = at.values[node].values[element].to_interval().midpoint();
  return {node, element, random.pick(2) == 0, value + (random.pick(2) == 0 ? 0.0 : random.real(-0.2, 0.2))};
}

struct Net {
  Graph graph;
  std::vector<double> lo, hi;
};
Net random_net(RandomGraph& random, std::size_t size, bool algebraic) {
  Net net;
  net.graph = random.make(size, algebraic);
  for (std::size_t i = 0; i < net.graph.size(net.graph.inputs[0]); ++i) {
    const double center = random.real(-1, 1), radius = random.pick(4) == 0 ? 0.0 : random.real(0, 1);
    net.lo.push_back(center - radius);
    net.hi.push_back(center + radius);
  }
  return net;
}

// sum of c_i y_i <= bound over the first output
Row random_row(const Graph& graph, RandomGraph& random) {
  std::vector<Term> terms;
  for (std::uint64_t i = 0; i < graph.size(graph.outputs[0]); ++i) {
    const double c = random.real(-1, 1);
    if (c != 0) terms.push_back({exactly(c), output(i)});
  }
  if (random.pick(3) == 0) terms.push_back({Rational(1 + random.pick(5), 7), input(0)});
  return row(std::move(terms), Rational(0));
}

// The row's value at a sample, an upper end of it.
Rational value_at(const Problem& problem, const Row& r, const Sample& at) {
  WideInterval sum;
  for (const Term& term : r.terms)
    sum += WideInterval(term.coefficient) * at.values[problem.node_of(term.variable)].values[term.variable.element];
  const auto end = sum.hi();
  REQUIRE(end.has_value());
  return *end;
}

void derive_and_refine(Scope& scope, const Problem& problem, RandomGraph& random) {
  const std::size_t depth = scope.literals().size();
  for (NodeId node = 0; node < problem.graph().nodes.size(); ++node) {
    REQUIRE(code_of(scope.propagate_box(node)) == "accepted");
    if (problem.is_constant(node) || random.pick(3) != 0) continue;
    const Selection selection{random.pick(2) == 0 ? Selection::Kind::all : Selection::Kind::unstable, {}};
    REQUIRE(code_of(inspect::tighten(scope, node, selection, random_hints(problem, depth, random, random.pick(3) == 0), nullptr,
                                     random.pick(2) == 0)) == "accepted");
  }
}

// Facts by cases, one split inside another one: of both halves, each refined in its own way.
void refine_by_cases(Scope& scope, const Problem& problem, const std::vector<Sample>& points, RandomGraph& random, int deep) {
  Literal literal = random_literal(problem, points, random);
  const std::vector<logic::Cut::Term> terms = random_terms(problem, random);
  std::vector<Scope> halves;
  for (const bool at_least : {false, true}) {
    literal.at_least = at_least;
    Scope& half = halves.emplace_back(scope);
    REQUIRE(half.assume(literal).ok());
    if (deep > 0 && random.pick(2) == 0) refine_by_cases(half, problem, points, random, deep - 1);
    derive_and_refine(half, problem, random);
    const auto cut = half.cut(terms, random_hints(problem, half.literals().size(), random, random.pick(3) == 0));
    if (!cut) REQUIRE(cut.rejection().code == "cut.S3");  // wild slopes may leave no finite bound
  }
  REQUIRE(code_of(scope.hull(halves[0], halves[1])) == "accepted");
}

struct Tally {
  int graphs = 0, refuted = 0, decided = 0, empty = 0, cuts = 0;
};

void run_one(std::uint64_t seed, bool algebraic, Tally& tally) {
  RandomGraph random(seed);
  const Net net = random_net(random, 8, algebraic);
  Row r = random_row(net.graph, random);
  if (r.terms.empty()) return;
  const std::vector<Sample> points = samples(net.graph, net.lo, net.hi, random, 10);
  // The least value that a sample takes is reached: no refutation of `row <= it` can be right.
  const auto probe = open(net.graph, net.lo, net.hi, {r});
  Rational least = value_at(*probe, r, points[0]);
  for (const Sample& at : points) least = min(least, value_at(*probe, r, at));
  r.bound = least;
  const auto problem = open(net.graph, net.lo, net.hi, {r});
  KernelOptions exact_only;
  exact_only.exact = true;
  const auto exact_problem = open(net.graph, net.lo, net.hi, {r}, exact_only);
  ++tally.graphs;

  // A fact about a case with balls holds where its rows do.
  std::vector<Sample> alive = points;
  if (!inspect::group_balls(*problem, 0).empty())
    std::erase_if(alive, [&](const Sample& at) { return !(value_at(*problem, r, at) <= least); });
  Scope scope = root(problem), exact_scope = root(exact_problem);
  derive_and_refine(scope, *problem, random);
  derive_and_refine(exact_scope, *exact_problem, random);
  CHECK(escape(*problem, scope, alive) == "");
  CHECK(escape(*exact_problem, exact_scope, alive) == "");
  for (int k = 0; k < 3; ++k) {
    const Hints hints = random_hints(*problem, 0, random, k == 0);
    CHECK(code_of(conclude(scope, hints)) == "conclude.S3");
    CHECK(code_of(conclude(exact_scope, hints)) == "conclude.S3");
  }
  // Under literals: what a surviving sample reaches is not refuted, and its values stay inside.
  for (int depth = 1; depth <= 4; ++depth) {
    const Literal literal = random_literal(*problem, points, random);
    REQUIRE(scope.assume(literal).ok());
    std::erase_if(alive, [&](const Sample& at) { return !satisfies(at, literal); });
    derive_and_refine(scope, *problem, random);
    if (depth % 2 == 1) refine_by_cases(scope, *problem, points, random, 2);
    if (scope.empty().ok()) {
      ++tally.empty;
      CHECK(alive.empty());
      return;
    }
    CHECK(escape(*problem, scope, alive) == "");
    CHECK(broken_cut(scope, alive) == "");
    tally.cuts += static_cast<int>(scope.cuts().size());
    const bool reached = std::any_of(alive.begin(), alive.end(), [&](const Sample& at) { return value_at(*problem, r, at) <= least; });
    const auto outcome = conclude(scope, random_hints(*problem, static_cast<std::size_t>(depth), random, depth == 4));
    if (reached) CHECK(code_of(outcome) == "conclude.S3");
    (outcome.ok() ? tally.refuted : tally.decided) += 1;
  }
}

}  // namespace

TEST_CASE("random graphs: no sampled point leaves a box or is refuted", "[kernel][random]") {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed << ": repeat with this seed alone in run_one");
    run_one(seed, seed % 3 == 0, tally);
  }
  CHECK(tally.graphs >= 140);
  CHECK(tally.refuted >= 10);  // the literals do exclude the least point at times
  CHECK(tally.decided >= 50);
  CHECK(tally.empty >= 5);
  CHECK(tally.cuts >= 200);
}

// Diagnosis gives the filter's estimate and the exact path's bound of the same row with the same hints and boxes.
TEST_CASE("random graphs: filter and exact path agree, and never exceed a sampled value", "[kernel][random]") {
  KernelOptions exact_only;
  exact_only.exact = true;
  int compared = 0, accepted = 0;
  for (std::uint64_t seed = 1001; seed <= 1120; ++seed) {
    INFO("seed " << seed);
    RandomGraph random(seed);
    const Net net = random_net(random, 8, seed % 2 == 0);
    const Row r = random_row(net.graph, random);
    if (r.terms.empty()) continue;
    const auto problem = open(net.graph, net.lo, net.hi, {r}), exact_problem = open(net.graph, net.lo, net.hi, {r}, exact_only);
    const std::vector<Sample> points = samples(net.graph, net.lo, net.hi, random, 6);
    Scope scope = root(problem), exact_scope = root(exact_problem);
    const Literal literal = random_literal(*problem, points, random);
    for (Scope* s : {&scope, &exact_scope}) {
      REQUIRE(s->assume(literal).ok());
      derive_all(*s, *problem);  // the same boxes in both
    }
    if (scope.empty().ok()) continue;
    const Hints hints = random_hints(*problem, 1, random, false);
    const std::vector<CaseMultipliers> cases{{0, {}}};
    inspect::Diagnosis filtered, exact;
    static_cast<void>(inspect::conclude(scope, cases, hints, filtered));
    static_cast<void>(inspect::conclude(exact_scope, cases, hints, exact));
    REQUIRE(filtered.margins.size() == 1);
    REQUIRE(exact.margins.size() == 1);
    const double f = filtered.margins[0], e = exact.margins[0];
    if (!(std::fabs(f) < 1e6)) continue;  // unbounded
    ++compared;
    CHECK(std::fabs(f - e) <= 1e-9 * (1 + std::fabs(f)));
    for (const Sample& at : points) {
      if (satisfies(at, literal)) CHECK(exactly(e) <= value_at(*problem, r, at));
    }
    // Just below the estimate both paths accept.
    Row provable = r;
    provable.bound = exactly(f - 1e-6 * (1 + std::fabs(f)));
    const auto easy = open(net.graph, net.lo, net.hi, {provable});
    Scope easy_scope = root(easy);
    REQUIRE(easy_scope.assume(literal).ok());
    derive_all(easy_scope, *easy);
    CHECK(code_of(conclude(easy_scope, hints)) == "accepted");
    ++accepted;
  }
  CHECK(compared >= 60);
  CHECK(accepted >= 60);
}

}  // namespace assay::test
