// The pages of `assay report`, by what they are about.
#pragma once

#include <string>
#include <vector>

#include "app/views/report_page.h"
#include "cli/assay/libraries.h"
#include "cli/assay/run_verbs.h"
#include "cli/version.h"
#include "semantics/outcome.h"

namespace assay::cli {

using views::ReportPage;

[[nodiscard]] Outcome<ReportPage> page_of_run(const ReportOptions& options);
[[nodiscard]] Outcome<ReportPage> page_of_trace(const ReportOptions& options);
[[nodiscard]] Outcome<ReportPage> page_of_certificate(const ReportOptions& options);

}  // namespace assay::cli
