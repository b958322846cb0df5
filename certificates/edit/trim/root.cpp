// RootTrimmer: forwards until the group closes, then which elements go, in which order, and the trials.

#include "certificates/edit/trim/root.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "certificates/check/meter.h"
#include "certificates/edit/steps.h"
#include "certificates/edit/trim/influence.h"
#include "kernel/inspect/inspect.h"

namespace assay::certificate {
namespace {

constexpr std::size_t kMostConclusions = 256;  // whose influence is found
constexpr int kTrialsOfNode = 4;               // of how many of its elements can go
constexpr double kMostWork = 6;                // of all trials of shorten(), in checks of the group
constexpr double kWorthwhile = 0.2;            // of a check's work: a root that takes less stays as it is
constexpr double kWorthTrial = 0.02;           // of a check's work: a node that takes less stays as it is
constexpr double kForwards = 0.5;              // of the work of the steps so far: what the questions of derive() may take
constexpr double kPurse = 1e15;                // multiply-adds: more than any check takes

// A step that the trimming may change: it has neither hints nor claims.
bool is_refinement(const Record& record) {
  const logic::Hints& hints = record.hints;
  return record.type == RecordType::tighten && !record.claimed && hints.lower.empty() && hints.upper.empty() && hints.beta.empty() &&
         hints.cuts.empty();
}

// Steps at which nothing else happens than that facts are derived, or hints defined.
struct Derives : StructureAlike<Derives> {
  static bool structure(const Record&) { return false; }
  static bool box(const Record&) { return true; }
  static bool boxes(const Record&) { return true; }
  static bool tighten(const Record&) { return true; }
  static bool define_hints(const Record&) { return true; }
  // These take all steps before them into account.
  static bool sweep(const Record&) { return false; }
  static bool tighten_by_cases(const Record&) { return false; }
  static bool cut(const Record&) { return false; }
  static bool conclude(const Record&) { return false; }
  static bool conclude_with(const Record&) { return false; }
  static bool empty(const Record&) { return false; }
};
bool derives(const Record& record) { return visit(record, Derives{}); }

struct Conclusion {
  logic::Scope scope;
  const Record* record;
};

void collect(const logic::Problem& problem, const ProofBranch& branch, std::size_t from, logic::Scope scope,
             std::vector<Conclusion>& found) {
  std::optional<logic::Refutation> closed;
  for (; from < branch.steps.size(); ++from) {
    const Record& record = branch.steps[from].record;
    if (record.type == RecordType::conclude || record.type == RecordType::conclude_with)
      found.push_back({scope, &record});
    else if (!take_step(problem, record, scope, closed))
      return;
  }
  if (!branch.fork) return;
  auto both = halves(scope, branch.fork->at_most);
  if (!both) return;
  collect(problem, branch.fork->left, 0, std::move(both.value().left), found);
  collect(problem, branch.fork->right, 0, std::move(both.value().right), found);
  collect(problem, branch.fork->rest, 0, std::move(scope), found);
}

void weigh(const logic::Problem& problem, const search::NeuronGraph& graph, const Conclusion& conclusion, Influence& influence) {
  const Record& record = *conclusion.record;
  inspect::Diagnosis diagnosis;
  (void)inspect::conclude(conclusion.scope, record.cases, record.hints, diagnosis);
  if (diagnosis.margins.size() != record.cases.size()) return;
  const search::NeuronBoxes boxes = search::NeuronBoxes::of(graph, conclusion.scope);
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    const std::uint32_t index = problem.group_cases(conclusion.scope.group())[record.cases[i].position];
    influence.add(record.cases[i], index, record.hints, boxes, diagnosis.margins[i]);
  }
}

// The elements as the mask of one step.
ProofStep refinement_of(const logic::Problem& problem, const Record& old, std::span<const std::uint32_t> elements) {
  ProofStep step{old, {}};
  step.record.selection = {inspect::Selection::Kind::mask, std::vector<bool>(problem.graph().size(old.node), false)};
  for (const std::uint32_t element : elements) step.record.selection.mask[element] = true;
  Fragment fragment;
  fragment.tighten(old.node, step.record.selection, {}, nullptr, old.round_to_float);
  step.bytes = fragment.bytes();
  return step;
}

}  // namespace

RootTrimmer::RootTrimmer(std::shared_ptr<const logic::Problem> problem, ProofGroup& group, const logic::Scope& root,
                         const std::function<bool()>& is_over)
    : problem_(std::move(problem)),
      group_(group),
      steps_(group.root.steps),
      is_over_(is_over),
      purse_(std::make_shared<double>(kPurse)),
      before_({root}) {
  before_[0].pay(meter_of(*problem_, purse_));
}

