// Several threads replay to the same result as one. In every test of certificates replay_bytes() compares that they accept the
// same.
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>

#include "certificates/check/session.h"
#include "certificates/format/decoder.h"
#include "kernel/inspect/inspect.h"
#include "search/search.h"
#include "tests/certificates/format/proof.h"
#include "tests/search/graphs.h"

using namespace assay;
using namespace assay::test;

TEST_CASE("several threads answer and count the same") {
  const TemporaryFile file;
  const auto problem = search_test::open(
      search_test::random_network({3, 8, 8, 1}, 21, Op::relu),
      {search_test::make_case(3, Rational(-1), Rational(1), {search_test::output_row({{0, Rational(1)}}, Rational(-2))})});
  search::Options options;
  options.threads = 1;
  options.attack = false;
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  REQUIRE(search::search(problem, options, writer.value().get()).ok());
  certificate::ReplayStatistics statistics;
  certificate::ReplayLimits limits;
  limits.shared_work = 0;
  const auto answer_with = [&](std::size_t threads) {
    limits.threads = threads;
    return answer_of(file.path(), problem, limits, statistics);
  };
  REQUIRE(answer_with(1) == "accepted");
  const certificate::ReplayStatistics alone = statistics;
  CHECK(alone.splits > 0);
  CHECK(alone.helper_seconds == 0);
  const auto check_same = [&](const certificate::ReplayStatistics& expected) {
    CHECK(statistics.steps == expected.steps);
    CHECK(statistics.splits == expected.splits);
    CHECK(statistics.conclusions == expected.conclusions);
    CHECK(statistics.depth == expected.depth);
    CHECK(statistics.work == expected.work);
    CHECK(statistics.memory == expected.memory);
    CHECK(statistics.budget == expected.budget);
  };
  for (const std::size_t threads : {2, 4, 8}) {
    REQUIRE(answer_with(threads) == "accepted");
    check_same(alone);
    CHECK(statistics.again == 0);
  }
  // At the limits, several threads stop at the same step, for each order of the halves. The allowance is there at once, half of
  // it, or all of it comes with the bytes.
  const double bytes = static_cast<double>(std::filesystem::file_size(file.path()));
  std::size_t declined = 0;
  for (const double part : {0.0, 0.3, 0.9, 0.999, 1.0, 4.0}) {
    for (const double per_byte : {0.0, 0.5, 1.0}) {
      for (const std::uint64_t memory : {alone.memory, alone.memory - 1}) {
        limits.work = std::floor(part * alone.work * (1 - per_byte));
        limits.work_per_byte = part * alone.work * per_byte / bytes;
        limits.memory = memory;
        const std::string expected = answer_with(1);
        const certificate::ReplayStatistics by_one = statistics;
        declined += expected == "accepted" ? 0 : 1;
        for (const std::size_t threads : {2, 4, 8}) {
          INFO("part " << part << ", " << per_byte << " of it for bytes, memory " << memory << ", " << threads << " threads");
          CHECK(answer_with(threads) == expected);
          check_same(by_one);
        }
      }
    }
  }
  CHECK(declined > 20);
  CHECK(declined < 33);  // of 36
}

// Bounds of each element of the second relu's operand in both halves of a split, then a conclusion. `odd` changes the step of
// element 30, or all from it on.
enum class Odd : std::uint8_t { none, own_node, unstable, constant, length };
void write_cases(const std::string& path, const std::shared_ptr<const logic::Problem>& problem, Odd odd) {
  const NodeId first = inspect::pre_activations(*problem)[0], second = inspect::pre_activations(*problem)[1];
  certificate::Fragment root;
  root.boxes(0);
  for (std::uint32_t element = 0; element < 64; ++element) {
    inspect::Selection selection{inspect::Selection::Kind::mask, std::vector<bool>(64, false)};
    selection.mask[element] = true;
    std::vector<certificate::CaseStep> tree{{logic::Literal{first, element, false, 0.0}, {}}, {{}, {}}, {{}, {}}};
    if (element == 30 && odd == Odd::own_node) tree[0].split = logic::Literal{second, element, false, 0.0};
    if (element >= 30 && odd == Odd::unstable) selection = {inspect::Selection::Kind::unstable, {}};
    if (element == 30 && odd == Odd::constant) tree[0].split->node = first - 1;
    if (element == 30 && odd == Odd::length) selection.mask.pop_back();
    root.tighten_by_cases(second, selection, tree, true);
  }
  root.conclude(kFirst, {});
  auto writer = certificate::Writer::open(path, *problem);
  REQUIRE(writer.ok());
  writer.value()->begin_group(0);
  writer.value()->append(root);
  writer.value()->end_group();
  REQUIRE(writer.value()->finish().ok());
}

