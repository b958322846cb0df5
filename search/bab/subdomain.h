// Subdomain: a part of a group's box that is open, as it waits in the queue of the engine.
//
// It has no box of its own: that follows from the root's and the literals on the way, which its
// record knows. What is worth keeping are the parameters of the subdomain above, from which its own
// ascent starts.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "search/bab/branch_tree.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/heuristics/strong_branching.h"

namespace assay::search {

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

struct OpenCase {
  std::uint32_t position = 0;
  double bound = kNoBound;  // of this subdomain; of the one above until it is bounded itself
  std::shared_ptr<const AlphaBeta> parameters = nullptr;
  float last_beta = 0;        // of the newest literal, which `parameters` do not know yet
  bool looks_closed = false;  // bounded above 0, though the kernel has not been asked
};

struct Subdomain {
  BranchTree::Record record;
  std::vector<OpenCase> cases;
  double expected = kNoBound;  // of the worst case, one step ahead: for choosing what is split next where leaves are to be left open
  bool by_program = false;     // bounded by a linear program first: the split that led here gave ascent nothing to climb
  bool in_region = false;      // the split that led here was one of a relu, among splits of inputs
  std::optional<TriedBox> tried = {};  // what strong branching found here, among splits of inputs
  bool is_done = false;                // closed or split
};

}  // namespace assay::search
