// Certificates of a max_pool network and of an attention network, bent in each hint array, claim, multiplier and byte. A bent one may
// still prove its statement; it never proves another one, and no bent one proves a statement that a point contradicts.
#include <algorithm>
#include <limits>
#include <random>

#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "semantics/numbers/directed.h"
#include "semantics/ops/denote.h"
#include "tests/certificates/format/problems.h"

using namespace assay;
using namespace assay::test;
using certificate::Fragment;
using logic::CaseMultipliers;
using logic::Claims;
using logic::Hints;
using logic::Problem;
using logic::Scope;

namespace {

constexpr float kMost = std::numeric_limits<float>::max();

std::vector<float> drawn(std::size_t count, std::mt19937_64& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
  return values;
}

NodeId constant(Graph& g, Shape shape, std::mt19937_64& random) {
  const std::size_t count = element_count(shape);
  return g.append_constant(Tensor::of_floats(std::move(shape), drawn(count, random)));
}

// A network with one output, and the nodes that a certificate refines.
struct Net {
  Graph graph;
  std::vector<NodeId> refined;
  double radius = 0;
};

Net pooled() {
  std::mt19937_64 random(5);
  Net net;
  Graph& g = net.graph;
  const NodeId x = g.append_input(DType::float32, {1, 1, 4, 4}, "x");
  WindowAttributes taps;
  taps.kernel = {3, 3};
  taps.strides = taps.dilations = taps.pads_begin = taps.pads_end = {1, 1};
  const NodeId z = added(g.append(Op::conv, {x, constant(g, {2, 1, 3, 3}, random), constant(g, {2}, random)}, taps, "z"));
  const NodeId h = added(g.append(Op::relu, {z}, NoAttributes{}, "h"));
  WindowAttributes pool = taps;
  pool.kernel = pool.strides = {2, 2};
  pool.pads_begin = pool.pads_end = {0, 0};
  const NodeId p = added(g.append(Op::max_pool, {h}, pool, "p"));
  const NodeId flat = added(g.append(Op::reshape, {p}, ShapeAttributes{{1, 8}}, "flat"));
  const NodeId y = added(g.append(Op::gemm, {flat, constant(g, {8, 1}, random)}, GemmAttributes{}, "y"));
  g.mark_output(y, "y");
  net.refined = {z, p, y};
  net.radius = 0.125;
  return net;
}

Net attention() {
  std::mt19937_64 random(6);
  Net net;
  Graph& g = net.graph;
  const NodeId x = g.append_input(DType::float32, {1, 3, 2}, "x");
  const auto projected = [&](NodeId from, const char* name) {
    return added(g.append(Op::matmul, {from, constant(g, {2, 2}, random)}, NoAttributes{}, name));
  };
  const NodeId keys = added(g.append(Op::permute, {projected(x, "k")}, PermuteAttributes{{0, 2, 1}}, "kt"));
  const NodeId scores = added(g.append(Op::matmul, {projected(x, "q"), keys}, NoAttributes{}, "scores"));
  const NodeId weights = added(g.append(Op::softmax, {scores}, SoftmaxAttributes{2}, "weights"));
  const NodeId mixed = added(g.append(Op::matmul, {weights, projected(x, "v")}, NoAttributes{}, "mixed"));
  const NodeId sum = added(g.append(Op::add, {mixed, x}, NoAttributes{}, "sum"));
  const NodeId normal = added(g.append(Op::normalise, {sum}, NormaliseAttributes{{2}, 0.1, NormaliseAttributes::Form::centered}, "normal"));
  const NodeId flat = added(g.append(Op::reshape, {normal}, ShapeAttributes{{1, 6}}, "flat"));
  const NodeId y = added(g.append(Op::gemm, {flat, constant(g, {6, 1}, random)}, GemmAttributes{}, "y"));
  g.mark_output(y, "y");
  net.refined = {scores, mixed, y};
  net.radius = 0.02;
  return net;
}

std::vector<double> centre_of(const Net& net) {
  std::mt19937_64 random(7);
  std::vector<double> centre;
  for (const float v : drawn(net.graph.size(net.graph.inputs[0]), random)) centre.push_back(static_cast<double>(v));
  return centre;
}

// y - slopes . x <= bound on the box around the centre.
std::shared_ptr<const Problem> statement(const Net& net, const std::vector<double>& slopes, double bound, bool exact) {
  std::vector<Rational> lo, hi;
  for (const double c : centre_of(net)) {
    lo.push_back(*Rational::from_double(c - net.radius));
    hi.push_back(*Rational::from_double(c + net.radius));
  }
  statement::Row row = y_row(1, *Rational::from_double(bound));
  for (std::size_t i = 0; i < slopes.size(); ++i)
    row.terms.push_back({*Rational::from_double(-slopes[i]), {statement::Variable::Side::input, 0, i}});
  statement::Property property{{{box(lo, hi), {row}}}};
  auto problem = Problem::open({net.graph, std::move(property), ExecutionModel{}, {}}, {exact});
  if (!problem.ok()) FAIL(problem.rejection().to_text());
  return problem.value();
}

// Values of every node at a point of the box.
std::vector<std::vector<Interval>> values_at(const Graph& graph, const std::vector<double>& x) {
  std::vector<Array<Interval>> values(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) {
      values[id] = {node.shape, {x.begin(), x.end()}};
    } else if (node.op == Op::constant) {
      values[id] = lift<Interval>(node.value);
    } else {
      std::vector<const Array<Interval>*> operands;
      for (const NodeId operand : node.operands) operands.push_back(&values[operand]);
      auto value = denote<Interval>(node, operands);
      REQUIRE(value.ok());
      values[id] = std::move(value).value();
    }
  }
  std::vector<std::vector<Interval>> result;
  for (auto& one : values) result.push_back(std::move(one.values));
  return result;
}

