// Contracts as the tests ask for them.
#pragma once

#include <string>
#include <vector>

#include "kernel/contracts/contract.h"
#include "tests/audit/contracts/float_executions.h"
#include "tests/catch.h"

namespace assay::test {

using contracts::Admissible;
using contracts::Judgement;

inline ExecutionModel float_model(std::string table = "glibc-2.36") {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  model.math_table = std::move(table);
  return model;
}
inline ExecutionModel double_model(std::string table = "glibc-2.36") {
  ExecutionModel model = float_model(std::move(table));
  model.format = ExecutionModel::Format::binary64;
  return model;
}

inline Tensor tensor(Shape shape, const Floats& values) { return Tensor::of_floats(std::move(shape), values); }
inline Tensor vector_of(const Floats& values) { return tensor({static_cast<std::int64_t>(values.size())}, values); }

// The sets of one op, which the test takes to exist.
inline Admissible sets_of(Op op, const Attributes& attributes, const ExecutionModel& model, const std::vector<Tensor>& operands) {
  Outcome<Admissible> result = contracts::admissible(op, attributes, model, operands);
  if (!result) FAIL(result.rejection().to_text());
  return std::move(result).value();
}
inline Judgement judged(const Admissible& admissible, const Tensor& received) {
  Outcome<Judgement> result = contracts::judge(admissible, received);
  if (!result) FAIL(result.rejection().to_text());
  return result.value();
}
inline Judgement judged(const Admissible& admissible, const Floats& received) {
  return judged(admissible, tensor(admissible.sets.shape, received));
}
// All elements within contract, else the first failure in words.
inline bool within(const Admissible& admissible, const Floats& received) {
  const Judgement result = judged(admissible, received);
  if (result.first_failure) UNSCOPED_INFO(contracts::describe(admissible, tensor(admissible.sets.shape, received), *result.first_failure));
  return result.failed == 0;
}

}  // namespace assay::test
