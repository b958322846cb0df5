#include "certificates/search/input_branching.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <thread>

#include "certificates/search/candidate_point.h"
#include "certificates/search/region.h"
#include "certificates/search/small_lp.h"
#include "kernel/session.h"
#include "semantics/demand.h"

namespace assay::search {
namespace {

using Clock = std::chrono::steady_clock;
using kernel::CaseMultipliers;

constexpr std::size_t kRegionRelus = 5;     // undecided relus up to which a branch is split by them instead of by inputs
constexpr double kLeastCoefficient = 0.03;  // of the largest: one that cancels may still widen the relaxations
constexpr std::size_t kMostInputs = 40;     // free inputs up to which the linear program over them is worth it

struct Branch {
  std::shared_ptr<Branch> parent;
  bool at_least = false;
  std::uint32_t tree_node = ProofTree::kRoot;
  std::optional<kernel::Scope> scope;  // context and inherited facts; dropped after processing
  std::size_t depth = 0;
  bool in_region = false;  // the split that led here was one of a relu
  std::mutex mutex;
  std::optional<kernel::Refutation> children[2];
};

class Engine {
 public:
  Engine(const Network& network, std::size_t group, const kernel::Scope& root, std::span<const std::uint32_t> positions,
         const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics)
      : network_(network),
        problem_(*network.problem()),
        group_(group),
        options_(options),
        stop_(stop),
        statistics_(statistics),
        box_(network, group),
        regions_(RegionForms::supports(network)) {
    for (const std::uint32_t position : positions) {
      const std::size_t rows = problem_.statement().property.cases[problem_.group_cases(group)[position]].rows.size();
      for (std::size_t r = 0; r < rows; ++r) {
        CaseMultipliers one{position, std::vector<float>(rows, 0.0F)};
        one.rows[r] = 1;
        single_rows_.push_back(std::move(one));
      }
    }
    for (const NodeId input : problem_.graph().inputs) {
      for (std::size_t i = 0; i < problem_.graph().size(input); ++i) coordinates_.push_back({input, static_cast<std::uint32_t>(i)});
    }
    auto first = std::make_shared<Branch>();
    first->scope = root;
    queue_.push_back(std::move(first));
    result_.tree = std::make_unique<ProofTree>();
  }

  GroupResult run() {
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < std::max(1, options_.threads); ++i) workers.emplace_back([this] { work(); });
      report();
    }
    statistics_.nodes += nodes_;
    statistics_.leaves += leaves_;
    if (!result_.refutation && !result_.witness && result_.reason.empty()) result_.reason = "input splitting ended without an answer";
    return std::move(result_);
  }

