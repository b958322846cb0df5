// attack(): restarts, gradient steps and walks over corners, until a candidate is accepted or the time is up.
//
// One pass of the network evaluates a batch of starting points. Each row of the batch aims at one case; half of the
// rows step by the sign of the gradient, as in Madry et al. 2018. The nearest point found is kept for reports of
// undecided runs.
//
// Points start in the middle of the box, in corners, around the best point so far, and at random. The objective is the
// worst row of a case, or the sum of its violated rows (hinges) for every second start. Steps shrink geometrically over
// sixty iterations.
//
// Sources: PGD (Madry et al. 2018); restarts as in attacks of alpha-beta-CROWN; WalkSAT (Selman, Kautz, Cohen 1994) for
// corners, with a tabu list (Glover 1989). How this version differs: the kernel judges every candidate, and a refusal
// raises the margin that later candidates need.

#include "search/attack/attack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "search/attack/candidate_point.h"

namespace assay::search {
namespace {

constexpr int kAscentSteps = 60;
constexpr double kFirstStep = 0.3, kLastStep = 0.002;  // as shares of the box's width
// Target of multiply-adds in one batched pass, which sets the batch size.
constexpr std::size_t kRoundWork = 40'000'000;
constexpr std::size_t kMaxBatch = 64, kMinBatch = 4;
constexpr std::size_t kFlips = 400, kMaxTrials = 128;  // flips in a walk over corners; candidates for one flip
constexpr int kMarginDoublings = 40;                   // a group is given up after this many refusals of the kernel
constexpr double kRounding = 1e-12;                    // loss of doubles at an end of the box, relative to the scale of a row
constexpr double kFirstMargin = 1e-9;                  // after the first refusal, relative to the scale of a row

// Adds the gradients of all rows whose slack, relative to their scale, is at most `most`.
void pull_rows(const std::vector<RowView>& rows, double most, const double* y, const double* x, double* y_bar, double* x_bar) {
  for (const RowView& row : rows) {
    if (!(slack(row, y, x) / row.scale <= most)) continue;
    for (const auto& [element, coefficient] : row.outputs) y_bar[element] -= coefficient / row.scale;
    for (const auto& [element, coefficient] : row.inputs) x_bar[element] -= coefficient / row.scale;
  }
}

// The search for a witness of one group. The rows of the batch are independent starts; each aims at one case.
class Attack {
 public:
  Attack(const Network& network, std::size_t group, const AttackOptions& options, const Limit& limit, Statistics& statistics)
      : network_(network),
        statistics_(statistics),
        check_limit_{options.deadline, limit.stop},
        box_(network, group, options.any_number),
        cases_(network.problem()->group_cases(group)),
        random_(options.seed * 0x9e3779b97f4a7c15u + group),
        margin_(options.any_number ? -kRounding : 0) {
    workspace_.limit = limit;
    n_ = network.input_size();
    m_ = network.output_size();
    const std::size_t affordable = kRoundWork / std::max<std::size_t>(1, network.work());
    batch_ = std::clamp(affordable / kAscentSteps, kMinBatch, kMaxBatch);
    trials_ = std::clamp(affordable / 8, kMinBatch, kMaxTrials);
    best_slack_ = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n_; ++i) {
      if (box_.hi()[i] > box_.lo()[i]) free_.push_back(static_cast<std::uint32_t>(i));
    }
  }

  // One round is enough for a box that is a single point.
  [[nodiscard]] bool can_run() const { return !box_.is_empty() && refusals_ < kMarginDoublings && (round_ == 0 || !free_.empty()); }
  std::optional<logic::Theorem> ascend();        // one batch of gradient ascent
  std::optional<logic::Theorem> walk_corners();  // one walk, from the corner nearest to a good point
  // For a box of one point: asks about each case, even if doubles say that the point does not violate it.
  std::optional<logic::Theorem> ask_point();
  void stop_at(const Limit& limit) { workspace_.limit = limit; }
  // Walks that may flip only a part of the coordinates at a time get no more evaluations than ascents.
  [[nodiscard]] bool can_walk() const {
    const bool is_affordable = free_.size() <= kFlips || walk_steps_ + kFlips * (1 + trials_) <= ascent_steps_;
    return free_.size() >= 2 && !box_.has_balls() && is_affordable;
  }

