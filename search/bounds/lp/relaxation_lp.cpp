// RelaxationLp: columns, rows and multipliers of the triangle relaxation.
//
// One program serves all nodes of a tree: a literal only changes bounds of variables, and the dual simplex method
// starts from the basis of the node before. If a program is infeasible, it gives a ray of the dual, which is read in
// the same way as a solution. sample_face() solves a few further programs over the optimal face. They show which inputs
// an optimum leaves free, and on which neurons every optimal point violates the ReLU.
//
// Sources: Planet (Ehlers 2017); the dual as slopes and multipliers: Salman et al. 2019 ("A convex relaxation
// barrier"), who show how the dual of such programs relates to bounds like CROWN's. The solver is CLP of COIN-OR.

#include "search/bounds/lp/relaxation_lp.h"

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace assay::search {
namespace {

// Tolerances, in units of the objective per unit of a variable unless said otherwise:
constexpr double kLeastPrice = 1e-9;  // smaller multipliers are left out
constexpr double kOptimal = 1e-6;     // of t: points this close to the optimum count as optimal
constexpr double kSame = 1e-4;        // share of an input's width: values this close count as one

constexpr int kSolved = 0, kInfeasible = 1;  // the library's status codes

// Ends a solve at the deadline or on request.
class Watch : public ClpEventHandler {
 public:
  Watch(Deadline deadline, const std::stop_token& stop) : deadline_(deadline), stop_(stop) {}
  int event(Event which) override {
    constexpr int kEvery = 16;  // iterations
    if (which != endOfIteration || ++count_ % kEvery != 0) return -1;
    return stop_.stop_requested() || deadline_.has_passed() ? 0 : -1;
  }
  [[nodiscard]] ClpEventHandler* clone() const override { return new Watch(*this); }

 private:
  Deadline deadline_;
  std::stop_token stop_;
  int count_ = 0;
};

}  // namespace

// Columns: x, y, p, t. Rows: y - p - form = constant for every unstable or active neuron, each followed by the chord if
// the neuron is unstable; then the rows of the case.
class RelaxationLp::Solver {
 public:
  Solver(const RelaxationRows& shared, const std::vector<RowView>& rows, Deadline deadline, const std::stop_token& stop)
      : shared_(shared), n_(shared.root().x_lo.size()), r_(shared.root().lo.size()), rows_(rows.size()), row_of_(r_, -1) {
    matrix_.setDimensions(0, static_cast<int>(n_ + 2 * r_ + 1));
    for (std::size_t s = 0; s < r_; ++s) add_neuron(s);
    first_case_row_ = lo_.size();
    for (const RowView& row : rows) add_case_row(row);
    load();
    model_.setLogLevel(0);
    const Watch watch(deadline, stop);
    model_.passInEventHandler(&watch);
  }

  LpResult solve(const NeuronBoxes& boxes, std::span<const logic::Literal> literals) {
    LpResult result;
    set_bounds(boxes);
    model_.dual();
    if (model_.status() == kSolved) {
      result.status = LpResult::Status::solved;
      result.bound = model_.objectiveValue();
      result.x.assign(model_.primalColumnSolution(), model_.primalColumnSolution() + n_);
      prices_.assign(model_.dualRowSolution(), model_.dualRowSolution() + model_.numberRows());
      reduced_.assign(model_.dualColumnSolution(), model_.dualColumnSolution() + model_.numberColumns());
    } else if (model_.status() != kInfeasible || !read_ray()) {
      model_.allSlackBasis(true);  // the next call starts afresh, whatever went wrong here
      return result;
    } else {
      result.status = LpResult::Status::contradiction;
    }
    read_parameters(boxes, literals, result);
    return result;
  }

  // Optimises in random directions over the inputs that had the same value at all points so far, both ways, until no
  // input moves any more.
  OptimalFace sample_face(const NeuronBoxes& boxes) {
    constexpr int kRounds = 4;
    const std::vector<unsigned char> basis(model_.statusArray(), model_.statusArray() + model_.numberRows() + model_.numberColumns());
    OptimalFace face{std::vector<double>(n_, COIN_DBL_MAX), std::vector<double>(n_, -COIN_DBL_MAX),
                     std::vector<float>(r_, std::numeric_limits<float>::max())};
    add_point(boxes, face);
    model_.columnUpper()[t()] = model_.objectiveValue() + kOptimal;
    model_.objective()[t()] = 0;
    std::uniform_real_distribution<double> direction(-1, 1);
    std::size_t settled = n_ + 1;
    bool going = true;
    for (int round = 0; going && round < kRounds; ++round) {
      std::size_t left = 0;
      for (std::size_t i = 0; i < n_; ++i) {
        const double width = boxes.x_hi[i] - boxes.x_lo[i];
        const bool same = width > 0 && face.x_hi[i] - face.x_lo[i] <= kSame * width;
        model_.objective()[i] = same ? direction(random_) : 0;
        left += same ? 1 : 0;
      }
      going = left > 0 && left < settled;
      settled = left;
      for (int side = 0; going && side < 2; ++side) {
        going = model_.primal() == 0 && model_.status() == kSolved;
        if (going) add_point(boxes, face);
        for (std::size_t i = 0; i < n_; ++i) model_.objective()[i] = -model_.objective()[i];
      }
    }
    std::fill_n(model_.objective(), n_, 0.0);
    model_.objective()[t()] = 1;
    model_.columnUpper()[t()] = COIN_DBL_MAX;
    std::copy(basis.begin(), basis.end(), model_.statusArray());
    return face;
  }

 private:
  [[nodiscard]] bool always_active(std::size_t s) const {
    return !shared_.root().is_undecided(s) && shared_.root().hi[s] > -shared_.root().lo[s];
  }
  [[nodiscard]] bool never_active(std::size_t s) const { return !shared_.root().is_undecided(s) && !always_active(s); }
  [[nodiscard]] std::size_t y(std::size_t s) const { return n_ + s; }
  [[nodiscard]] std::size_t p(std::size_t s) const { return n_ + r_ + s; }
  [[nodiscard]] std::size_t t() const { return n_ + 2 * r_; }

  void add_row(const std::vector<int>& columns, const std::vector<double>& values, double lo, double hi) {
    matrix_.appendRow(static_cast<int>(columns.size()), columns.data(), values.data());
    lo_.push_back(lo);
    hi_.push_back(hi);
  }

  void add_neuron(std::size_t s) {
    const double l = shared_.root().lo[s], u = shared_.root().hi[s];
    if (never_active(s)) return;
    const RelaxationRows::Form& form = shared_.operands()[s];
    std::vector<int> columns{static_cast<int>(y(s)), static_cast<int>(p(s))};
    std::vector<double> values{1, -1};
    for (std::size_t k = 0; k < form.columns.size(); ++k) {
      columns.push_back(static_cast<int>(form.columns[k]));
      values.push_back(-form.values[k]);
    }
    row_of_[s] = static_cast<int>(lo_.size());
    add_row(columns, values, form.constant, form.constant);
    if (always_active(s)) return;
    const double scale = 1 / std::max(-l, u);
    add_row({static_cast<int>(y(s)), static_cast<int>(p(s))}, {-l * scale, u * scale}, -COIN_DBL_MAX, -l * u * scale);
  }

  void add_case_row(const RowView& row) {
    std::vector<double> dense(n_ + r_, 0.0);
    double right = row.bound;
    for (const auto& [element, coefficient] : row.inputs) dense[element] += coefficient;
    for (const auto& [element, coefficient] : row.outputs) {
      const RelaxationRows::Form form = shared_.output(element);
      for (std::size_t k = 0; k < form.columns.size(); ++k) dense[form.columns[k]] += coefficient * form.values[k];
      right -= coefficient * form.constant;
    }
    std::vector<int> columns{static_cast<int>(t())};
    std::vector<double> values{-1};
    double least = -right;
    for (std::size_t j = 0; j < dense.size(); ++j) {
      if (dense[j] == 0) continue;
      columns.push_back(static_cast<int>(j));
      values.push_back(dense[j] / row.scale);
      const double lo = j < n_ ? shared_.root().x_lo[j] : std::max(0.0, shared_.root().lo[j - n_]);
      const double hi = j < n_ ? shared_.root().x_hi[j] : std::max(0.0, shared_.root().hi[j - n_]);
      least += std::min(dense[j] * lo, dense[j] * hi);
    }
    least_t_ = std::min(least_t_, least / row.scale - 1);
    scales_.push_back(row.scale);
    add_row(columns, values, -COIN_DBL_MAX, right / row.scale);
  }

  // With t at its finite lower bound the basis of slacks is dual feasible, and so is the basis of every other node.
  void load() {
    const std::size_t columns = t() + 1;
    std::vector<double> column_lo(columns, 0.0), column_hi(columns, 0.0), cost(columns, 0.0);
    std::copy(shared_.root().x_lo.begin(), shared_.root().x_lo.end(), column_lo.begin());
    std::copy(shared_.root().x_hi.begin(), shared_.root().x_hi.end(), column_hi.begin());
    column_lo[t()] = least_t_;
    column_hi[t()] = COIN_DBL_MAX;
    cost[t()] = 1;
    model_.loadProblem(matrix_, column_lo.data(), column_hi.data(), cost.data(), lo_.data(), hi_.data());
    matrix_ = CoinPackedMatrix();
  }

  void set_bounds(const NeuronBoxes& boxes) {
    double* lo = model_.columnLower();
    double* hi = model_.columnUpper();
    std::copy(boxes.x_lo.begin(), boxes.x_lo.end(), lo);
    std::copy(boxes.x_hi.begin(), boxes.x_hi.end(), hi);
    for (std::size_t s = 0; s < r_; ++s) {
      hi[y(s)] = never_active(s) || boxes.hi[s] <= 0 ? 0 : shared_.root().hi[s];
      hi[p(s)] = always_active(s) || boxes.lo[s] >= 0 ? 0 : std::max(0.0, -shared_.root().lo[s]);
    }
  }

  // A ray of the dual proves a contradiction without t, so without any row of the case.
  bool read_ray() {
    const std::unique_ptr<double[]> ray(model_.infeasibilityRay());
    if (ray == nullptr) return false;
    double largest = 0;
    for (int k = 0; k < model_.numberRows(); ++k) largest = std::max(largest, std::fabs(ray[k]));
    if (!(largest > 0)) return false;
    prices_.assign(ray.get(), ray.get() + model_.numberRows());
    for (double& price : prices_) price /= -largest;
    reduced_.assign(static_cast<std::size_t>(model_.numberColumns()), 0.0);
    model_.clpMatrix()->transposeTimes(-1, prices_.data(), reduced_.data());
    return true;
  }

  void add_point(const NeuronBoxes& boxes, OptimalFace& face) const {
    const double* value = model_.primalColumnSolution();
    for (std::size_t i = 0; i < n_; ++i) {
      face.x_lo[i] = std::min(face.x_lo[i], value[i]);
      face.x_hi[i] = std::max(face.x_hi[i], value[i]);
    }
    for (std::size_t s = 0; s < r_; ++s) {
      const double gap = boxes.is_undecided(s) ? std::max(0.0, std::min(value[y(s)], value[p(s)])) : 0;
      face.gaps[s] = std::min(face.gaps[s], static_cast<float>(gap));
    }
  }

  void read_parameters(const NeuronBoxes& boxes, std::span<const logic::Literal> literals, LpResult& result) const {
    AlphaBeta& parameters = result.parameters;
    parameters.lower_alpha.assign(r_, 0.0F);
    parameters.beta.assign(literals.size(), 0.0F);
    for (std::size_t k = 0; k < rows_; ++k) {
      parameters.weights.push_back(static_cast<float>(std::max(0.0, -prices_[first_case_row_ + k]) / scales_[k]));
    }
    for (std::size_t s = 0; s < r_; ++s) {
      const double mu = price(s), a = coefficient(s);
      parameters.lower_alpha[s] = a > kLeastPrice              ? static_cast<float>(std::clamp(mu / a, 0.0, 1.0))
                                  : boxes.hi[s] > -boxes.lo[s] ? 1.0F
                                                               : 0.0F;
    }
    for (std::size_t k = 0; k < literals.size(); ++k) {
      double beta = 0;
      for (const std::uint32_t s : shared_.graph().neurons_of(literals[k].node, literals[k].element))
        beta += literals[k].at_least ? coefficient(s) - price(s) : price(s);
      if (beta > kLeastPrice) parameters.beta[k] = static_cast<float>(beta);
    }
  }

  // mu and A of a neuron.
  [[nodiscard]] double price(std::size_t s) const { return row_of_[s] < 0 ? 0 : prices_[static_cast<std::size_t>(row_of_[s])]; }
  [[nodiscard]] double coefficient(std::size_t s) const {
    const double l = shared_.root().lo[s], u = shared_.root().hi[s];
    const bool chord = shared_.root().is_undecided(s);
    return reduced_[y(s)] + price(s) + (chord ? prices_[static_cast<std::size_t>(row_of_[s]) + 1] * -l / std::max(-l, u) : 0);
  }

  const RelaxationRows& shared_;
  std::size_t n_, r_, rows_, first_case_row_ = 0;
  std::vector<int> row_of_;  // by neuron; -1 for a neuron that is never active
  std::vector<double> lo_, hi_, scales_;
  double least_t_ = 0;
  CoinPackedMatrix matrix_{false, 0, 0};
  ClpSimplex model_;
  std::vector<double> prices_, reduced_;
  std::mt19937_64 random_;
};

RelaxationLp::RelaxationLp(const RelaxationRows& shared, const std::vector<RowView>& rows, Deadline deadline, const std::stop_token& stop)
    : solver_(std::make_unique<Solver>(shared, rows, deadline, stop)) {}

RelaxationLp::~RelaxationLp() = default;

// Sets the bounds of variables to those of the node and starts from the basis of the program before, from which few
// pivots are needed.
LpResult RelaxationLp::solve(const NeuronBoxes& boxes, std::span<const logic::Literal> literals) { return solver_->solve(boxes, literals); }

OptimalFace RelaxationLp::sample_face(const NeuronBoxes& boxes) { return solver_->sample_face(boxes); }

}  // namespace assay::search
