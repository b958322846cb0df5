// What a search leaves that ends without an answer: how much of its tree is closed, and how far
// each case is from being refuted.
//
// A tree halves what it splits, so that a node at depth d stands for 2^-d of it. The share that is
// closed is no measure of time left, since what is left is harder; the pace of the latest part is
// the best guess there is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace assay::search {

struct Unfinished {
  struct Left {
    std::uint32_t case_index = 0;
    double bound = 0;  // worst lower bound of the case over the open subdomains: <= 0, -inf if no bound is known
  };
  double closed_share = 0;  // of the tree, where each split halves what it splits
  double pace = 0;          // the share that was closed a second, lately; 0: nothing is closed
  double seconds = 0;       // that the search took
  std::vector<Left> cases;  // of one group, in the statement's order; other groups may be open as a whole
};

// The open nodes of a tree, one after the other.
class Frontier {
 public:
  void add(std::size_t depth) { open_ += std::ldexp(1.0, -static_cast<int>(depth)); }
  // A bound of the case at the node that was added last, or of the node above it.
  void add_case(std::uint32_t case_index, double bound) {
    const auto [found, is_new] = least_.emplace(case_index, bound);
    if (!is_new) found->second = std::min(found->second, bound);
  }
  [[nodiscard]] Unfinished unfinished() const {
    Unfinished result;
    result.closed_share = std::max(0.0, 1 - open_);
    for (const auto& [case_index, bound] : least_) result.cases.push_back({case_index, std::min(bound, 0.0)});
    return result;
  }

 private:
  double open_ = 0;
  std::map<std::uint32_t, double> least_;
};

// How fast a tree closes. What is left of one is its harder part, for which what was closed last
// speaks best.
class Pace {
 public:
  // Anew, with nothing closed.
  void begin(double seconds) { start_ = before_ = last_ = {seconds, 0}; }
  [[nodiscard]] bool is_due(double seconds) const { return seconds >= kLater * last_.seconds; }
  void note(double seconds, double closed_share) { before_ = std::exchange(last_, {seconds, closed_share}); }
  // Over the last third to half of the time, where notes were taken as they were due; over all of
  // it, where nothing was closed lately.
  [[nodiscard]] double at(double seconds, double closed_share) const {
    const Moment& from = closed_share > before_.closed_share ? before_ : start_;
    return std::max(0.0, (closed_share - from.closed_share) / (seconds - from.seconds));
  }

 private:
  static constexpr double kLater = 1.4;
  struct Moment {
    double seconds = 0, closed_share = 0;
  };
  Moment start_, before_, last_;
};

}  // namespace assay::search
