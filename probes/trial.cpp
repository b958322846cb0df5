#include "probes/trial.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "kernel/contracts/contract.h"
#include "probes/sketch.h"
#include "runtime/recorder.h"

namespace assay::probes {
namespace {

std::vector<Trial> trials_of(const Graph& graph, const std::string& application) {
  std::vector<Trial> trials;
  const auto add = [&](std::vector<Fault> faults, Trial::Source source) {
    for (Fault& fault : faults) trials.push_back({application, std::move(fault), source, false, {}, false, false, 0, graph});
  };
  add(faults_of(graph), Trial::Source::bank);
  add(faults_by_rule(graph), Trial::Source::rule);
  add(twins_of(graph), Trial::Source::twin);
  return trials;
}

// The probes of one application and one combination of element types, and the trials on them.
class Bench {
 public:
  Bench(const Graph& graph, const std::string& application, const Watch& watch)
      : right_(graph), trials_(trials_of(graph, application)), watch_(watch) {}
  std::vector<Trial> take() { return std::move(trials_); }

  void run(const Probe& probe) {
    std::optional<contracts::Admissible> sets;
    std::optional<Tensor> right;
    for (Trial& trial : trials_) {
      if (trial.caught && !watch_) continue;
      const auto wrong = trial.fault.run(probe.operands);
      if (!wrong) continue;
      if (!right && !prepare(probe, sets, right)) return;
      ++trial.ran;
      note_differences(trial, *sets, *right, wrong.value());
      if (!trial.caught) {
        const auto judged = contracts::judge(*sets, wrong.value());
        trial.caught = !judged || judged.value().failed > 0;
        if (trial.caught) trial.caught_by = to_string(probe.kind);
      }
      if (watch_) watch_(trial, probe, *right, wrong.value());
    }
  }

 private:
  static void note_differences(Trial& trial, const contracts::Admissible& sets, const Tensor& right, const Tensor& wrong) {
    const std::size_t width = byte_size(right.dtype());
    for (std::size_t i = 0; i < right.size() && !trial.differs; ++i) {
      if (std::memcmp(right.bytes().data() + i * width, wrong.bytes().data() + i * width, width) == 0) continue;
      (sets.is_vacuous(i) ? trial.differs_freely : trial.differs) = true;
    }
  }
  bool prepare(const Probe& probe, std::optional<contracts::Admissible>& sets, std::optional<Tensor>& right) const {
    const auto wide = [](const Tensor& tensor) { return tensor.dtype() == DType::float64; };
    const bool is_wide = std::ranges::any_of(probe.operands, wide);
    const auto y = right_(probe.operands);
    if (!y) return false;
    auto admitted = contracts::admissible(probe.op, probe.attributes, runtime::execution_model(is_wide ? DType::float64 : DType::float32),
                                          probe.operands);
    if (!admitted) return false;
    sets = std::move(admitted).value();
    right = y.value();
    return true;
  }

  Evaluation right_;
  std::vector<Trial> trials_;
  const Watch& watch_;
};

}  // namespace

std::vector<Trial> try_bank(Op op, const PlanOptions& options, const Watch& watch) {
  std::vector<Trial> all;
  const std::vector<Probe> plan = probe_plan(op, options);
  const auto types = [](const Probe& probe) {
    std::vector<DType> list;
    for (const Tensor& operand : probe.operands) list.push_back(operand.dtype());
    return list;
  };
  // Integers: a signed type, an unsigned one, truth values; the others are the same kernels again.
  const auto is_tried = [](const Probe& probe) {
    const std::array tried = {DType::float32, DType::float64, DType::int64, DType::uint8, DType::boolean};
    return std::ranges::all_of(probe.operands,
                               [&](const Tensor& operand) { return std::ranges::find(tried, operand.dtype()) != tried.end(); });
  };
  for (auto first = plan.begin(); first != plan.end();) {
    const auto last = std::find_if(
        first, plan.end(), [&](const Probe& probe) { return probe.application != first->application || types(probe) != types(*first); });
    if (!is_tried(*first)) {
      first = last;
      continue;
    }
    const auto graph = graph_of(first->op, first->attributes, first->operands);
    if (graph) {
      Bench bench(graph.value(), first->application, watch);
      for (auto probe = first; probe != last; ++probe) bench.run(*probe);
      for (Trial& trial : bench.take()) all.push_back(std::move(trial));
    }
    first = last;
  }
  return all;
}

}  // namespace assay::probes
