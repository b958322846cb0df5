// Merging successive refutations of one context.
#pragma once

#include <optional>
#include <utility>

#include "kernel/logic/api.h"

namespace assay::certificate {

// Merges the cases that `more` refutes into `all`. A rejection leaves `all` unchanged.
[[nodiscard]] inline Outcome<Done> merge_into(std::optional<logic::Refutation>& all, Outcome<logic::Refutation> more) {
  if (more && all) more = logic::merge(*all, more.value());
  if (!more) return more.rejection();
  all = std::move(more).value();
  return Done{};
}

}  // namespace assay::certificate
