#include "cli/assay/report.h"

namespace assay::cli {

int check_verb(const CheckOptions& options) {
  LoadOptions load_options;
  load_options.semantics_real = options.semantics == "real";
  load_options.exact = options.exact;
  const CheckReport report = check(options.model, options.property, options.certificate, load_options);
  if (options.json != "-") print_report("assay", report);
  return write_json(options.json, to_json(report, options)) ? report.exit : kExitUnwritten;
}

}  // namespace assay::cli
