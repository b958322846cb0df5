// What a step of a proof says: the words that the rules of api.h are given. Any content is safe to pass: a rule checks what it rests on.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "semantics/graph/graph.h"

namespace assay::logic {

// One coordinate of one node, element <= threshold or >= threshold. Both halves of a split are closed.
struct Literal {
  NodeId node = 0;
  std::uint32_t element = 0;
  bool at_least = false;
  double threshold = 0;  // finite
  friend bool operator==(const Literal&, const Literal&) = default;
};

// sum of coefficient * element >= bound, a fact like a box. Coefficients and bound are floats, so that a multiplier's products with them
// are exact.
struct Cut {
  struct Term {
    NodeId node = 0;
    std::uint32_t element = 0;
    float coefficient = 0;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
  float bound = 0;
};
using Cuts = std::vector<std::shared_ptr<const Cut>>;

// By node, then element.
using Slopes = std::map<NodeId, std::vector<float>>;
inline std::span<const float> proposed(const Slopes& slopes, NodeId node) {  // of a node; none: empty
  const auto found = slopes.find(node);
  return found != slopes.end() ? std::span<const float>(found->second) : std::span<const float>();
}

// Hints: any values are sound, bad ones only weaken the result.
struct Hints {
  // An absent node or empty vector means the kernel's own policy. For elementwise ops the slopes of the lower and the
  // upper line (relu: lower in [0,1] is useful, upper is u/(u-l) by policy). For the ops of denoted_plane: the mix in
  // [0,1] of McCormick's planes, lower of those below and upper of those above the products in the element's formula.
  // For maxima: lower, the chosen candidate; minima: upper.
  Slopes lower, upper;
  std::vector<float> beta;  // one multiplier >= 0 per literal of the scope, outermost first; missing ones are 0
  std::vector<float> cuts;  // and one per cut of the scope, in the order in which they were derived
};

struct KernelOptions {
  bool exact = false;  // back-substitution in integers only, no double filter
  bool balls = true;   // facts hold where the rows do that all cases of a group share; false: in its whole box
};

// Which elements of a node a tighten step bounds.
struct Selection {
  enum class Kind : std::uint8_t { unstable, all, mask } kind = Kind::unstable;
  std::vector<bool> mask;  // Kind::mask only
};

// Claimed bounds of the selected elements, in order. A step with claims stores exactly them.
struct Claims {
  std::vector<float> lo, hi;
};

// One case and the multipliers >= 0 of its rows, in order; empty means 1 for a case with a single row.
struct CaseMultipliers {
  std::uint32_t position = 0;  // in the group
  std::vector<float> rows;
};

// A point of some case's region, exactly.
struct Witness {
  std::uint32_t case_index = 0;
  std::vector<Rational> inputs;  // all input tensors, concatenated
};

}  // namespace assay::logic
