// A recorded run with all that can be said against it.
#pragma once

#include "kernel/audit/audit.h"
#include "kernel/audit/gradients.h"
#include "tests/gpu/devices.h"

namespace assay::test {

// Every failure of continuity, audit and gradients, in words.
// `open`: the code of a gradient's step that may stay undecided; a step that is refused counts under every code.
inline std::vector<std::string> failures_of(const Trace& trace, double most_vacuous, std::string_view open = {}) {
  std::vector<std::string> failures;
  if (const auto whole = audit::check_continuity(trace); !whole) failures.push_back(whole.rejection().to_text());
  std::size_t passed = 0, vacuous = 0;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = audit::audit_region(trace, r);
    if (!audit) FAIL(audit.rejection().to_text());
    passed += audit.value().total().passed;
    vacuous += audit.value().total().vacuous;
    if (audit.value().first) failures.push_back(trace.regions[r].name + ": " + audit.value().first->text);
    if (audit.value().unsupported) failures.push_back(audit.value().unsupported->to_text());
  }
  for (std::size_t g = 0; g < trace.gradients.size(); ++g) {
    for (const audit::GradientStep& step : audit::check_gradient(trace, g, 5)) {
      const bool is_open = step.failure && step.failure->kind == Rejection::Kind::declined && step.failure->code == open;
      if (step.failure && !is_open) failures.push_back(step.failure->to_text());
    }
  }
  CHECK(passed > 0);
  CHECK(static_cast<double>(vacuous) <= most_vacuous * static_cast<double>(passed));
  return failures;
}

}  // namespace assay::test
