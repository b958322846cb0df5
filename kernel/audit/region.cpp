// Judges one region: each node's contract on the recorded operands, and each recorded result by it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernel/audit/audit.h"
#include "kernel/audit/point.h"
#include "kernel/gradients/adjointness/sample.h"
#include "kernel/quick/quick.h"
#include "semantics/demand.h"
#include "semantics/numbers/directed.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Violation violation_of(const contracts::Admissible& admissible, const Tensor& received, std::size_t result, std::size_t element) {
  const contracts::FloatSet& set = admissible.sets.values[element];
  const Interval& exact = admissible.exact[element];
  const double value = contracts::recorded_value(received, element).value_or(std::numeric_limits<double>::quiet_NaN());
  Violation one{result, element, contracts::describe(admissible, received, element), kInfinity, kInfinity, value, set, exact};
  if (!std::isfinite(value) || !set.has_finite()) return one;
  const bool above = contracts::before(set.hi, value);
  const auto format = contracts::format_of(admissible.sets.dtype);
  one.steps = contracts::steps_between(admissible.storage, format, above ? set.hi : value, above ? value : set.lo);
  if (exact.is_undefined() || set.lo == set.hi) return one;
  const double error = above ? value - exact.lo() : exact.hi() - value;
  const double room = above ? set.hi - exact.hi() : exact.lo() - set.lo;
  if (room > 0) one.allowance_units = error / room;
  return one;
}

bool is_worse(const Violation& a, const Violation& b) {
  return a.allowance_units != b.allowance_units ? a.allowance_units > b.allowance_units : a.steps > b.steps;
}

// A region with its recorded values.
struct Recorded {
  const Region& region;
  std::span<const Tensor> operands;
  std::span<const Trace::Entry> results;
};

RegionAudit all_unsupported(const Recorded& recorded, const Rejection& why) {
  RegionAudit audit;
  audit.unsupported = why;
  for (const Trace::Entry& entry : recorded.results) audit.results.push_back({0, 0, 0, entry.value.size(), 0});
  return audit;
}

// Whether the model admits all executions that the quick judgements assume.
bool is_plain(const ExecutionModel& model) {
  return model.kind == ExecutionModel::Kind::floating && model.format == ExecutionModel::Format::binary32 &&
         model.rounding == ExecutionModel::Rounding::nearest_even && !model.flush_operands && !model.flush_results &&
         (model.accumulator == ExecutionModel::Accumulator::any_order || model.accumulator == ExecutionModel::Accumulator::tree) &&
         model.accumulator_format == ExecutionModel::AccumulatorFormat::same &&
         model.accumulator_rounding == ExecutionModel::AccumulatorRounding::nearest_even &&
         model.input_rounding == ExecutionModel::InputRounding::none && model.storage == ExecutionModel::Storage::same &&
         model.rewrites == ExecutionModel::Rewrites::none && validate(model).empty();
}

// The elements of a result that are judged; empty: all.
std::vector<std::size_t> sample_of(const Tensor& result, const Sampling& sampling) {
  if (sampling.elements == 0 || sampling.elements >= result.size()) return {};
  const std::size_t last = result.size() - 1, row = result.shape().empty() ? 1 : static_cast<std::size_t>(result.shape().back());
  std::vector<std::size_t> sample = {0, row - 1, last + 1 - row, last};
  gradients::adjointness::Random random{sampling.seed};
  while (sample.size() < sampling.elements) sample.push_back(static_cast<std::size_t>(random.below(result.size())));
  std::ranges::sort(sample);
  sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
  return sample;
}

// `core` receives the op that the judgement reads.
std::optional<quick::Judged> quickly(const quick::Fused& fused, const Sampling& sampling, std::optional<quick::Core>& core) {
  const auto is_float32 = [](const Node& node) { return node.dtype == DType::float32; };
  if (!is_plain(fused.region.model) || !std::ranges::all_of(fused.region.graph.nodes, is_float32)) return std::nullopt;
  core = quick::core_of(fused);
  if (!core) return quick::judge_chain(fused);
  const std::vector<std::size_t> sample = sample_of(core->result, sampling);
  const quick::Problem problem{core->node, core->operands, core->result, sample, fused.region.model};
  for (const auto judge : {quick::judge_elementwise, quick::judge_function, quick::judge_softmax, quick::judge_layout,
                           quick::judge_reduction, quick::judge_dots}) {
    auto judged = judge(problem);
    if (!judged) continue;
    judged->place = core->place;
    return judged;
  }
  return std::nullopt;
}

