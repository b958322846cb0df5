// `assay inspect` of a certificate: its records, their numbers, and what a checker has at a step.
#pragma once

#include "cli/assay/options.h"

namespace assay::cli {

inline constexpr const char* kInspectSchema = "assay.inspect/1";

// Record by record, for certificates of any length; the page has the tree.
int inspect_certificate(const InspectOptions& options);

}  // namespace assay::cli
