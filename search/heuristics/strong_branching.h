// StrongBranching: chooses the input to halve by bounding both halves of every input, and keeps the bounds of the
// chosen halves.
//
// Source: strong branching, Applegate, Bixby, Chvatal, Cook 1995. How this version differs: a bound costs a hundredth
// of a bound by the kernel; halves are bounded eight at a time (batch_boxes.h); at most the eight cases furthest from
// closed are bounded; and the bounds of a chosen half start those of its own halves. Non-rigorous.
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
  std::vector<TriedCase> cases;     // the cases open at the parent, with their bounds on this box
  std::vector<double> scores = {};  // scores of the inputs from the split of the parent; empty: not known
};

// One for each thread, since it owns buffers.
class StrongBranching {
 public:
  StrongBranching(const ScalarGraph& graph, std::size_t group);

  // Bounds the cases on the scope's box of the inputs.
  [[nodiscard]] TriedBox root(const logic::Scope& scope, std::span<const std::uint32_t> positions);

  struct Conclusion {
    std::optional<logic::Refutation> refutation;
    certificate::Fragment steps;
    std::uint64_t asked = 0, refused = 0;  // how many of the cases that look closed were asked about and refused
  };
  // Asks the kernel about the cases of the box that look closed, or about all with `asks_all`; cases that it refutes
  // leave the box. Does nothing if there is no case to ask about. `scope` is the scope of the box; with `sweeps` its
  // boxes are derived first.
  [[nodiscard]] Outcome<Done> conclude(logic::Scope& scope, bool sweeps, bool asks_all, TriedBox& box, Conclusion& found) const;

  struct Choice {
    std::size_t input = 0;  // index in the concatenated inputs
    double threshold = 0;
    TriedBox at_most, at_least;
  };
  // None if no input has a number between its ends.
  [[nodiscard]] std::optional<Choice> choose(const TriedBox& box);

  [[nodiscard]] std::uint32_t case_of(std::uint32_t position) const { return graph_.network().problem()->group_cases(group_)[position]; }

 private:
  struct Half {
    std::size_t input;
    double threshold;
    TriedBox box;
  };
  // `first`: index of the first half among all halves. Each of bounds_ holds kLanes halves.
  void bound(std::span<Half> halves, std::size_t first, const TriedCase& above);
  void improve(std::span<Half> halves, std::size_t first);
  const ScalarGraph& graph_;
  const std::size_t group_;
  std::vector<BatchBounds> bounds_;
};

}  // namespace assay::search
