// Gradient rules as programs: a rule of several ops runs in passes over blocks instead of op by op, with the same bits. Private
// to the session.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/array.h"
#include "runtime/compiled/program.h"
#include "semantics/graph/op.h"

namespace assay::runtime {

// One application of an op, with the cotangent of its result.
struct AppliedArrays {
  Op op;
  const Attributes& attributes;
  std::span<const Array* const> operands;
  const Array& result;
  const Array& cotangent;
  const std::vector<bool>& wanted;  // per operand
};

class RulePrograms {
 public:
  // The cotangent of each operand; none where none is wanted or it is certainly 0. Returns nothing where op by op is as good:
  // small arrays, rules of one op, and convolutions, whose programs add in another order.
  [[nodiscard]] std::optional<std::vector<std::optional<Array>>> run(const AppliedArrays& applied);

 private:
  struct Rule {
    std::optional<Program> program;  // none: op by op
    std::vector<bool> sends;         // per operand
  };
  std::map<std::string, Rule> rules_;
};

}  // namespace assay::runtime
