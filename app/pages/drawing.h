// Drawings of graphs as SVG, with layers from above and edges downward. Graphs that are too large are drawn in blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/graph/trace.h"

namespace assay::pages {

struct Drawing {
  struct Node {
    std::string label, detail;           // "conv"; "[1, 8, 28, 28]"
    std::vector<std::uint32_t> members;  // rows of the table that it stands for, ascending
    bool is_leaf = false;                // an input
  };
  std::vector<Node> nodes;                                     // each after those it reads
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  // from, to; from < to
};

// The nodes of a graph but for its constants; rows are node ids.
[[nodiscard]] Drawing drawing_of(const Graph& graph);
// The regions of a trace, and each tensor that is given to it and is no parameter; rows are regions. The trace is continuous.
[[nodiscard]] Drawing drawing_of(const Trace& trace);

// At most `most` nodes. Where there are more, chains become one block each; where that is not enough, so do neighbours in the order of the
// nodes. A block has the members of all its nodes.
inline constexpr std::size_t kMostDrawn = 160;
[[nodiscard]] Drawing in_blocks(const Drawing& drawing, std::size_t most = kMostDrawn);

// <svg>; each node is a <g class="node">, in order.
[[nodiscard]] std::string svg_of(const Drawing& drawing, const std::string& description);

}  // namespace assay::pages
