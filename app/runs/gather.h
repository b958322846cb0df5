// Gathers parts of one run, made anywhere, into one folder. Nothing of a part is trusted that `assay check` would not check.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "app/runs/store.h"
#include "semantics/outcome.h"

namespace assay::runs {

struct Gathered {
  // Counts of added results; of repeated ones (of another part or the folder); of those left out: no certificate, rejected, not asked.
  std::size_t added = 0, twice = 0, left_out = 0;
};

// The folder is new, or holds earlier gathered parts. The claims of all parts are the same but for the part, which the folder's
// claim leaves out. Where folders differ about an item, certificates are replayed, and the accepted line stays, so that a bad
// part hides nothing. A replay needs model and data; without them the code is gather.differ.
[[nodiscard]] Outcome<Gathered> gather(const std::string& folder, const std::vector<std::string>& parts, const check::LoadOptions& load,
                                       const std::stop_token& stop);

}  // namespace assay::runs