// The sets of a region, refined if they do not admit all recorded results and may do so then.
Outcome<std::vector<contracts::Admissible>> sets_of(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> operands,
                                                    std::span<const contracts::Recording> recordings,
                                                    std::span<const contracts::Storage> stored, std::span<const Tensor> results) {
  auto sets = contracts::admissible(graph, model, operands, recordings, stored);
  if (sets) contracts::refine(sets.value(), graph, model, operands, recordings, results);
  return sets;
}

std::string at_element(const std::string& text, std::size_t element) {
  return "element " + std::to_string(element) + text.substr(text.find(':'));
}

// Judges one element of all results by the contract; `counts` says whether it counts.
bool judge_single(const quick::Fused& fused, const quick::Judged& judged, std::size_t which, bool counts, RegionAudit& audit) {
  const std::size_t element = judged.place.empty() ? which : judged.place[which];
  const quick::Single single = judged.single(which);
  std::vector<contracts::Recording> received;
  for (std::size_t i = 0; i < fused.results.size(); ++i) {
    const NodeId output = single.graph.outputs[i];
    const std::span<const float> value = quick::floats(*fused.results[i]).subspan(element, 1);
    received.push_back({output, Tensor::of_floats(single.graph.node(output).shape, value)});
  }
  std::vector<Tensor> values;
  for (const contracts::Recording& one : received) values.push_back(one.value);
  const auto recordings = received.size() > 1 ? received : std::vector<contracts::Recording>();
  const auto sets = sets_of(single.graph, fused.region.model, single.operands, recordings, {}, values);
  if (!sets) return false;
  for (std::size_t i = 0; i < received.size(); ++i) {
    const auto verdict = contracts::judge(sets.value()[i], received[i].value);
    if (!verdict) return false;
    audit.head_room_used = std::fmax(audit.head_room_used, verdict.value().head_room_used);
    if (!counts) continue;
    audit.results[i] += {verdict.value().passed, verdict.value().failed, verdict.value().vacuous, 0, 0};
    if (verdict.value().failed == 0) continue;
    audit.failed_at[i].push_back(element);
    Violation violation = violation_of(sets.value()[i], received[i].value, i, 0);
    violation.element = element;
    violation.text = at_element(violation.text, element);
    if (!audit.first || std::pair(i, element) < std::pair(audit.first->result, audit.first->element)) audit.first = violation;
    if (!audit.worst || is_worse(violation, *audit.worst)) audit.worst = violation;
  }
  return true;
}

// Open elements are judged one by one, which is much slower than the quick judgement. If there are many, evenly spaced
// ones come first, and the others are judged only if none of these fails.
constexpr std::size_t kMostOpen = 1 << 12;

std::vector<std::size_t> evenly_first(const std::vector<std::size_t>& open) {
  if (open.size() <= kMostOpen) return open;
  std::vector<std::size_t> order, rest;
  for (std::size_t k = 0; k < open.size(); ++k) {
    const bool is_first = order.size() < kMostOpen && k >= order.size() * open.size() / kMostOpen;
    (is_first ? order : rest).push_back(open[k]);
  }
  order.insert(order.end(), rest.begin(), rest.end());
  return order;
}

