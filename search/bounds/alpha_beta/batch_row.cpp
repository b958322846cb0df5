// Rows of a batch: the start of a task, the lines of its alphas, and the best parameters found so far.
//
// A child of a split starts from the alphas and betas of its parent (Wang et al. 2021), and from the beta of the new
// literal that strong branching found. If a function is linear on one side of 0 and the split settled the side, its
// slopes start anew.
//
// How this version differs: raw alphas move freely; the slopes in use, and those kept as the best, are rounded to what
// a certificate holds in a byte.

#include "search/bounds/alpha_beta/batch_row.h"

#include <algorithm>
#include <limits>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/alpha_beta/alpha_beta_loops.h"

namespace assay::search {

// Sets a task's first parameters and the lines of its boxes. A child of a split starts from the parameters of
// its parent.
void AlphaBetaCrown::load(std::size_t b, const BoundTask& task) {
  Row& row = rows_[b];
  row.fresh = true;
  row.final = false;
  row.checkpoint = -std::numeric_limits<double>::infinity();
  row.best = -std::numeric_limits<double>::infinity();
  row.best_x.assign(n_, 0);
  row.beta.assign(task.literals.size(), {});
  row.weights.assign(task.rows != nullptr ? task.rows->size() : 0, {});
  const AlphaBeta* start = task.start;
  for (std::size_t k = 0; start != nullptr && k < std::min(row.beta.size(), start->beta.size()); ++k) {
    row.beta[k].value = row.beta[k].best = static_cast<double>(start->beta[k]);
  }
  if (start != nullptr && start->beta.size() + 1 == row.beta.size()) {
    row.beta.back().value = row.beta.back().best = static_cast<double>(task.last_beta);
  }
  for (std::size_t k = 0; k < row.weights.size(); ++k) {
    const bool known = start != nullptr && start->weights.size() == row.weights.size();
    const double scale = (*task.rows)[k].scale;  // NOLINT(clang-analyzer-core.CallAndMessage): without rows there are no weights
    row.weights[k].value = known ? static_cast<double>(start->weights[k]) : 1 / (scale * static_cast<double>(row.weights.size()));
    row.weights[k].best = row.weights[k].value;
  }
  const NeuronBoxes& boxes = *task.boxes;
  std::fill_n(neurons(moment_, b), r_, 0.0);
  std::fill_n(neurons(square_, b), r_, 0.0);
  std::fill_n(neurons(low_icpt_, b), r_, 0.0);
  relu_lines(r_, boxes.lo.data(), boxes.hi.data(), neurons(low_slope_, b), neurons(up_slope_, b), neurons(up_icpt_, b),
             neurons(trainable_, b));
  double* raw_alpha = neurons(raw_alpha_, b);
  if (start != nullptr && start->lower_alpha.size() == r_) {
    for (std::size_t j = 0; j < r_; ++j) raw_alpha[j] = static_cast<double>(start->lower_alpha[j]);
  } else {
    for (std::size_t j = 0; j < r_; ++j) raw_alpha[j] = boxes.hi[j] > -boxes.lo[j] ? 1 : 0;
  }
  std::copy_n(raw_alpha, r_, neurons(best_, b));
  if (graph_.relu_only()) return;
  std::fill_n(neurons(up_moment_, b), r_, 0.0);
  std::fill_n(neurons(up_square_, b), r_, 0.0);
  const bool known = start != nullptr && start->upper_alpha.size() == r_;
  for (const NeuronGraph::Activation& activation : graph_.activations()) {
    if (activation.step->op == Op::relu) continue;
    if (activation.is_softmax()) rows_[b].prepared = false;
    if (activation.is_product()) {
      constexpr double kMiddle = 0.5;
      for (std::size_t j = activation.first_neuron; j < activation.first_neuron + activation.step->size; ++j) {
        neurons(trainable_, b)[j] = 1;
        if (!known) raw_alpha[j] = kMiddle;
        neurons(up_raw_alpha_, b)[j] = known ? static_cast<double>(start->upper_alpha[j]) : kMiddle;
      }
      continue;
    }
    for (std::size_t j = activation.first_neuron; j < activation.first_neuron + activation.neurons(); ++j) {
      const double l = boxes.lo[j], u = boxes.hi[j];
      neurons(trainable_, b)[j] = l < u ? 1 : 0;
      if (activation.step->function != nullptr) {
        if (known) neurons(up_raw_alpha_, b)[j] = static_cast<double>(start->upper_alpha[j]);
        rows_[b].prepared = false;
        continue;
      }
      // A child of a split at 0 has its parent's slopes, which serve both sides; on its own side the function
      // is linear.
      const bool other = known && !(l < 0 && u > 0) && (activation.step->op == Op::leaky_relu || activation.step->op == Op::abs);
      if (!known || other) raw_alpha[j] = first_slope_below(*activation.step, l, u);
      neurons(up_raw_alpha_, b)[j] =
          known && !other ? static_cast<double>(start->upper_alpha[j]) : first_slope_above(*activation.step, l, u);
    }
  }
  std::copy_n(raw_alpha, r_, neurons(best_, b));
  std::copy_n(neurons(up_raw_alpha_, b), r_, neurons(up_best_, b));
}

// Turns raw alphas into slopes: clamped to their range, and rounded to what a certificate holds in a byte.
void AlphaBetaCrown::choose_lines(std::size_t b, bool quantize) {
  for (std::size_t k = 0; k < last_activation_; ++k) {
    const NeuronGraph::Activation& activation = graph_.activations()[k];
    const std::size_t at = activation.first_neuron;
    if (activation.step->op == Op::relu) {
      round_slopes(activation.step->size, quantize, neurons(raw_alpha_, b) + at, neurons(trainable_, b) + at, neurons(low_slope_, b) + at);
    } else if (activation.is_product()) {
      // mixes take the place of slopes
      round_slopes(activation.step->size, quantize, neurons(raw_alpha_, b) + at, neurons(trainable_, b) + at, neurons(low_slope_, b) + at);
      round_slopes(activation.step->size, quantize, neurons(up_raw_alpha_, b) + at, neurons(trainable_, b) + at,
                   neurons(up_slope_, b) + at);
    } else if (activation.is_elementwise()) {
      choose_curved_lines(b, k);
    }
  }
}

// Keeps the parameters if the bound has risen.
void AlphaBetaCrown::save_best(std::size_t b) {
  Row& row = rows_[b];
  if (!(row.bound > row.best + kLeastRise) && std::isfinite(row.best)) return;
  row.best = row.bound;
  std::copy_n(neurons(low_slope_, b), r_, neurons(best_, b));
  if (!graph_.relu_only()) std::copy_n(neurons(up_slope_, b), r_, neurons(up_best_, b));
  for (Multiplier& m : row.beta) m.best = m.value;
  for (Multiplier& m : row.weights) m.best = m.value;
  std::copy_n(x_.data() + b * n_, n_, row.best_x.data());
}

// Prepares one more pass, in which scores and forms belong to the best bound.
void AlphaBetaCrown::restore_best(std::size_t b) {
  Row& row = rows_[b];
  std::copy_n(neurons(best_, b), r_, neurons(raw_alpha_, b));
  if (!graph_.relu_only()) std::copy_n(neurons(up_best_, b), r_, neurons(up_raw_alpha_, b));
  for (Multiplier& m : row.beta) m.value = m.best;
  for (Multiplier& m : row.weights) m.value = m.best;
  row.final = true;
}

// Fills the gap in a batch that a closed task leaves.
void AlphaBetaCrown::move_row(std::size_t from, std::size_t to) {
  if (from == to) return;
  for (auto* array : {&low_slope_, &low_icpt_, &up_slope_, &up_icpt_, &trainable_, &raw_alpha_, &moment_, &square_, &best_, &low_point_,
                      &up_point_, &up_raw_alpha_, &up_moment_, &up_square_, &up_best_}) {
    if (!array->empty()) std::copy_n(neurons(*array, from), r_, neurons(*array, to));
  }
  std::swap(rows_[from], rows_[to]);
}

}  // namespace assay::search
