// Where on a tensor some of its elements lie, in words. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "semantics/graph/tensor.h"

namespace assay::explain {

// "axis 1: all at 96 .. 99, the last 4 of 100". One line per axis that says something; ascending elements, at least one.
[[nodiscard]] std::vector<std::string> pattern_lines(const Shape& shape, const std::vector<std::size_t>& elements);

}  // namespace assay::explain
