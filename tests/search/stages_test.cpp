// The table of stages, row by row: what each applies to, at which of its conditions it stops to, and what README shows.

#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "search/search.h"
#include "search/strategy/constants.h"
#include "search/strategy/stages.h"
#include "tests/catch.h"
#include "tests/search/graphs.h"

namespace assay::search {
namespace {

using search_test::make_case;
using search_test::open;
using search_test::output_row;
using search_test::random_network;

// A row of the table: features for which it applies with this budget, and changes of them each of which is enough for it not to.
struct Row {
  std::string name;
  Features features;
  double seconds;
  std::vector<void (*)(Features&)> without;
};

Features at_root() {
  Features features;
  features.planned = 10;
  features.box_work = 1e12;
  features.round_seconds = kFirstBranching;
  return features;
}

Features made(void (*change)(Features&)) {
  Features features = at_root();
  change(features);
  return features;
}

// Behind the root's bounds, attacks and all.
Features at_tree() {
  Features features = at_root();
  features.has_attacked = features.has_side_attack = features.has_input_rows = features.root_is_complete = true;
  features.since_root = 0.5;
  return features;
}

Features made_at_tree(void (*change)(Features&)) {
  Features features = at_tree();
  change(features);
  return features;
}

std::vector<Row> stage_rows() {
  using F = Features&;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const auto later = [](F f) { f.round = 1; };
  const Features early_root = made([](F f) { f.has_early_root = f.splits_activations = true, f.whole_root = 0.2, f.early_seconds = 0.1; });
  return {
      {"a point", made([](F f) { f.case_without_rows = true; }), kInfinite, {later, [](F f) { f.case_without_rows = false; }}},
      {"boxes", made([](F f) { f.box_work = kBoxesWork; }), 1, {later, [](F f) { f.box_work *= 1.1; }}},
      {"operands of relus", made([](F f) { f.kinks_share = kShareOfKinks; }), 1, {later, [](F f) { f.kinks_share += 0.01; }}},
      {"tree on operands of relus",
       early_root,
       0.2,
       {later, [](F f) { f.has_early_root = false; }, [](F f) { f.splits_activations = false; }}},
      {"losses of products", made([](F f) { f.has_early_root = true; }), kInfinite, {later, [](F f) { f.has_early_root = false; }}},
      {"operands of products",
       made([](F f) { f.has_operands = true, f.operands_share = kShareOfOperands; }),
       1,
       {later, [](F f) { f.has_operands = false; }, [](F f) { f.operands_share += 0.01; }}},
      {"tree on operands of products",
       early_root,
       0.4,
       {later, [](F f) { f.has_early_root = false; }, [](F f) { f.splits_activations = false; }}},
      {"cheap bounds of the root",
       made([](F f) { f.until_cheap = 0.03; }),
       0.03,
       {[](F f) { f.attacks = false; }, [](F f) { f.has_attacked = true; }}},
      {"first attack",
       at_root(),
       kFirstAttack,
       {[](F f) { f.attacks = false; }, [](F f) { f.has_attacked = true; }, [](F f) { f.root_is_complete = true; }}},
      {"CROWN bounds of the root", at_root(), 10 * kRootShare, {[](F f) { f.root_is_complete = true; }}},
      {"cases at the root", at_root(), kInfinite, {}},
      {"cuts", at_root(), kInfinite, {later}},
      {"first attack",
       made([](F f) { f.since_root = 0.05, f.root_is_complete = true; }),
       0.05,
       {[](F f) { f.attacks = false; }, [](F f) { f.has_attacked = true; }}},
      {"side attack", at_root(), kInfinite, {[](F f) { f.attacks = false; }, [](F f) { f.has_side_attack = true; }}},
      {"neurons affine in the inputs", at_root(), kInfinite, {[](F f) { f.has_input_rows = true; }}},
      {"root by slopes, before inputs",
       made_at_tree([](F f) { f.elementwise = f.is_refinable = true; }),
       kInfinite,
       {[](F f) { f.splits_activations = true; }, [](F f) { f.elementwise = false; }, [](F f) { f.relu_only = true; },
        [](F f) { f.is_refinable = false; }}},
      {"short tree over inputs",
       made_at_tree([](F f) { f.splits_activations = f.tries_inputs = true; }),
       kShortTree,
       {[](F f) { f.splits_activations = false; }, [](F f) { f.tries_inputs = false; }}},
      {"tree over inputs", at_tree(), kInfinite, {[](F f) { f.splits_activations = true; }, [](F f) { f.tree_has_ended = true; }}},
      {"tree of all cases",
       made_at_tree([](F f) { f.splits_activations = f.is_refinable = true; }),
       10 * kFirstTreeShare,
       {[](F f) { f.splits_activations = false; }, later}},
      {"a tree for each case",
       made_at_tree([](F f) { f.splits_activations = f.is_refinable = true, f.round = 1, f.round_seconds = 6; }),
       6,
       {[](F f) { f.splits_activations = false; }, [](F f) { f.round = 0; }, [](F f) { f.wants_leaves = true; }}},
      {"root by slopes or cases",
       made_at_tree([](F f) { f.tree_has_ended = f.is_refinable = true; }),
       kInfinite,
       {[](F f) { f.tree_has_ended = false; }, [](F f) { f.is_refinable = false; }}},
  };
}

}  // namespace

TEST_CASE("every row of the table of stages applies by its own conditions, and has its own budget", "[search][strategy]") {
  const std::vector<Row> expected = stage_rows();
  REQUIRE(expected.size() == stages().size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const Stage& stage = stages()[k];
    const Row& row = expected[k];
    CAPTURE(k, row.name);
    CHECK(stage.name == row.name);
    CHECK(stage.applies(row.features));
    CHECK(stage.seconds(row.features) == row.seconds);
    for (std::size_t n = 0; n < row.without.size(); ++n) {
      CAPTURE(n);
      Features other = row.features;
      row.without[n](other);
      CHECK_FALSE(stage.applies(other));
    }
  }
}

TEST_CASE("boxes come first as well where they are a small part of the root's work", "[search][strategy]") {
  const Stage& boxes = stages()[1];
  Features features = at_root();
  features.root_work = features.box_work / kBoxesShare;
  CHECK(boxes.applies(features));
  features.root_work *= 0.9;
  CHECK_FALSE(boxes.applies(features));
}

TEST_CASE("a tree that no other follows has all the time, and one before a refinement ends in time for it", "[search][strategy]") {
  Features features = at_tree();
  features.splits_activations = true;
  CHECK_FALSE(features.is_last());  // trees for single cases come
  CHECK(features.tree_round() == 10 * kFirstTreeShare);
  features.round = 1;
  CHECK(features.is_last());
  features.is_refinable = true;
  CHECK_FALSE(features.is_last());
  features.is_refinable = false;
  const Stage& tree = stages()[18];
  CHECK(tree.seconds(features) == std::numeric_limits<double>::infinity());
  features.until_refined = 7;
  CHECK(tree.seconds(features) == 7);
  features = at_tree();
  features.wants_leaves = features.splits_activations = true;
  CHECK(features.is_last());
  features.root_is_complete = false;
  CHECK_FALSE(features.is_last());
}

TEST_CASE("a search tells which stages ran, in the order of the table", "[search][strategy]") {
  const auto problem =
      open(random_network({20, 30, 30, 1}, 3), {make_case(20, Rational(-1), Rational(1), {output_row({{0, 1}}, Rational(-1000000000))})});
  Options options;
  options.threads = 1;
  const auto result = search(problem, options);
  REQUIRE(result.ok());
  const std::vector<StageTime>& ran = result.value().statistics.stages;
  REQUIRE_FALSE(ran.empty());
  CHECK(std::string(ran[0].name) == "boxes");
  std::set<std::string> known;
  for (const Stage& stage : stages()) known.insert(stage.name);
  for (const StageTime& stage : ran) {
    CHECK(known.contains(stage.name));
    CHECK(stage.runs >= 1);
    CHECK(stage.seconds >= 0);
    CHECK(stage.seconds <= result.value().statistics.wall_seconds);
  }
}

TEST_CASE("each stage that grows a tree names the heuristic of its splits, and no other stage does", "[search][strategy]") {
  for (const Stage& stage : stages()) {
    CAPTURE(stage.name);
    const bool grows = std::string(stage.name).find("tree") != std::string::npos;
    CHECK(grows == (std::string(stage.splits_by).find("search/heuristics/") != std::string::npos));
  }
}

TEST_CASE("README shows the table of stages as it is", "[search][strategy]") {
  std::ifstream file(ASSAY_SEARCH_README);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CAPTURE(stages_table());
  CHECK(text.find(stages_table()) != std::string::npos);
}

}  // namespace assay::search
