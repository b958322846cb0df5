// Proved: what a group's refutation consists of, until the certificate is written.
//
// The steps of a root and the tree on what they derived make a part. A group has one part, or one
// for each case that was closed in a tree of its own. Open leaves belong to the last part; each
// becomes a file of its own (cube.h).
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
  // Steps of the root, and a tree on what they derived; null: none.
  struct Part {
    certificate::Fragment steps;
    std::unique_ptr<ProofTree> tree;
  };
  std::size_t group;
  std::vector<Part> parts;       // one after the other
  std::vector<OpenLeaf> leaves;  // of the last part

  void add(certificate::Fragment steps, std::unique_ptr<ProofTree> tree) { parts.push_back({std::move(steps), std::move(tree)}); }

  // The group, with the splits that lead to a cube around its steps. Branches that were left open
  // join `open`.
  void write(std::span<const logic::Literal> cube, std::vector<OpenBranch>& open, certificate::Writer& writer) const;
  // The way to one of them, which learns its literals.
  Outcome<Done> write_cube(OpenBranch& branch, certificate::Writer& file) const;
};

}  // namespace assay::search
