// sweep(): boxes and refined pre-activation bounds of one scope, the step that Fragment::sweep records.
#pragma once

#include "kernel/kernel.h"
#include "semantics/outcome.h"

namespace assay::search {

// derive_box for every active node in order, and refine(unstable, policy) on every pre-activation.
inline Outcome<Done> sweep(kernel::Scope& scope, const kernel::Problem& problem, bool round_to_float) {
  std::size_t next = 0;
  const auto& refined = problem.pre_activations();
  for (const NodeId node : problem.active_nodes()) {
    if (auto done = scope.derive_box(node); !done) return done;
    if (next >= refined.size() || refined[next] != node) continue;
    ++next;
    if (auto done = scope.refine(node, {}, {}, nullptr, round_to_float); !done) return done;
  }
  return Done{};
}

}  // namespace assay::search
