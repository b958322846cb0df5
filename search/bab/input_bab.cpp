// branch_on_inputs(): the bounder and the brancher of splits of inputs, in the loop of the engine; for networks with
// few free inputs.
//
// Every node sweeps its own box from the facts of the root, so a leaf costs the checker one sweep and the certificate a
// few bytes, and inner nodes need not be stored.
//
// Source: input splitting of alpha-beta-CROWN (its score "sb": smart_branching.h). How this version differs:
// - the kernel's own sweep bounds a subdomain;
// - if few ReLUs are unstable in a subdomain, these are split instead of inputs;
// - if a small network has products, both halves of every input are bounded before one is split (strong_branching.h),
//   and the kernel is asked about those that look closed.
//
// Points to try as witnesses come from the bounds: the minimiser of a row over a subdomain is a point of the subdomain.
// Every few levels, the kernel is asked even if the bounds in doubles are not positive, and an integer that the network
// computes is split if one is open.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "search/attack/candidate_point.h"
#include "search/bab/bab.h"
#include "search/bab/engine.h"
#include "search/bounds/case_bounds.h"
#include "search/heuristics/input_splits.h"
#include "search/heuristics/smart_branching.h"
#include "search/heuristics/strong_branching.h"
#include "search/heuristics/threshold_splits.h"

namespace assay::search {
namespace {

// A subdomain with at most this many unstable ReLUs is split by them instead of by inputs.
constexpr std::size_t kRegionRelus = 5;
// Of the largest: a row whose coefficients cancel may still widen the relaxations.
constexpr double kLeastCoefficient = 0.03;
constexpr std::size_t kIntegerTurn = 4;  // a computed integer is split every this many levels, if one is open
// The kernel is asked about a subdomain every this many levels, whatever bounds strong branching found.
constexpr std::size_t kKernelTurn = 12;
constexpr std::uint64_t kInputNodeBytes = 2000;

// The state that all threads share.
struct InputBab final : BabMethod {
  InputBab(const NeuronGraph& of, const ThresholdSplits& splits, const logic::Scope& root, std::span<const std::uint32_t> open)
      : graph(of),
        network(of.network()),
        problem(*of.network().problem()),
        group(root.group()),
        box(of.network(), root.group()),
        cases(of.network(), root.group(), open),
        regions(RegionForms::supports(of.network())),
        positions(open.begin(), open.end()),
        scalars(ScalarGraph::of(of, root.group())),
        thresholds(splits) {}

  [[nodiscard]] const char* phase() const override { return "input splitting"; }
  [[nodiscard]] std::uint64_t bytes_of_subdomain() const override { return kInputNodeBytes; }
  [[nodiscard]] std::unique_ptr<BabWorker> worker(Engine& engine) override;

  const NeuronGraph& graph;
  const Network& network;
  const logic::Problem& problem;
  const std::size_t group;
  const CandidateBox box;
  const CaseBounds cases;
  const bool regions;
  const std::vector<std::uint32_t> positions;
  const std::optional<ScalarGraph> scalars;  // none: only the kernel bounds subdomains
  const ThresholdSplits& thresholds;
  // Conclusions of subdomains that strong branching considers closed.
  std::atomic<std::uint64_t> asked = 0, refused = 0;
  std::atomic<std::uint64_t> asked_on_boxes = 0, gained_on_boxes = 0;
};

class InputWorker final : public BabWorker {
 public:
  InputWorker(InputBab& bab, Engine& engine) : bab_(bab), engine_(engine), tree_(engine.tree()), smart_(bab.graph, engine.limit()) {
    workspace_.limit = engine.limit();
    if (bab.scalars) strong_.emplace(*bab.scalars, bab.group);
  }

  [[nodiscard]] std::size_t capacity() const override { return 1; }

  // Treats one subdomain at a time, because the kernel bounds it.
  bool treat(std::vector<Subdomain>& batch, std::vector<Subdomain>& children) override {
    node_ = &batch.front();
    children_ = &children;
    scope_ = tree_.scope_of(node_->record);
    if (scope_ == nullptr) return gives_up("the kernel refused a split");
    const Next next = strong_ ? try_strongly() : Next::on;
    return (next == Next::on ? bound_and_split() : next) == Next::done;
  }

 private:
  // The outcome of a step: the subdomain is closed or split (done), the search is over, or neither (on).
  enum class Next : std::uint8_t { done, over, on };

  [[nodiscard]] std::size_t depth() const { return node_->record->depth; }
  [[nodiscard]] bool is_root() const { return depth() == 0; }

