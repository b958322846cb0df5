// The tree of splits in a certificate, read from its records alone: what it is worth only a check says.
#pragma once

#include <cstdint>
#include <vector>

#include "certificates/edit/dump.h"
#include "certificates/format/reader.h"
#include "semantics/outcome.h"

namespace assay::certificate {

struct ProofTree {
  // A group of cases over one box (without a parent), or a split of a branch.
  struct Part {
    std::int64_t parent = -1;
    std::size_t depth = 0;  // of a group 0
    std::uint64_t group = 0;
    NodeId node = 0;  // of splits: what is split where
    std::uint32_t element = 0;
    double threshold = 0;
    std::uint64_t first_leaf = 0, leaves = 0;  // in the order of the file; below it
    std::uint64_t steps = 0, conclusions = 0;  // in its own two sides, not below other splits
    std::uint64_t bytes = 0;                   // of those records
  };
  Header header;
  Summary summary;
  std::vector<Part> parts;
  std::vector<std::uint64_t> leaves_at;  // by depth
  std::uint64_t leaves = 0, splits = 0;
  bool has_witness = false;
  logic::Witness witness;
};

// Rejections are those of the reader.
[[nodiscard]] Outcome<ProofTree> read_tree(Reader& reader);

}  // namespace assay::certificate
