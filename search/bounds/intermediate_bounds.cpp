// IntermediateBounds: batches of rows, the threads that share them, and pauses.
//
// advance() goes from node to node: it derives the box, lists the open elements, and refines them in batches of rows.
// Batches are sized so that all threads have work and a stop is never far away. A rate in multiply-adds per second is
// measured on the way; with it is_wanted() decides whether a node's rows fit into the time.
//
// If the network jumps at integers, an end of a box that lies within rounding of an integer is claimed to be that
// integer; the kernel settles such claims in integers. Refinement by cases and cuts work in the same way: each thread
// derives on a copy of the scope, the scope meets the copies, and the certificate gets the steps in order.
//
// Source: CROWN's intermediate bounds (Zhang et al. 2018). How this version differs: it can pause at any batch, and
// running out of memory on a thread is an answer, not a crash.

#include "search/bounds/intermediate_bounds.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "search/bounds/needed_neurons.h"
#include "search/relax/function_lines.h"
#include "semantics/numbers/directed.h"

namespace assay::search {
namespace {

constexpr std::size_t kBatch = 512;     // most elements of one refine step
constexpr double kBatchSeconds = 0.5;   // seconds that one refine step should take at most, so that a stop loses little
constexpr double kWorthThreads = 0.02;  // seconds of a node's refinement from which threads share it
// multiply-adds per second of one thread, assumed until the first batch is measured.
constexpr double kFirstRate = 2e9;
constexpr double kUsable = 0.9;     // share of the time left; the rest is for the stages after the root
constexpr double kMeasured = 0.01;  // seconds of batches from which the rate counts as known
constexpr double kWorthMask = 0.1;  // share of a node's open elements from which a mask is worth its bytes
constexpr std::size_t kGroup = 8;   // elements that share slopes
constexpr int kIterations = 12;     // iterations of the ascent of these slopes

Rejection stopped() { return {Rejection::Kind::declined, "kernel.stopped", "root bounds", "time to finish", "a stop was requested", ""}; }
Rejection beyond_memory() {
  return {Rejection::Kind::declined, "search.memory",  "root bounds",
          "memory within the limit", "more is needed", "allow more with --memory"};
}
// A derivation on one thread, which returns a rejection when memory runs out.
template <class Derive>
Outcome<Done> within_memory(const Derive& derive) try {
  return derive();
} catch (const std::bad_alloc&) {
  return beyond_memory();
}
bool was_stopped(const Outcome<Done>& done) { return !done.ok() && done.rejection().code == "kernel.stopped"; }

}  // namespace

bool fits(double work, double rate, double seconds) { return work <= rate * seconds; }

bool is_wanted(double node_work, double all_work, double rate, double until_share_end, double until_deadline) {
  return fits(all_work, rate, kUsable * until_deadline) || fits(node_work, rate, until_share_end);
}

IntermediateBounds::IntermediateBounds(const logic::Problem& problem, logic::Scope scope, int threads)
    : problem_(problem), threads_(static_cast<std::size_t>(std::max(1, threads))), team_(threads_), scope_(std::move(scope)) {
  const auto& refined = inspect::pre_activations(problem);
  double work = 0;
  for (const NodeId id : inspect::active_nodes(problem)) {
    if (const auto* form = inspect::affine(problem, id)) {
      for (const auto& part : form->parts) work += static_cast<double>(part.map->cost());
    }
    nodes_.push_back({id, std::find(refined.begin(), refined.end(), id) != refined.end(), work});
  }
  for (NodeId id = 0; id < problem.graph().nodes.size(); ++id) {
    const Node& node = problem.graph().node(id);
    const bool compares = node.op == Op::less || node.op == Op::less_equal || node.op == Op::equal;
    if (!problem.is_constant(id) && (compares || (UnaryFunction::is_one(node) && jumps(UnaryFunction(node))))) last_jump_ = id;
  }
  first_skipped_ = nodes_.size();
  scope_.stop_when([this] { return limit_.reached(); });
}

// Assumes that later pre-activations have the same share of open elements as those so far.
double IntermediateBounds::work_left() const {
  const double share = sizes_ > 0 ? static_cast<double>(selected_) / static_cast<double>(sizes_) : 1;
  double work = work_of(elements_.size(), at_);
  for (std::size_t k = at_ + 1; k < nodes_.size(); ++k) {
    if (nodes_[k].refined) work += share * work_of(problem_.graph().size(nodes_[k].id), k);
  }
  return work;
}

bool IntermediateBounds::is_measured() const { return seconds_ >= kMeasured; }

double IntermediateBounds::rate() const { return is_measured() ? work_done_ / seconds_ : kFirstRate * static_cast<double>(threads_); }

bool IntermediateBounds::is_meant(const ActiveNode& node, const IntermediatePlan& plan) const {
  if (!node.refined || plan.refine == IntermediatePlan::Refine::all) return node.refined;
  return (plan.refine == IntermediatePlan::Refine::kinks && inspect::kink_at_zero(problem_, node.id)) ||
         std::ranges::count(plan.also, node.id) > 0;
}

// Whether to refine the elements that are left of node at_. A node whose rows take longer than the first ones of the
// network promised is left in the middle, so that the nodes behind it get their boxes.
bool IntermediateBounds::has_time(const IntermediatePlan& plan) const {
  return !is_measured() ||
         is_wanted(work_of(elements_.size(), at_), work_left(), rate(), plan.share_end.seconds_left(), plan.deadline.seconds_left());
}

double IntermediateBounds::work() const {
  double all = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (nodes_[k].refined) all += work_of(problem_.graph().size(nodes_[k].id), k);
  }
  return all;
}

