// find_gap(): one pass over the records, with a stack of open branches.

#include "certificates/edit/gap.h"

#include <algorithm>
#include <utility>

#include "certificates/format/record.h"

namespace assay::certificate {
namespace {

class Finder : public StepsAlike<Finder> {
 public:
  Finder(std::uint64_t group, std::size_t position) : group_(group), position_(position) {}
  [[nodiscard]] const std::optional<Gap>& found() const { return found_; }

  void begin_group(const Record& record) {
    branches_.clear();
    if (record.group == group_) branches_.push_back({});
  }
  void end_group(const Record&) {
    if (!branches_.empty() && !branches_[0].refuted) found_ = std::move(branches_[0].gap);
    branches_.clear();
  }
  void split(const Record& record) {
    if (branches_.empty()) return;
    branches_.back().is_split = true;
    branches_.push_back({.half = record.at_most()});
  }
  void next(const Record& record) {
    if (branches_.size() < 2) return;
    const bool refuted = close(record);
    logic::Literal at_least = branches_.back().half;
    at_least.at_least = true;
    branches_.back() = {.half = at_least, .left_refuted = refuted};
  }
  void done(const Record& record) {
    if (branches_.size() < 2) return;
    const bool refuted = close(record) && branches_.back().left_refuted;
    branches_.pop_back();
    branches_.back().refuted |= refuted;
  }
  void conclude(const Record& record) {
    const auto is_it = [this](const logic::CaseMultipliers& one) { return one.position == position_; };
    if (!branches_.empty()) branches_.back().refuted |= std::ranges::any_of(record.cases, is_it);
  }
  void conclude_with(const Record& record) { conclude(record); }
  void empty(const Record&) {
    if (!branches_.empty()) branches_.back().refuted = true;
  }
  static void step(const Record&) {}
  static void witness(const Record&) {}

 private:
  struct Branch {
    logic::Literal half = {};  // unused at the root
    bool refuted = false, is_split = false, left_refuted = false;
    std::optional<Gap> gap = std::nullopt;  // the first one inside of the branch
  };

  // Ends the innermost branch, and hands its gap to the branch around it. Returns whether the branch refutes the case.
  bool close(const Record& record) {
    Branch& branch = branches_.back();
    std::optional<Gap>& above = branches_[branches_.size() - 2].gap;
    if (branch.refuted) return true;
    if (!branch.is_split && above) {
      ++above->others;
    } else if (!branch.is_split) {
      above = Gap{record.number, record.offset, {}, 0};
      for (std::size_t k = 1; k < branches_.size(); ++k) above->splits.push_back(branches_[k].half);
    } else if (branch.gap && above) {
      above->others += 1 + branch.gap->others;
    } else if (branch.gap) {
      above = std::move(branch.gap);
    }
    return false;
  }

  std::uint64_t group_;
  std::size_t position_;
  std::vector<Branch> branches_;  // open, the root first
  std::optional<Gap> found_;
};

}  // namespace

Outcome<std::optional<Gap>> find_gap(Reader& reader, const Graph& graph, std::uint64_t group, std::size_t position) {
  Finder finder(group, position);
  while (true) {
    const auto next = reader.next(&graph);
    if (!next) return next.rejection();
    if (next.value() == nullptr || finder.found()) return finder.found();
    visit(*next.value(), finder);
  }
}

}  // namespace assay::certificate
