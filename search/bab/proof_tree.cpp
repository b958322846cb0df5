// ProofTree: encoded steps by node, written depth first.
//
// The steps of a node are appended as encoded bytes. write() walks the tree with an explicit stack, since a tree may be
// deeper than the call stack allows.
//
// Source: proofs as trees of splits, as Marabou writes them (Isac et al. 2022). How this version differs: a node holds
// steps of the kernel's rules.

#include "search/bab/proof_tree.h"

#include <algorithm>
#include <vector>

namespace assay::search {

void ProofTree::append(std::uint32_t node, const certificate::Fragment& steps) {
  const std::lock_guard lock(mutex_);
  entries_[node].steps.push_back(steps);
  byte_size_ += steps.byte_size();
}

std::uint32_t ProofTree::split(std::uint32_t node, const Split& split) {
  const std::lock_guard lock(mutex_);
  const auto first = static_cast<std::uint32_t>(entries_.size());
  entries_.emplace_back();
  entries_.emplace_back();
  entries_[node].split = split;
  entries_[node].first_child = first;
  entries_[first].parent = entries_[first + 1].parent = node;
  return first;
}

std::size_t ProofTree::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

std::uint64_t ProofTree::byte_size() const {
  const std::lock_guard lock(mutex_);
  return byte_size_;
}

void ProofTree::write_steps(std::uint32_t node, certificate::Writer& writer) const {
  for (const certificate::Fragment& steps : entries_[node].steps) writer.append(steps);
}

std::vector<ProofTree::PathStep> ProofTree::path_to(std::uint32_t node) const {
  std::vector<PathStep> path;
  for (; node != kRoot; node = entries_[node].parent) {
    const std::uint32_t parent = entries_[node].parent;
    path.push_back({parent, *entries_[parent].split, node != entries_[parent].first_child});
  }
  std::ranges::reverse(path);
  return path;
}

// Uses an explicit stack, since a tree may be deeper than the call stack allows.
void ProofTree::write(certificate::Writer& writer, const std::function<void(std::uint32_t)>& at_leaf) const {
  // One frame for each open split; `started`: how many of its two subtrees were started.
  struct Frame {
    std::uint32_t node;
    int started;
  };
  std::vector<Frame> frames{{kRoot, 0}};
  while (!frames.empty()) {
    Frame& frame = frames.back();
    const Entry& entry = entries_[frame.node];
    if (frame.started == 0) write_steps(frame.node, writer);
    if (!entry.split && at_leaf) at_leaf(frame.node);
    if (!entry.split || frame.started == 2) {
      if (entry.split) writer.done();
      frames.pop_back();
      continue;
    }
    if (frame.started == 0) {
      writer.split(entry.split->node, entry.split->element, entry.split->threshold);
    } else {
      writer.next();
    }
    const std::uint32_t child = entry.first_child + static_cast<std::uint32_t>(frame.started);
    ++frame.started;
    frames.push_back({child, 0});  // `frame` dangles after this
  }
}

}  // namespace assay::search
