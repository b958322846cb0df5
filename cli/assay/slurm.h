// Runs as jobs of Slurm: an array with a part each, and a job that joins what they found.
#pragma once

#include "cli/assay/run_verbs.h"

namespace assay::cli {

// Writes FOLDER/slurm/array.sh and join.sh, in which the words of this command line stand once more, and submits both with sbatch. Tasks that
// are requeued go on where they were; what lost tasks leave open the second job decides itself. The exit code of the verb.
[[nodiscard]] int submit(const char* verb, const RunOptions& run);

}  // namespace assay::cli
