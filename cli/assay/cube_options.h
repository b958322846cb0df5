// The parsed command line of `assay split`, `assay solve` and `assay merge`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/assay/options.h"

namespace assay::cli {

struct CubeOptions : SearchOptions {
  std::vector<std::string> files;  // split: MODEL PROPERTY; solve: CUBE; merge: FOLDER PARTS...
  std::string model, property;     // of solve and merge, where they are not where split.json says
  std::string out, semantics;
  std::size_t into = 8;
  JsonTarget json;
};

int split(const CubeOptions& options);
int solve(const CubeOptions& options);
int merge(const CubeOptions& options);

}  // namespace assay::cli
