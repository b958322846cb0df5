// Statements that the targets decide: opened within the limits of one input, written and read again, swept.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/check/cost.h"
#include "certificates/check/session.h"
#include "frontends/statement/read.h"
#include "tests/fuzz/targets/target.h"

namespace assay::fuzz {

// The result of a front end is a statement file that means the same: written, read, and written again it has the same bytes.
// Graphs whose data take more than the limits are left out, as the programs leave them out.
inline void expect_rewritable(const statement::Statement& statement) {
  const std::vector<std::byte> bytes = statement::statement_bytes(statement);
  const auto again = statement_file::parse(bytes, "rewritten");
  expect_ok(again, "a statement that was read can be written and read again");
  expect(statement::statement_bytes(again.value()) == bytes, "a statement has one spelling");
  expect(statement::statement_digest(again.value()) == statement::statement_digest(statement), "a statement has one digest");
}

// The first group: a sweep, and each case refuted by multipliers 1 if that is enough. Steps that the kernel declines stay
// declined.
inline void sweep_first_group(const std::shared_ptr<const logic::Problem>& problem) {
  certificate::Session session(problem, {kWork, kMemory});
  if (problem->group_count() == 0 || !session.begin_group(0)) return;
  if (!session.sweep(0, true)) return;
  std::vector<logic::CaseMultipliers> cases;
  const std::vector<std::uint32_t>& group = problem->group_cases(0);
  for (std::uint32_t k = 0; k < group.size() && k < 64; ++k)
    cases.push_back({k, std::vector<float>(problem->statement().property.cases[group[k]].rows.size(), 1.0F)});
  (void)session.conclude(cases, {});
  expect(session.work_left() >= 0, "no step takes more work than is left");
  expect(session.most_memory() <= kMemory, "no branch holds more than the limit");
}

// A statement that a front end accepted, of a file of so many bytes.
inline void decide(statement::Statement statement, std::uint64_t stored) {
  if (!check::check_size(statement.graph, limits(), stored)) return;
  expect_rewritable(statement);
  auto problem = logic::Problem::open(std::move(statement));
  if (!problem) return;
  expect(problem.value()->digest() == statement::statement_digest(problem.value()->statement()), "a problem has its statement's digest");
  sweep_first_group(problem.value());
}

}  // namespace assay::fuzz
