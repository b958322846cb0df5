// Box: bounds of the elements of one node.
#pragma once

#include <vector>

namespace assay::relax {

// lo[i] <= z_i <= hi[i] for every point of the scope. Never NaN; lo <= hi unless the scope is empty.
struct Box {
  std::vector<double> lo, hi;
};

}  // namespace assay::relax
