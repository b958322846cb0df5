// find_gap(): the branch that leaves a case open, found from the records alone. What it names is advice, and no verdict rests on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "certificates/format/reader.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

// A branch without splits whose records do not conclude a case that no branch around it concludes either.
struct Gap {
  std::uint64_t step = 0, byte = 0;  // of the record that ends the branch
  std::vector<logic::Literal> splits;
  std::uint64_t others = 0;  // further branches of this kind in the group
};

// The first such branch of the group; nothing if there is none, for example if the group has no splits. A conclude in a branch with
// an empty box counts as if it refuted only the cases that it lists. Rejections are those of the reader.
[[nodiscard]] Outcome<std::optional<Gap>> find_gap(Reader& reader, const Graph& graph, std::uint64_t group, std::size_t position);

}  // namespace assay::certificate
