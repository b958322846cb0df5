// ProofTree: encoded steps by node, written depth first.

#include "certificates/search/branching/proof_tree.h"

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
  return first;
}

void ProofTree::prune(std::uint32_t node) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> open{node};
  while (!open.empty()) {
    Entry& entry = entries_[open.back()];
    const bool below = open.back() != node;
    open.pop_back();
    if (entry.split) {
      open.push_back(entry.first_child);
      open.push_back(entry.first_child + 1);
    }
    entry.split.reset();
    if (!below) continue;
    for (const certificate::Fragment& steps : entry.steps) byte_size_ -= steps.byte_size();
    entry.steps = {};
    ++dropped_;
  }
}

std::size_t ProofTree::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size() - dropped_;
}

std::uint64_t ProofTree::byte_size() const {
  const std::lock_guard lock(mutex_);
  return byte_size_;
}

void ProofTree::write(certificate::Writer& writer) const {
  // One frame per open split: how many of its branches have been started.
  struct Frame {
    std::uint32_t node;
    int started;
  };
  std::vector<Frame> frames{{kRoot, 0}};
  while (!frames.empty()) {
    Frame& frame = frames.back();
    const Entry& entry = entries_[frame.node];
    if (frame.started == 0) {
      for (const certificate::Fragment& steps : entry.steps) writer.append(steps);
    }
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
    frames.push_back({child, 0});  // `frame` dangles from here on
  }
}

}  // namespace assay::search
