// The gradient rules of an op against the derivatives of its meaning, case by case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/op.h"
#include "semantics/outcome.h"

namespace assay::queries {

struct CaseAdjointness {
  std::string name;
  Outcome<gradients::Adjointness> outcome;
  double cpu_seconds = 0;
};

struct OpAdjointness {
  std::string op;
  std::vector<CaseAdjointness> cases;

  // proved, broken, undecided; none without cases
  [[nodiscard]] const char* verdict() const {
    const char* word = cases.empty() ? "none" : "proved";
    for (const CaseAdjointness& each : cases) {
      if (each.outcome) continue;
      if (each.outcome.rejection().kind == Rejection::Kind::rejected) return "broken";
      word = "undecided";
    }
    return word;
  }
};

// Until `interruption` has a reason to end, which the next case then gets.
[[nodiscard]] OpAdjointness check_op(Op op, std::uint64_t seed, const std::function<std::optional<Rejection>()>& interruption);

[[nodiscard]] const char* method_words(gradients::AdjointMethod method);
// "exact at 8 points", "probed at 4 points (miss below 2^-80)", "probed at 3 points relative to the derivative table"
[[nodiscard]] std::string methods(const OpAdjointness& report);

}  // namespace assay::queries