double RootTrimmer::spent() const { return kPurse - *purse_; }

std::size_t RootTrimmer::kept() const {
  std::size_t kept = 0;
  for (const auto& [step, node] : nodes_) kept += node.elements.size();
  return kept;
}

// Steps with the next one's node, one after the other, as a search writes where threads share a node: in one, which says the
// same, since no row depends on the node's own box.
void RootTrimmer::join_chunks(const logic::Scope& scope) {
  const auto is_chunk = [&](std::size_t step) {
    return step < steps_.size() && is_refinement(steps_[step].record) && steps_[step].record.node == steps_[count_].record.node &&
           steps_[step].record.round_to_float == steps_[count_].record.round_to_float;
  };
  if (!is_chunk(count_) || !is_chunk(count_ + 1)) return;
  const Record& record = steps_[count_].record;
  std::set<std::uint32_t> elements;
  std::size_t end = count_;
  for (; is_chunk(end); ++end) {
    const std::vector<std::uint32_t> more = inspect::selected(scope, record.node, steps_[end].record.selection);
    elements.insert(more.begin(), more.end());
  }
  steps_[count_] = refinement_of(*problem_, record, std::vector<std::uint32_t>(elements.begin(), elements.end()));
  const auto first = steps_.begin() + static_cast<std::ptrdiff_t>(count_);
  steps_.erase(first + 1, first + static_cast<std::ptrdiff_t>(end - count_));
}

// Returns true if the group closes without these steps from here on. They are then left out.
bool RootTrimmer::closes_without(const Needless& needless, logic::Scope scope) {
  std::optional<logic::Refutation> closed;
  std::size_t elements = 0, left_out = 0, end = count_;
  for (; end < steps_.size() && derives(steps_[end].record); ++end) {
    const Record& record = steps_[end].record;
    if (!needless(record)) {
      if (!take_step(*problem_, record, scope, closed)) return false;
      continue;
    }
    ++left_out;
    if (is_refinement(record)) elements += inspect::selected(scope, record.node, record.selection).size();
  }
  if (left_out == 0) return false;
  const double start = spent();
  const auto refutation = replay_rest(*problem_, group_.root, end, std::move(scope));
  if (!refutation || !refutation.value().complete()) return false;
  rest_ = spent() - start;
  refined_ += elements;
  const auto at = [this](std::size_t step) { return steps_.begin() + static_cast<std::ptrdiff_t>(step); };
  steps_.erase(std::remove_if(at(count_), at(end), [&](const ProofStep& step) { return needless(step.record); }), at(end));
  return true;
}

// All steps up to the first that derives nothing, with the scope before each.
Outcome<Done> RootTrimmer::derive() {
  const std::array<Needless, 2> fewer = {
      [](const Record& record) { return record.type == RecordType::tighten; },
      [this](const Record& record) { return is_refinement(record) && !inspect::kink_at_zero(*problem_, record.node); }};
  logic::Scope scope = before_[0];
  std::optional<logic::Refutation> closed;
  std::size_t answered = fewer.size();  // the first question that was: what is left out then makes those behind it needless
  double questions = 0;
  for (; count_ < steps_.size() && derives(steps_[count_].record); ++count_) {
    for (std::size_t k = 0; k < answered && steps_[count_].record.type == RecordType::tighten && questions <= kForwards * derived_; ++k) {
      const double start = spent();
      if (closes_without(fewer[k], scope)) answered = k;
      questions += spent() - start;
      if (count_ == steps_.size()) break;
    }
    if (count_ == steps_.size() || !derives(steps_[count_].record)) break;
    join_chunks(scope);
    const Record& record = steps_[count_].record;
    const double start = spent();
    if (is_refinement(record)) {
      Node& node = nodes_[count_];
      node.elements = inspect::selected(scope, record.node, record.selection);
      node.bytes = steps_[count_].bytes.size();
      refined_ += node.elements.size();
    }
    if (auto done = take_step(*problem_, record, scope, closed); !done) return done;
    derived_ += spent() - start;
    if (is_refinement(record)) nodes_[count_].work = spent() - start;
    before_.push_back(scope);
  }
  if (answered < fewer.size()) return Done{};
  const double start = spent();
  const auto refutation = replay_rest(*problem_, group_.root, count_, std::move(scope));
  rest_ = spent() - start;
  if (!refutation) return refutation.rejection();
  if (refutation.value().complete()) return Done{};
  return Rejection{Rejection::Kind::rejected,        "trim.open",       "group " + std::to_string(group_.group),
                   "a proof that refutes all cases", "undecided cases", "check the certificate: assay-check says what is missing"};
}

