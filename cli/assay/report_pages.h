// The pages of `assay report`, by what they are about.
#pragma once

#include <string>
#include <vector>

#include "app/pages/exchange.h"
#include "cli/assay/libraries.h"
#include "cli/assay/run_verbs.h"
#include "cli/version.h"
#include "semantics/outcome.h"

namespace assay::cli {

struct ReportPage {
  std::string html;
  pages::Json summary;               // fields of the verb's JSON
  std::vector<pages::Slice> slices;  // for --perfetto; none where nothing took a known time
  pages::Json model_explorer;        // null without a graph
};

[[nodiscard]] Outcome<ReportPage> page_of_run(const ReportOptions& options);
[[nodiscard]] Outcome<ReportPage> page_of_trace(const ReportOptions& options);
[[nodiscard]] Outcome<ReportPage> page_of_certificate(const ReportOptions& options);

}  // namespace assay::cli
