// A page of `assay report`, and beside it what its JSON says and what other viewers read.
#pragma once

#include <string>
#include <vector>

#include "api/reports/report.h"
#include "app/pages/exchange.h"
#include "semantics/graph/trace.h"

namespace assay::views {

struct ReportPage {
  std::string html;
  pages::Json summary;               // fields of the verb's JSON
  std::vector<pages::Slice> slices;  // for --perfetto; none where nothing took a known time
  pages::Json model_explorer;        // null without a graph
};

// A run whose regions and gradients were judged, each in the order of the trace; the report has all of its cases.
struct AuditedTrace {
  std::string file;
  Trace trace;
  reports::GateReport report;
  std::vector<reports::GateCase> regions, gradients;
  std::string judged_by;  // the program's version
};
[[nodiscard]] ReportPage page_of_audit(const AuditedTrace& audited);

}  // namespace assay::views
