// What `assay verify` prints for people.
#pragma once

#include "cli/assay/options.h"
#include "cli/assay/report.h"

namespace assay::cli {

// The answer on stdout; what print_summary says goes to stderr.
void print_answer(const VerifyReport& report, const Loaded& loaded);
void print_summary(const VerifyReport& report, const VerifyOptions& options);

// --expect W: another decided word is 1, an undecided one is 3. So is 1, with a sentence, the word itself where it says nothing about the network.
[[nodiscard]] int exit_for(const VerifyReport& report, const VerifyOptions& options);

}  // namespace assay::cli
