// The bank of faults under the probe plan: every one that computes something else is caught, and no twin.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "kernel/audit/audit.h"
#include "kernel/contracts/contract.h"
#include "probes/launch.h"
#include "probes/trial.h"
#include "runtime/recorder.h"
#include "tests/catch.h"
#include "tests/controls/comparison.h"

namespace assay::test {
namespace {

using probes::Draw;
using probes::Trial;

gradients::Domain domain_of(Draw draw) {
  switch (draw) {
    case Draw::any:
    case Draw::whole:
      return {-4, 4};
    case Draw::non_zero:
    case Draw::positive:
    case Draw::square:
      return {0.25, 4};
    case Draw::fraction:
      return {-0.875, 0.875};
    case Draw::truth:
      return {0, 1};
    case Draw::index:
      return {-2, 1};
  }
  return {};
}

// Decides if faults compute the same function, as far as exact points tell, ties included; one application at a time.
class Equivalence {
 public:
  [[nodiscard]] bool holds(const Trial& trial) {
    if (!trial.fault.graph) return false;
    if (name_ != trial.application || types_ != types_of(trial)) prepare(trial);
    return !comparison_->differs(*trial.fault.graph);
  }

 private:
  static std::vector<DType> types_of(const Trial& trial) {
    std::vector<DType> types;
    for (const NodeId input : trial.application_graph.inputs) types.push_back(trial.application_graph.node(input).dtype);
    return types;
  }
  void prepare(const Trial& trial) {
    name_ = trial.application;
    types_ = types_of(trial);
    right_ = trial.application_graph;
    one_ = {trial.application, right_, {}, {0, 1}};
    for (const probes::OpCase& known : probes::applications(right_.nodes.back().op, true)) {
      if (known.name != trial.application) continue;
      for (std::size_t k = 0; k < known.shapes.size(); ++k) {
        one_.domains.push_back(domain_of(probes::draw_of(known, k)));
        if (types_[k] == DType::boolean) one_.domains.back() = {0, 1};
        if (is_unsigned(types_[k])) one_.domains.back().lo = std::max(0.0, one_.domains.back().lo);
      }
    }
    comparison_.emplace(one_, right_, right_.size(right_.outputs[0]) > 100 ? 2 : 6);
  }
  std::string name_;
  std::vector<DType> types_;
  Graph right_;
  gradients::AdjointCase one_;
  std::optional<Comparison> comparison_;
};

// Faults that contracts admit, and why.
const std::map<std::string, std::string> kAdmitted = {
    {"log_sum_exp with subnormal results flushed to 0", "near 0 a logarithm's error is absolute, far above subnormal numbers"},
    {"reduce_prod with subnormal results flushed to 0",
     "in some order a product of some factors may underflow, and further factors enlarge what that loses"},
};

struct Count {
  std::size_t faults = 0, caught = 0, equivalent = 0, free = 0, admitted = 0, twins = 0;
};

void count_op(Op op, Count& count, std::string& text) {
  std::map<std::string, Trial> numeric;  // the results of all applications
  Equivalence equivalence;
  const auto survived = [&](const std::string& name, const Trial& trial) {
    if (kAdmitted.count(name) > 0) {
      ++count.admitted;
    } else if (!trial.differs && trial.differs_freely) {
      ++count.free;  // at kinks every choice between the one-sided values, beyond a type's range anything
    } else {
      text += "\nsurvivor: " + name + (trial.differs ? "" : " (the same bits on every probe)");
    }
  };
  for (const Trial& trial : probes::try_bank(op, {DType::float32, 1, true, false})) {
    const std::string name = trial.application + " " + trial.fault.name;
    if (trial.source == Trial::Source::twin) {
      ++count.twins;
      if (trial.caught) text += "\nflagged though it is right: " + name + ", " + trial.caught_by;
    } else if (trial.fault.numeric && trial.ran > 0) {
      Trial& seen = numeric[trial.fault.name];
      seen.caught |= trial.caught;
      seen.differs |= trial.differs;
      seen.differs_freely |= trial.differs_freely;
    } else if (trial.ran > 0) {  // else it refuses what the op takes
      ++count.faults;
      if (trial.caught) {
        ++count.caught;
      } else if (equivalence.holds(trial)) {
        ++count.equivalent;
      } else {
        survived(name, trial);
      }
    }
  }
  for (const auto& [fault, seen] : numeric) {
    ++count.faults;
    if (seen.caught) {
      ++count.caught;
    } else if (!seen.differs && !seen.differs_freely) {
      ++count.equivalent;  // floor has no subnormal results that could be flushed
    } else {
      survived(std::string(op_row(op).name) + " " + fault, seen);
    }
  }
}

void check_part(int first) {
  Count all;
  std::string text;
  for (int k = first; k < kOpCount; k += 4) {
    if (op_row(static_cast<Op>(k)).op_class != OpClass::leaf) count_op(static_cast<Op>(k), all, text);
  }
  INFO(text);
  CHECK(text.empty());
  std::printf("%zu faults: %zu caught, %zu equivalent, %zu at liberty, %zu admitted; %zu twins pass\n", all.faults, all.caught,
              all.equivalent, all.free, all.admitted, all.twins);
  CHECK(all.caught + all.equivalent + all.free + all.admitted == all.faults);
  CHECK(all.free < all.caught / 50);
  CHECK(all.caught > 500);
  CHECK(all.twins > 50);
}

}  // namespace

// The audit's quick ways against the contracts themselves, on results that are wrong in every way of the bank.
TEST_CASE("audits of faults count the failures that their contracts count", "[probes]") {
  std::size_t seen = 0, compared = 0, failed = 0;
  const auto compare = [&](const Trial& trial, const probes::Probe& probe, const Tensor&, const Tensor& wrong) {
    if (++seen % 29 != 0 || wrong.size() > 1000 || probe.operands[0].dtype() != DType::float32) return;
    const ExecutionModel model = runtime::execution_model(DType::float32);
    const auto sets = contracts::admissible(probe.op, probe.attributes, model, probe.operands);
    REQUIRE(sets.ok());
    const auto judged = contracts::judge(sets.value(), wrong);
    REQUIRE(judged.ok());
    Trace trace;
    probes::append_region(trace, probe.name(), trial.application_graph, model, probe.operands, wrong);
    const auto audit = audit::audit_region(trace, 0);
    REQUIRE(audit.ok());
    ++compared;
    failed += judged.value().failed > 0 ? 1 : 0;
    if (audit.value().total().failed != judged.value().failed)
      FAIL_CHECK(probe.name() << ' ' << trial.fault.name << ": " << audit.value().total().failed << " and " << judged.value().failed);
  };
  for (int k = 0; k < kOpCount; ++k) {
    if (op_row(static_cast<Op>(k)).op_class != OpClass::leaf)
      (void)probes::try_bank(static_cast<Op>(k), {DType::float32, 2, true, false}, compare);
  }
  CHECK(compared > 2000);
  CHECK(failed > 1000);
}

TEST_CASE("faults of kernels, first quarter of the ops", "[probes]") { check_part(0); }
TEST_CASE("faults of kernels, second quarter of the ops", "[probes]") { check_part(1); }
TEST_CASE("faults of kernels, third quarter of the ops", "[probes]") { check_part(2); }
TEST_CASE("faults of kernels, last quarter of the ops", "[probes]") { check_part(3); }

}  // namespace assay::test
