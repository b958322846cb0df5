// Which elements of a network the cases of a group depend on. Of a map whose outputs are pixels or
// anchors a property asks for few, and bounds of neurons that these outputs never read are useless.
// A guess is enough here, since bounds that are not derived are only looser.
//
// It looks at single elements, not at whole layers: a row of arbitrary coefficients walks back once
// through the maps of affine nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "kernel/logic/api.h"

namespace assay::search {

// By node and element. Elements that no path joins to a row of a case are left out, all of a node
// where an op's paths are not looked at.
[[nodiscard]] std::vector<std::vector<bool>> needed_neurons(const logic::Problem& problem, std::size_t group);

}  // namespace assay::search
