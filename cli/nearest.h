// Finds the known name that is nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// Lower case, without underscores, hyphens and spaces: "MaxPool" and "max_pool" are one.
[[nodiscard]] std::string folded(std::string_view name);
// The candidate that differs from the word by the fewest insertions, deletions, replacements and swaps of neighbours; empty if each of
// them differs too much to be meant.
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& candidates);
// "; did you mean X?", or nothing.
[[nodiscard]] std::string meant(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace assay::cli
