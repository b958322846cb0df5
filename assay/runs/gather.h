// Parts of one run, made anywhere, become one folder: nothing of a part is believed that `assay check` would not check.
#pragma once

#include <string>
#include <vector>

#include "assay/runs/store.h"
#include "semantics/outcome.h"

namespace assay::runs {

// "2/8": the second of eight parts. False where it is not one.
[[nodiscard]] bool parse_part(const std::string& text, std::size_t& part, std::size_t& parts);  // the part counts from 0
[[nodiscard]] bool is_in_part(std::size_t number, const Json& claim);

struct Gathered {
  std::size_t added = 0, twice = 0,
              left_out = 0;  // results; those that another part or the folder has; those whose certificate is not there
};

// The folder is new, or holds what was gathered before. The claims of all parts are the same but for the part, which no longer stands in the
// folder's.
[[nodiscard]] Outcome<Gathered> gather(const std::string& folder, const std::vector<std::string>& parts);

}  // namespace assay::runs
