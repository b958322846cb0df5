// `assay report TRACE`: the audit of a run, for a page.
#include <utility>

#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report_pages.h"

namespace assay::cli {

Outcome<ReportPage> page_of_trace(const ReportOptions& options) {
  views::AuditedTrace audited{options.input, {}, {}, {}, {}, version_text("assay", libraries())};
  GateReport& report = audited.report;
  report.verb = "audit";
  auto opened = open_trace(options.input, options.limits, report);
  if (!opened) return opened.rejection();
  audited.trace = std::move(opened).value();
  const Trace& trace = audited.trace;
  if (is_continuous(trace, report)) {
    audited.regions = audit_regions(trace, options.jobs);
    audited.gradients = gates::gradient_cases(trace, 1, is_interrupted);
    for (const auto& list : {audited.regions, opaque_cases(trace), audited.gradients})
      report.cases.insert(report.cases.end(), list.begin(), list.end());
    if (!options.model.empty())
      if (auto done = add_model(trace, options.model, options.limits, report); !done) return done.rejection();
  }
  note_if_nothing(trace, report);
  return views::page_of_audit(audited);
}

}  // namespace assay::cli
