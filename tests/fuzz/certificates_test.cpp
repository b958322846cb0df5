// Bent certificates: each is accepted for a true statement, or refused; for a false statement about the same network it is refused. None
// stops the program, none takes more than its budget.
#include <algorithm>
#include <map>

#include "certificates/search/search.h"
#include "tests/certificates/format_problems.h"
#include "tests/certificates/search_graphs.h"
#include "tests/fuzz/fuzz.h"

using namespace assay;
using namespace assay::test;
using kernel::Problem;

namespace {

// One network over [-1, 1]^n, its greatest first output found, and statements about it.
struct Subject {
  std::shared_ptr<const Problem> holds;  // nothing reaches y >= a little more than the bound
  std::shared_ptr<const Problem> fails;  // y >= a little less than what a point gives: false, as a point shows
  std::vector<Parts> proofs;             // of `holds`
  std::string header_of_fails;
};

std::shared_ptr<const Problem> statement(const Graph& graph, const Rational& least) {
  std::vector<kernel::Case> cases;
  const std::size_t inputs = graph.size(graph.inputs[0]);
  for (const int sign : {1, -1}) {  // a row of one term, and one that is implied, so that there are multipliers
    cases.push_back(search_test::make_case(inputs, -1, 1, {search_test::output_row({{0, Rational(-1)}}, -least)}));
    if (sign < 0) cases.back().rows.push_back(search_test::output_row({{0, Rational(-2)}}, Rational(-2) * least));
  }
  cases[1].box = cases[0].box;
  kernel::KernelOptions options;
  options.memory = fuzz::kMemory;
  options.work = fuzz::kWork;
  auto problem = Problem::open({graph, {cases}, ExecutionModel{}, {}}, options);
  if (!problem) FAIL(problem.rejection().to_text());
  return problem.value();
}

std::string file_of(const std::shared_ptr<const Problem>& problem, search::Options::Branching branching, bool attack) {
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  search::Options options;
  options.threads = 1;
  options.timeout_seconds = 20;
  options.branching = branching;
  options.attack = attack;
  auto result = search::search(problem, options, writer.value().get());
  REQUIRE(result.ok());
  if (!result.value().theorem) return {};
  writer.value().reset();
  return file.bytes();
}

// The greatest y at corners and random points: a lower bound of the maximum.
double reached(const Graph& graph) {
  fuzz::Random random(3);
  double most = -1e30;
  for (int trial = 0; trial < 200; ++trial) {
    Array<double> x{graph.node(graph.inputs[0]).shape, {}};
    for (std::size_t i = 0; i < graph.size(graph.inputs[0]); ++i)
      x.values.push_back(trial % 2 == 0 ? (random() % 2 == 0 ? 1.0 : -1.0) : static_cast<double>(random() % 2001) / 1000 - 1);
    const auto values = evaluate<double>(graph, std::vector{x});
    REQUIRE(values.ok());
    most = std::max(most, values.value()[graph.outputs[0]].values[0]);
  }
  return most;
}

Subject subject(const Graph& graph) {
  using Branching = search::Options::Branching;
  Subject result;
  const double most = reached(graph);
  result.fails = statement(graph, *Rational::from_double(most - 0x1p-20));
  for (const double margin : {0.05, 0.2, 1.0, 4.0}) {
    result.holds = statement(graph, *Rational::from_double(most + margin));
    for (const Branching branching : {Branching::input, Branching::relu}) {
      const std::string proof = file_of(result.holds, branching, false);
      if (!proof.empty()) result.proofs.push_back(Parts::of(proof));
    }
    if (!result.proofs.empty()) break;
  }
  REQUIRE(!result.proofs.empty());
  const TemporaryFile file;
  {
    auto writer = certificate::Writer::open(file.path(), *result.fails);
    REQUIRE(writer.ok());
    REQUIRE(writer.value()->finish().ok());
  }
  const std::string empty = file.bytes();
  result.header_of_fails = empty.substr(0, 5 + 1 + 32 + 1 + static_cast<std::uint8_t>(empty.at(38)) + 4);
  return result;
}

Graph attention() {
  std::mt19937_64 random(6);
  const auto constant = [&](Graph& g, const Shape& shape) {
    std::vector<float> values(element_count(shape));
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
    return g.append_constant(Tensor::of_floats(shape, values));
  };
  Graph g;
  const NodeId x = g.append_input(DType::float32, {1, 3, 2}, "x");
  const auto projected = [&] { return added(g.append(Op::matmul, {x, constant(g, {2, 2})})); };
  const NodeId keys = added(g.append(Op::permute, {projected()}, PermuteAttributes{{0, 2, 1}}));
  const NodeId weights = added(g.append(Op::softmax, {added(g.append(Op::matmul, {projected(), keys}))}, SoftmaxAttributes{2}));
  const NodeId mixed = added(g.append(Op::tanh, {added(g.append(Op::matmul, {weights, projected()}))}));
  const NodeId flat = added(g.append(Op::reshape, {added(g.append(Op::add, {mixed, x}))}, ShapeAttributes{{1, 6}}));
  g.mark_output(added(g.append(Op::gemm, {flat, constant(g, {6, 1})}, GemmAttributes{})), "y");
  return g;
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> kSubjects = [] {
    std::vector<Subject> all;
    all.push_back(subject(small_net().graph));
    all.push_back(subject(search_test::random_network({3, 6, 5, 2}, 4)));
    all.push_back(subject(search_test::random_network({2, 4, 4, 1}, 9, Op::sigmoid)));
    all.push_back(subject(attention()));
    return all;
  }();
  return kSubjects;
}

Verdict replayed(const TemporaryFile& file, const std::string& bytes, const std::shared_ptr<const Problem>& problem) {
  file.put(bytes);
  return replay_file(file.path(), problem);
}

}  // namespace

TEST_CASE("bent certificates: refused, or the same theorem", "[fuzz]") {
  const std::vector<Subject>& all = subjects();
  const TemporaryFile file;
  std::map<std::string, std::size_t> codes;
  std::size_t accepted = 0;
  fuzz::run("certificates", fuzz::cases(2000), [&](fuzz::Random& random) {
    const Subject& one = all[fuzz::below(random, all.size())];
    const Subject& two = all[fuzz::below(random, all.size())];
    Parts parts = one.proofs[fuzz::below(random, one.proofs.size())];
    parts.records = fuzz::bent(parts.records, two.proofs[fuzz::below(random, two.proofs.size())].records, random);
    const bool raw = fuzz::below(random, 10) == 0;  // the file's own bytes, checksums and all
    const std::string bytes = raw ? fuzz::bent(parts.file(), {}, random) : parts.file();
    const Verdict verdict = replayed(file, bytes, one.holds);
    accepted += verdict.accepted ? 1 : 0;
    ++codes[verdict.accepted ? "accepted" : verdict.text];
    if (raw) return;
    parts.header = one.header_of_fails;
    if (replayed(file, parts.file(), one.fails).accepted) FAIL("a certificate of a false statement was accepted");
  });
  for (const auto& [code, count] : codes) std::fprintf(stderr, "  %-28s %zu\n", code.c_str(), count);
  CHECK(accepted > 0);
  CHECK(codes.size() > 10);
}