 private:
  void report() {
    const auto start = Clock::now();
    std::unique_lock lock(mutex_);
    while (!finished_) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (!finished_ && (stop_.stop_requested() || Clock::now() >= options_.deadline))
        give_up("out of time after " + std::to_string(nodes_.load()) + " branches");
      if (options_.memory_limit_bytes != 0 && result_.tree->byte_size() + 200 * result_.tree->size() > options_.memory_limit_bytes)
        give_up("out of memory");
      if (options_.on_progress) {
        options_.on_progress(
            {std::chrono::duration<double>(Clock::now() - start).count(), "input splitting", leaves_.load(), queue_.size(), worst_.load()});
      }
    }
  }

  void give_up(std::string reason) {  // mutex_ held
    if (!finished_) result_.reason = std::move(reason);
    finished_ = true;
    changed_.notify_all();
  }

  void work() {
    Workspace workspace;
    for (;;) {
      std::shared_ptr<Branch> branch;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return finished_ || !queue_.empty(); });
        if (finished_) return;
        branch = std::move(queue_.back());
        queue_.pop_back();
      }
      process(branch, workspace);
    }
  }

  void process(const std::shared_ptr<Branch>& branch, Workspace& workspace) {
    kernel::Scope scope = *branch->scope;
    ++nodes_;
    if (auto done = kernel::sweep(problem_, scope, 0, false); !done) return fail(done.rejection());
    if (auto nothing_left = scope.empty()) {
      certificate::Fragment steps;
      steps.sweep(0, false);
      steps.empty();
      return close(branch, steps, std::move(nothing_left).value());
    }
    kernel::Diagnosis diagnosis;
    auto refutation = scope.conclude(single_rows_, {}, &diagnosis);
    std::vector<Bound> bounds = best_rows(diagnosis);
    std::optional<RegionForms> region;
    if (!refutation && !all_closed(bounds)) {
      if (regions_) region.emplace(network_, scope);
      combine(scope, diagnosis, bounds, region ? &*region : nullptr);
    }
    double worst = INFINITY;
    for (const Bound& bound : bounds) worst = std::min(worst, bound.margin);
    worst_ = worst;
    certificate::Fragment steps;
    steps.sweep(0, false);
    if (all_closed(bounds)) {
      refutation = conclude(scope, bounds, steps);
      if (refutation) return close(branch, steps, std::move(refutation).value());
    }
    if (try_minimisers(bounds, workspace, branch->depth, region && region->undecided() == 0)) return;
    const bool split_relu = region && region->undecided() > 0 && (branch->in_region || region->undecided() <= kRegionRelus);
    if (split_relu) {
      const auto [node, element] = region->next_split();
      return split(branch, {node, element, 0.0}, true);
    }
    split_input(branch, scope, bounds);
  }

  // The best bound known for one open case, and the form over the inputs behind it.
  struct Bound {
    CaseMultipliers multipliers;
    double margin;
    std::size_t first, count;                 // the case's rows in single_rows_
    kernel::Hints hints;                      // the literals' multipliers
    std::vector<double> coefficients, point;  // of the form; where it is smallest (or all forms are, if several took part)
  };

  static bool all_closed(const std::vector<Bound>& bounds) {
    return std::all_of(bounds.begin(), bounds.end(), [](const Bound& bound) { return bound.margin > 0; });
  }

  [[nodiscard]] std::vector<Bound> best_rows(const kernel::Diagnosis& diagnosis) const {
    std::vector<Bound> bounds;
    for (std::size_t k = 0; k < single_rows_.size(); ++k) {
      const bool same_case = !bounds.empty() && bounds.back().multipliers.position == single_rows_[k].position;
      if (!same_case) bounds.push_back({single_rows_[k], diagnosis.margins[k], k, 0, {}, diagnosis.input_coefficients[k], {}});
      Bound& bound = bounds.back();
      ++bound.count;
      if (!(diagnosis.margins[k] > bound.margin)) continue;
      bound.multipliers = single_rows_[k];
      bound.margin = diagnosis.margins[k];
      bound.coefficients = diagnosis.input_coefficients[k];
    }
    return bounds;
  }

  static Outcome<kernel::Refutation> conclude(const kernel::Scope& scope, const std::vector<Bound>& bounds, certificate::Fragment& steps) {
    std::vector<CaseMultipliers> plain;
    std::optional<Outcome<kernel::Refutation>> all;
    const auto add = [&](std::span<const CaseMultipliers> cases, const kernel::Hints& hints) {
      if (all && !*all) return;
      auto one = scope.conclude(cases, hints);
      steps.conclude(cases, hints);
      if (!all || !one)
        all = std::move(one);
      else
        all = kernel::merge(all->value(), one.value());
    };
    for (const Bound& bound : bounds) {
      const CaseMultipliers one = bound.multipliers.rows.size() == 1 ? CaseMultipliers{bound.multipliers.position, {}} : bound.multipliers;
      if (bound.hints.beta.empty())
        plain.push_back(one);
      else
        add(std::span(&one, 1), bound.hints);
    }
    if (!plain.empty()) add(plain, {});
    return *std::move(all);
  }

  // Open cases with several rows, or below relu splits: the strongest combination of the rows' forms and the literals.
  void combine(const kernel::Scope& scope, const kernel::Diagnosis& diagnosis, std::vector<Bound>& bounds,
               const RegionForms* region) const {
    const std::size_t n = coordinates_.size();
    std::vector<double> lo, hi;
    std::vector<std::size_t> free;
    std::vector<double> fixed(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      const kernel::Box& box = scope.box(coordinates_[i].first);
      const double l = box.lo[coordinates_[i].second], h = box.hi[coordinates_[i].second];
      fixed[i] = l;
      if (!(l < h)) continue;
      free.push_back(i);
      lo.push_back(l);
      hi.push_back(h);
    }
    if (free.size() > kMostInputs) return;
    const auto restricted = [&](const std::vector<double>& a, double constant, double sign) {
      LinearForm form{std::vector<double>(free.size()), sign * constant};
      std::size_t next = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (next < free.size() && free[next] == i)
          form.a[next++] = sign * a[i];
        else
          form.constant += sign * a[i] * fixed[i];
      }
      return form;
    };
    const std::vector<kernel::Literal> literals = scope.literals();
    std::vector<LinearForm> literal_forms;
    std::vector<std::size_t> literal_of;
    for (std::size_t k = 0; region != nullptr && k < literals.size(); ++k) {
      if (problem_.graph().node(literals[k].node).op == Op::input) continue;
      const auto z = region->form(literals[k].node, literals[k].element);
      if (!z) continue;
      literal_forms.push_back(restricted(z->a, z->constant - literals[k].threshold, literals[k].at_least ? -1.0 : 1.0));
      literal_of.push_back(k);
    }
    for (Bound& bound : bounds) {
      if (bound.margin > 0 || (bound.count == 1 && literal_forms.empty())) continue;
      std::vector<LinearForm> forms;
      for (std::size_t r = 0; r < bound.count; ++r) {
        const std::vector<double>& a = diagnosis.input_coefficients[bound.first + r];
        double constant = diagnosis.margins[bound.first + r];
        for (std::size_t i = 0; i < n; ++i) {
          const kernel::Box& box = scope.box(coordinates_[i].first);
          constant -= a[i] * (a[i] > 0 ? box.lo[coordinates_[i].second] : box.hi[coordinates_[i].second]);
        }
        forms.push_back(restricted(a, constant, 1.0));
      }
      forms.insert(forms.end(), literal_forms.begin(), literal_forms.end());
      const Combination best = strongest_combination(forms, lo, hi);
      bound.point = fixed;
      for (std::size_t i = 0; i < free.size(); ++i) bound.point[free[i]] = best.point[i];
      CaseMultipliers weighted{bound.multipliers.position, std::vector<float>(bound.count)};
      for (std::size_t r = 0; r < bound.count; ++r) weighted.rows[r] = static_cast<float>(best.weights[r]);
      kernel::Hints hints;
      if (!literal_forms.empty()) hints.beta.assign(literals.size(), 0.0F);
      for (std::size_t k = 0; k < literal_of.size(); ++k) hints.beta[literal_of[k]] = static_cast<float>(best.weights[bound.count + k]);
      kernel::Diagnosis combined;
      (void)scope.conclude(std::span(&weighted, 1), hints, &combined);
      // Compare in the units of the box-wide bound: what matters is the sign, then the branching form.
      if (combined.margins.empty() || !(combined.margins[0] > 0 || bound.count > 1)) continue;
      bound.multipliers = std::move(weighted);
      bound.hints = std::move(hints);
      bound.margin = combined.margins[0];
      bound.coefficients = spread(diagnosis, bound, best.weights);
    }
  }

  // For branching: how much of its shortfall each row, and the combination, can gain by a coordinate. The combined rows'
  // forms must not cancel, since the best combination is flat exactly where it should be split.
  [[nodiscard]] std::vector<double> spread(const kernel::Diagnosis& diagnosis, const Bound& bound,
                                           const std::vector<double>& weights) const {
    std::vector<double> result(coordinates_.size(), 0.0);
    for (std::size_t r = 0; r < bound.count; ++r) {
      const double share = weights[r] / -bound.margin + 1 / -diagnosis.margins[bound.first + r];
      for (std::size_t i = 0; i < coordinates_.size(); ++i)
        result[i] += share * std::fabs(diagnosis.input_coefficients[bound.first + r][i]);
    }
    return result;
  }

  // The minimiser of a bound is a point of the branch, and often a counterexample when there is one.
  bool try_minimisers(const std::vector<Bound>& bounds, Workspace& workspace, std::size_t depth, bool exact) {
    if (!exact && depth > 6 && nodes_ % 16 != 0) return false;
    for (const Bound& bound : bounds) {
      if (bound.margin > 0) continue;
      std::vector<double> x = bound.point;
      if (x.empty()) {
        for (std::size_t i = 0; i < coordinates_.size(); ++i) {
          x.push_back(bound.coefficients[i] > 0 ? box_.lo()[i] : box_.hi()[i]);
        }
      }
      auto theorem = try_point(network_, box_, group_, x, workspace);
      if (!theorem) continue;
      std::unique_lock lock(mutex_);
      if (!finished_) result_.witness = std::move(theorem);
      finished_ = true;
      changed_.notify_all();
      return true;
    }
    return false;
  }

  // By the coordinate whose width moves the open bounds most.
  void split_input(const std::shared_ptr<Branch>& branch, const kernel::Scope& scope, const std::vector<Bound>& bounds) {
    double best_score = -1;
    Split chosen;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      const auto [node, element] = coordinates_[i];
      const kernel::Box& box = scope.box(node);
      const double lo = box.lo[element], hi = box.hi[element], middle = lo / 2 + hi / 2;
      if (!(lo < middle && middle < hi)) continue;
      double score = 0;
      for (const Bound& bound : bounds) {
        if (bound.margin > 0) continue;
        double largest = 0;
        for (const double c : bound.coefficients) largest = std::max(largest, std::fabs(c));
        score += std::max(std::fabs(bound.coefficients[i]), kLeastCoefficient * largest);
      }
      score = (std::isfinite(score) ? score : 0) * (hi - lo) + 1e-12 * (hi - lo);
      if (score > best_score) {
        best_score = score;
        chosen = {node, element, middle};
      }
    }
    if (best_score < 0) {
      std::unique_lock lock(mutex_);
      return give_up("a branch that is a single point stays undecided");
    }
    split(branch, chosen, false);
  }

  void split(const std::shared_ptr<Branch>& branch, const Split& where, bool in_region) {
    std::unique_lock lock(mutex_);
    if (finished_) return;
    const std::uint32_t first = result_.tree->split(branch->tree_node, where);
    for (const bool at_least : {false, true}) {
      auto child = std::make_shared<Branch>();
      child->parent = branch;
      child->at_least = at_least;
      child->in_region = in_region;
      child->tree_node = first + (at_least ? 1 : 0);
      child->depth = branch->depth + 1;
      child->scope = *branch->scope;
      const auto assumed = child->scope->assume({where.node, where.element, at_least, where.threshold});
      if (!assumed) return give_up(assumed.rejection().to_text());
      queue_.push_back(std::move(child));
    }
    branch->scope.reset();
    changed_.notify_all();
  }

  void fail(const Rejection& why) {
    std::unique_lock lock(mutex_);
    give_up(why.to_text());
  }

  void close(std::shared_ptr<Branch> branch, const certificate::Fragment& steps, kernel::Refutation refutation) {
    ++leaves_;
    result_.tree->append(branch->tree_node, steps);
    branch->scope.reset();
    while (branch->parent) {
      const std::shared_ptr<Branch> parent = branch->parent;
      std::unique_lock lock(parent->mutex);
      parent->children[branch->at_least ? 1 : 0] = std::move(refutation);
      if (!parent->children[0] || !parent->children[1]) return;
      auto joined = kernel::join(*parent->children[0], *parent->children[1]);
      demand(joined.ok(), "input_branching: the kernel did not join two halves of one split");
      refutation = std::move(joined).value();
      parent->children[0].reset();
      parent->children[1].reset();
      branch = parent;
    }
    std::unique_lock lock(mutex_);
    result_.refutation = std::move(refutation);
    finished_ = true;
    changed_.notify_all();
  }

  const Network& network_;
  const kernel::Problem& problem_;
  const std::size_t group_;
  const BranchingOptions& options_;
  const std::stop_token& stop_;
  Statistics& statistics_;
  CandidateBox box_;
  const bool regions_;
  std::vector<CaseMultipliers> single_rows_;                   // every row of every open case alone
  std::vector<std::pair<NodeId, std::uint32_t>> coordinates_;  // of the concatenated inputs
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Branch>> queue_;
  bool finished_ = false;
  GroupResult result_;
  std::atomic<std::uint64_t> nodes_ = 0, leaves_ = 0;
  std::atomic<double> worst_ = 0;
};

}  // namespace

GroupResult input_branching(const Network& network, std::size_t group, const kernel::Scope& root, std::span<const std::uint32_t> positions,
                            const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics) {
  return Engine(network, group, root, positions, options, stop, statistics).run();
}

}  // namespace assay::search
