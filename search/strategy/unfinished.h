// Unfinished: how far a search came that ends without an answer: how much of its tree is closed, and how far each case
// is from being refuted.
//
// A split halves the tree, so a node at depth d stands for 2^-d of it. The closed share does not measure the time left,
// because the open part is harder than the closed part. The recent pace gives the best estimate there is.
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
  double closed_share = 0;  // closed share of the tree, where each split counts as two halves
  double pace = 0;          // share of the tree closed per second in the recent past; 0: nothing is closed
  double seconds = 0;       // what the search took
  std::vector<Left> cases;  // of one group, in the order of the statement; other groups may be wholly open
};

// Sums up the open nodes of a tree, which are added one by one.
class Frontier {
 public:
  void add(std::size_t depth) { open_ += std::ldexp(1.0, -static_cast<int>(depth)); }
  // `bound`: a bound of the case at the node added last, or at its parent.
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

// How fast a tree closes. The open part is harder than the closed part, so the most recent closures predict best.
class Pace {
 public:
  // Starts anew, with nothing closed.
  void begin(double seconds) { start_ = before_ = last_ = {seconds, 0}; }
  [[nodiscard]] bool is_due(double seconds) const { return seconds >= kLater * last_.seconds; }
  void note(double seconds, double closed_share) { before_ = std::exchange(last_, {seconds, closed_share}); }
  // The pace over the last third to half of the time if notes were taken whenever due; over the whole time if nothing
  // was closed lately.
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
