// A search in pieces: where it stops with open branches, and where the search of one of them starts
// (docs/how-to/scale.md).
//
// Source: cube and conquer (Heule, Kullmann, Wieringa, Biere 2012). How this version differs: a
// cube is an open branch of the tree of a proof, so that the proofs of all cubes join to one
// certificate of the whole statement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "certificates/format/writer.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::search {

struct SplitPlan {
  std::size_t into = 0;  // open branches at which branching ends, the hardest having been split first; 0: it goes on to the answer
  // A file for the cube of this number, counted from 0.
  std::function<Outcome<std::unique_ptr<certificate::Writer>>(std::size_t cube)> open;
};

struct OpenBranch {
  std::size_t group = 0;
  std::uint32_t tree_node = 0;
  std::uint64_t after = 0;  // records of the certificate that stand before its steps
  std::vector<logic::Literal> literals;
  double bound = 0;                  // worst lower bound of its cases
  std::vector<std::uint32_t> cases;  // that are open
};

// Where a cube's search starts.
struct Beginning {
  logic::Scope scope;
  logic::Scope above;               // the group's root, before the first split
  std::vector<std::uint32_t> open;  // cases of the group that its steps have not refuted, by position
};

}  // namespace assay::search
