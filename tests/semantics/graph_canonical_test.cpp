#include <set>
#include <string>

#include "semantics/graph/graph.h"
#include "tests/catch.h"
#include "tests/semantics/graph_mutations.h"

using namespace assay;

namespace {

using Bytes = std::vector<std::byte>;

void put_number(Bytes& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}
void put_text(Bytes& out, const std::string& text) {
  put_number(out, text.size());
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}

}  // namespace

TEST_CASE("canonical bytes are laid out as documented", "[graph]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1, 2}, "x");
  const double values[] = {1.0, -0.0};
  const NodeId c = graph.append_constant(Tensor::of_doubles({2}, values), "c");
  const NodeId m = graph.append(Op::max, {x, c}).value();
  const NodeId y = graph.append(Op::pow, {m}, PowAttributes{Rational(-1, 3)}).value();
  graph.mark_output(y, "y");

  Bytes expected;  // docs/reference/canonical-graph.md, by hand
  put_text(expected, "assay graph 1");
  put_number(expected, 4);
  put_text(expected, "input");
  put_number(expected, 0);
  expected.push_back(std::byte{1});
  for (const std::uint64_t v : {2, 1, 2}) put_number(expected, v);
  put_text(expected, "constant");
  put_number(expected, 0);
  expected.push_back(std::byte{1});
  for (const std::uint64_t v : {1, 2}) put_number(expected, v);
  put_number(expected, 0x3ff0000000000000);
  put_number(expected, 0x8000000000000000);
  put_text(expected, "max");
  for (const std::uint64_t v : {2, 0, 1}) put_number(expected, v);
  expected.push_back(std::byte{1});
  for (const std::uint64_t v : {2, 1, 2}) put_number(expected, v);
  put_text(expected, "pow");
  for (const std::uint64_t v : {1, 2}) put_number(expected, v);
  put_text(expected, "-1/3");
  expected.push_back(std::byte{1});
  for (const std::uint64_t v : {2, 1, 2}) put_number(expected, v);
  for (const std::uint64_t v : {1, 0, 1, 3}) put_number(expected, v);  // inputs, outputs
  CHECK(canonical_bytes(graph) == expected);
}

TEST_CASE("canonical bytes tell all graphs of the mutation list apart", "[graph]") {
  const Graph original = test::network_of_all_attributes();
  REQUIRE(validate(original).empty());
  const auto text_of = [](const Bytes& bytes) { return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()); };
  std::set<std::string> seen = {text_of(canonical_bytes(original))};
  for (const auto& [name, mutate] : test::graph_mutations()) {
    CAPTURE(name);
    Graph changed = original;
    mutate(changed);
    CHECK(seen.insert(text_of(canonical_bytes(changed))).second);
  }
  CHECK(seen.size() == test::graph_mutations().size() + 1);
}

TEST_CASE("canonical bytes do not depend on names", "[graph]") {
  const Graph original = test::network_of_all_attributes();
  Graph renamed = original;
  test::rename_everything(renamed);
  CHECK(renamed.nodes[0].name != original.nodes[0].name);
  CHECK(canonical_bytes(renamed) == canonical_bytes(original));
}