// Judges the open elements, and some of the others for the head-room, each by the contract of one element. False if
// that has no contract.
bool judge_singles(const quick::Fused& fused, const quick::Judged& judged, RegionAudit& audit) {
  constexpr std::size_t kSampled = 8, kSampledTerms = 1 << 11;
  const std::size_t size = fused.results[0]->size(), open = judged.open.size();
  audit.results.assign(fused.results.size(), {size - open - judged.vacuous - judged.unsampled, 0, judged.vacuous, 0, judged.unsampled});
  audit.failed_at.resize(fused.results.size());
  std::vector<std::size_t> elements = evenly_first(judged.open);
  const std::size_t sampled = std::min(kSampled, kSampledTerms / judged.terms),
                    step = std::max<std::size_t>(1, size / std::max<std::size_t>(1, sampled));
  for (std::size_t i = step / 2; judged.single && sampled > 0 && i < size; i += step) elements.push_back(i);
  for (std::size_t k = 0; k < elements.size(); ++k) {
    if (k == kMostOpen && k < open && audit.first) {
      for (RegionAudit::Counts& counts : audit.results) counts.unsampled += open - k;
      break;
    }
    if (!judge_single(fused, judged, elements[k], k < open, audit)) return false;
  }
  for (std::vector<std::size_t>& failed : audit.failed_at) std::ranges::sort(failed);
  return true;
}

// The number of failures that are described one by one to find the worst.
constexpr std::size_t kMostViolations = 1 << 12;

void note_violations(const contracts::Admissible& admissible, const Tensor& received, std::size_t result, std::size_t begin,
                     RegionAudit& audit) {
  std::vector<std::size_t>& failed = audit.failed_at.emplace_back();
  for (std::size_t element = begin; element < received.size(); ++element) {
    const auto value = contracts::recorded_value(received, element);
    if (value && admissible.admits(element, *value)) continue;
    failed.push_back(element);
    if (failed.size() > kMostViolations) continue;
    const Violation one = violation_of(admissible, received, result, element);
    if (!audit.first) audit.first = one;
    if (!audit.worst || is_worse(one, *audit.worst)) audit.worst = one;
  }
}

// Judges every element by its contract.
Outcome<RegionAudit> audit_in_full(const Recorded& recorded) {
  const Region& region = recorded.region;
  std::vector<contracts::Recording> recordings;
  std::vector<contracts::Storage> stored;
  for (std::size_t i = 0; i < recorded.results.size(); ++i) {
    const Trace::Entry& entry = recorded.results[i];
    stored.push_back(entry.storage);
    if (recorded.results.size() > 1) recordings.push_back({region.graph.outputs[i], entry.value, entry.storage});
  }
  std::vector<Tensor> values;
  for (const Trace::Entry& entry : recorded.results) values.push_back(entry.value);
  const auto sets = sets_of(region.graph, region.model, recorded.operands, recordings, stored, values);
  if (!sets && sets.rejection().kind == Rejection::Kind::unsupported) return all_unsupported(recorded, sets.rejection());
  if (!sets) return sets.rejection();
  RegionAudit audit;
  for (std::size_t i = 0; i < recorded.results.size(); ++i) {
    const contracts::Admissible& admissible = sets.value()[i];
    const Tensor& received = recorded.results[i].value;
    const auto judged = contracts::judge(admissible, received);
    if (!judged) return judged.rejection();
    audit.results.push_back({judged.value().passed, judged.value().failed, judged.value().vacuous, 0, 0});
    audit.head_room_used = std::fmax(audit.head_room_used, judged.value().head_room_used);
    note_violations(admissible, received, i, judged.value().first_failure.value_or(received.size()), audit);
  }
  return audit;
}

// At a kink a weight is free within its set, and that is no lack of knowledge. For step every number of [0, 1] is
// admitted; for max_weight every weight whose line sums to 1, apart from the roundings of shares 1 / n. Returns whether
// the region computes such weights, and the received ones are admitted.
bool are_free_weights(const Region& region, const Tensor& received) {
  constexpr double kMostRoundings = 4;
  const Graph& graph = region.graph;
  if (graph.nodes.size() != 2 || graph.outputs != std::vector<NodeId>{1}) return false;
  if (graph.nodes[1].op == Op::step) return true;
  if (graph.nodes[1].op != Op::max_weight || region.model.storage != contracts::Storage::same) return false;
  Graph sums;
  const NodeId weights = sums.append_input(received.dtype(), received.shape(), "weights");
  const auto lines = sums.append(Op::reduce_sum, {weights}, graph.nodes[1].attributes);
  if (!lines) return false;
  const auto values = evaluate<Interval>(sums, std::vector<Array<Interval>>{enclosed(received)});
  if (!values) return false;
  const double most = kMostRoundings * contracts::unit_roundoff(contracts::format_of(received.dtype()));
  return std::ranges::all_of(values.value()[lines.value()].values,
                             [&](const Interval& sum) { return sum.lo() <= add_up(1, most) && sum.hi() >= sub_down(1, most); });
}