  bool gives_up(std::string reason) {
    engine_.finish(engine_.limit().reached() ? "time" : std::move(reason));
    return false;
  }
  Next over(const Rejection& why) {
    gives_up(why.to_text());
    return Next::over;
  }

  Next closed(const certificate::Fragment& steps, logic::Refutation refutation) {
    engine_.close(node_->record, std::move(refutation), steps);
    node_->is_done = true;
    return Next::done;
  }

  Next split(const Split& where, bool in_region, StrongBranching::Choice* tried = nullptr) {
    const logic::Literal at_most{where.node, where.element, false, where.threshold};
    const auto records = tree_.split(node_->record, at_most);
    if (!tree_.hand_down(node_->record, records)) {
      gives_up("the kernel refused a split");
      return Next::over;
    }
    double worst = 0;
    for (const OpenCase& one : node_->cases) worst = std::min(worst, one.bound);
    for (const bool at_least : {false, true}) {
      Subdomain& child = children_->emplace_back(Subdomain{records[at_least ? 1 : 0], node_->cases, worst});
      child.in_region = in_region;
      if (tried != nullptr) child.tried = std::move(at_least ? tried->at_least : tried->at_most);
    }
    node_->is_done = true;
    return Next::done;
  }

  // --- strong branching ---

  // Returns Next::on if the bounds of strong branching are too far from the kernel's. The subdomain then is unchanged,
  // except that some cases may be closed.
  Next try_strongly() {
    constexpr std::uint64_t kFewRefusals = 100;
    if (is_root()) node_->tried = strong_->root(*scope_, bab_.positions);
    if (!node_->tried || bab_.refused > kFewRefusals + bab_.asked / 2) return Next::on;
    if (const Next next = conclude_tried(); next != Next::on) return next;
    const std::vector<TriedCase>& open = node_->tried->cases;
    for (OpenCase& one : node_->cases) {
      const auto found = std::ranges::find(open, one.position, &TriedCase::position);
      one.looks_closed = found == open.end();
      one.bound = one.looks_closed ? 0 : std::min(found->bound.bound, 0.0);
    }
    if (is_witness(
            open, [](const TriedCase& one) { return &one.bound.x; }, depth()))
      return Next::over;
    std::optional<StrongBranching::Choice> choice = strong_->choose(*node_->tried);
    if (!choice) return Next::on;
    const auto [node, element] = bab_.cases.coordinates()[choice->input];
    return split({node, element, choice->threshold}, false, &*choice);
  }

  // Closes the cases that look closed, if the kernel agrees.
  Next conclude_tried() {
    const bool asks_all = depth() % kKernelTurn == kKernelTurn - 1;
    StrongBranching::Conclusion found;
    logic::Scope scope = *scope_;
    if (auto done = strong_->conclude(scope, sweeps(), asks_all, *node_->tried, found); !done) return over(done.rejection());
    bab_.asked += found.asked;
    bab_.refused += found.refused;
    if (!found.refutation) return Next::on;
    if (node_->tried->cases.empty()) return closed(found.steps, *std::move(found.refutation));
    tree_.append(node_->record, found.steps);
    node_->record->own = std::move(found.refutation);
    tree_.set_scope(node_->record, std::move(scope));
    scope_ = tree_.scope_of(node_->record);
    return Next::on;
  }

  // --- bounds by the kernel ---

  [[nodiscard]] bool sweeps() const { return !is_root() || !engine_.options().root_is_refined; }

  Next bound_and_split() {
    if (!is_root() && !bab_.thresholds.is_all()) {
      if (const Next next = close_on_boxes(); next != Next::on) return next;
    }
    logic::Scope scope = *scope_;
    certificate::Fragment steps;
    if (sweeps() && bab_.thresholds.is_all()) {
      if (auto done = certificate::propagate_boxes(bab_.problem, scope, 0); !done) return over(done.rejection());
      steps.boxes(0);
    } else if (sweeps()) {
      if (auto done = certificate::sweep(bab_.problem, scope, 0, false); !done) return over(done.rejection());
      steps.sweep(0, false);
    }
    if (auto nothing_left = scope.empty()) {
      steps.empty();
      return closed(steps, std::move(nothing_left).value());
    }
    inspect::Diagnosis diagnosis;
    const auto refutation = bab_.cases.conclude_rows(scope, diagnosis);
    // It was stopped.
    if (diagnosis.margins.size() != bab_.cases.row_count()) return over(refutation.rejection());
    std::vector<CaseBound> bounds = bab_.cases.best_rows(scope, diagnosis);
    std::optional<RegionForms> region;
    std::vector<double> lost;
    if (!refutation && !all_closed(bounds)) {
      if (bab_.regions) region.emplace(bab_.network, scope);
      bab_.cases.combine(scope, diagnosis, bounds, region ? &*region : nullptr);
      const bool ascends = bab_.graph.has_planes() && !bab_.graph.relu_only();
      if (ascends && !all_closed(bounds)) lost = ascend(scope, bounds);
    }
    note(bounds);
    if (all_closed(bounds)) {
      if (auto all = conclude(bab_.problem, scope, bounds, steps)) return closed(steps, std::move(all).value());
    }
    return split_by(scope, bounds, region ? &*region : nullptr, lost);
  }

