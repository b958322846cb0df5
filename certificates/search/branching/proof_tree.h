// ProofTree: the branch-and-bound tree of one group, kept as encoded certificate steps until the group is closed.
//
// Nodes are numbered from 0 (the root); the two children of a split are neighbours: `element <= threshold` first.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "certificates/format/writer.h"
#include "kernel/kernel.h"

namespace assay::search {

struct Split {
  NodeId node = 0;
  std::uint32_t element = 0;
  double threshold = 0;
};

// Growth is thread-safe; reading (`write`) must not run beside it.
class ProofTree {
 public:
  static constexpr std::uint32_t kRoot = 0;

  ProofTree() : entries_(1) {}

  // Adds steps behind those that the node already holds.
  void append(std::uint32_t node, const certificate::Fragment& steps);
  // Splits a leaf; returns the number of the `<=` child, the `>=` child is the next one.
  std::uint32_t split(std::uint32_t node, const Split& split);

  // Makes a node a leaf again: its own steps stay, everything below it is dropped (the numbers are not used again).
  void prune(std::uint32_t node);

  [[nodiscard]] std::size_t size() const;         // of the nodes that are not dropped
  [[nodiscard]] std::uint64_t byte_size() const;  // of all steps

  // Depth first, without the group brackets. The caller has written begin_group.
  void write(certificate::Writer& writer) const;

 private:
  struct Entry {
    std::vector<certificate::Fragment> steps;  // usually one
    std::optional<Split> split;
    std::uint32_t first_child = 0;
  };
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::uint64_t byte_size_ = 0;
  std::size_t dropped_ = 0;
};

inline void write(const ProofTree& tree, certificate::Writer& writer) { tree.write(writer); }

}  // namespace assay::search