 private:
  void start_points();
  bool evaluate(std::size_t batch, std::vector<double>& x, std::vector<double>& y);
  // The gradient of the objective of row b's case at the given values, with respect to outputs and inputs.
  void pull_case(std::size_t b, std::uint32_t one, bool sum_of_hinges, const std::vector<double>& x, const std::vector<double>& y);
  void step(std::size_t b, double size, bool by_sign);
  std::optional<logic::Theorem> ask(const double* x, std::uint32_t one, double value);
  std::optional<logic::Theorem> inspect(std::size_t batch, const std::vector<double>& x, const std::vector<double>& y);
  [[nodiscard]] double hinge(std::uint32_t one, const double* y, const double* x) const;
  [[nodiscard]] std::uint32_t case_of(std::size_t b) const { return cases_[(round_ * batch_ + b) % cases_.size()]; }

  const Network& network_;
  Statistics& statistics_;
  const Limit check_limit_;  // limit for the check of a witness, which may go on after the attack's own seconds
  const CandidateBox box_;
  const std::vector<std::uint32_t>& cases_;
  std::mt19937_64 random_;
  Workspace workspace_;
  std::size_t n_ = 0, m_ = 0, batch_ = 0, trials_ = 0, round_ = 0, walks_ = 0;
  std::size_t ascent_steps_ = 0, walk_steps_ = 0;  // counted in evaluations
  std::vector<std::uint32_t> free_;                // coordinates that are not pinned
  std::vector<double> x_, y_, y_bar_, x_bar_, speed_;
  std::vector<std::uint32_t> nearest_;  // by row of the batch: the case that it violates most, or that it is nearest to
  std::vector<double> best_point_;      // best over all rounds
  double best_slack_ = 0, margin_;
  std::uint32_t best_case_ = 0;
  int refusals_ = 0;
};

// In the first round, one point of each case starts in the middle. Of the other points a quarter are corners, a quarter
// lie around the best point so far, and the rest anywhere in the box.
void Attack::start_points() {
  std::uniform_real_distribution<double> uniform(0, 1);
  x_.assign(batch_ * n_, 0);
  speed_.assign(batch_ * n_, 0);
  for (std::size_t b = 0; b < batch_; ++b) {
    double* x = x_.data() + b * n_;
    const std::size_t flavour = b % 4;
    for (std::size_t i = 0; i < n_; ++i) {
      const double lo = box_.lo()[i], width = box_.hi()[i] - lo;
      double part = uniform(random_);
      if (round_ == 0 && b < cases_.size())
        part = 0.5;
      else if (flavour == 1)
        part = part < 0.5 ? 0 : 1;
      else if (flavour == 2 && !best_point_.empty())
        part = width > 0 ? (best_point_[i] - lo) / width + 0.2 * (part - 0.5) : 0;
      x[i] = box_.snap(i, lo + part * width);
    }
    box_.project({x, n_});
  }
}

// Returns false if the time is up.
bool Attack::evaluate(std::size_t batch, std::vector<double>& x, std::vector<double>& y) {
  y.resize(batch * m_);
  if (!network_.evaluate(batch, x.data(), workspace_)) return false;
  network_.outputs(batch, workspace_, y.data());
  statistics_.attack_steps += batch;
  return true;
}

// Asks the kernel about a point. A refusal shows that doubles were wrong by more than the margin, so it raises the
// margin that later points need.
std::optional<logic::Theorem> Attack::ask(const double* x, std::uint32_t one, double value) {
  if (!(value >= margin_) || !can_run()) return std::nullopt;
  logic::Witness witness;
  witness.case_index = one;
  witness.inputs = box_.exact({x, n_});
  if (auto theorem = check_witness(network_, witness, check_limit_)) return theorem;
  ++refusals_;
  // Otherwise the network may have no value there.
  if (std::isfinite(value)) margin_ = std::max({kFirstMargin, 2 * margin_, 2 * value});
  return std::nullopt;
}

std::optional<logic::Theorem> Attack::ask_point() {
  if (!free_.empty() || !can_run()) return std::nullopt;
  const std::vector<Rational> point = box_.exact(box_.lo());
  for (std::size_t k = 0; k < std::min<std::size_t>(cases_.size(), kMarginDoublings) && !check_limit_.reached(); ++k) {
    if (auto theorem = check_witness(network_, {cases_[k], point}, check_limit_)) return theorem;
  }
  return std::nullopt;
}

// Compares every row with its own case, and with all cases if that costs less than the pass did. Asks the kernel about
// the case that is violated most. Other cases may hold only by rounding: two scores that softmax rounds to 0 differ by
// 0, and the kernel takes long to refuse them.
std::optional<logic::Theorem> Attack::inspect(std::size_t batch, const std::vector<double>& x, const std::vector<double>& y) {
  constexpr std::size_t kFewCases = 32, kWorkOfCase = 100;
  const bool all = cases_.size() <= std::max(kFewCases, network_.work() / kWorkOfCase);
  nearest_.resize(batch);
  for (std::size_t b = 0; b < batch; ++b) {
    const double *point = x.data() + b * n_, *outputs = y.data() + b * m_;
    std::uint32_t& nearest = nearest_[b];
    nearest = case_of(b);
    double value = worst_slack(network_.rows(nearest), outputs, point);
    for (std::size_t k = 0; all && k < cases_.size(); ++k) {
      const double other = worst_slack(network_.rows(cases_[k]), outputs, point);
      if (!(other > value)) continue;
      value = other;
      nearest = cases_[k];
    }
    if (value > best_slack_ && std::isfinite(value)) {
      best_slack_ = value;
      best_case_ = nearest;
      best_point_.assign(point, point + n_);
    }
    if (auto theorem = ask(point, nearest, value)) return theorem;
  }
  return std::nullopt;
}

// Sums the gradients either of the worst row alone, or of all rows whose slack is at most the margin.
void Attack::pull_case(std::size_t b, std::uint32_t one, bool sum_of_hinges, const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<RowView>& rows = network_.rows(one);
  const double *point = x.data() + b * n_, *outputs = y.data() + b * m_;
  const double most = sum_of_hinges ? margin_ : worst_slack(rows, outputs, point);
  pull_rows(rows, most, outputs, point, y_bar_.data() + b * m_, x_bar_.data() + b * n_);
}

// A step by the sign of the gradient, or by the gradient with momentum, in units of the box.
void Attack::step(std::size_t b, double size, bool by_sign) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  double* x = x_.data() + b * n_;
  double* speed = speed_.data() + b * n_;
  const double* gradient = x_bar_.data() + b * n_;
  double largest = 0;
  for (const std::uint32_t i : free_) {
    speed[i] = 0.7 * speed[i] + gradient[i] * (box_.hi()[i] - box_.lo()[i]);
    largest = std::max(largest, std::fabs(speed[i]));
  }
  for (const std::uint32_t i : free_) {
    const double width = box_.hi()[i] - box_.lo()[i];
    double move = largest > 0 ? speed[i] / largest : uniform(random_);  // on a plateau: a random direction
    if (by_sign && largest > 0) move = speed[i] > 0 ? 1 : speed[i] < 0 ? -1 : 0;
    x[i] = box_.snap(i, x[i] + size * width * move);
  }
  box_.project({x, n_});
}

