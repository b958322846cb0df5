// Replay against statements whose truth is certain: tests/fuzz/statements has each as a file, with a certificate that shows which
// it is. The targets check that first, so a wrong theorem about one of them is a fault of the checker alone.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>

#include "certificates/check/replay.h"
#include "certificates/edit/dump.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/targets/statements.h"

namespace assay::fuzz {

struct Decided {
  std::shared_ptr<const logic::Problem> problem;
  bool is_true = false;  // no point reaches the unsafe set: "unsat"
};

// The theorem of a certificate file, within the limits of one input; its work is compared with them.
inline Outcome<logic::Theorem> replayed(const std::string& path, const std::shared_ptr<const logic::Problem>& problem) {
  auto reader = certificate::Reader::open(path);
  if (!reader) return reader.rejection();
  certificate::ReplayLimits limits;
  limits.work = limits.most_work = kWork;
  limits.memory = kMemory;
  certificate::ReplayStatistics statistics;
  auto theorem = certificate::replay(*reader.value(), problem, &statistics, limits);
  expect(statistics.work <= kWork, "replay takes no more work than it may");
  expect(statistics.memory <= kMemory, "replay holds no more memory than it may");
  return theorem;
}

// The one thing that has to hold: no theorem about a statement says the opposite of the truth.
inline bool expect_truth(const Outcome<logic::Theorem>& theorem, const Decided& decided) {
  if (!theorem) return false;
  const bool unsat = theorem.value().kind() == logic::Theorem::Kind::unsatisfiable;
  expect(theorem.value().problem() == decided.problem, "the theorem is about the statement at hand");
  if (unsat != decided.is_true) expect(false, "a false theorem was accepted: " + std::string(unsat ? "unsat" : "sat"));
  return true;
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// In the order of the files' names.
inline std::vector<Decided> decided_statements() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_FUZZ_STATEMENTS)) {
    if (entry.path().extension() == ".assay-statement") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<Decided> all;
  for (std::filesystem::path path : files) {
    auto statement = statement_file::read(path.string());
    expect_ok(statement, "the statement is read");
    auto problem = logic::Problem::open(std::move(statement).value());
    expect_ok(problem, "the statement is opened");
    Decided one{problem.value(), path.filename().string().find(".holds.") != std::string::npos};
    const auto theorem = replayed(path.replace_extension(".assay").string(), one.problem);
    expect_ok(theorem, path.string() + ": its certificate shows whether the statement is true");
    (void)expect_truth(theorem, one);
    all.push_back(std::move(one));
  }
  expect(std::ranges::any_of(all, &Decided::is_true) && !std::ranges::all_of(all, &Decided::is_true),
         "there are true and false statements");
  return all;
}

inline const std::vector<Decided>& statements() {
  static const std::vector<Decided> kStatements = decided_statements();
  return kStatements;
}

}  // namespace assay::fuzz
