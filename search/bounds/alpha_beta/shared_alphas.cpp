// AlphaBetaCrown::share_alphas(): one set of slopes for the ranges of many elements. A minibatch is a sample of the
// ends of the ranges. All batch rows have the same lines, and their gradients are summed.
//
// Source: shared alphas of auto_LiRPA (Xu et al. 2021). How this version differs: a step looks at a sample of ends, as
// stochastic gradient descent does, since many small steps narrow the ranges more than few exact ones (record 0064).
//
// A step draws about 32 ends, sums their gradients by the alphas in use, and moves all of these by Adam. Ends are
// shuffled when all have been drawn.

#include <algorithm>
#include <functional>
#include <random>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/alpha_beta/batch_row.h"
#include "semantics/interrupt.h"

namespace assay::search {

void AlphaBetaCrown::run_up_to(NodeId node) {
  const std::vector<Step>& steps = network_.steps();
  last_step_ = static_cast<std::size_t>(&network_.step_of(node) - steps.data()) + 1;
  last_activation_ = 0;
  for (std::size_t k = 0; k < last_step_; ++k) {
    const std::vector<NeuronGraph::Activation>& activations = graph_.activations();
    if (last_activation_ < activations.size() && activations[last_activation_].step == &steps[k]) ++last_activation_;
  }
}

void AlphaBetaCrown::bound_ranges(NodeId node, std::span<const BoundTask> tasks, const AlphaBetaOptions& options,
                                  std::span<BoundResult> results) {
  const std::size_t steps = last_step_, activations = last_activation_;
  run_up_to(node);
  run(tasks, options, results);
  last_step_ = steps;
  last_activation_ = activations;
}

// Computes the lines of the first batch row and copies them to the others. Returns false if the limit was reached.
bool AlphaBetaCrown::choose_shared_lines() try {
  const std::function<bool()> question = limit_.question();
  const StopScope watch(question);
  if (!rows_[0].prepared) prepare_lines(0);
  choose_lines(0, true);
  for (auto* array : {&low_slope_, &low_icpt_, &up_slope_, &up_icpt_, &low_point_, &up_point_}) {
    for (std::size_t b = 1; b < capacity_ && !array->empty(); ++b) std::copy_n(neurons(*array, 0), r_, neurons(*array, b));
  }
  for (std::size_t b = 1; b < capacity_; ++b) rows_[b].softmax = rows_[0].softmax;
  return true;
} catch (const Stopped&) {
  return false;
}

void AlphaBetaCrown::add_slope_gradients(std::vector<double>& low, std::vector<double>& up) const {
  for (std::size_t k = 0; k < last_activation_; ++k) {
    const NeuronGraph::Activation& activation = graph_.activations()[k];
    const auto& [step, operand, first, factor] = activation;
    for (std::size_t b = 0; b < active_; ++b) {
      const double* a = a_[step->node].data() + b * step->size;
      const double* z = z_[operand].data() + b * step->size;
      const double* low_point = graph_.relu_only() ? nullptr : neurons(low_point_, b) + first;
      const double* up_point = graph_.relu_only() ? nullptr : neurons(up_point_, b) + first;
      const std::vector<double> of_mixes = activation.is_product() ? mix_gradients(b, activation) : std::vector<double>();
      for (std::size_t j = 0; j < of_mixes.size(); ++j) (a[j] > 0 ? low : up)[first + j] += of_mixes[j];
      for (std::size_t j = 0; activation.is_elementwise() && j < step->size; ++j) {
        if (a[j] > 0)
          low[first + j] += a[j] * (z[j] - (low_point != nullptr ? low_point[j] : 0));
        else if (step->op != Op::relu)
          up[first + j] += a[j] * (z[j] - up_point[j]);
      }
    }
  }
}

void AlphaBetaCrown::ascend_together(const std::vector<double>& low, const std::vector<double>& up, double rate) {
  for (std::size_t k = 0; k < last_activation_; ++k) {
    const NeuronGraph::Activation& activation = graph_.activations()[k];
    for (std::size_t j = 0; j < activation.neurons(); ++j) {
      const std::size_t neuron = activation.first_neuron + j;
      if (neurons(trainable_, 0)[neuron] == 0) continue;
      move_slope(0, k, j, true, low[neuron], rate);
      if (activation.step->op != Op::relu) move_slope(0, k, j, false, up[neuron], rate);
    }
  }
}

// Optimises one set of alphas over minibatches of ends, by Adam on the sum of their gradients.
std::optional<AlphaBeta> AlphaBetaCrown::share_alphas(NodeId node, std::span<const std::uint32_t> elements, const NeuronBoxes& boxes,
                                                      const AlphaBeta* start, const SharedAlphaOptions& options) {
  run_up_to(node);
  std::vector<BoundTask> tasks;
  for (const std::uint32_t element : elements) {
    for (const double sign : {1.0, -1.0}) tasks.push_back({.boxes = &boxes, .start = start, .target = {node, element, sign}});
  }
  std::mt19937 random(1);
  std::vector<double> low(r_), up(r_);
  std::size_t next = tasks.size();
  bool in_time = true;
  active_ = 1;
  for (Row& row : rows_) {  // a target has neither
    row.weights.clear();
    row.beta.clear();
  }
  rows_[0].task = tasks.data();
  load(0, tasks[0]);
  double rate = options.rate;
  for (int t = 0; t < options.iterations && in_time; ++t, rate *= options.decay) {
    in_time = choose_shared_lines();
    std::ranges::fill(low, 0.0);
    std::ranges::fill(up, 0.0);
    const std::size_t count = std::min(tasks.size(), options.ends);
    for (std::size_t done = 0; done < count && in_time; done += active_) {
      if (next >= tasks.size()) {
        std::ranges::shuffle(tasks, random);
        next = 0;
      }
      active_ = std::min({capacity_, count - done, tasks.size() - next});
      for (std::size_t b = 0; b < active_; ++b) rows_[b].task = &tasks[next + b];
      next += active_;
      seed();
      in_time = reverse();
      concretize();
      in_time = in_time && forward();
      add_slope_gradients(low, up);
    }
    if (in_time) ascend_together(low, up, rate);
  }
  last_step_ = network_.steps().size();
  last_activation_ = graph_.activations().size();
  if (!in_time) return std::nullopt;
  choose_lines(0, true);
  AlphaBeta parameters;
  parameters.lower_alpha.assign(neurons(low_slope_, 0), neurons(low_slope_, 0) + r_);
  if (!graph_.relu_only()) parameters.upper_alpha.assign(neurons(up_slope_, 0), neurons(up_slope_, 0) + r_);
  return parameters;
}

}  // namespace assay::search
