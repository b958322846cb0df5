// What `assay check RUN` prints of a run.
#pragma once

#include "app/runs/check_run.h"

namespace assay::cli {

// The verdict, the question, the counts, the claim, and each fault with what to do about it.
void print_run_check(const runs::RunCheck& check);

}  // namespace assay::cli
