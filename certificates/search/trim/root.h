// The bounds at the root of a group that its branches do not need.
#pragma once

#include <memory>

#include "certificates/search/ascent/dual_ascent.h"
#include "certificates/search/deadline.h"
#include "certificates/search/trim/proof.h"
#include "kernel/kernel.h"

namespace assay::search {

struct RootTrim {
  std::size_t refined = 0, kept = 0;  // elements that the root refines, before and after
};

// From the last refined node to the first, as many elements as the kernel still accepts the whole group without are left out: of networks
// whose activations have lines in closed form those of least influence first, of others all of a node or none. Work on a node
// does not derive the bounds before it again. `work`: multiply-adds of a check of the group as it is; the trials take a few times as many.
// `spare`: bytes by which the root's steps may grow, since a mask can be longer than what it stands for.
[[nodiscard]] RootTrim trim_root(const std::shared_ptr<const kernel::Problem>& problem, const DualGraph& graph, ProofGroup& group,
                                 const kernel::Scope& root, double work, std::size_t spare, const Limit& limit);

}  // namespace assay::search