  // If planes depend on the boxes, rows on plain boxes may close subdomains that rows on swept boxes leave open. So
  // plain boxes are tried, as long as they gain often enough.
  Next close_on_boxes() {
    constexpr double kOften = 0.02, kFew = 2;
    if (static_cast<double>(bab_.gained_on_boxes) + kFew < kOften * static_cast<double>(bab_.asked_on_boxes)) return Next::on;
    ++bab_.asked_on_boxes;
    logic::Scope scope = *scope_;
    certificate::Fragment steps, unused;
    if (!certificate::propagate_boxes(bab_.problem, scope, 0)) return Next::on;
    steps.boxes(0);
    auto refutation = conclude_on(scope, steps);
    if (!refutation) return Next::on;
    logic::Scope swept = *scope_;
    const bool closes_swept = certificate::sweep(bab_.problem, swept, 0, false).ok() && conclude_on(swept, unused).ok();
    bab_.gained_on_boxes += closes_swept ? 0 : 1;
    return closed(steps, std::move(refutation).value());
  }

  // Refutes by single rows, or because a box is empty.
  Outcome<logic::Refutation> conclude_on(const logic::Scope& scope, certificate::Fragment& steps) const {
    auto empty = scope.empty();
    if (empty) {
      steps.empty();
      return empty;
    }
    inspect::Diagnosis diagnosis;
    // For the margins: one row may be enough.
    static_cast<void>(bab_.cases.conclude_rows(scope, diagnosis));
    if (diagnosis.margins.size() != bab_.cases.row_count()) return empty;  // it was stopped
    std::vector<CaseBound> bounds = bab_.cases.best_rows(scope, diagnosis);
    return all_closed(bounds) ? conclude(bab_.problem, scope, bounds, steps) : empty;
  }

  [[nodiscard]] OpenCase& case_at(std::uint32_t position) { return *std::ranges::find(node_->cases, position, &OpenCase::position); }

  void note(const std::vector<CaseBound>& bounds) {
    for (const CaseBound& bound : bounds) {
      OpenCase& one = case_at(bound.multipliers.position);
      one.looks_closed = bound.margin > 0;
      one.bound = bound.margin;
    }
  }

  // Optimises slopes, mixes and weights of the open cases, from those of the parent. Returns how much each input loses.
  std::vector<double> ascend(const logic::Scope& scope, std::vector<CaseBound>& bounds) {
    constexpr int kRootIterations = 60, kIterations = 10;
    const NeuronBoxes boxes = NeuronBoxes::of(bab_.graph, scope);
    std::vector<BoundTask> tasks;
    std::vector<CaseBound*> open;
    for (CaseBound& bound : bounds) {
      if (bound.margin > 0) continue;
      const std::uint32_t position = bound.multipliers.position;
      const auto& rows = bab_.network.rows(bab_.problem.group_cases(bab_.group)[position]);
      tasks.push_back({&rows, &boxes, {}, case_at(position).parameters.get()});
      open.push_back(&bound);
    }
    std::vector<BoundResult> results(tasks.size());
    std::vector<double> lost = smart_.ascend(boxes, tasks, is_root() ? kRootIterations : kIterations, results);
    for (std::size_t k = 0; k < open.size(); ++k) {
      BoundResult& result = results[k];
      case_at(open[k]->multipliers.position).parameters = std::make_shared<const AlphaBeta>(result.parameters);
      if (!(result.bound > open[k]->margin)) continue;
      open[k]->margin = result.bound;
      open[k]->multipliers.rows = result.parameters.weights;
      open[k]->hints = to_hints(bab_.graph, result.parameters);
      open[k]->point = std::move(result.x);
    }
    return lost;
  }

  // --- witnesses and splits ---

