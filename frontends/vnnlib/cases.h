// From a formula in disjunctive normal form to the cases of the statement.
#pragma once

#include <string>
#include <vector>

#include "frontends/vnnlib/formula.h"
#include "semantics/statement/statement.h"

namespace assay::vnnlib {

// One case per disjunct. Its box holds the closed bounds of every single input; strict bounds and everything else
// are rows. Equal boxes are one object. Complains about an input without bounds, and about too many numbers.
// `notes` receives a sentence for each empty box, and one if no disjunct is left (a case that no point satisfies stands for them).
bool build_cases(const Conjunction& formula, const Literals& literals, const Signature& signature, Diagnostics& diagnostics, Room& room,
                 statement::Property& property, std::vector<std::string>& notes);

}  // namespace assay::vnnlib
