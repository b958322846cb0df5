// read_beginning(): the steps of a cube on one scope, without the branches beside it.

#include "certificates/edit/cubes.h"

#include <optional>
#include <string>
#include <utility>

#include "certificates/check/session.h"
#include "certificates/format/format.h"

namespace assay::certificate {
namespace {

class Steps {
 public:
  Steps(const std::shared_ptr<const kernel::Problem>& problem, double work) : problem_(problem), work_(std::make_shared<double>(work)) {}

  Outcome<Done> take(const Record& record) {
    if ((record.type == RecordType::begin_group) == scope_.has_value()) return structure(record);
    const bool right = record.type == RecordType::next && split_.has_value();
    if (split_) {
      split_->at_least = right;
      if (auto assumed = scope_->assume(*std::exchange(split_, std::nullopt)); !assumed) return assumed;
      if (right) return Done{};
    }
    switch (record.type) {
      case RecordType::begin_group:
        return begin(record);
      case RecordType::sweep:
        return sweep(*problem_, *scope_, record.node, record.round_to_float);
      case RecordType::boxes:
        return propagate_boxes(*problem_, *scope_, record.node);
      case RecordType::box:
        return scope_->propagate_box(record.node);
      case RecordType::tighten:
        return scope_->tighten(record.node, record.selection, record.hints, record.claimed ? &record.claims : nullptr,
                               record.round_to_float);
      case RecordType::tighten_by_cases:
        return tighten_by_cases(*scope_, record.node, record.selection, record.tree, record.round_to_float);
      case RecordType::cut:
        return cut_by_cases(*scope_, record.terms, record.tree);
      case RecordType::define_hints:
        return Done{};
      case RecordType::conclude:
      case RecordType::conclude_with:
        return refute(scope_->conclude(record.cases, record.hints));
      case RecordType::empty:
        return refute(scope_->empty());
      case RecordType::split_zero:
      case RecordType::split_f32:
      case RecordType::split_f64:
        if (!above_) above_ = scope_;
        split_ = kernel::Literal{record.node, record.element, false, record.threshold};
        return Done{};
      case RecordType::end_group:
      case RecordType::next:
      case RecordType::done:
      case RecordType::witness:
        return structure(record);
    }
    return Done{};
  }

  Outcome<search::Beginning> finish() {
    if (!scope_) return missing_group();
    if (split_) {
      if (auto assumed = scope_->assume(*split_); !assumed) return assumed.rejection();
    }
    scope_->spend_from(nullptr);
    if (!above_) above_ = scope_;
    above_->spend_from(nullptr);
    search::Beginning beginning{*std::move(scope_), *std::move(above_), {}};
    for (std::uint32_t k = 0; k < refuted_.size(); ++k)
      if (!refuted_[k]) beginning.open.push_back(k);
    return beginning;
  }

 private:
  Outcome<Done> begin(const Record& record) {
    if (!(record.group < problem_->group_count())) return structure(record);
    auto root = kernel::Scope::root(problem_, record.group);
    if (!root) return root.rejection();
    scope_ = std::move(root).value();
    scope_->spend_from(work_);
    refuted_.assign(problem_->group_cases(record.group).size(), false);
    return Done{};
  }

  Outcome<Done> refute(const Outcome<kernel::Refutation>& refutation) {
    if (!refutation) return refutation.rejection();
    for (std::size_t k = 0; k < refuted_.size(); ++k)
      if (refutation.value().cases()[k]) refuted_[k] = true;
    return Done{};
  }

  static Rejection malformed(std::string place, std::string found) {
    return {Rejection::Kind::malformed, "cube.structure",
            std::move(place),           "the beginning of one group, up to an open branch",
            std::move(found),           "write the cubes again: assay split"};
  }
  static Rejection missing_group() { return malformed("", "no group"); }
  static Rejection structure(const Record& record) { return malformed("record " + std::to_string(record.number), to_string(record.type)); }

  const std::shared_ptr<const kernel::Problem> problem_;
  const std::shared_ptr<double> work_;
  std::optional<kernel::Scope> scope_, above_;
  std::optional<kernel::Literal> split_;  // read, while the next record says on which side the cube is
  std::vector<bool> refuted_;             // by position in the group
};

}  // namespace

Outcome<search::Beginning> read_beginning(Reader& reader, const std::shared_ptr<const kernel::Problem>& problem, double work) {
  Steps steps(problem, work);
  while (true) {
    const auto next = reader.next(&problem->graph());
    if (!next) return next.rejection();
    if (next.value() == nullptr) return steps.finish();
    if (auto taken = steps.take(*next.value()); !taken) return taken.rejection();
  }
}

}  // namespace assay::certificate
