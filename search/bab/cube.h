// A search in pieces: one search ends with open subdomains (cubes), and another search starts from one of
// them (docs/how-to/scale.md).
//
// Source: cube and conquer (Heule, Kullmann, Wieringa, Biere 2012). How this version differs: a cube is an open leaf of
// the tree of a proof, so the proofs of all cubes join to one certificate of the whole statement.
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
  // Branching ends with this many open leaves, after splitting the hardest first; 0: goes on to the answer.
  std::size_t into = 0;
  // Opens the file of the cube with this number, counted from 0.
  std::function<Outcome<std::unique_ptr<certificate::Writer>>(std::size_t cube)> open;
};

struct OpenBranch {
  std::size_t group = 0;
  std::uint32_t tree_node = 0;
  std::uint64_t after = 0;  // number of records of the certificate before its steps
  std::vector<logic::Literal> literals;
  double bound = 0;                  // worst lower bound of its cases
  std::vector<std::uint32_t> cases;  // the open cases
};

// Where the search of a cube starts.
struct Beginning {
  logic::Scope scope;
  logic::Scope above;               // the group's root, before the first split
  std::vector<std::uint32_t> open;  // positions of the cases that the steps of the cube have not refuted
};

}  // namespace assay::search