// A batch of projected gradient ascent: evaluates, asks about points that look like a witness, and steps. Steps
// shrink geometrically.
std::optional<logic::Theorem> Attack::ascend() {
  start_points();
  std::vector<double> inputs_bar;
  for (int t = 0; t < kAscentSteps; ++t) {
    if (!evaluate(batch_, x_, y_)) return std::nullopt;
    ascent_steps_ += batch_;
    if (auto theorem = inspect(batch_, x_, y_)) return theorem;
    if (!network_.has_gradient()) break;
    y_bar_.assign(batch_ * m_, 0);
    x_bar_.assign(batch_ * n_, 0);
    // The first row aims at the case that is nearest by now; the others keep their own cases.
    for (std::size_t b = 0; b < batch_; ++b) pull_case(b, b == 0 ? nearest_[b] : case_of(b), b % 2 == 1, x_, y_);
    inputs_bar.assign(batch_ * n_, 0);
    if (!network_.vjp(batch_, workspace_, y_bar_.data(), inputs_bar.data())) return std::nullopt;
    for (std::size_t k = 0; k < x_bar_.size(); ++k) x_bar_[k] += inputs_bar[k];
    const double size = kFirstStep * std::pow(kLastStep / kFirstStep, static_cast<double>(t) / (kAscentSteps - 1));
    for (std::size_t b = 0; b < batch_; ++b) step(b, size, b / 2 % 2 == 0);
  }
  ++round_;
  return std::nullopt;
}

