// ProofTree: the branch-and-bound tree of one group, kept as encoded certificate steps until the
// group is closed.
//
// Nodes are numbered from 0 (the root); the two children of a split are neighbours: `element <=
// threshold` first.
//
// It holds bytes, not scopes: a node costs what its steps take in the certificate. Nodes that a
// jump back makes useless are dropped, and their numbers are not used again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "certificates/format/writer.h"
#include "kernel/logic/api.h"

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

  // Makes a node a leaf again: its own steps stay, everything below it is dropped (the numbers are
  // not used again).
  void prune(std::uint32_t node);

  [[nodiscard]] std::size_t size() const;         // of the nodes that are not dropped
  [[nodiscard]] std::uint64_t byte_size() const;  // of all steps

  // Depth first, without the group brackets. The caller has written begin_group. `at_leaf`, if
  // given, is told of every node without a split as soon as its steps are written.
  void write(certificate::Writer& writer, const std::function<void(std::uint32_t node)>& at_leaf = nullptr) const;

  // From the root down to a node: whether its splits went to the `>=` side, and what stands before
  // them.
  struct PathStep {
    std::uint32_t node = kRoot;  // before the split
    Split split;
    bool at_least = false;
  };
  [[nodiscard]] std::vector<PathStep> path_to(std::uint32_t node) const;
  void write_steps(std::uint32_t node, certificate::Writer& writer) const;

 private:
  struct Entry {
    std::vector<certificate::Fragment> steps;  // usually one
    std::optional<Split> split;
    std::uint32_t first_child = 0, parent = kRoot;
  };
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::uint64_t byte_size_ = 0;
  std::size_t dropped_ = 0;
};

inline void write(const ProofTree& tree, certificate::Writer& writer) { tree.write(writer); }

}  // namespace assay::search
