// StrongBranching: which input to halve, found by bounding the halves of every input, and what is
// then known of the halves chosen.
//
// Source: strong branching, Applegate, Bixby, Chvatal, Cook 1995, with bounds that cost a hundredth
// of the kernel's. Non-rigorous. How this version differs: halves are bounded eight at a time
// (batch_boxes.h), all cases of a box are looked at, or the eight furthest from closed, and the
// bounds of the half that is taken start those of its own halves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "certificates/format/writer.h"
#include "kernel/logic/api.h"
#include "search/bounds/batch_boxes.h"

namespace assay::search {

struct TriedCase {
  std::uint32_t position = 0;  // in the group
  BoxBound bound;
};

struct TriedBox {
  InputBox box;
  std::vector<TriedCase> cases;     // that are open above, with their bounds here
  std::vector<double> scores = {};  // by input, of a split of it above; empty: not known
};

// One per thread: owns the buffers.
class StrongBranching {
 public:
  StrongBranching(const ScalarGraph& graph, std::size_t group);

  // The scope's box of the inputs.
  [[nodiscard]] TriedBox root(const logic::Scope& scope, std::span<const std::uint32_t> positions);

  struct Conclusion {
    std::optional<logic::Refutation> refutation;
    certificate::Fragment steps;
    std::uint64_t asked = 0, refused = 0;  // of the cases that look closed
  };
  // Asks the kernel about the cases of the box that look closed, or about all: those that it
  // refutes leave the box. Nothing happens where it is asked about none. `scope` is the box's; with
  // `sweeps` its boxes are derived first.
  [[nodiscard]] Outcome<Done> conclude(logic::Scope& scope, bool sweeps, bool asks_all, TriedBox& box, Conclusion& found) const;

  struct Choice {
    std::size_t input = 0;  // of the concatenated ones
    double threshold = 0;
    TriedBox at_most, at_least;
  };
  // None where no input has a number between its ends.
  [[nodiscard]] std::optional<Choice> choose(const TriedBox& box);

  [[nodiscard]] std::uint32_t case_of(std::uint32_t position) const { return graph_.network().problem()->group_cases(group_)[position]; }

 private:
  struct Half {
    std::size_t input;
    double threshold;
    TriedBox box;
  };
  // `first`: among all halves, kLanes of which are loaded into each of bounds_.
  void bound(std::span<Half> halves, std::size_t first, const TriedCase& above);
  void improve(std::span<Half> halves, std::size_t first);
  const ScalarGraph& graph_;
  const std::size_t group_;
  std::vector<BatchBounds> bounds_;
};

}  // namespace assay::search
