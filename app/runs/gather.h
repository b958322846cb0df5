// Parts of one run, made anywhere, become one folder: nothing of a part is believed that `assay check` would not check.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "app/runs/store.h"
#include "semantics/outcome.h"

namespace assay::runs {

struct Gathered {
  // Results; those that another part or the folder has; those without their certificate, rejected, or about nothing that is asked.
  std::size_t added = 0, twice = 0, left_out = 0;
};

// The folder is new, or holds what was gathered before. The claims of all parts are the same but for the part, which no longer stands in the
// folder's. Where folders differ about an item, certificates are replayed, for which model and data have to be there, and what is accepted stays:
// a bad part hides nothing. Code gather.differ where they are not there.
[[nodiscard]] Outcome<Gathered> gather(const std::string& folder, const std::vector<std::string>& parts, const check::LoadOptions& load,
                                       const std::stop_token& stop);

}  // namespace assay::runs
