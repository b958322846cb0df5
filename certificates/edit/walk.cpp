#include "certificates/edit/walk.h"

#include <utility>

#include "certificates/check/meter.h"
#include "certificates/edit/steps.h"

namespace assay::certificate {
namespace {

Rejection out_of_place(const Record& record) {
  return {Rejection::Kind::malformed,
          "certificate.structure",
          "",
          "a record where the grammar allows it",
          std::string(to_string(record.type)),
          "compare the splits, `next` and `done` around it"};
}

}  // namespace

class Walk::Steps : public StepsAlike<Walk::Steps> {
 public:
  explicit Steps(Walk& walk) : walk_(walk) {}

  Outcome<Done> begin_group(const Record& record) {
    walk_.branches_.clear();
    walk_.at_most_.clear();
    auto root = logic::Scope::root(walk_.problem_, record.group);
    if (!root) return root.rejection();
    root.value().pay(walk_.meter_);
    walk_.branches_.push_back(std::move(root).value());
    return Done{};
  }
  Outcome<Done> end_group(const Record& record) {
    const bool is_whole = walk_.branches_.size() == 1;
    walk_.branches_.clear();
    walk_.at_most_.clear();
    return is_whole ? Outcome<Done>(Done{}) : out_of_place(record);
  }
  Outcome<Done> split(const Record& record) {
    if (walk_.branches_.empty()) return out_of_place(record);
    walk_.at_most_.push_back(record.at_most());
    return open(record.at_most());
  }
  Outcome<Done> next(const Record& record) {
    if (walk_.branches_.size() < 2) return out_of_place(record);
    walk_.branches_.pop_back();
    logic::Literal at_least = walk_.at_most_.back();
    at_least.at_least = true;
    return open(at_least);
  }
  Outcome<Done> done(const Record& record) {
    if (walk_.branches_.size() < 2) return out_of_place(record);
    walk_.branches_.pop_back();
    walk_.at_most_.pop_back();
    return Done{};
  }
  Outcome<Done> witness(const Record& record) {
    const auto theorem = logic::satisfiable(walk_.problem_, record.witness, exact_work_of(Costs(*walk_.problem_)));
    return theorem ? Outcome<Done>(Done{}) : theorem.rejection();
  }
  Outcome<Done> step(const Record& record) {
    if (walk_.branches_.empty()) return out_of_place(record);
    std::optional<logic::Refutation> closed;
    return take_step(*walk_.problem_, record, walk_.branches_.back(), closed);
  }

 private:
  // Opens the branch even where its half is refused, so that the records behind it stay in place.
  Outcome<Done> open(const logic::Literal& half) {
    if (walk_.branches_.size() > 1) walk_.branches_.back().forget_linear_bounds(walk_.branches_[0]);
    walk_.branches_.push_back(walk_.branches_.back());
    return walk_.branches_.back().assume(half);
  }

  Walk& walk_;
};

Walk::Walk(std::shared_ptr<const logic::Problem> problem, double work)
    : problem_(std::move(problem)), meter_(meter_of(*problem_, std::make_shared<double>(work))) {}

Outcome<Done> Walk::take(const Record& record) { return visit(record, Steps(*this)); }

}  // namespace assay::certificate