// Work of the plan's rows divided by the work of rows for everything, before anything is derived.
double IntermediateBounds::share(const IntermediatePlan& plan) const {
  double meant = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (is_meant(nodes_[k], plan)) meant += work_of(problem_.graph().size(nodes_[k].id), k);
  }
  return meant > 0 ? meant / work() : 1;
}

double IntermediateBounds::seconds_for_all() const {
  double work = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (nodes_[k].refined) work += work_of(inspect::selected(scope_, nodes_[k].id, {}).size(), k);
  }
  return work / rate();
}

// For each node: derives its box, then batches of its open neurons, until the plan is done or a pause is due.
Outcome<Done> IntermediateBounds::advance(const IntermediatePlan& plan) {
  limit_ = plan.pause;
  paused_ = false;
  if (has_all_boxes()) at_ = std::exchange(first_skipped_, nodes_.size());
  for (; at_ < nodes_.size(); ++at_) {
    if (!is_open_) {
      if (auto done = open_node(); !done || paused_) return done;
    }
    if (!elements_.empty()) {
      if (is_meant(nodes_[at_], plan)) {
        if (auto done = refine_node(plan); !done || paused_) return done;
      }
      if (!std::exchange(elements_, {}).empty()) first_skipped_ = std::min(first_skipped_, at_);
    }
    is_open_ = false;
  }
  if (std::exchange(only_boxes_, false)) {
    steps_ = {};
    steps_.boxes(0);
  }
  return Done{};
}

Outcome<Done> IntermediateBounds::refine_again(NodeId node, const logic::Hints& hints) {
  auto done = inspect::tighten(scope_, node, {}, hints, nullptr, true);
  if (done.ok()) steps_.tighten(node, {}, hints, nullptr, true);
  return done;
}

// Derives the box of node at_ and lists the elements to refine.
Outcome<Done> IntermediateBounds::open_node() {
  const ActiveNode& node = nodes_[at_];
  auto done = scope_.propagate_box(node.id);
  paused_ = was_stopped(done);
  if (paused_) return Done{};
  if (!done) return done;
  steps_.box(node.id);
  if (node.id < last_jump_ && !problem_.floating()) snap_ends(node.id);
  is_open_ = true;
  node_rate_ = kFirstRate;
  if (!node.refined) return done;
  before_batches_ = steps_;
  list_elements(node.id);
  sizes_ += problem_.graph().size(node.id);
  selected_ += elements_.size();
  return done;
}

