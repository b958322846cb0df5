// Cubes from the split to the merged certificate, where a statement has several groups and cases.
#include <deque>

#include "certificates/edit/cubes.h"
#include "certificates/edit/join.h"
#include "search/search.h"
#include "semantics/statement/statement.h"
#include "tests/certificates/format/problems.h"

using namespace assay;
using namespace assay::test;

namespace {

statement::Digest digest_of(const TemporaryFile& file) {
  const std::string bytes = file.bytes();
  return statement::sha256(std::as_bytes(std::span(bytes)));
}

struct Split {
  TemporaryFile root;
  std::deque<TemporaryFile> files;
  search::Result result;
  std::vector<certificate::Cube> cubes;
};

void split(const std::shared_ptr<const logic::Problem>& problem, search::Options options, std::size_t into, Split& all) {
  options.threads = 1;
  options.attack = false;
  options.split.into = into;
  options.split.open = [&](std::size_t) { return certificate::Writer::open(all.files.emplace_back().path(), *problem); };
  auto writer = certificate::Writer::open(all.root.path(), *problem);
  REQUIRE(writer.ok());
  auto result = search::search(problem, options, writer.value().get());
  REQUIRE(result.ok());
  all.result = std::move(result).value();
  REQUIRE_FALSE(all.result.unwritten);
  for (std::size_t k = 0; k < all.files.size(); ++k)
    all.cubes.push_back({"cube " + std::to_string(k), digest_of(all.files[k]), all.result.open[k].after});
}

// -> the cases that were open in the cube.
std::size_t solve(const std::shared_ptr<const logic::Problem>& problem, const TemporaryFile& cube, const TemporaryFile& part) {
  auto reader = certificate::Reader::open(cube.path());
  REQUIRE(reader.ok());
  auto beginning = certificate::read_beginning(*reader.value(), problem, 1e9);
  REQUIRE(beginning.ok());
  const statement::Digest digest = digest_of(cube);
  auto writer = certificate::Writer::open(part.path(), *problem, &digest);
  REQUIRE(writer.ok());
  search::Options options;
  options.threads = 1;
  options.attack = false;
  options.cube = &beginning.value();
  const auto result = search::search(problem, options, writer.value().get());
  REQUIRE(result.ok());
  INFO(result.value().reason);
  CHECK(result.value().answer == search::Result::Answer::unsatisfiable);
  CHECK_FALSE(result.value().theorem);  // a cube that is closed is none
  return beginning.value().open.size();
}

Outcome<logic::Theorem> joined(const std::shared_ptr<const logic::Problem>& problem, const Split& all,
                               const std::deque<TemporaryFile>& parts) {
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  std::vector<std::string> paths;
  for (const TemporaryFile& part : parts) paths.push_back(part.path());
  if (auto done = certificate::join_parts(all.root.path(), all.cubes, paths, *problem, *writer.value()); !done) return done.rejection();
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  return certificate::replay(*reader.value(), problem);
}

}  // namespace

TEST_CASE("parts of every split of every group make one certificate", "[cubes]") {
  const auto problem = two_groups();
  const auto branching = GENERATE(search::Options::Branching::relu, search::Options::Branching::input);
  const std::size_t into = GENERATE(1U, 2U, 3U, 6U);
  search::Options options;
  options.branching = branching;
  Split all;
  split(problem, options, into, all);
  INFO("into " << into << ", " << all.files.size() << " cubes");
  if (all.result.answer == search::Result::Answer::unsatisfiable) {  // there were never so many open branches
    CHECK(into > 1);
    CHECK(all.files.empty());
  } else {
    REQUIRE(all.result.answer == search::Result::Answer::split);
    CHECK(all.files.size() == all.result.open.size());
    CHECK_FALSE(all.files.empty());
  }
  std::deque<TemporaryFile> parts;
  std::size_t open = 0;
  for (const TemporaryFile& cube : all.files) open += solve(problem, cube, parts.emplace_back());
  CHECK(open >= all.files.size());
  const auto theorem = joined(problem, all, parts);
  if (!theorem) FAIL(theorem.rejection().to_text());
  CHECK(theorem.value().kind() == logic::Theorem::Kind::unsatisfiable);
  if (parts.empty()) return;
  parts.pop_back();
  const auto without = joined(problem, all, parts);
  REQUIRE_FALSE(without.ok());
  CHECK(without.rejection().code == "join.missing");
}

TEST_CASE("a witness in one part is the whole answer", "[cubes]") {
  const auto problem = reachable();
  Split all;
  all.cubes = {{"cube 0", statement::Digest{1}, 0}, {"cube 1", statement::Digest{2}, 0}};
  std::deque<TemporaryFile> parts;
  auto writer = certificate::Writer::open(parts.emplace_back().path(), *problem, &all.cubes[1].digest);
  REQUIRE(writer.ok());
  writer.value()->witness({0, {Rational(1, 3), Rational(1, 2)}});
  REQUIRE(writer.value()->finish().ok());
  const auto theorem = joined(problem, all, parts);  // the other part, and the root, are not even there
  REQUIRE(theorem.ok());
  CHECK(theorem.value().kind() == logic::Theorem::Kind::satisfiable);
}

TEST_CASE("a cube that is none is refused", "[cubes]") {
  const auto problem = two_groups();
  const auto refused = [&](const auto& write) {
    const TemporaryFile file;
    auto writer = certificate::Writer::open(file.path(), *problem);
    REQUIRE(writer.ok());
    write(*writer.value());
    REQUIRE(writer.value()->finish_open().ok());
    auto reader = certificate::Reader::open(file.path());
    REQUIRE(reader.ok());
    const auto beginning = certificate::read_beginning(*reader.value(), problem, 1e9);
    return beginning.ok() ? "" : beginning.rejection().code;
  };
  using certificate::Writer;
  CHECK(refused([](Writer&) {}) == "cube.structure");
  CHECK(refused([](Writer& out) { out.begin_group(2); }) == "cube.structure");
  CHECK(refused([](Writer& out) { out.begin_group(0), out.end_group(); }) == "cube.structure");
  CHECK(refused([](Writer& out) { out.begin_group(0), out.end_group(), out.begin_group(1); }) == "cube.structure");
  CHECK(refused([](Writer& out) { out.begin_group(0), out.split(0, 0, 0.0), out.next(), out.next(); }) == "cube.structure");
  CHECK(refused([](Writer& out) { out.begin_group(0), out.split(0, 0, 0.0), out.next(), out.done(); }) == "cube.structure");
  CHECK(refused([](Writer& out) { out.witness({0, {}}); }) == "cube.structure");
  CHECK(refused([](Writer& out) { out.begin_group(0), out.split(0, 7, 0.0); }) != "");
  CHECK(refused([](Writer& out) { out.begin_group(0), out.split(0, 0, 0.5), out.next(); }).empty());
}
