// Trimmed certificates: accepted as what they were made of, with less in them, and nothing is made of what is no proof.
#include <algorithm>
#include <functional>

#include "certificates/edit/trim/trim.h"
#include "search/search.h"
#include "tests/certificates/format/problems.h"
#include "tests/search/graphs.h"

using namespace assay;
using namespace assay::test;
using certificate::Fragment;
using logic::CaseMultipliers;

namespace {

using ProblemPointer = std::shared_ptr<const logic::Problem>;

const std::function<bool()> never = [] { return false; };

void search_proof(const ProblemPointer& problem, const TemporaryFile& file) {
  search::Options options;
  options.threads = 1;
  options.attack = false;
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  const auto result = search::search(problem, options, writer.value().get());
  REQUIRE(result.ok());
  REQUIRE(result.value().answer == search::Result::Answer::unsatisfiable);
}

Outcome<logic::Theorem> replayed(const ProblemPointer& problem, const TemporaryFile& file,
                                 certificate::ReplayStatistics* statistics = nullptr) {
  auto reader = certificate::Reader::open(file.path());
  REQUIRE(reader.ok());
  return certificate::replay(*reader.value(), problem, statistics);
}

void write(const ProblemPointer& problem, const std::vector<certificate::ProofGroup>& groups, const TemporaryFile& file) {
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  certificate::write_proof(groups, *writer.value());
  REQUIRE(writer.value()->finish().ok());
}

enum class Trees { of_all_cases, of_each_case, behind_a_root };

// The relus are equal, so y = 0; the slopes and splits that prove it are more than it takes.
void write_wasteful(const ProblemPointer& problem, Trees trees, const TemporaryFile& file) {
  constexpr NodeId kZ = 3, kRelu = 4;
  auto opened = certificate::Writer::open(file.path(), *problem);
  REQUIRE(opened.ok());
  certificate::Writer& writer = *opened.value();
  const auto write_tree = [&](const std::vector<std::uint32_t>& cases) {
    const auto leaf = [&](bool mixed) {
      Fragment steps;
      steps.sweep(0, false);
      for (const std::uint32_t k : cases) {
        logic::Hints hints;
        hints.lower[kRelu] = {0.0F, 1.0F};
        hints.beta = {mixed && k == 0 ? 1.0F : 0.0F, mixed && k == 1 ? 1.0F : 0.0F};
        steps.conclude(std::vector<CaseMultipliers>{{k, {}}}, hints);
      }
      writer.append(steps);
    };
    writer.split(kZ, 0, 0.0);
    writer.split(kZ, 1, 0.0);
    writer.split(0, 0, 0.5);  // not needed by any step
    leaf(false);
    writer.next();
    leaf(false);
    writer.done();
    writer.next();
    leaf(true);
    writer.done();
    writer.next();
    writer.split(kZ, 1, 0.0);
    leaf(true);
    writer.next();
    leaf(false);
    writer.done();
    writer.done();
  };
  writer.begin_group(0);
  if (trees == Trees::behind_a_root) {  // in two chunks, which the sweeps below derive again
    Fragment steps;
    steps.box(kZ);
    for (const bool first : {true, false}) steps.tighten(kZ, {inspect::Selection::Kind::mask, {first, !first}}, {}, nullptr, false);
    writer.append(steps);
  }
  if (trees != Trees::of_each_case) {
    write_tree({0, 1});
  } else {
    write_tree({0});
    Fragment between;
    between.box(kZ);
    writer.append(between);
    write_tree({1});
  }
  writer.end_group();
  Fragment right;
  right.sweep(0, true);
  right.conclude(std::vector<CaseMultipliers>{{0, {}}}, {});
  writer.begin_group(1);
  writer.append(right);
  writer.end_group();
  REQUIRE(writer.finish().ok());
}

}  // namespace

TEST_CASE("what is read is written again byte for byte", "[trim]") {
  const ProblemPointer problem = two_groups();
  const TemporaryFile file, again;
  SECTION("a search's") { search_proof(problem, file); }
  SECTION("splits one behind the other") { write_wasteful(problem, Trees::of_each_case, file); }
  const auto groups = certificate::read_proof(file.path(), *problem);
  REQUIRE(groups.ok());
  write(problem, groups.value(), again);
  CHECK(again.bytes() == file.bytes());
}