// Rounding may move an end past an integer, or past a half, at which a function jumps. Such an end is claimed to be
// that number, and the kernel settles the claim in integers.
void IntermediateBounds::snap_ends(NodeId node) {
  constexpr double kNear = 1e-9;     // relative to the magnitude of the end, or to 1 if that is larger
  constexpr double kLargest = 1e6;   // claims are floats
  constexpr std::size_t kMost = 64;  // elements of a node
  struct End {
    std::uint32_t element;
    bool low;
    double at;
  };
  std::vector<End> ends;
  const relax::Box& box = scope_.box(node);
  for (std::uint32_t i = 0; i < box.lo.size(); ++i) {
    for (const bool low : {true, false}) {
      const double end = low ? box.lo[i] : box.hi[i], at = std::nearbyint(2 * end) / 2;
      if (!(std::fabs(end) < kLargest && (low ? end < at : end > at))) continue;
      if (std::fabs(end - at) <= kNear * std::max(1.0, std::fabs(at))) ends.push_back({i, low, at});
    }
  }
  if (ends.size() > 2 * kMost) return;
  for (const auto& [element, low, at] : ends) {
    const inspect::Selection selection = selection_of(node, {&element, 1});
    const relax::Box& now = scope_.box(node);
    logic::Claims claims{{low ? static_cast<float>(at) : float_down(now.lo[element])},
                         {low ? float_up(now.hi[element]) : static_cast<float>(at)}};
    if (!inspect::tighten(scope_, node, selection, {}, &claims, false)) continue;
    steps_.tighten(node, selection, {}, &claims, false);
    only_boxes_ = false;
  }
}

// The batches of a node become one step of the certificate, unless somebody read the steps in between.
Outcome<Done> IntermediateBounds::refine_node(const IntermediatePlan& plan) {
  while (!elements_.empty() && !paused_ && has_time(plan)) {
    if (!fits(work_left(), rate(), kUsable * plan.deadline.seconds_left())) limit_.deadline = std::min(limit_.deadline, plan.share_end);
    if (auto done = refine_batches(next_batches()); !done) return done;
    limit_ = plan.pause;
    if (paused_ && !limit_.reached()) {  // its share is over
      paused_ = false;
      break;
    }
  }
  if (!elements_.empty() || !before_batches_) return Done{};
  steps_ = *std::exchange(before_batches_, std::nullopt);
  steps_.tighten(nodes_[at_].id, opened_, {}, nullptr, true);
  return Done{};
}

// The open elements of a node in the kernel's order: elements of a feature map with overlapping windows follow each
// other. Elements that no case depends on are left out if they are enough to be worth a mask.
void IntermediateBounds::list_elements(NodeId node) {
  elements_ = inspect::selected(scope_, node, {});
  opened_ = {};
  if (needed_.empty()) needed_ = needed_neurons(problem_, scope_.group());
  const auto is_needless = [&](std::uint32_t element) { return !needed_[node][element]; };
  const auto needless = static_cast<double>(std::ranges::count_if(elements_, is_needless));
  if (needless > 0 && needless >= kWorthMask * static_cast<double>(elements_.size())) {
    std::erase_if(elements_, is_needless);
    opened_ = selection_of(node, elements_);
  }
  elements_ = inspect::ordered(problem_, node, std::move(elements_));
}

// One batch for every thread, or a single batch if starting threads takes longer than it saves.
std::vector<IntermediateBounds::NeuronBatch> IntermediateBounds::next_batches() const {
  const double rate = is_measured() ? this->rate() : kFirstRate;
  const std::size_t tile = inspect::together(problem_, nodes_[at_].id);
  const std::size_t parts =
      fits(work_of(elements_.size(), at_), rate, kWorthThreads) ? 1 : std::clamp<std::size_t>(elements_.size() / tile, 1, threads_);
  const double affordable = kBatchSeconds * node_rate_ / work_of(1, at_);
  const std::size_t most = affordable < static_cast<double>(kBatch) ? std::max(tile, static_cast<std::size_t>(affordable)) : kBatch;
  const std::size_t taken = std::min(elements_.size(), parts * most);
  const auto end_of = [&](std::size_t part) { return part == parts ? taken : taken * part / parts / tile * tile; };
  std::vector<NeuronBatch> batches(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    NeuronBatch& batch = batches[part];
    batch.elements.assign(elements_.begin() + static_cast<std::ptrdiff_t>(end_of(part)),
                          elements_.begin() + static_cast<std::ptrdiff_t>(end_of(part + 1)));
    if (batch.elements.size() == elements_.size() && elements_.size() == inspect::selected(scope_, nodes_[at_].id, {}).size()) continue;
    batch = batch_of(batch.elements);
  }
  return batches;
}

