// A whole trace, audited and gradchecked.
#pragma once

#include <string>
#include <vector>

#include "tests/audit/run.h"

namespace assay::test {

// Every failure of audit and gradients, in words; elements counted.
struct Judged {
  std::vector<std::string> failures;
  std::size_t passed = 0, vacuous = 0, unsupported = 0;
};

inline Judged judged(const Trace& trace) {
  Judged result;
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = audit::audit_region(trace, r);
    if (!audit) FAIL(audit.rejection().to_text());
    const auto counts = audit.value().total();
    result.passed += counts.passed;
    result.vacuous += counts.vacuous;
    result.unsupported += counts.unsupported;
    if (audit.value().first) result.failures.push_back(trace.regions[r].name + ": " + audit.value().first->text);
    if (audit.value().unsupported) result.failures.push_back(trace.regions[r].name + ": " + audit.value().unsupported->to_text());
  }
  for (std::size_t g = 0; g < trace.gradients.size(); ++g) {
    for (const audit::GradientStep& step : audit::check_gradient(trace, g, 5)) {
      if (step.failure) result.failures.push_back(step.failure->to_text());
    }
  }
  return result;
}

}  // namespace assay::test
