// `assay report`: a run as a page.
#include "assay/runs/report.h"

#include <cstdio>

#include "cli/assay/interruption.h"
#include "cli/assay/libraries.h"
#include "cli/assay/output_file.h"
#include "cli/assay/report.h"
#include "cli/assay/run_verbs.h"

namespace assay::cli {

int report(const ReportOptions& options) {
  constexpr const char* kReportSchema = "assay.report-verb/1";
  runs::PageRequest request;
  request.check = {options.model, options.data, options.labels, "", options.jobs, nullptr, {}};
  request.check.load.limits = options.limits;
  request.images = options.images;
  request.version = version_text("assay", libraries());
  auto semantics = semantics_of_run(options.run);
  if (!semantics) return refuse(kReportSchema, options.json, semantics.rejection());
  request.check.load.semantics = semantics.value();
  auto page = runs::report_page(options.run, std::move(request), interruption_token());
  if (is_interrupted()) return refuse(kReportSchema, options.json, interruption());
  conclude();
  if (!page) return refuse(kReportSchema, options.json, page.rejection());
  if (!write_file(options.out, page.value().html)) return kExitUnwritten;
  const runs::Json summary{{"schema", kReportSchema},
                           {"out", options.out},
                           {"bytes", page.value().html.size()},
                           {"results", page.value().check.results},
                           {"accepted", page.value().check.accepted}};
  if (options.json != "-")
    std::printf("%s: %zu bytes, %zu results\n", options.out.c_str(), page.value().html.size(), page.value().check.results);
  return write_json(options.json, summary.dump(2)) ? kExitYes : kExitUnwritten;
}

}  // namespace assay::cli