TEST_CASE("several threads bound the elements of a node by cases as one does") {
  const TemporaryFile file;
  const auto problem = search_test::open(
      search_test::random_network({6, 64, 64, 1}, 5),
      {search_test::make_case(6, Rational(-1), Rational(1), {search_test::output_row({{0, Rational(1)}}, Rational(-1000))})});
  const auto [odd, expected] = GENERATE(table<Odd, std::string>({{Odd::none, "accepted"},
                                                                 {Odd::own_node, "accepted"},
                                                                 {Odd::unstable, "accepted"},
                                                                 {Odd::constant, "assume.S1"},
                                                                 {Odd::length, "certificate.hint"}}));
  write_cases(file.path(), problem, odd);
  certificate::ReplayStatistics statistics;
  certificate::ReplayLimits limits;
  const std::string answer = answer_of(file.path(), problem, limits, statistics);
  const certificate::ReplayStatistics alone = statistics;
  CHECK_THAT(answer, Catch::Matchers::ContainsSubstring(expected));
  for (const double part : {1.0, 0.5, 0.0}) {
    limits.work = std::floor(part * alone.work);
    limits.threads = 1;
    const std::string by_one = answer_of(file.path(), problem, limits, statistics);
    CHECK((by_one == answer) == (part == 1));
    for (const std::size_t threads : {2, 4, 8}) {
      limits.threads = threads;
      CHECK(answer_of(file.path(), problem, limits, statistics) == by_one);
      CHECK(statistics.again == (by_one == "accepted" ? 0 : 1));
      if (part == 1) CHECK(statistics.work == alone.work);
      if (part == 1) CHECK(statistics.steps == alone.steps);
    }
  }
  CHECK(alone.steps > 30);
}

TEST_CASE("a right branch is decoded with what was in force at its split") {
  const auto problem = two_groups();
  const auto decode = [&](certificate::Decoder& decoder, std::initializer_list<int> record) {
    const std::string bytes(record.begin(), record.end());
    decoder.at(certificate::Cursor(bytes), 1, &problem->graph());
    return decoder.cursor.fault() ? decoder.cursor.fault()->code : std::string("read");
  };
  certificate::Decoder left;
  CHECK(decode(left, {6, 0, 0}) == "read");  // define_hints 0
  for (int depth = 1; depth <= 3; ++depth) {
    CHECK(decode(left, {10, 0, 0}) == "read");     // split at element 0 of the input
    CHECK(decode(left, {6, depth, 0}) == "read");  // define_hints
    CHECK(decode(left, {6, depth, 0}) != "read");  // twice
  }
  certificate::Decoder right = left.right_branch(2);
  CHECK(decode(right, {8, 1, 1, 2, 1, 1}) == "read");  // conclude_with hints 1, multipliers of two splits
  CHECK(decode(right, {8, 1, 1, 3, 1, 1}) != "read");  // of three
  CHECK(decode(right, {8, 1, 2, 0}) != "read");        // hints of the left branch
  CHECK(decode(right, {6, 2, 0}) == "read");           // define_hints with the same number
  CHECK(decode(right, {14}) == "read");                // done
  CHECK(decode(right, {8, 1, 2, 0}) != "read");
  CHECK(decode(right, {8, 1, 1, 0}) == "read");
  CHECK(decode(left, {8, 1, 3, 3, 1, 1}) == "read");  // the left branch continues as it was
}

// Two convolutions of [1, 1, 26, 26].
Graph feature_maps() {
  std::mt19937_64 random(4);
  Graph graph;
  NodeId x = graph.append_input(DType::float32, {1, 1, 26, 26}, "x");
  WindowAttributes window;
  window.kernel = {3, 3};
  window.strides = window.dilations = {1, 1};
  window.pads_begin = window.pads_end = {0, 0};
  window.groups = 1;
  for (const std::int64_t channels : {1, 5}) {
    std::vector<float> weights(static_cast<std::size_t>(channels * 5 * 9));
    for (float& value : weights) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
    const auto z = graph.append(Op::conv, {x, graph.append_constant(Tensor::of_floats({5, channels, 3, 3}, weights))}, window);
    REQUIRE(z.ok());
    x = search_test::unary(graph, Op::relu, z.value());
  }
  graph.mark_output(x, "y");
  return graph;
}

TEST_CASE("bounds derived by several threads are those of one") {
  const bool is_map = GENERATE(false, true);
  const Graph graph = is_map ? feature_maps() : search_test::random_network({4, 256, 256, 1}, 3);
  const auto problem = search_test::open(graph, {search_test::make_case(graph.size(graph.inputs[0]), Rational(-1), Rational(1),
                                                                        {search_test::output_row({{0, Rational(1)}}, Rational(0))})});
  const auto team = std::make_shared<certificate::Team>(3);
  certificate::Session alone(problem), shared(problem, {}, team);
  for (certificate::Session* session : {&alone, &shared}) {
    REQUIRE(session->begin_group(0).ok());
    REQUIRE(session->sweep(0, true).ok());
  }
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    if (!alone.scope().has_box(node)) continue;
    REQUIRE(shared.scope().has_box(node));
    CHECK(shared.scope().box(node).lo == alone.scope().box(node).lo);
    CHECK(shared.scope().box(node).hi == alone.scope().box(node).hi);
  }
  CHECK(team->helper_seconds() > 0);
  CHECK(shared.work_left() == alone.work_left());
}