std::vector<std::vector<std::vector<Interval>>> samples(const Net& net) {
  std::mt19937_64 random(8);
  std::vector<std::vector<std::vector<Interval>>> result;
  for (int k = 0; k < 12; ++k) {
    std::vector<double> x = centre_of(net);
    for (double& c : x)
      c += net.radius * (k == 0 ? 0.0 : k < 8 ? (random() % 2 == 0 ? -1.0 : 1.0) : static_cast<double>(random() % 257) / 128 - 1);
    result.push_back(values_at(net.graph, x));
  }
  return result;
}

// The content of the certificate: a step per refined node, then the conclusion.
struct Evidence {
  std::vector<Hints> hints;  // of each refinement; the last one's are those of the conclusion
  std::vector<Claims> claims;
  CaseMultipliers cases{0, {1.0F}};
  double proved = 0;           // about what the conclusion finds below the row's sum
  std::vector<double> slopes;  // by input, of its form
};

bool takes_hints(const Graph& graph, NodeId node) {
  const Op op = graph.node(node).op;
  return op == Op::relu || op == Op::max_pool || op == Op::matmul;
}

// Which of the four elements of [1, 2, 4, 4] that element i of pooled()'s pool is the maximum of is the greatest.
float greatest(const std::vector<Interval>& values, std::size_t i) {
  const std::size_t corner = i / 4 * 16 + i % 4 / 2 * 8 + i % 2 * 2, places[] = {corner, corner + 1, corner + 4, corner + 5};
  return static_cast<float>(std::ranges::max_element(places, {}, [&](std::size_t k) { return values[k].lo(); }) - places);
}

// Hints for every op that takes some; claims as derived.
Evidence evidence_of(const Net& net, const std::shared_ptr<const Problem>& problem) {
  Evidence evidence;
  Scope scope = Scope::root(problem, 0).value();
  REQUIRE(certificate::sweep(*problem, scope, 0, false).ok());
  std::mt19937_64 random(9);
  const auto centre = values_at(net.graph, centre_of(net));
  for (const NodeId node : net.refined) {
    Hints hints;
    for (NodeId id = 0; id < net.graph.nodes.size(); ++id) {
      if (!takes_hints(net.graph, id) || problem->is_constant(id) || inspect::affine(*problem, id) != nullptr) continue;
      const Op op = net.graph.node(id).op;
      for (std::size_t i = 0; i < net.graph.size(id); ++i) {
        const auto share = static_cast<float>(random() % 129) / 128.0F;
        hints.lower[id].push_back(op == Op::max_pool ? greatest(centre[net.graph.node(id).operands[0]], i) : share);
        if (op != Op::max_pool) hints.upper[id].push_back(share);
      }
    }
    REQUIRE(inspect::tighten(scope, node, {inspect::Selection::Kind::all, {}}, hints, nullptr, true).ok());
    Claims claims;
    for (std::size_t i = 0; i < net.graph.size(node); ++i) {
      claims.lo.push_back(float_down(scope.box(node).lo[i]));
      claims.hi.push_back(float_up(scope.box(node).hi[i]));
    }
    evidence.hints.push_back(std::move(hints));
    evidence.claims.push_back(std::move(claims));
  }
  inspect::Diagnosis diagnosis;
  (void)inspect::conclude(scope, std::span(&evidence.cases, 1), evidence.hints.back(), diagnosis);
  evidence.proved = diagnosis.margins.at(0);
  evidence.slopes = diagnosis.input_coefficients.at(0);
  return evidence;
}