RegionAudit with_free_weights(const Recorded& recorded, RegionAudit audit) {
  for (std::size_t i = 0; i < audit.results.size(); ++i) {
    RegionAudit::Counts& counts = audit.results[i];
    if (counts.vacuous == 0 || !are_free_weights(recorded.region, recorded.results[i].value)) continue;
    counts.passed += std::exchange(counts.vacuous, 0);
  }
  return audit;
}

// By the quick judgements if possible, otherwise in full.
Outcome<RegionAudit> audited(const Recorded& recorded, const Sampling& sampling) {
  quick::Fused fused{recorded.region, recorded.operands, {}};
  for (const Trace::Entry& entry : recorded.results) fused.results.push_back(&entry.value);
  std::optional<quick::Core> core;
  const bool as_computed =
      std::ranges::all_of(recorded.results, [](const Trace::Entry& entry) { return entry.storage == contracts::Storage::same; });
  if (const auto judged = !as_computed ? std::nullopt : quickly(fused, sampling, core)) {
    RegionAudit audit;
    if (judge_singles(fused, *judged, audit)) return with_free_weights(recorded, std::move(audit));
  }
  auto audit = audit_in_full(recorded);
  if (!audit) return audit;
  return with_free_weights(recorded, std::move(audit).value());
}

// Judges a large region of several ops by its pieces. The contract of each admits no more than the region's, which has
// additional forms, with products fused with sums of other pieces. nullopt if an element of some piece does not pass;
// the region's contract then decides.
std::optional<RegionAudit> in_pieces(const Recorded& recorded, const Sampling& sampling) {
  constexpr std::size_t kLarge = 1 << 14;
  RegionAudit whole;
  std::size_t elements = 0;
  for (const Trace::Entry& entry : recorded.results) elements += entry.storage == contracts::Storage::same ? entry.value.size() : 0;
  if (elements < kLarge) return std::nullopt;
  for (const quick::Piece& piece : quick::pieces_of(recorded.region, recorded.operands, recorded.results)) {
    const auto audit = audited({piece.region, piece.operands, std::span(&piece.result, 1)}, sampling);
    if (!audit || audit.value().results[0].passed != piece.result.value.size()) return std::nullopt;
    whole.results.push_back(audit.value().results[0]);
    whole.failed_at.emplace_back();
    whole.head_room_used = std::fmax(whole.head_room_used, audit.value().head_room_used);
  }
  return whole.results.empty() ? std::nullopt : std::optional(std::move(whole));
}

}  // namespace

RegionAudit::Counts& RegionAudit::Counts::operator+=(const Counts& other) {
  passed += other.passed;
  failed += other.failed;
  vacuous += other.vacuous;
  unsupported += other.unsupported;
  unsampled += other.unsampled;
  return *this;
}

RegionAudit::Counts RegionAudit::total() const {
  Counts sum;
  for (const Counts& one : results) sum += one;
  return sum;
}

Outcome<RegionAudit> audit_region(const Trace& trace, std::size_t index, const Sampling& sampling) {
  demand(index < trace.regions.size(), "audit_region: a region of the trace");
  demand(floating_point_environment_is_standard(), "audit_region: rounding to nearest, subnormal numbers");
  const Region& region = trace.regions[index];
  std::vector<Tensor> operands;
  for (const TraceTensorId id : region.operands) operands.push_back(trace.tensors[id].value);
  std::vector<Trace::Entry> results;
  for (const TraceTensorId id : region.results) results.push_back(trace.tensors[id]);
  const Recorded recorded{region, operands, results};
  const Sampling own{sampling.elements, sampling.seed + index};
  if (auto whole = in_pieces(recorded, own)) return *std::move(whole);
  return audited(recorded, own);
}

}  // namespace assay::audit
