// For a property that a search left open, finds the largest share of its input boxes, around their middles, that a budget
// certifies.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "certificates/format/writer.h"
#include "kernel/logic/api.h"
#include "search/search.h"
#include "semantics/outcome.h"

namespace assay::queries {

// Finds by halving how long a prefix of a row holds. If an element holds, all before it do, and no element beyond one that was
// not shown is asked.
class Bisection {
 public:
  explicit Bisection(std::size_t count) : end_(count) {}
  [[nodiscard]] std::optional<std::size_t> next() const { return holding_ < end_ ? std::optional((holding_ + end_) / 2) : std::nullopt; }
  void set(std::size_t index, bool holds) {
    if (holds)
      holding_ = std::max(holding_, index + 1);
    else
      end_ = std::min(end_, index);
  }
  // Elements that may still be asked for, at most.
  [[nodiscard]] unsigned left() const { return static_cast<unsigned>(std::bit_width(end_ - std::min(end_, holding_))); }

 private:
  std::size_t holding_ = 0, end_;
};

// The statement with each side of every box shrunk to that share of its length, towards its middle, in exact fractions; all else stays.
[[nodiscard]] statement::Statement scaled(const statement::Statement& statement, const Rational& scale);

struct ScaleRequest {
  double seconds = 0;  // for all tries; each has what is left, divided by the number of those that may follow
  search::Options search;
  // Where the certificate of a try goes: null where none is wanted. And that the last one is of the largest scale so far.
  std::function<Outcome<certificate::Writer*>(const logic::Problem&)> open;
  std::function<void()> keep;
};

struct Scaled {
  Rational scale;                                 // a multiple of 1/1000 below 1; 0: none was proved
  std::shared_ptr<const logic::Problem> problem;  // the statement proved there; null: none was
  std::optional<logic::Witness> violated;         // a try found a point, at which the whole property is violated, too: the end of the tries
  std::size_t tries = 0;
  double seconds = 0;
  std::uint64_t bytes = 0;  // of the certificate of `problem`, once it has taken its place
};

// Rejections are those of certificates that cannot be written.
[[nodiscard]] Outcome<Scaled> largest_scale(const std::shared_ptr<const logic::Problem>& problem, const ScaleRequest& request);

}  // namespace assay::queries
