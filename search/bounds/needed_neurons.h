// Finds the neurons that the cases of a group depend on. If the outputs are pixels or anchors, a property may read only
// a few of them, and bounds of neurons that these outputs never read are useless. An approximation is enough, since
// bounds that are not derived are only looser.
//
// The analysis looks at single elements, not at whole layers: a row of arbitrary coefficients walks back once through
// the maps of affine nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "kernel/logic/api.h"

namespace assay::search {

// By node and element. False for an element with no path to a row of a case. For an op whose paths are not analysed,
// all elements of its operands count as needed.
[[nodiscard]] std::vector<std::vector<bool>> needed_neurons(const logic::Problem& problem, std::size_t group);

}  // namespace assay::search
