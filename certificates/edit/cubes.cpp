// read_beginning(): the steps of a cube on one scope, without the branches beside it.

#include "certificates/edit/cubes.h"

#include <optional>
#include <string>
#include <utility>

#include "certificates/check/meter.h"
#include "certificates/edit/steps.h"

namespace assay::certificate {
namespace {

class Steps : public StepsAlike<Steps> {
 public:
  Steps(const std::shared_ptr<const logic::Problem>& problem, double work) : problem_(problem), work_(std::make_shared<double>(work)) {}

  Outcome<Done> take(const Record& record) {
    if ((record.type == RecordType::begin_group) == scope_.has_value()) return structure(record);
    const bool right = record.type == RecordType::next && split_.has_value();
    if (split_) {
      split_->at_least = right;
      if (auto assumed = scope_->assume(*std::exchange(split_, std::nullopt)); !assumed) return assumed;
      if (right) return Done{};
    }
    return visit(record, *this);
  }

  Outcome<Done> begin_group(const Record& record) {
    if (!(record.group < problem_->group_count())) return structure(record);
    auto root = logic::Scope::root(problem_, record.group);
    if (!root) return root.rejection();
    scope_ = std::move(root).value();
    scope_->pay(certificate::meter_of(*problem_, work_));
    refuted_.assign(problem_->group_cases(record.group).size(), false);
    return Done{};
  }
  Outcome<Done> split(const Record& record) {
    if (!above_) above_ = scope_;
    split_ = record.at_most();
    return Done{};
  }
  static Outcome<Done> end_group(const Record& record) { return structure(record); }
  static Outcome<Done> next(const Record& record) { return structure(record); }
  static Outcome<Done> done(const Record& record) { return structure(record); }
  static Outcome<Done> witness(const Record& record) { return structure(record); }
  Outcome<Done> step(const Record& record) {
    std::optional<logic::Refutation> closed;
    if (auto taken = take_step(*problem_, record, *scope_, closed); !taken) return taken;
    for (std::size_t k = 0; closed && k < refuted_.size(); ++k)
      if (closed->cases()[k]) refuted_[k] = true;
    return Done{};
  }

  Outcome<search::Beginning> finish() {
    if (!scope_) return missing_group();
    if (split_) {
      if (auto assumed = scope_->assume(*split_); !assumed) return assumed.rejection();
    }
    const std::shared_ptr<Meter> free = meter_of(*problem_);
    scope_->pay(free);
    if (!above_) above_ = scope_;
    above_->pay(free);
    search::Beginning beginning{*std::move(scope_), *std::move(above_), {}};
    for (std::uint32_t k = 0; k < refuted_.size(); ++k)
      if (!refuted_[k]) beginning.open.push_back(k);
    return beginning;
  }

 private:
  static Rejection malformed(std::string place, std::string found) {
    return {Rejection::Kind::malformed, "cube.structure",
            std::move(place),           "the beginning of one group, up to an open branch",
            std::move(found),           "write the cubes again: assay split"};
  }
  static Rejection missing_group() { return malformed("", "no group"); }
  static Rejection structure(const Record& record) { return malformed("record " + std::to_string(record.number), to_string(record.type)); }

  const std::shared_ptr<const logic::Problem> problem_;
  const std::shared_ptr<double> work_;
  std::optional<logic::Scope> scope_, above_;
  std::optional<logic::Literal> split_;  // read, while the next record says on which side the cube is
  std::vector<bool> refuted_;            // by position in the group
};

}  // namespace

Outcome<search::Beginning> read_beginning(Reader& reader, const std::shared_ptr<const logic::Problem>& problem, double work) {
  Steps steps(problem, work);
  while (true) {
    const auto next = reader.next(&problem->graph());
    if (!next) return next.rejection();
    if (next.value() == nullptr) return steps.finish();
    if (auto taken = steps.take(*next.value()); !taken) return taken.rejection();
  }
}

}  // namespace assay::certificate