std::string written(const Net& net, const Evidence& evidence, const Problem& problem) {
  Fragment steps;
  steps.sweep(0, false);
  for (std::size_t k = 0; k < net.refined.size(); ++k)
    steps.tighten(net.refined[k], {inspect::Selection::Kind::all, {}}, evidence.hints[k], &evidence.claims[k], false);
  steps.conclude(std::span(&evidence.cases, 1), evidence.hints.back());
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), problem);
  REQUIRE(writer.ok());
  writer.value()->begin_group(0);
  writer.value()->append(steps);
  writer.value()->end_group();
  REQUIRE(writer.value()->finish().ok());
  return file.bytes();
}

// The claims that the kernel accepts contain every sampled value.
void check_claims(const Net& net, const Evidence& evidence, const std::shared_ptr<const Problem>& problem,
                  const std::vector<std::vector<std::vector<Interval>>>& points, std::size_t& accepted) {
  Scope scope = Scope::root(problem, 0).value();
  REQUIRE(certificate::sweep(*problem, scope, 0, false).ok());
  for (std::size_t k = 0; k < net.refined.size(); ++k) {
    const NodeId node = net.refined[k];
    if (!inspect::tighten(scope, node, {inspect::Selection::Kind::all, {}}, evidence.hints[k], &evidence.claims[k])) return;
    ++accepted;
    for (const auto& values : points) {
      for (std::size_t i = 0; i < values[node].size(); ++i) {
        INFO("node " << node << " element " << i);
        REQUIRE(scope.box(node).lo[i] <= values[node][i].hi());
        REQUIRE(scope.box(node).hi[i] >= values[node][i].lo());
      }
    }
  }
}

// A true statement that the untouched evidence proves, and one that a sampled point contradicts.
struct Trial {
  Net net;
  std::vector<std::vector<std::vector<Interval>>> points;
  Evidence evidence;
  std::shared_ptr<const Problem> holds, fails;
  std::string theorem;
  std::size_t accepted = 0, refused = 0, facts = 0;

  Trial(Net made, bool exact) : net(std::move(made)), points(samples(net)) {
    // Without the linear part of y, which the boxes do not have: the rest is for the conclusion's hints.
    const std::vector<double> slopes = evidence_of(net, statement(net, {}, 0, false)).slopes;
    evidence = evidence_of(net, statement(net, slopes, 0, exact));
    double least = INFINITY;
    for (const auto& values : points) {
      Interval sum = values[net.graph.outputs[0]][0];
      for (std::size_t i = 0; i < slopes.size(); ++i) sum -= Interval(slopes[i]) * values[net.graph.inputs[0]][i];
      least = std::min(least, sum.hi());
    }
    REQUIRE(evidence.proved < least);
    holds = statement(net, slopes, evidence.proved - 0x1p-10 * (least - evidence.proved), exact);
    fails = statement(net, slopes, least, exact);
    const Verdict verdict = replay_bytes(written(net, evidence, *holds), holds);
    INFO(verdict.text << " at " << verdict.place);
    REQUIRE(verdict.accepted);
    theorem = verdict.text;
    CHECK_FALSE(replay_bytes(written(net, evidence, *fails), fails).accepted);
  }
  void check_bytes(const std::string& of_holds, const std::string& of_fails) {
    const Verdict verdict = replay_bytes(of_holds, holds);
    if (verdict.accepted) CHECK(verdict.text == theorem);
    ++(verdict.accepted ? accepted : refused);
    CHECK_FALSE(replay_bytes(of_fails, fails).accepted);
  }
  void check(const Evidence& bent) {
    check_bytes(written(net, bent, *holds), written(net, bent, *fails));
    check_claims(net, bent, holds, points, facts);
  }
};

