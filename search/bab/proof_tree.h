// ProofTree: the branch-and-bound tree of one group, kept as encoded certificate steps until the group is closed.
//
// Nodes are numbered from 0 (the root). The two children of a split have consecutive numbers: `element <= threshold`
// comes first.
//
// The tree holds bytes, not scopes, so a node takes as much memory as its steps take in the certificate.
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

// Growth is thread-safe. write() must not run while another thread changes the tree.
class ProofTree {
 public:
  static constexpr std::uint32_t kRoot = 0;

  ProofTree() : entries_(1) {}

  // Appends steps to those that the node already holds.
  void append(std::uint32_t node, const certificate::Fragment& steps);
  // Splits a leaf and returns the number of the `<=` child; the `>=` child has the next number.
  std::uint32_t split(std::uint32_t node, const Split& split);

  [[nodiscard]] std::size_t size() const;         // number of nodes
  [[nodiscard]] std::uint64_t byte_size() const;  // of the steps of all nodes

  // Writes depth first, without the group brackets: the caller has written begin_group. `at_leaf`, if given, is called
  // for every leaf as soon as its steps are written.
  void write(certificate::Writer& writer, const std::function<void(std::uint32_t node)>& at_leaf = nullptr) const;

  // One split on the path from the root down to a node, and the side that the path takes.
  struct PathStep {
    std::uint32_t node = kRoot;  // the node that is split
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
};

inline void write(const ProofTree& tree, certificate::Writer& writer) { tree.write(writer); }

}  // namespace assay::search