TEST_CASE("a trimmed certificate proves the same with less", "[trim]") {
  const ProblemPointer problem = two_groups();
  const TemporaryFile file, trimmed;
  const auto trees = GENERATE(Trees::of_all_cases, Trees::of_each_case, Trees::behind_a_root);
  write_wasteful(problem, trees, file);
  certificate::ReplayStatistics before, after;
  REQUIRE(replayed(problem, file, &before).ok());
  auto groups = certificate::read_proof(file.path(), *problem);
  REQUIRE(groups.ok());
  const auto statistics = certificate::trim(problem, groups.value(), never);
  REQUIRE(statistics.ok());
  CHECK(statistics.value().splits_dropped >= (trees == Trees::of_each_case ? 2 : 1));
  CHECK(statistics.value().refined == (trees == Trees::behind_a_root ? 2 : 0));
  CHECK(statistics.value().kept == 0);
  CHECK(statistics.value().slopes_dropped >= 1);
  write(problem, groups.value(), trimmed);
  const auto theorem = replayed(problem, trimmed, &after);
  REQUIRE(theorem.ok());
  CHECK(theorem.value().kind() == logic::Theorem::Kind::unsatisfiable);
  CHECK(trimmed.bytes().size() < file.bytes().size());
  CHECK(after.work < before.work);
}

TEST_CASE("what the kernel does not accept is not trimmed", "[trim]") {
  const ProblemPointer problem = two_groups();
  const TemporaryFile file;
  search_proof(problem, file);
  auto groups = certificate::read_proof(file.path(), *problem);
  REQUIRE(groups.ok());
  auto& steps = groups.value().back().root.steps;
  const std::size_t before = steps.size();
  std::erase_if(steps, [](const certificate::ProofStep& step) {
    return step.record.type == certificate::RecordType::conclude || step.record.type == certificate::RecordType::empty;
  });
  REQUIRE(steps.size() < before);
  CHECK_FALSE(certificate::trim(problem, groups.value(), never).ok());
}

TEST_CASE("a limit that is reached at once changes nothing", "[trim]") {
  const ProblemPointer problem = two_groups();
  const TemporaryFile file, again;
  search_proof(problem, file);
  auto groups = certificate::read_proof(file.path(), *problem);
  REQUIRE(groups.ok());
  CHECK_FALSE(certificate::trim(problem, groups.value(), [] { return true; }).ok());
  write(problem, groups.value(), again);
  CHECK(again.bytes() == file.bytes());
}

TEST_CASE("wherever the trimming is ended, what is left is accepted", "[trim]") {
  const ProblemPointer problem = two_groups();
  const TemporaryFile file, trimmed;
  write_wasteful(problem, Trees::behind_a_root, file);
  std::size_t smallest = file.bytes().size();
  for (int most = 0; most < 4000; most = most * 5 / 4 + 1) {
    auto groups = certificate::read_proof(file.path(), *problem);
    REQUIRE(groups.ok());
    const auto statistics = certificate::trim(problem, groups.value(), [left = most]() mutable { return --left < 0; });
    CHECK((statistics.ok() || statistics.rejection().code == "kernel.stopped"));
    write(problem, groups.value(), trimmed);
    REQUIRE(replayed(problem, trimmed).ok());
    smallest = std::min(smallest, trimmed.bytes().size());
  }
  CHECK(smallest < file.bytes().size());
}

TEST_CASE("a witness is no proof that could be trimmed", "[trim]") {
  const ProblemPointer problem = reachable();
  const TemporaryFile file;
  const auto options = [] {
    search::Options all;
    all.threads = 1;
    return all;
  }();
  {
    auto writer = certificate::Writer::open(file.path(), *problem);
    REQUIRE(writer.ok());
    const auto result = search::search(problem, options, writer.value().get());
    REQUIRE(result.ok());
    REQUIRE(result.value().answer == search::Result::Answer::satisfiable);
  }
  const auto groups = certificate::read_proof(file.path(), *problem);
  REQUIRE_FALSE(groups.ok());
  CHECK(groups.rejection().code == "trim.shape");
}

TEST_CASE("splits one behind the other are trimmed up to a number", "[trim]") {
  const ProblemPointer problem = two_groups();
  const TemporaryFile file;
  {
    auto writer = certificate::Writer::open(file.path(), *problem);
    REQUIRE(writer.ok());
    writer.value()->begin_group(0);
    for (int k = 0; k < 100000; ++k) {
      writer.value()->split(3, 0, 0.0);
      writer.value()->next();
      writer.value()->done();
    }
    writer.value()->end_group();
    REQUIRE(writer.value()->finish().ok());
  }
  const auto groups = certificate::read_proof(file.path(), *problem);
  REQUIRE_FALSE(groups.ok());
  CHECK(groups.rejection().code == "trim.shape");
}
