// The arguments of proof steps, as the rules of api.h take them. Any content is safe to pass, because each rule checks
// every condition that it rests on.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "semantics/graph/graph.h"

namespace assay::logic {

// A bound on one element of one node: element <= threshold or element >= threshold. Both halves of a split are closed.
struct Literal {
  NodeId node = 0;
  std::uint32_t element = 0;
  bool at_least = false;
  double threshold = 0;  // finite
  friend bool operator==(const Literal&, const Literal&) = default;
};

// The fact that the sum of coefficient * element is at least `bound`; it holds on a scope, as a box does. Coefficients
// and bound are floats, so that their products with a float multiplier are exact in double.
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
inline std::span<const float> proposed(const Slopes& slopes, NodeId node) {  // of one node; empty if there are none
  const auto found = slopes.find(node);
  return found != slopes.end() ? std::span<const float>(found->second) : std::span<const float>();
}

// Hints steer back-substitution. Any values are sound; bad values only weaken the result.
struct Hints {
  // The slopes of the lower and of the upper line of each element. A node that is absent, or has an empty vector, gets
  // the slopes of policy/. Their meaning depends on the rule for the node's op:
  // - relu: lower is useful in [0, 1]; the policy's upper slope is u/(u-l);
  // - other elementwise functions: the slope of the line below and of the line above;
  // - ops of denoted_plane: weights in [0, 1] that mix the two McCormick planes, `lower` for the planes below and
  //   `upper` for those above the products in the element's formula;
  // - maxima: `lower` is the chosen candidate; minima: `upper` is.
  Slopes lower, upper;
  std::vector<float> beta;  // one multiplier >= 0 per literal of the scope, outermost first; a missing one is 0
  std::vector<float> cuts;  // one multiplier >= 0 per cut of the scope, in the order of derivation; a missing one is 0
};

struct KernelOptions {
  bool exact = false;  // back-substitution in integers only, without the double filter
  // True: facts hold where the rows hold that all cases of a group share (balls); false: in the group's whole box.
  bool balls = true;
};

// Claimed bounds of the elements of a tighten step, in its order. A step with claims stores exactly the claims.
struct Claims {
  std::vector<float> lo, hi;
};

// One case with the multipliers >= 0 of its rows, in order. An empty vector means 1, for a case with a single row.
struct CaseMultipliers {
  std::uint32_t position = 0;  // of the case in its group
  std::vector<float> rows;
};

// An exact point of some case's region.
struct Witness {
  std::uint32_t case_index = 0;
  std::vector<Rational> inputs;  // all input tensors, concatenated
};

}  // namespace assay::logic
