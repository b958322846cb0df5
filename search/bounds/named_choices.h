// Which candidate of a maximum or minimum a plane goes through, where it is rounding that decides
// between two that look alike: named in the certificate, so that checks with other roundings
// (--exact) take the same plane.
//
// A plane below a maximum goes through the candidate with the largest lower end. Two candidates
// whose ends differ by less than rounding may change places between checks; the hint names one of
// them, and every check takes its plane.
#pragma once

#include "kernel/logic/api.h"

namespace assay::search {

// `hints`, with a candidate for each element of max, min, max_pool, reduce_max and reduce_min of
// whose candidates two are about as high at the middle of the scope's boxes; the others stay the
// checker's choice. Nodes that `hints` speaks of stay as they are.
[[nodiscard]] logic::Hints with_named_choices(const logic::Problem& problem, const logic::Scope& scope, logic::Hints hints);

}  // namespace assay::search