// Minus the sum of the violations of the rows of a case; 0 at a witness.
double Attack::hinge(std::uint32_t one, const double* y, const double* x) const {
  double sum = 0;
  for (const RowView& row : network_.rows(one)) {
    const double value = slack(row, y, x) / row.scale;
    if (!(value >= 0)) sum -= value;
  }
  return std::isnan(sum) ? -std::numeric_limits<double>::infinity() : -sum;
}

// A walk in the style of WalkSAT: evaluates single flips of the coordinates that the gradient favours, and takes the
// best flip that is not tabu, or sometimes a random one.
std::optional<logic::Theorem> Attack::walk_corners() {
  constexpr std::size_t kTenure = 6;
  constexpr double kNoise = 0.04;
  std::uniform_real_distribution<double> uniform(0, 1);
  const std::uint32_t one = best_point_.empty() || walks_ % 2 == 1 ? case_of(walks_) : best_case_;
  const bool restart = best_point_.empty() || walks_ % 4 == 3;
  std::vector<double> x(n_), y, trial, trial_y, inputs_bar(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    const double middle = 0.5 * (box_.lo()[i] + box_.hi()[i]);
    const double at = restart ? (uniform(random_) < 0.5 ? box_.lo()[i] : box_.hi()[i]) : best_point_[i];
    x[i] = at < middle || (at == middle && uniform(random_) < 0.5) ? box_.lo()[i] : box_.hi()[i];
  }
  ++walks_;
  std::vector<std::size_t> tabu(n_, 0);
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t flip = 1; flip <= kFlips; ++flip) {
    if (!evaluate(1, x, y)) return std::nullopt;
    if (auto theorem = inspect(1, x, y)) return theorem;
    best = std::max(best, hinge(one, y.data(), x.data()));
    std::vector<std::uint32_t> flips = free_;
    if (network_.has_gradient()) {
      y_bar_.assign(m_, 0);
      x_bar_.assign(n_, 0);
      pull_case(0, one, true, x, y);
      if (!network_.vjp(1, workspace_, y_bar_.data(), inputs_bar.data())) return std::nullopt;
      std::erase_if(flips, [&](std::uint32_t i) {
        const double gradient = x_bar_[i] + inputs_bar[i];
        return x[i] == box_.lo()[i] ? !(gradient > 0) : !(gradient < 0);
      });
    }
    if (flips.empty()) flips = free_;
    std::shuffle(flips.begin(), flips.end(), random_);
    if (flips.size() > trials_) flips.resize(trials_);
    walk_steps_ += 1 + flips.size();
    std::size_t chosen = 0;
    if (uniform(random_) >= kNoise) {
      trial.resize(flips.size() * n_);
      for (std::size_t k = 0; k < flips.size(); ++k) {
        std::copy(x.begin(), x.end(), trial.begin() + static_cast<std::ptrdiff_t>(k * n_));
        double& coordinate = trial[k * n_ + flips[k]];
        coordinate = coordinate == box_.lo()[flips[k]] ? box_.hi()[flips[k]] : box_.lo()[flips[k]];
      }
      if (!evaluate(flips.size(), trial, trial_y)) return std::nullopt;
      double score = -std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < flips.size(); ++k) {
        const double value = hinge(one, trial_y.data() + k * m_, trial.data() + k * n_);
        const bool allowed = tabu[flips[k]] <= flip || value > best;
        if (allowed && value > score) {
          score = value;
          chosen = k;
        }
      }
    }
    const std::uint32_t i = flips[chosen];
    x[i] = x[i] == box_.lo()[i] ? box_.hi()[i] : box_.lo()[i];
    tabu[i] = flip + kTenure + random_() % 6;
  }
  return std::nullopt;
}

}  // namespace