IntermediateBounds::NeuronBatch IntermediateBounds::batch_of(std::span<const std::uint32_t> elements) const {
  return {selection_of(nodes_[at_].id, elements), {elements.begin(), elements.end()}, {}};
}

inspect::Selection IntermediateBounds::selection_of(NodeId node, std::span<const std::uint32_t> elements) const {
  inspect::Selection selection{inspect::Selection::Kind::mask, std::vector<bool>(problem_.graph().size(node), false)};
  for (const std::uint32_t element : elements) selection.mask[element] = true;
  return selection;
}

// Each thread takes every threads_-th range, on a copy of the scope. No row depends on the node's own box, so the steps
// may stand one after the other in the certificate.
Outcome<Done> IntermediateBounds::refine_by_cases(NodeId node, std::span<const ByCases> ranges) {
  std::vector<logic::Scope> copies(threads_, scope_);
  std::vector<Outcome<Done>> outcomes(ranges.size(), Done{});
  const auto refine = [&](std::size_t part) {
    for (std::size_t k = part; k < ranges.size(); k += threads_) {
      const inspect::Selection selection = selection_of(node, {&ranges[k].element, 1});
      outcomes[k] = within_memory([&] { return certificate::tighten_by_cases(copies[part], node, selection, ranges[k].tree, true); });
    }
  };
  team_.run(threads_, refine);
  for (const logic::Scope& copy : copies) {
    if (auto met = scope_.meet(copy); !met) return met;
  }
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    if (!outcomes[k] && !was_stopped(outcomes[k])) return outcomes[k];
    if (outcomes[k]) steps_.tighten_by_cases(node, selection_of(node, {&ranges[k].element, 1}), ranges[k].tree, true);
  }
  return Done{};
}

// Each thread derives consecutive cuts on a copy of the scope, so that the cuts are in order once the scope has met
// the copies.
Outcome<Done> IntermediateBounds::add_cuts(std::size_t count, const std::function<CutByCases(std::size_t)>& cut) {
  std::vector<logic::Scope> copies(threads_, scope_);
  std::vector<Outcome<Done>> outcomes(threads_, Done{});
  std::vector<certificate::Fragment> steps(threads_);
  const auto derive = [&](std::size_t part) {
    outcomes[part] = within_memory([&] {
      Outcome<Done> done = Done{};
      for (std::size_t k = count * part / threads_; k < count * (part + 1) / threads_ && done; ++k) {
        const CutByCases one = cut(k);
        done = cut_by_cases(copies[part], one.terms, one.tree);
        steps[part].cut(one.terms, one.tree);
      }
      return done;
    });
  };
  team_.run(threads_, derive);
  logic::Scope with_cuts = scope_;
  for (std::size_t part = 0; part < threads_; ++part) {
    if (!outcomes[part]) return outcomes[part];
    if (auto met = with_cuts.meet(copies[part]); !met) return met;
  }
  scope_ = std::move(with_cuts);
  for (const certificate::Fragment& some : steps) steps_.append(some);
  return Done{};
}