// By influence on the conclusions, for each multiply-add.
void RootTrimmer::order(const search::NeuronGraph& graph) {
  search::NeuronBoxes loose = search::NeuronBoxes::of(graph, before_.back());
  const search::NeuronBoxes tight = loose;
  std::vector<bool> refined(graph.neuron_count(), false);
  for (const auto& [step, node] : nodes_) {
    const NodeId id = steps_[step].record.node;
    const relax::Box& box = before_[step].box(id);
    for (const std::uint32_t element : node.elements) {
      for (const std::uint32_t slot : graph.neurons_of(id, element)) {
        refined[slot] = true;
        loose.lo[slot] = box.lo[element];
        loose.hi[slot] = box.hi[element];
      }
    }
  }
  Influence influence(graph, tight, std::move(loose));
  std::vector<Conclusion> conclusions;
  collect(*problem_, group_.root, count_, before_.back(), conclusions);
  const std::size_t stride = conclusions.size() / kMostConclusions + 1;
  for (std::size_t i = 0; i < conclusions.size(); i += stride) weigh(*problem_, graph, conclusions[i], influence);
  influence.descend(refined);
  for (auto& [step, node] : nodes_) {
    const NodeId id = steps_[step].record.node;
    std::map<std::uint32_t, double> losses;
    for (const std::uint32_t element : node.elements) {
      for (const std::uint32_t slot : graph.neurons_of(id, element)) losses[element] += influence.losses()[slot];
    }
    std::ranges::sort(node.elements, {}, [&](std::uint32_t element) { return std::pair(losses[element], element); });
    node.ordered = true;
  }
}

// The step with the elements from `dropped` on; without bytes where none is left.
ProofStep RootTrimmer::step_of(const Record& old, const Node& node, std::size_t dropped) const {
  if (dropped == node.elements.size()) return {old, {}};
  return refinement_of(*problem_, old, std::span(node.elements).subspan(dropped));
}

// From the step on; earlier steps are not derived again.
bool RootTrimmer::is_proof_from(std::size_t from) const {
  logic::Scope scope = before_[from];
  std::optional<logic::Refutation> closed;
  for (std::size_t k = from; k < count_; ++k) {
    if (!steps_[k].bytes.empty() && !take_step(*problem_, steps_[k].record, scope, closed)) return false;
  }
  const auto refutation = replay_rest(*problem_, group_.root, count_, std::move(scope));
  return refutation.ok() && refutation.value().complete();
}

// All elements of the node go, or else about as many as can.
void RootTrimmer::shorten(std::size_t at, Node& node) {
  const ProofStep old = steps_[at];
  std::size_t dropped = 0, too_many = node.elements.size() + 1, trial = node.elements.size();
  ProofStep best = old;
  for (int k = 0; k < kTrialsOfNode && dropped < trial && trial < too_many; ++k) {
    steps_[at] = step_of(old.record, node, trial);
    if (steps_[at].bytes.size() <= node.bytes + spare_ && is_proof_from(at)) {
      dropped = trial;
      best = steps_[at];
    } else {
      too_many = trial;
      if (!node.ordered) break;
    }
    trial = (dropped + too_many) / 2;
  }
  steps_[at] = std::move(best);
  spare_ = spare_ + node.bytes - steps_[at].bytes.size();
  node.elements.erase(node.elements.begin(), node.elements.begin() + static_cast<std::ptrdiff_t>(dropped));
}

bool RootTrimmer::is_worth_shortening() const { return !nodes_.empty() && derived_ >= kWorthwhile * (derived_ + rest_); }

void RootTrimmer::shorten(const search::NeuronGraph& graph, std::size_t spare) {
  if (Influence::supports(graph)) order(graph);
  spare_ = spare;
  *purse_ = kMostWork * (derived_ + rest_);
  for (auto at = nodes_.rbegin(); at != nodes_.rend() && *purse_ > 0 && !is_over_(); ++at) {
    if (at->second.work >= kWorthTrial * (derived_ + rest_)) shorten(at->first, at->second);
  }
  std::erase_if(steps_, [](const ProofStep& step) { return step.bytes.empty(); });
}

}  // namespace assay::certificate