std::optional<logic::Theorem> attack(const Network& network, std::size_t group, const AttackOptions& options, const std::stop_token& stop,
                                     Statistics& statistics) {
  const Limit limit{Deadline::in(options.seconds), stop};
  Attack search(network, group, options, options.whole_ascent ? Limit{options.deadline, stop} : limit, statistics);
  if (auto theorem = search.ask_point()) return theorem;
  for (int round = 0; round < options.restarts && search.can_run() && !limit.reached(); ++round) {
    if (auto theorem = search.ascend()) return theorem;
    search.stop_at(limit);
    // Two walks follow every ascent from the second round on: an easy witness is found without walks.
    for (int walk = 0; options.corner_walk && walk < 2 && round > 0 && search.can_walk(); ++walk) {
      if (auto theorem = search.walk_corners()) return theorem;
    }
  }
  return std::nullopt;
}

std::optional<logic::Theorem> attack_all(const Network& network, const AttackOptions& options, const std::stop_token& stop,
                                         Statistics& statistics) {
  const Deadline deadline = Deadline::in(options.seconds);
  const std::size_t groups = network.problem()->group_count();
  AttackOptions one = options;
  // The first pass gives each group one round; the second pass shares the rest of the time equally.
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t group = 0; group < groups; ++group) {
      const double left = deadline.seconds_left();
      if (left <= 0 || stop.stop_requested()) return std::nullopt;
      one.restarts = pass == 0 ? 1 : options.restarts;
      one.seed = options.seed + static_cast<std::uint64_t>(pass);
      one.seconds = pass == 0 ? left : left / static_cast<double>(groups - group);
      if (auto theorem = attack(network, group, one, stop, statistics)) return theorem;
    }
  }
  return std::nullopt;
}

std::optional<logic::Theorem> attack_from(const Network& network, const CandidateBox& box, std::uint32_t case_index,
                                          std::span<const double> x, int steps, Workspace& workspace) {
  constexpr double kFirst = 0.1, kShrink = 0.8;  // first step as a share of the box's width; factor per step
  const std::size_t n = network.input_size();
  const std::vector<RowView>& rows = network.rows(case_index);
  std::vector<double> point(n), y(network.output_size()), y_bar(y.size()), x_bar(n), inputs_bar(n);
  for (std::size_t i = 0; i < n; ++i) point[i] = box.snap(i, x[i]);
  box.project(point);
  double size = kFirst;
  for (int t = 0; t < steps && !box.is_empty(); ++t, size *= kShrink) {
    if (!network.evaluate(1, point.data(), workspace)) break;
    network.outputs(1, workspace, y.data());
    const double worst = worst_slack(rows, y.data(), point.data());
    if (worst >= 0) {
      if (auto theorem = check_witness(network, {case_index, box.exact(point)}, workspace.limit)) return theorem;
    }
    if (!network.has_gradient()) break;
    std::fill(y_bar.begin(), y_bar.end(), 0.0);
    std::fill(x_bar.begin(), x_bar.end(), 0.0);
    pull_rows(rows, worst, y.data(), point.data(), y_bar.data(), x_bar.data());
    if (!network.vjp(1, workspace, y_bar.data(), inputs_bar.data())) break;
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      x_bar[i] = (x_bar[i] + inputs_bar[i]) * (box.hi()[i] - box.lo()[i]);
      largest = std::max(largest, std::fabs(x_bar[i]));
    }
    if (!(largest > 0)) break;
    for (std::size_t i = 0; i < n; ++i) {
      point[i] = box.snap(i, point[i] + size * (box.hi()[i] - box.lo()[i]) * x_bar[i] / largest);
    }
    box.project(point);
  }
  return std::nullopt;
}

}  // namespace assay::search
