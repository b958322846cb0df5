// Names in the certificate the candidate of a maximum or minimum through which a plane passes, if only rounding decides
// between two candidates. Checks with other roundings (--exact) then take the same plane.
//
// A plane below a maximum passes through the candidate with the largest lower end. If two ends differ by less than
// rounding, different checks may choose different candidates. The hint names one, and every check takes its plane.
#pragma once

#include "kernel/logic/api.h"

namespace assay::search {

// Adds names to `hints` for elements of max, min, max_pool, reduce_max and reduce_min with two candidates that are
// about equally high at the middle of the scope's boxes. Other elements stay the checker's choice. Nodes that already
// have `hints` stay as they are.
[[nodiscard]] logic::Hints with_named_choices(const logic::Problem& problem, const logic::Scope& scope, logic::Hints hints);

}  // namespace assay::search
