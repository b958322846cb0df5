// Candidate points: the rounding of coordinates, and the questions to the kernel.
//
// Every coordinate has a kind: an integer, a float32, a number of the execution's format, a double, or the exact
// decimal if no double lies in the box. snap() moves a coordinate to the nearest number of its kind. exact() writes the
// point as rationals, for the kernel.
//
// project() pulls points into balls: for sums of squares along the line to the middle, for sums of magnitudes by the
// projection onto an l1 ball with a soft threshold (Duchi et al. 2008), whose threshold is found by bisection. How this
// version differs: it leaves a margin of 2^-16, since snapping moves the point.

#include "search/attack/candidate_point.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "certificates/check/meter.h"
#include "kernel/inspect/inspect.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"

namespace assay::search {

// Finds, for each coordinate, the kind of number that a witness may have there, and the ends of the box among
// these numbers.
CandidateBox::CandidateBox(const Network& network, std::size_t group, bool any_number) {
  const logic::Problem& problem = *network.problem();
  box_ = &problem.group_box(group);
  is_empty_ = problem.group_is_empty(group);
  format_ = floats::stored_precision(problem.statement().semantics);
  std::vector<bool> whole;
  for (const NodeId id : problem.graph().inputs)
    whole.resize(whole.size() + problem.graph().size(id), !is_float(problem.graph().node(id).dtype));
  const auto add = [&](Kind kind, double lo, double hi) {
    kinds_.push_back(kind);
    lo_.push_back(lo);
    hi_.push_back(hi);
  };
  for (std::size_t i = 0; i < box_->lo.size(); ++i) {
    // Every float is a double. So the smallest float >= lo is the smallest float >= the smallest double >= lo.
    const double lo = box_->lo[i].double_up(), hi = box_->hi[i].double_down();
    const double float_lo = float_up(lo), float_hi = float_down(hi);
    if (problem.floating() && !whole[i] && !is_empty_) {
      add(Kind::number, floats::number_above(format_, lo), floats::number_below(format_, hi));
    } else if (whole[i] && lo <= hi) {  // the box of an integer input ends in integers, and so do these doubles
      add(Kind::integer, lo, hi);
    } else if (any_number && lo <= hi) {
      add(Kind::ends, lo, hi);
    } else if (float_lo <= float_hi && std::isfinite(float_lo) && std::isfinite(float_hi)) {
      add(Kind::float32, float_lo, float_hi);
    } else if (lo <= hi) {
      add(Kind::float64, lo, hi);
    } else {  // no double lies inside: the decimal itself
      const double below = box_->lo[i].double_down();
      add(Kind::exact, below, below);
    }
  }
  for (const statement::Ball& ball : inspect::group_balls(problem, group)) {
    Middle middle{ball.of_squares, ball.bound};
    for (std::size_t i = 0; i < ball.q.size(); ++i) {
      const double weight = ball.q[i];
      if (!(weight > 0)) continue;
      middle.coordinates.push_back(network.input_offset(ball.node) + i);
      middle.weights.push_back(weight);
      middle.at.push_back(-ball.p[i] / (ball.of_squares ? 2 * weight : weight));
      if (ball.of_squares) middle.most += weight * middle.at.back() * middle.at.back();
    }
    if (middle.most >= 0) balls_.push_back(std::move(middle));
  }
}

// The distance of the k-th coordinate from the middle after moving towards it. For squares, the point moves along the
// line to the middle. For magnitudes, it moves to the minimum of its squared distance from x plus a multiple of the
// ball's sum, which leaves few coordinates off the middle.
double CandidateBox::Middle::shrunk(std::span<const double> x, double by, std::size_t k) const {
  const double off = x[coordinates[k]] - at[k];
  return of_squares ? off / (1 + by) : std::copysign(std::max(0.0, std::fabs(off) - by * weights[k]), off);
}

double CandidateBox::Middle::size(std::span<const double> x, double by) const {
  double sum = 0;
  for (std::size_t k = 0; k < coordinates.size(); ++k) {
    const double off = shrunk(x, by, k);
    sum += weights[k] * (of_squares ? off * off : std::fabs(off));
  }
  return sum;
}

void CandidateBox::project(std::span<double> x) const {
  constexpr double kInside = 1 - 0x1p-16;  // snapping moves a point by less than this margin
  constexpr int kHalvings = 24;
  for (const Middle& ball : balls_) {
    const double most = ball.most * kInside, size = ball.size(x, 0);
    if (!(size > most)) continue;
    double least = 0, by = ball.of_squares ? std::sqrt(size / most) - 1 : 1;
    while (!ball.of_squares && ball.size(x, by) > most && by < 0x1p60) by *= 2;
    for (int step = 0; !ball.of_squares && step < kHalvings; ++step) {
      const double middle = least + (by - least) / 2;
      (ball.size(x, middle) > most ? least : by) = middle;
    }
    for (std::size_t k = 0; k < ball.coordinates.size(); ++k)
      x[ball.coordinates[k]] = snap(ball.coordinates[k], ball.at[k] + ball.shrunk(x, by, k));
  }
}

// The nearest admissible number inside the box.
double CandidateBox::snap(std::size_t i, double x) const {
  if (kinds_[i] == Kind::number) {
    const double below = floats::number_below(format_, x), above = floats::number_above(format_, x);
    return std::clamp(x - below < above - x ? below : above, lo_[i], hi_[i]);
  }
  const double value = kinds_[i] == Kind::integer   ? std::nearbyint(x)
                       : kinds_[i] == Kind::float32 ? static_cast<double>(static_cast<float>(x))
                                                    : x;
  return value > hi_[i] ? hi_[i] : value >= lo_[i] ? value : lo_[i];
}

std::vector<Rational> CandidateBox::exact(std::span<const double> snapped) const {
  std::vector<Rational> point;
  point.reserve(snapped.size());
  for (std::size_t i = 0; i < snapped.size(); ++i) {
    const bool is_low = kinds_[i] == Kind::exact || (kinds_[i] == Kind::ends && snapped[i] == lo_[i]);
    const bool is_high = kinds_[i] == Kind::ends && snapped[i] == hi_[i];
    const std::optional<Rational> value = is_low || is_high ? std::nullopt : Rational::from_double(snapped[i]);
    point.push_back(value ? *value : is_high ? box_->hi[i] : box_->lo[i]);
  }
  return point;
}

// The kernel evaluates the network exactly, which may take long; the limit stops it.
std::optional<logic::Theorem> check_witness(const Network& network, const logic::Witness& witness, const Limit& limit) {
  const std::function<bool()> question = limit.question();
  const StopScope watch(question);
  Outcome<logic::Theorem> theorem =
      logic::satisfiable(network.problem(), witness, certificate::exact_work_of(certificate::Costs(*network.problem())));
  if (!theorem.ok() && theorem.rejection().code == "satisfiable.S4" && theorem.rejection().kind == Rejection::Kind::declined)
    network.saw(witness, std::numeric_limits<double>::infinity());
  if (!theorem.ok()) return std::nullopt;
  return std::move(theorem).value();
}

double worst_slack(const std::vector<RowView>& rows, const double* outputs, const double* inputs) {
  double worst = std::numeric_limits<double>::infinity();
  for (const RowView& row : rows) {
    const double value = slack(row, outputs, inputs) / row.scale;
    if (!(value >= worst)) worst = std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  }
  return worst;
}

std::optional<logic::Theorem> try_point(const Network& network, const CandidateBox& box, std::size_t group, std::span<const double> x,
                                        Workspace& workspace, double margin) {
  if (box.is_empty()) return std::nullopt;
  std::vector<double> snapped(x.size()), y(network.output_size());
  for (std::size_t i = 0; i < x.size(); ++i) snapped[i] = box.snap(i, x[i]);
  if (!network.evaluate(1, snapped.data(), workspace)) return std::nullopt;
  network.outputs(1, workspace, y.data());
  double best = -std::numeric_limits<double>::infinity();
  logic::Witness witness;
  for (const std::uint32_t one : network.problem()->group_cases(group)) {
    const double value = worst_slack(network.rows(one), y.data(), snapped.data());
    if (!(value > best)) continue;
    best = value;
    witness.case_index = one;
  }
  const bool violates = best >= margin;
  if (!violates && !network.problem()->floating()) return std::nullopt;
  witness.inputs = box.exact(snapped);
  if (!violates && std::isfinite(best)) network.saw(witness, best);
  if (!violates) return std::nullopt;
  return check_witness(network, witness, workspace.limit);
}

std::optional<logic::Theorem> try_point(const Network& network, std::size_t group, std::span<const double> x) {
  Workspace workspace;
  return try_point(network, CandidateBox(network, group), group, x, workspace);
}

std::optional<logic::Theorem> try_around(const Network& network, std::size_t group, std::span<const std::vector<double>> points,
                                         Workspace& workspace) {
  constexpr double kLoss = 1e-9;  // of the evaluation in doubles, relative to the scale of a row
  constexpr std::size_t kMostAxes = 16;
  constexpr int kBits = 52;
  const CandidateBox box(network, group, true);
  for (const std::vector<double>& point : points)
    if (auto theorem = try_point(network, box, group, point, workspace, -kLoss)) return theorem;
  std::vector<double> moved = points.front();
  for (std::size_t i = 0; i < std::min(moved.size(), kMostAxes); ++i) {
    const double middle = moved[i];
    for (const int side : {-1, 1}) {
      for (int bit = 0; bit < kBits && !workspace.limit.reached(); ++bit) {
        moved[i] = middle * (1 + side * std::ldexp(1.0, bit - kBits));
        if (auto theorem = try_point(network, box, group, moved, workspace)) return theorem;
      }
    }
    moved[i] = middle;
  }
  return std::nullopt;
}

bool has_case_without_rows(const logic::Problem& problem, std::size_t group) {
  return std::ranges::any_of(problem.group_cases(group),
                             [&](std::uint32_t one) { return problem.statement().property.cases[one].rows.empty(); });
}

static std::vector<double> middle_of(const statement::InputBox& box) {
  std::vector<double> middle;
  for (std::size_t i = 0; i < box.lo.size(); ++i) middle.push_back((box.lo[i].double_down() + box.hi[i].double_up()) / 2);
  return middle;
}

std::optional<logic::Theorem> try_case_without_rows(const Network& network, std::size_t group, const Limit& limit) {
  const logic::Problem& problem = *network.problem();
  const CandidateBox box(network, group);
  if (box.is_empty()) return std::nullopt;
  const std::vector<double> middle = middle_of(problem.group_box(group));
  for (const std::vector<double>& end : {middle, box.lo(), box.hi()}) {
    std::vector<double> point;
    for (std::size_t i = 0; i < end.size(); ++i) point.push_back(box.snap(i, end[i]));
    box.project(point);
    for (const std::uint32_t one : problem.group_cases(group)) {
      if (!problem.statement().property.cases[one].rows.empty()) continue;
      if (auto theorem = check_witness(network, {one, box.exact(point)}, limit)) return theorem;
    }
  }
  return std::nullopt;
}

// Gives an undecided run a nearest point to report.
void try_middles(const Network& network) {
  constexpr std::size_t kMostGroups = 64;
  const logic::Problem& problem = *network.problem();
  for (std::size_t group = 0; group < std::min(problem.group_count(), kMostGroups); ++group) {
    if (problem.group_is_empty(group)) continue;
    (void)try_point(network, group, middle_of(problem.group_box(group)));
  }
}

}  // namespace assay::search