// Refines the first batch on the scope itself and the others on copies. A batch that was stopped remains to be done.
Outcome<Done> IntermediateBounds::refine_batches(std::vector<NeuronBatch> batches, const Prepare& prepare) {
  const Clock::time_point begin = Clock::now();
  const NodeId node = nodes_[at_].id;
  std::vector<logic::Scope> copies(batches.size() - 1, scope_);
  std::vector<Outcome<Done>> outcomes(batches.size(), Done{});
  const auto refine = [&](std::size_t part) {
    logic::Scope& scope = part == 0 ? scope_ : copies[part - 1];
    outcomes[part] = within_memory([&]() -> Outcome<Done> {
      if (prepare && !prepare(part, batches[part])) return stopped();
      return inspect::tighten(scope, node, batches[part].selection, batches[part].hints, nullptr, true);
    });
  };
  team_.run(batches.size(), refine);
  std::vector<std::uint32_t> left;
  for (std::size_t part = 0; part < batches.size(); ++part) {
    Outcome<Done>& done = outcomes[part];
    if (done.ok() && part > 0) done = scope_.meet(copies[part - 1]);
    if (was_stopped(done)) {
      paused_ = true;
      left.insert(left.end(), batches[part].elements.begin(), batches[part].elements.end());
      continue;
    }
    if (!done) return done;
    steps_.tighten(node, batches[part].selection, batches[part].hints, nullptr, true);
    only_boxes_ = false;
  }
  std::size_t taken = 0;
  for (const NeuronBatch& batch : batches) taken += batch.elements.size();
  if (!paused_) {
    const double seconds = seconds_since(begin);
    work_done_ += work_of(taken, at_);
    seconds_ += seconds;
    node_rate_ = std::max(kFirstRate, work_of(taken, at_) / std::max(seconds, kMeasured) / static_cast<double>(batches.size()));
  }
  left.insert(left.end(), elements_.begin() + static_cast<std::ptrdiff_t>(taken), elements_.end());
  elements_ = std::move(left);
  return Done{};
}

// True for pre-activations after the first activation. If the network has other ops than elementwise functions, only
// for operands of ops that bend at 0: shared slopes hardly narrow the factors of products and the like.
bool IntermediateBounds::is_for_groups(const ActiveNode& node, const NeuronGraph& graph) const {
  return node.refined && node.id >= graph.activations().front().step->node &&
         (graph.supported() || inspect::kink_at_zero(problem_, node.id));
}

double IntermediateBounds::seconds_to_refine_groups(const NeuronGraph& graph) const {
  double work = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (!is_for_groups(nodes_[k], graph)) continue;
    work += 2 * kIterations * work_of(inspect::selected(scope_, nodes_[k].id, {}).size(), k);
  }
  return work / (kFirstRate * static_cast<double>(threads_));
}

// Each thread finds alphas for a few neurons, and the kernel bounds these neurons at once.
Outcome<Done> IntermediateBounds::refine_groups(const NeuronGraph& graph, const Limit& limit) {
  limit_ = limit;
  paused_ = false;
  std::vector<std::unique_ptr<AlphaBetaCrown>> ascents;
  for (std::size_t part = 0; part < threads_; ++part) ascents.push_back(std::make_unique<AlphaBetaCrown>(graph, limit));
  SharedAlphaOptions options;
  options.iterations = kIterations;
  for (at_ = 0; at_ < nodes_.size() && !paused_; ++at_) {
    const NodeId node = nodes_[at_].id;
    if (!is_for_groups(nodes_[at_], graph)) continue;
    elements_ = inspect::selected(scope_, node, {});
    const NeuronBoxes boxes = NeuronBoxes::of(graph, scope_);
    const auto find_slopes = [&](std::size_t part, NeuronBatch& batch) {
      const auto slopes = ascents[part]->share_alphas(node, batch.elements, boxes, nullptr, options);
      if (slopes) batch.hints = to_hints(graph, *slopes, node);
      return slopes.has_value();
    };
    while (!elements_.empty() && !paused_) {
      std::vector<NeuronBatch> batches;
      for (std::size_t at = 0; at < elements_.size() && batches.size() < threads_; at += kGroup)
        batches.push_back(batch_of(std::span(elements_).subspan(at, std::min(kGroup, elements_.size() - at))));
      if (auto done = refine_batches(std::move(batches), find_slopes); !done) return done;
    }
  }
  at_ = nodes_.size();
  elements_.clear();
  return Done{};
}

}  // namespace assay::search
