// The parts of a page that never change. Private to this folder.
#pragma once

namespace assay::pages {

extern const char* const kStyle;
extern const char* const kScript;

}  // namespace assay::pages