void bend_hints(Trial& trial) {
  std::mt19937_64 random(10);
  for (std::size_t k = 0; k < trial.evidence.hints.size(); ++k) {
    for (const bool lower : {true, false}) {
      for (const auto& [node, array] : lower ? trial.evidence.hints[k].lower : trial.evidence.hints[k].upper) {
        if (array.empty()) continue;
        std::vector<std::vector<float>> others;
        for (const float v : {0.0F, 1.0F, -1.0F, 0.5F, 3.0F, 1e-45F, 1e30F, kMost, -kMost}) others.emplace_back(array.size(), v);
        others.push_back(drawn(array.size(), random));
        others.emplace_back(array.rbegin(), array.rend());
        others.emplace_back();
        for (auto& other : others) {
          Evidence bent = trial.evidence;
          (lower ? bent.hints[k].lower : bent.hints[k].upper)[node] = std::move(other);
          INFO("hints " << k << " of node " << node << (lower ? " below" : " above"));
          trial.check(bent);
        }
      }
    }
  }
}

void bend_claims(Trial& trial) {
  for (std::size_t k = 0; k < trial.evidence.claims.size(); ++k) {
    for (std::size_t i = 0; i < trial.evidence.claims[k].lo.size(); ++i) {
      const float lo = trial.evidence.claims[k].lo[i], hi = trial.evidence.claims[k].hi[i];
      for (const float share : {0.0F, 0.01F, 0.4F, 0.9F}) {
        for (const bool lower : {true, false}) {
          Evidence bent = trial.evidence;
          if (lower)
            bent.claims[k].lo[i] = share == 0 ? std::nextafter(lo, hi) : lo + share * (hi - lo);
          else
            bent.claims[k].hi[i] = share == 0 ? std::nextafter(hi, lo) : hi - share * (hi - lo);
          INFO("claim " << i << " of step " << k << (lower ? " below" : " above"));
          trial.check(bent);
        }
      }
      Evidence wider = trial.evidence;
      wider.claims[k].lo[i] -= 1;
      trial.check(wider);
    }
  }
}

void bend_bytes(Trial& trial) {
  const Parts holds = Parts::of(written(trial.net, trial.evidence, *trial.holds));
  const Parts fails = Parts::of(written(trial.net, trial.evidence, *trial.fails));
  REQUIRE(holds.records == fails.records);
  for (std::size_t i = 0; i < holds.records.size(); ++i) {
    for (const int change : {8, 255}) {
      INFO("byte " << i << " xor " << change);
      Parts one = holds, other = fails;
      one.records[i] = other.records[i] = static_cast<char>(holds.records[i] ^ change);
      trial.check_bytes(one.file(), other.file());
    }
  }
}

}  // namespace

TEST_CASE("bent hints of planes prove the same theorem or none", "[tamper]") {
  for (const bool exact : {false, true}) {
    for (Net (*make)() : {pooled, attention}) {
      Trial trial(make(), exact);
      bend_hints(trial);
      CHECK(trial.accepted > 0);
      CHECK(trial.refused > 0);
      CHECK(trial.facts > 100);
    }
  }
}

TEST_CASE("a tightened claim about a plane's result is refused or true", "[tamper]") {
  for (Net (*make)() : {pooled, attention}) {
    Trial trial(make(), false);
    bend_claims(trial);
    CHECK(trial.refused > trial.accepted);
    CHECK(trial.facts > 50);
  }
}

TEST_CASE("multipliers of a conclusion over planes", "[tamper]") {
  for (Net (*make)() : {pooled, attention}) {
    Trial trial(make(), false);
    for (const float m : {0.0F, -1.0F, 1e-45F, 0.5F, kMost, -kMost}) {
      Evidence bent = trial.evidence;
      bent.cases.rows = {m};
      trial.check(bent);
      bent = trial.evidence;
      bent.hints.back().beta = {m};  // there is no literal
      trial.check(bent);
    }
    CHECK(trial.refused > 3);
  }
}

TEST_CASE("a bent byte of a certificate with planes proves the same theorem or none", "[tamper]") {
  for (Net (*make)() : {pooled, attention}) {
    Trial trial(make(), false);
    bend_bytes(trial);
    CHECK(trial.accepted > 100);  // most bytes are hints
    CHECK(trial.refused > 100);
  }
}
