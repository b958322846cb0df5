// Advice about a refused certificate, beyond the words of the refusal.
#pragma once

#include <string>

#include "assay/check.h"

namespace assay::queries {

// If the proof of a group leaves a case open, names the branch that does not conclude it, from a second pass over the records.
void name_gap(check::Report& report, const std::string& certificate);

}  // namespace assay::queries
