// What several threads replay is what one replays. That they accept the same, replay_bytes() compares in every test of certificates.
#include "certificates/replay/session.h"
#include "certificates/search/search.h"
#include "tests/certificates/format_problems.h"
#include "tests/certificates/search_graphs.h"

using namespace assay;
using namespace assay::test;

TEST_CASE("statistics of several threads count the same") {
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
  const auto statistics_with = [&](std::size_t threads) {
    certificate::ReplayLimits limits;
    limits.threads = threads;
    limits.shared_work = 0;
    certificate::ReplayStatistics statistics;
    auto reader = certificate::Reader::open(file.path());
    REQUIRE(reader.ok());
    REQUIRE(certificate::replay(*reader.value(), problem, &statistics, limits).ok());
    return statistics;
  };
  const auto alone = statistics_with(1), shared = statistics_with(4);
  CHECK(shared.steps == alone.steps);
  CHECK(alone.splits > 0);
  CHECK(shared.splits == alone.splits);
  CHECK(shared.conclusions == alone.conclusions);
  CHECK(shared.depth == alone.depth);
  CHECK(shared.helper_seconds > 0);
  CHECK(alone.helper_seconds == 0);
}

TEST_CASE("bounds derived by several threads are those of one") {
  const Graph graph = search_test::random_network({4, 256, 256, 1}, 3);
  const auto problem = search_test::open(
      graph, {search_test::make_case(4, Rational(-1), Rational(1), {search_test::output_row({{0, Rational(1)}}, Rational(0))})});
  const auto team = std::make_shared<kernel::Team>(3);
  kernel::Session alone(problem), shared(problem, {}, team);
  for (kernel::Session* session : {&alone, &shared}) {
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
  CHECK(shared.work_left() <= alone.work_left());  // every part counts what it derives
}
