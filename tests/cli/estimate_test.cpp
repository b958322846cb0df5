// What an undecided search says: the time that is left, the other way of branching, and what runs in several orders show.
#include "app/queries/order_runs.h"
#include "app/queries/verify.h"
#include "tests/catch.h"

namespace assay {

TEST_CASE("an estimate beyond ten times the time spent is none", "[queries]") {
  search::Unfinished left;
  left.closed_share = 0.5;
  left.seconds = 10;
  CHECK_FALSE(queries::seconds_left(left).has_value());  // nothing closes
  left.pace = 0.01;
  CHECK(queries::seconds_left(left) == 50.0);
  left.pace = 0.004;
  CHECK_FALSE(queries::seconds_left(left).has_value());
}

TEST_CASE("an undecided search names the other branching where that may decide more", "[queries]") {
  struct {
    bool neurons, inputs, can_split_neurons;
    std::size_t free_inputs;
    const char *reason, *other;
  } const rows[] = {
      {true, false, false, 4, "time", "input"},
      {true, true, true, 4, "time", "input"},
      {true, false, false, 784, "time", ""},
      {true, false, false, 784, search::kNoNeuronLeft, "input"},
      {false, true, true, 4, "time", "relu"},
      {false, true, false, 4, "time", ""},
      {false, true, true, 4, search::kWideAtPoint, ""},
      {false, false, false, 0, "time, at the root's bounds", ""},
  };
  for (const auto& row : rows) {
    CAPTURE(row.neurons, row.inputs, row.can_split_neurons, row.free_inputs, row.reason);
    search::Result result;
    result.reason = row.reason;
    result.statistics.splits_activations = row.neurons;
    result.statistics.splits_inputs = row.inputs;
    result.statistics.can_split_activations = row.can_split_neurons;
    result.statistics.free_inputs = row.free_inputs;
    CHECK(queries::other_branching(result) == row.other);
  }
}

TEST_CASE("orders that all violate show no difference between executions", "[queries]") {
  queries::OrderRuns runs;
  runs.violating = queries::OrderRun{"as written", 0, {1}};
  runs.tried = 400;
  const std::vector<std::string> lines = queries::lines_of(runs);
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].starts_with("so do 399 other orders: nothing shows that executions differ."));
  runs.keeping = queries::OrderRun{"in reverse", 0, {0}};
  CHECK(queries::lines_of(runs)[1].ends_with("not in the unsafe set"));
}

}  // namespace assay
