// Subdomain: an open part of a group's box, as it waits in the queue of the engine.
//
// A subdomain stores no box: the box follows from the root's box and the literals of its record. It stores the
// parameters of its parent, from which its own ascent starts.
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
  double bound = kNoBound;  // the bound here; that of the parent until this one is computed
  std::shared_ptr<const AlphaBeta> parameters = nullptr;
  float last_beta = 0;        // of the newest literal, which is not in `parameters` yet
  bool looks_closed = false;  // the bound is above 0, but the kernel has not been asked
};

struct Subdomain {
  BranchTree::Record record;
  std::vector<OpenCase> cases;
  // Expected bound of the worst case after one more split; chooses the next node if leaves are to be left open.
  double expected = kNoBound;
  bool by_program = false;             // a linear program bounds it first: the ascent gained nothing from its split
  bool in_region = false;              // split off by a ReLU, in a tree over inputs
  std::optional<TriedBox> tried = {};  // in a tree over inputs: what strong branching found here
  bool is_done = false;                // closed or split
};

}  // namespace assay::search