  // The minimiser of a bound is a point of the subdomain, and often a counterexample if one exists. `point_of` gives null for a
  // bound whose point is not to be tried.
  bool is_witness(const auto& bounds, const auto& point_of, std::size_t depth) {
    constexpr std::size_t kShallow = 6;
    constexpr std::uint64_t kSampleEvery = 16;
    if (depth > kShallow && engine_.nodes() % kSampleEvery != 0) return false;
    return std::ranges::any_of(bounds, [&](const auto& bound) {
      const std::vector<double>* point = point_of(bound);
      return point != nullptr && is_found(try_point(bab_.network, bab_.box, bab_.group, *point, workspace_));
    });
  }

  // Ends the search if the kernel has accepted a point.
  bool is_found(std::optional<logic::Theorem> theorem) {
    if (!theorem) return false;
    engine_.found(*std::move(theorem));
    return true;
  }

  // A subdomain that cannot be split is about one point: its corners and minimisers are tried, and what lies around.
  bool has_witness_at_point(const logic::Scope& scope, const std::vector<CaseBound>& bounds) {
    const InputBox box = input_box(bab_.problem, scope);
    std::vector<std::vector<double>> points{box.lo, box.hi};
    for (const CaseBound& bound : bounds)
      if (!(bound.margin > 0) && !bound.point.empty()) points.push_back(bound.point);
    return is_found(try_around(bab_.network, bab_.group, points, workspace_));
  }

  Next split_by(const logic::Scope& scope, const std::vector<CaseBound>& bounds, const RegionForms* region,
                const std::vector<double>& lost) {
    const auto open_point = [](const CaseBound& bound) { return bound.margin > 0 ? nullptr : &bound.point; };
    const bool exact = region != nullptr && region->undecided() == 0;
    if (is_witness(bounds, open_point, exact ? 0 : depth())) return Next::over;
    if (region != nullptr && region->undecided() > 0 && (node_->in_region || region->undecided() <= kRegionRelus)) {
      const auto [node, element] = region->next_split();
      return split({node, element, 0.0}, true);
    }
    if (const std::optional<Split> at = bab_.thresholds.best(scope)) return split(*at, false);
    std::optional<Split> chosen = depth() % kIntegerTurn == kIntegerTurn - 1 ? open_integer(bab_.problem, scope) : std::nullopt;
    if (!chosen) chosen = best_half(bab_.problem, scope, bab_.cases.coordinates(), lost.empty() ? scores(scope, bounds) : lost);
    if (!chosen) chosen = open_integer(bab_.problem, scope);
    if (chosen) return split(*chosen, false);
    if (has_witness_at_point(scope, bounds)) return Next::over;
    engine_.finish(kWideAtPoint);
    return Next::over;
  }

  // For each coordinate, how much its split may raise the open bounds.
  std::vector<double> scores(const logic::Scope& scope, const std::vector<CaseBound>& bounds) {
    if (bab_.graph.relu_only()) {
      std::vector<std::uint32_t> open;
      for (const CaseBound& bound : bounds) {
        if (bound.margin <= 0) open.push_back(bab_.problem.group_cases(bab_.group)[bound.multipliers.position]);
      }
      std::vector<double> lost = smart_(scope, open);
      if (!lost.empty()) return lost;
    }
    const InputBox box = input_box(bab_.problem, scope);
    std::vector<double> result(box.lo.size(), 0.0);
    for (const CaseBound& bound : bounds) {
      if (bound.margin > 0) continue;
      double largest = 0;
      for (const double c : bound.coefficients) largest = std::max(largest, std::fabs(c));
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i] += std::max(std::fabs(bound.coefficients[i]), kLeastCoefficient * largest) * (box.hi[i] - box.lo[i]);
    }
    return result;
  }

  InputBab& bab_;
  Engine& engine_;
  BranchTree& tree_;
  SmartBranching smart_;
  std::optional<StrongBranching> strong_;
  Workspace workspace_;
  Subdomain* node_ = nullptr;  // the subdomain that is treated
  std::vector<Subdomain>* children_ = nullptr;
  std::shared_ptr<const logic::Scope> scope_;  // with its literals and its inherited facts
};

std::unique_ptr<BabWorker> InputBab::worker(Engine& engine) { return std::make_unique<InputWorker>(*this, engine); }

}  // namespace

GroupResult branch_on_inputs(const NeuronGraph& graph, const ThresholdSplits& thresholds, const logic::Scope& root,
                             std::span<const std::uint32_t> positions, const BranchingOptions& options, const std::stop_token& stop,
                             Statistics& statistics) {
  statistics.splits_inputs = true;
  statistics.can_split_activations = graph.can_split();
  statistics.free_inputs = std::max(statistics.free_inputs, free_inputs(*graph.network().problem(), root));
  InputBab method(graph, thresholds, root, positions);
  return Engine(graph.network(), root, options, stop).run(method, positions, statistics);
}

}  // namespace assay::search
