// A second look at two sides that seem to differ: the same point, with 257 bits. Private to this folder.
//
// Why. Residues of equal numbers differ where the equality is an identity that Opaque does not know, such as
// sin 3x = 3 sin x - 4 sin^3 x, and where a root has the other sign. A guide may hold no value where the number has one,
// since its ends are doubles. A number such as cos(0.3) in a program is a rounded one, so that the sides of an identity
// differ by its rounding, which no float32 shows. None of these shows that a rule is wrong: a rejection stands only where
// enclosures differ, by a share of more than 2^-44 if the results are float32.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/gradients/adjointness/jacobian.h"
#include "kernel/gradients/adjointness/sample.h"
#include "kernel/gradients/numbers/opaque.h"
#include "semantics/numbers/wide_interval.h"

namespace assay::gradients::adjointness {

class Doubts {
 public:
  // Codes of rejections: sides that differ, sides whose residues alone do, and a side without a value.
  struct Codes {
    const char *entry, *identity, *domain;
  };
  // `right` gives a graph with the rule's outputs that is known to compute what the rule has to. Its inputs are those of the
  // rule at the positions `reads`; empty: at all.
  Doubts(const Graph& rule, const Codes& codes, std::function<Outcome<Graph>()> right, std::vector<std::size_t> reads = {})
      : rule_(rule), codes_(codes), right_(std::move(right)), reads_(std::move(reads)) {}

  // The verdict that follows from a rejection at x. nullopt: the point is left out.
  [[nodiscard]] std::optional<Rejection> judged(Rejection why, const Arrays<WideInterval>& x, Random& random);
  // The rejection of a point at which the sides are not known to be equal up to a share of 2^-100. Then no other point
  // proves the rule.
  [[nodiscard]] const std::optional<Rejection>& open() const { return open_; }

 private:
  const Graph& rule_;
  const Codes& codes_;
  std::function<Outcome<Graph>()> right_;
  std::vector<std::size_t> reads_;
  int count_ = 0;
  std::optional<Rejection> open_ = {};
};

// The real numbers of a point: the guides of residues, or the drawn numbers that the point stands for.
template <class S>
Arrays<WideInterval> numbers_of(const AdjointCase& one, const Arrays<S>& x, const Arrays<double>& drawn) {
  Arrays<WideInterval> result;
  for (std::size_t k = 0; k < x.size(); ++k) {
    result.push_back({x[k].shape, {}});
    for (std::size_t i = 0; i < x[k].values.size(); ++i) {
      if constexpr (requires { x[k].values[i].guide(); })
        result[k].values.emplace_back(x[k].values[i].guide());
      else
        result[k].values.emplace_back(drawn[k].values[i]);
    }
  }
  auto all = bound(one, result);
  return all ? std::move(all).value() : result;
}

}  // namespace assay::gradients::adjointness
