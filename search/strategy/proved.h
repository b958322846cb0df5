// Proved: the steps that refute a group, kept until the certificate is written.
//
// A part is the steps of a root with the tree that grew on the facts derived there. A group has one part, or one part
// for each case that was closed in a tree of its own. Open leaves belong to the last part; each becomes a file of its
// own (cube.h).
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "certificates/format/writer.h"
#include "search/bab/bab.h"
#include "search/bab/proof_tree.h"
#include "search/search.h"

namespace assay::search {

struct Proved {
  // The steps of a root, and the tree on the facts derived there; null if there is no tree.
  struct Part {
    certificate::Fragment steps;
    std::unique_ptr<ProofTree> tree;
  };
  std::size_t group;
  std::vector<Part> parts;       // in the order of the certificate
  std::vector<OpenLeaf> leaves;  // open leaves of the last part

  void add(certificate::Fragment steps, std::unique_ptr<ProofTree> tree) { parts.push_back({std::move(steps), std::move(tree)}); }

  // Writes the group, preceded by the splits that lead to the cube. Subdomains that were left open are appended
  // to `open`.
  void write(std::span<const logic::Literal> cube, std::vector<OpenBranch>& open, certificate::Writer& writer) const;
  // Writes the path to one of these subdomains, and stores the literals of the path in `branch`.
  Outcome<Done> write_cube(OpenBranch& branch, certificate::Writer& file) const;
};

}  // namespace assay::search
