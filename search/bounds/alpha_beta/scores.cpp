// What an ascent tells about branching: scores, strong splits, influence.
//
// The score of a neuron is the loss of its line at the minimiser: what the bound would gain, to first order, if the
// neuron were exact. Source: BaBSR (Bunel et al. 2020) scores by the intercept of the line. How this version differs:
// the minimiser of the optimised bound takes the place of the intercept.
//
// Strong branching here computes the exact gain of the split of a first-layer neuron while all other parameters stay.
// This is a one-dimensional maximisation over the neuron's beta. If no split gains, influence says how much the
// unstable neurons depend on a neuron.

#include <algorithm>
#include <cmath>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/alpha_beta/alpha_beta_loops.h"
#include "search/bounds/alpha_beta/batch_row.h"
#include "search/relax/elementwise.h"

namespace assay::search {

// How much the bound loses at x* because a neuron's line differs from its function. For upper lines a share of the loss
// at the kink, the worst point, is added. The score of an input is the width of its term.
void AlphaBetaCrown::score(std::size_t b, BoundResult& result) const {
  constexpr double kAreaShare = 0.2;
  const NeuronBoxes& boxes = *rows_[b].task->boxes;
  result.scores.assign(r_ + n_, 0.0F);
  for (const NeuronGraph::Activation& activation : graph_.activations()) {
    const std::size_t size = activation.step->size, at = activation.first_neuron;
    for (std::size_t j = 0; j < activation.neurons() && activation.step->op != Op::relu; ++j)
      result.scores[at + j] = score_of(activation, b, j);
    if (activation.step->op != Op::relu) continue;
    const double* a = a_[activation.step->node].data() + b * size;
    const double* z = z_[activation.operand].data() + b * size;
    const double* y = z_[activation.step->node].data() + b * size;
    for (std::size_t j = 0; j < size; ++j) {
      if (!boxes.is_undecided(at + j)) continue;
      const double gap = std::max(0.0, a[j] * (std::max(z[j], 0.0) - y[j]));
      const double area = std::max(0.0, -a[j]) * neurons(up_icpt_, b)[at + j];
      result.scores[at + j] = static_cast<float>(gap + kAreaShare * area + 1e-30);
    }
  }
  for (std::size_t i = 0; i < n_; ++i) {
    result.scores[r_ + i] = static_cast<float>(std::fabs(form_[b * n_ + i]) * (boxes.x_hi[i] - boxes.x_lo[i]));
  }
}

void AlphaBetaCrown::show_form(std::size_t b, BoundResult& result) const {
  for (const NeuronGraph::Activation& activation : graph_.activations()) {
    const double* a = row_of(a_, b, activation.step->node);
    result.coefficients.insert(result.coefficients.end(), a, a + activation.neurons());
  }
  result.form.assign(form_.begin() + static_cast<std::ptrdiff_t>(b * n_), form_.begin() + static_cast<std::ptrdiff_t>((b + 1) * n_));
  result.constant = constant_[b];
}

// The score of other neurons whose split helps: the loss at x*, plus a share of the mean of the losses at the ends and
// in the middle.
float AlphaBetaCrown::score_of(const NeuronGraph::Activation& activation, std::size_t b, std::size_t j) const {
  constexpr double kMeanShare = 0.2;
  const Step& step = *activation.step;
  if (activation.is_product()) return score_of_product(b, activation, j);
  const std::size_t neuron = activation.first_neuron + j;
  const double l = rows_[b].task->boxes->lo[neuron], u = rows_[b].task->boxes->hi[neuron];
  if (!graph_.split_point(static_cast<std::uint32_t>(neuron), l, u)) return 0;
  const double a = a_[step.node][b * step.size + j];
  const double slope = neurons(a > 0 ? low_slope_ : up_slope_, b)[neuron], icpt = neurons(a > 0 ? low_icpt_ : up_icpt_, b)[neuron];
  const auto loss = [&](double z) {
    const double value = step.function != nullptr ? step.function->value(z) : unary_value(step, z);
    return std::max(0.0, a * (value - slope * z - icpt));
  };
  const double mean = (loss(l) + loss(l / 2 + u / 2) + loss(u)) / 3;
  return static_cast<float>(loss(std::clamp(z_[activation.operand][b * step.size + j], l, u)) + kMeanShare * mean + 1e-30);
}

// The product of the gains, since a split is only as good as its worse half: strong branching's product rule
// (Achterberg, Koch, Martin 2005).
double split_value(double parent, double at_most, double at_least) {
  constexpr double kLeastNeeded = 1e-3;  // relative to a row's scale: gains far below it are rounding
  const double needed = std::max(-parent, kLeastNeeded);
  const auto gain = [&](double child) { return std::clamp(child - parent, 0.0, needed) + 1e-3 * needed; };
  return gain(at_most) * gain(at_least);
}

// Let f be the form on the inputs. Neuron j's part of it has coefficient k = A_j * slope. On the side z >= 0 this
// coefficient may be any c <= A_j, on the side z <= 0 any c >= 0 (beta makes up the rest). Both sides maximise the same
// concave function of c, whose derivative is z_j at the minimiser. Neurons with A_j > 0 gain nothing: their lower line
// already ranges over both.
void AlphaBetaCrown::find_strong_split(std::size_t b, BoundResult& result) const {
  constexpr int kSearchSteps = 12;
  const NeuronBoxes& boxes = *rows_[b].task->boxes;
  const double* form = form_.data() + b * n_;
  const double parent = rows_[b].bound;
  double best = 1.01 * split_value(parent, parent, parent);  // a smaller value is no gain
  for (const NeuronGraph::InputRow& row : graph_.input_rows()) {
    if (!boxes.is_undecided(row.neuron)) continue;
    const double a = coefficient(b, row.neuron);
    if (!(a < 0)) continue;
    const double share = a * neurons(up_slope_, b)[row.neuron], loss = a * neurons(up_icpt_, b)[row.neuron];
    const unsigned* index = graph_.row_indices().data() + row.first;
    const double* values = graph_.row_values().data() + row.first;
    double derivative = 0;
    const auto bound_at = [&](double c) {
      const FormChange change =
          change_of_minimum(row.last - row.first, index, values, c - share, form, boxes.x_lo.data(), boxes.x_hi.data());
      derivative = change.row_value + row.offset;
      return parent - loss + change.change + (c - share) * row.offset;
    };
    StrongSplit found;
    found.neuron = row.neuron;
    // goes beyond the end of the interval [a, 0] only if the function still rises there
    const auto search = [&](double end, double direction, double& bound, float& beta) {
      bound = bound_at(end);
      double step = -a;
      for (int k = 0; k < kSearchSteps && derivative * direction > 0 && step > 1e-6 * -a; ++k, step *= 0.5) {
        const double before = derivative, trial = bound_at(end + direction * step);
        if (trial <= bound) {
          derivative = before;
          continue;
        }
        bound = trial;
        end += direction * step;
        beta = static_cast<float>(static_cast<double>(beta) + step);
        step *= 2;
      }
    };
    search(0, 1, found.at_most, found.beta_at_most);
    search(a, -1, found.at_least, found.beta_at_least);
    const double value = split_value(parent, found.at_most, found.at_least);
    if (!(value > best)) continue;
    best = value;
    result.strong_split = found;
  }
}

// For splits without a first-order gain. Inputs with coefficient 0 in the form are free. Over their corners, taken as
// equally likely, a neuron's influence is the sum of its covariances with the other neurons, each weighted by its
// coefficient and the probability that it is active. So neurons on which many unstable neurons depend are split early.
void AlphaBetaCrown::find_influence(std::size_t b, BoundResult& result) const {
  const NeuronBoxes& boxes = *rows_[b].task->boxes;
  const double* form = form_.data() + b * n_;
  double largest = 0;
  for (std::size_t i = 0; i < n_; ++i) largest = std::max(largest, std::fabs(form[i]) * (boxes.x_hi[i] - boxes.x_lo[i]));
  std::vector<double> variance(n_, 0), middle(n_);
  for (std::size_t i = 0; i < n_; ++i) {
    const double half = 0.5 * (boxes.x_hi[i] - boxes.x_lo[i]);
    const bool ignored = std::fabs(form[i]) * half <= 1e-6 * largest;
    variance[i] = ignored ? half * half : 0;
    middle[i] = ignored ? boxes.x_lo[i] + half : x_[b * n_ + i];
  }
  const std::vector<NeuronGraph::InputRow>& rows = graph_.input_rows();
  const std::uint32_t* index = graph_.row_indices().data();
  const double* values = graph_.row_values().data();
  std::vector<double> weight(rows.size(), 0), scaled(n_);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (!boxes.is_undecided(rows[k].neuron)) continue;
    double mean = rows[k].offset, square = 0;
    for (std::uint32_t e = rows[k].first; e < rows[k].last; ++e) {
      mean += values[e] * middle[index[e]];
      square += values[e] * values[e] * variance[index[e]];
    }
    if (square <= 0) continue;
    const double a = coefficient(b, rows[k].neuron);
    weight[k] = std::fabs(a) * 0.5 * std::erfc(-mean / std::sqrt(2 * square));
  }
  result.influence.assign(r_, 0.0F);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double a = coefficient(b, rows[k].neuron);
    if (weight[k] <= 0 || a >= 0) continue;
    std::fill(scaled.begin(), scaled.end(), 0.0);
    double square = 0, sum = 0;
    for (std::uint32_t e = rows[k].first; e < rows[k].last; ++e) {
      scaled[index[e]] = values[e] * variance[index[e]];
      square += values[e] * scaled[index[e]];
    }
    for (std::size_t other = 0; other < rows.size(); ++other) {
      if (other == k || weight[other] <= 0) continue;
      double covariance = 0;
      for (std::uint32_t e = rows[other].first; e < rows[other].last; ++e) covariance += values[e] * scaled[index[e]];
      sum += weight[other] * std::fabs(covariance);
    }
    result.influence[rows[k].neuron] = static_cast<float>(sum / std::sqrt(square));
  }
}

}  // namespace assay::search
