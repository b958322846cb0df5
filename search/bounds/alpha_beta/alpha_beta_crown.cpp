// AlphaBetaCrown: the bounds of a batch of rows, their gradients, and steps along these.
//
// An iteration has three parts. choose_lines() sets the lines of all neurons by the raw alphas. reverse() walks the
// rows' coefficients back to the inputs, and adds betas at the operands of literals. forward() runs the minimiser
// through the same lines. ascend() then moves alphas and betas by Adam (Kingma and Ba 2015) and weights by
// multiplicative steps, at a rate that decays. The best parameters so far are kept, since a single step may lower the
// bound. Closed tasks leave the batch.
//
// Sources: CROWN (Zhang et al. 2018) for the walk back, alpha-CROWN (Xu et al. 2021) for optimised slopes, beta-CROWN
// (Wang et al. 2021) for multipliers of splits. How this version differs:
// - there is no automatic differentiation: the relaxed forward run gives all gradients at once;
// - the rows of a case have weights on a simplex, so that several rows refute a case together;
// - slopes are rounded to k / 128 in every iteration, so that the bound is that of the certificate.
//
// A task is given up if many further periods like the last would not close it.

#include "search/bounds/alpha_beta/alpha_beta_crown.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernel/inspect/inspect.h"
#include "search/bounds/alpha_beta/alpha_beta_loops.h"
#include "search/bounds/alpha_beta/batch_row.h"
#include "search/relax/lines.h"
#include "semantics/interrupt.h"

namespace assay::search {
namespace {

// Least weight of a case's row relative to the others, so that no row is lost.
constexpr double kLeastWeight = 1e-4;
constexpr std::size_t kBufferDoubles = 120'000;  // state per row of a batch, about 1 MB, which fits into the cache
constexpr std::size_t kMaxCapacity = 64, kMinCapacity = 4;

}  // namespace

AlphaBetaCrown::~AlphaBetaCrown() = default;

AlphaBetaCrown::AlphaBetaCrown(const NeuronGraph& graph, Limit limit)
    : graph_(graph),
      network_(graph.network()),
      limit_(std::move(limit)),
      last_step_(network_.steps().size()),
      last_activation_(graph.activations().size()) {
  r_ = graph.neuron_count();
  n_ = network_.input_size();
  const std::size_t arrays = graph.relu_only() ? 10 : 16;
  capacity_ = std::clamp(kBufferDoubles / std::max<std::size_t>(1, arrays * r_ + 4 * n_), kMinCapacity, kMaxCapacity);
  for (auto* array : {&low_slope_, &low_icpt_, &up_slope_, &up_icpt_, &trainable_, &raw_alpha_, &moment_, &square_, &best_}) {
    array->assign(capacity_ * r_, 0);
  }
  if (!graph.relu_only()) {
    for (auto* array : {&low_point_, &up_point_, &up_raw_alpha_, &up_moment_, &up_square_, &up_best_}) array->assign(capacity_ * r_, 0);
  }
  x_.assign(capacity_ * n_, 0);
  form_.assign(capacity_ * n_, 0);
  constant_.assign(capacity_, 0);
  rows_.resize(capacity_);
  a_.resize(network_.problem()->graph().nodes.size());
  z_.resize(a_.size());
  for (const Step& step : network_.steps()) {
    a_[step.node].assign(capacity_ * step.size, 0);
    z_[step.node].assign(capacity_ * step.size, 0);
  }
}

// Runs the tasks in batches that fit into the buffers.
void AlphaBetaCrown::run(std::span<const BoundTask> tasks, const AlphaBetaOptions& options, std::span<BoundResult> results) {
  for (std::size_t first = 0; first < tasks.size(); first += capacity_) {
    const std::size_t count = std::min(capacity_, tasks.size() - first);
    run_batch(tasks.subspan(first, count), options, results.subspan(first, count));
  }
}

// Sets the start of the walk: the rows of the case and the literals.
void AlphaBetaCrown::seed() {
  const Graph& graph = network_.problem()->graph();
  for (const Step& step : network_.steps()) std::fill_n(a_[step.node].data(), active_ * step.size, 0.0);
  std::fill_n(form_.data(), active_ * n_, 0.0);
  for (std::size_t b = 0; b < active_; ++b) {
    Row& row = rows_[b];
    constant_[b] = 0;
    if (const NeuronEnd& target = row.task->target; row.task->rows == nullptr) {
      a_[target.node][b * graph.size(target.node) + target.element] += target.sign;
    }
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      const RowView& view = (*row.task->rows)[k];
      const double weight = static_cast<double>(static_cast<float>(row.weights[k].value));
      constant_[b] -= weight * view.bound;
      for (const auto& [element, coefficient] : view.inputs) form_[b * n_ + element] += weight * coefficient;
      for (const auto& [element, coefficient] : view.outputs) {
        std::size_t rest = element, k_out = 0;
        while (rest >= graph.size(graph.outputs[k_out])) rest -= graph.size(graph.outputs[k_out++]);
        const NodeId id = graph.outputs[k_out];
        a_[id][b * graph.size(id) + rest] += weight * coefficient;
      }
    }
    for (std::size_t k = 0; k < row.beta.size(); ++k) {
      const logic::Literal& literal = row.task->literals[k];
      const double beta = static_cast<double>(static_cast<float>(row.beta[k].value)) * (literal.at_least ? 1 : -1);
      if (beta == 0) continue;
      constant_[b] += beta * literal.threshold;
      a_[literal.node][b * graph.size(literal.node) + literal.element] -= beta;
    }
  }
}

// Back-substitution, as the kernel does it: turns the coefficients of every node's result into coefficients of its
// operands, with lines at non-linear nodes.
bool AlphaBetaCrown::reverse() {
  const std::vector<Step>& steps = network_.steps();
  std::size_t activation = last_activation_;
  for (std::size_t k = last_step_; k-- > 0;) {
    if (limit_.reached()) return false;
    const Step& step = steps[k];
    const double* a = a_[step.node].data();
    switch (step.kind) {
      case Step::Kind::input: {
        const std::size_t offset = network_.input_offset(step.node);
        for (std::size_t b = 0; b < active_; ++b) {
          for (std::size_t i = 0; i < step.size; ++i) form_[b * n_ + offset + i] += a[b * step.size + i];
        }
        break;
      }
      case Step::Kind::constant:
        for (std::size_t b = 0; b < active_; ++b) {
          const std::vector<double>& value = network_.constant(step.node);
          for (std::size_t i = 0; i < step.size; ++i) {
            if (a[b * step.size + i] != 0) constant_[b] += a[b * step.size + i] * value[i];
          }
        }
        break;
      case Step::Kind::affine:
        for (std::size_t b = 0; b < active_; ++b) {
          double sum = 0;
          for (std::size_t i = 0; i < step.size; ++i) sum += a[b * step.size + i] * step.bias[i];
          constant_[b] += sum;
        }
        for (const Step::Part& part : step.parts) part.map->transpose_roughly(active_, a, a_[part.operand].data());
        break;
      default: {
        const NeuronGraph::Activation& here = graph_.activations()[--activation];
        for (std::size_t b = 0; b < active_; ++b) {
          if (here.is_product()) {
            back_through_products(b, here);
            continue;
          }
          if (here.is_softmax()) {
            for (const SoftmaxPlanes& row : rows_[b].softmax[activation]->planes)
              constant_[b] += row.back(a + b * step.size, a_[here.operand].data() + b * step.size);
            continue;
          }
          const std::size_t at = b * r_ + here.first_neuron;
          const LineArrays lines{low_slope_.data() + at, low_icpt_.data() + at, up_slope_.data() + at, up_icpt_.data() + at};
          constant_[b] += back_through_lines(step.size, lines, a + b * step.size, a_[here.operand].data() + b * step.size);
        }
        break;
      }
    }
  }
  return true;
}

// The least value of each form over the box, and the point x* at which it is attained.
void AlphaBetaCrown::concretize() {
  for (std::size_t b = 0; b < active_; ++b) {
    const NeuronBoxes& boxes = *rows_[b].task->boxes;
    double sum = constant_[b];
    for (std::size_t i = 0; i < n_; ++i) {
      const double c = form_[b * n_ + i], lo = boxes.x_lo[i], hi = boxes.x_hi[i];
      const double at = c > 0 ? lo : c < 0 ? hi : 0.5 * (lo + hi);
      x_[b * n_ + i] = at;
      sum += c * at;
    }
    if (boxes.ball != nullptr) sum += ball_gain(b);
    rows_[b].bound = sum;
  }
}

// How much the ball raises the least value over the box; moves x* to the new minimiser.
double AlphaBetaCrown::ball_gain(std::size_t b) {
  const NeuronBoxes& boxes = *rows_[b].task->boxes;
  const std::size_t first = b * n_ + network_.input_offset(boxes.ball->node), size = boxes.ball->q.size();
  const std::span<const double> form(form_.data() + first, size);
  const std::span<double> x(x_.data() + first, size);
  const std::size_t at = first - b * n_;
  const auto least =
      inspect::least_point(*boxes.ball, form, std::span(boxes.x_lo).subspan(at, size), std::span(boxes.x_hi).subspan(at, size));
  if (!least) return 0;
  double before = 0;
  for (std::size_t i = 0; i < size; ++i) before += form[i] * x[i];
  std::ranges::copy(least->x, x.begin());
  return least->value - before;
}

// Runs x* through the lines that reverse() took. This gives the value of each relaxed neuron at the minimiser, from
// which all gradients follow.
bool AlphaBetaCrown::forward() {
  std::size_t activation = 0;
  for (const Step& step : std::span(network_.steps()).first(last_step_)) {
    if (limit_.reached()) return false;
    double* z = z_[step.node].data();
    switch (step.kind) {
      case Step::Kind::input: {
        const std::size_t offset = network_.input_offset(step.node);
        for (std::size_t b = 0; b < active_; ++b) std::copy_n(x_.data() + b * n_ + offset, step.size, z + b * step.size);
        break;
      }
      case Step::Kind::constant:
        for (std::size_t b = 0; b < active_ && !network_.constant(step.node).empty(); ++b) {
          std::copy_n(network_.constant(step.node).data(), step.size, z + b * step.size);
        }
        break;
      case Step::Kind::affine:
        for (std::size_t b = 0; b < active_; ++b) std::copy_n(step.bias.data(), step.size, z + b * step.size);
        for (const Step::Part& part : step.parts) part.map->apply_roughly(active_, z_[part.operand].data(), z);
        break;
      default: {
        const std::size_t which = activation++;
        const NeuronGraph::Activation& here = graph_.activations()[which];
        for (std::size_t b = 0; b < active_; ++b) {
          if (here.is_product()) {
            forward_through_products(b, here);
            continue;
          }
          if (here.is_softmax()) {
            for (const SoftmaxPlanes& row : rows_[b].softmax[which]->planes)
              row.forward(a_[step.node].data() + b * step.size, z_[here.operand].data() + b * step.size, z + b * step.size);
            continue;
          }
          const std::size_t at = b * r_ + here.first_neuron;
          const LineArrays lines{low_slope_.data() + at, low_icpt_.data() + at, up_slope_.data() + at, up_icpt_.data() + at};
          forward_through_lines(step.size, lines, a_[step.node].data() + b * step.size, z_[here.operand].data() + b * step.size,
                                z + b * step.size);
        }
        break;
      }
    }
  }
  return true;
}

// One step along a gradient, within the range of slopes worth trying.
void AlphaBetaCrown::move_slope(std::size_t b, std::size_t activation, std::size_t j, bool low, double gradient, double rate) {
  const Step& step = *graph_.activations()[activation].step;
  const FunctionLines* lines = step.function != nullptr ? &rows_[b].lines[activation] : nullptr;
  const bool is_mix = graph_.activations()[activation].is_product();
  const SlopeRange range = is_mix             ? SlopeRange{0, 1}
                           : lines != nullptr ? SlopeRange{lines->least_slope(j), lines->most_slope(j)}
                                              : slope_range(step);
  const std::size_t neuron = graph_.activations()[activation].first_neuron + j;
  double& slope = neurons(low ? raw_alpha_ : up_raw_alpha_, b)[neuron];
  double& moment = neurons(low ? moment_ : up_moment_, b)[neuron];
  double& square = neurons(low ? square_ : up_square_, b)[neuron];
  Multiplier m{slope - range.least, moment, square, (is_mix ? 1 : 0.25) * (range.most - range.least), 0};
  adam(m, gradient, rate);
  slope = range.least + std::min(m.value, range.most - range.least);
  moment = m.moment;
  square = m.square;
}

// Moves alphas by the touching points of lines, betas by how far the literals are violated, and weights by which rows
// are worst at x*.
void AlphaBetaCrown::ascend(std::size_t b, const AlphaBetaOptions& options, double rate) {
  Row& row = rows_[b];
  const Graph& graph = network_.problem()->graph();
  for (std::size_t k = 0; k < graph_.activations().size(); ++k) {
    const NeuronGraph::Activation& activation = graph_.activations()[k];
    const std::size_t size = activation.step->size, at = activation.first_neuron;
    const double* a = a_[activation.step->node].data() + b * size;
    const double* z = z_[activation.operand].data() + b * size;
    if (activation.step->op == Op::relu) {
      ascend_slopes(size, {rate * options.slope_rate, kFirstMoment, kSecondMoment}, neurons(trainable_, b) + at, a, z,
                    neurons(raw_alpha_, b) + at, neurons(moment_, b) + at, neurons(square_, b) + at);
      continue;
    }
    const std::vector<double> gradients = activation.is_product() ? mix_gradients(b, activation) : std::vector<double>();
    for (std::size_t j = 0; j < activation.neurons(); ++j) {
      if (neurons(trainable_, b)[at + j] == 0) continue;
      const bool low = a[j] > 0;
      const double gradient =
          activation.is_product() ? gradients[j] : a[j] * (z[j] - (low ? neurons(low_point_, b) : neurons(up_point_, b))[at + j]);
      move_slope(b, k, j, low, gradient, rate * options.slope_rate);
    }
  }
  for (std::size_t k = 0; k < row.beta.size(); ++k) {
    const logic::Literal& literal = row.task->literals[k];
    const std::size_t at = b * graph.size(literal.node) + literal.element;
    if (row.fresh) {
      // the natural unit: the coefficient of the literal's element
      double scale = std::fabs(a_[literal.node][at]);
      for (const std::uint32_t neuron : graph_.neurons_of(literal.node, literal.element))
        scale = std::max(scale, std::fabs(coefficient(b, neuron)));
      row.beta[k].scale = scale;
    }
    adam(row.beta[k], -(literal.at_least ? 1.0 : -1.0) * (z_[literal.node][at] - literal.threshold), rate * options.beta_rate);
  }
  row.fresh = false;
  if (row.weights.size() < 2) return;
  // multiplicative steps on the simplex of scaled weights
  std::vector<double> y(network_.output_size());
  std::size_t offset = 0;
  for (const NodeId id : graph.outputs) {
    std::copy_n(z_[id].data() + b * graph.size(id), graph.size(id), y.data() + offset);
    offset += graph.size(id);
  }
  double total = 0;
  for (std::size_t k = 0; k < row.weights.size(); ++k) {
    const RowView& view = (*row.task->rows)[k];
    Multiplier& weight = row.weights[k];
    const double gradient = -slack(view, y.data(), x_.data() + b * n_) / view.scale;
    weight.moment = kFirstMoment * weight.moment + (1 - kFirstMoment) * gradient;
    weight.square = kSecondMoment * weight.square + (1 - kSecondMoment) * gradient * gradient;
    const double move = weight.moment / (std::sqrt(weight.square) + kLeastGradient);
    weight.value = std::max(weight.value, kLeastWeight / view.scale) * std::exp(rate * options.weight_rate * move);
    total += weight.value * view.scale;
  }
  for (Multiplier& weight : row.weights) weight.value /= total;
}

// Stores a task's result: the best parameters and, if asked for, what they say about splits.
void AlphaBetaCrown::finish(std::size_t b) {
  Row& row = rows_[b];
  AlphaBeta& parameters = row.result->parameters;
  row.result->bound = row.best;
  parameters.lower_alpha.assign(neurons(best_, b), neurons(best_, b) + r_);
  if (!graph_.relu_only()) parameters.upper_alpha.assign(neurons(up_best_, b), neurons(up_best_, b) + r_);
  parameters.beta.clear();
  for (const Multiplier& m : row.beta) parameters.beta.push_back(static_cast<float>(m.best));
  parameters.weights.clear();
  for (const Multiplier& m : row.weights) parameters.weights.push_back(static_cast<float>(m.best));
  row.result->x = row.best_x;
}

// The bounds of the rows for the current parameters, and their gradients if asked for.
bool AlphaBetaCrown::iterate(bool quantize, bool with_forward) try {
  const std::function<bool()> question = limit_.question();
  const StopScope watch(question);
  for (std::size_t b = 0; b < active_; ++b) {
    if (limit_.reached()) return false;
    if (!rows_[b].prepared) prepare_lines(b);
    choose_lines(b, quantize);
  }
  seed();
  if (!reverse()) return false;
  concretize();
  for (std::size_t b = 0; b < active_; ++b) save_best(b);
  return !with_forward || forward();
} catch (const Stopped&) {
  return false;
}

// The iterations of a batch. Closed tasks leave the batch; the open tasks continue.
void AlphaBetaCrown::run_batch(std::span<const BoundTask> tasks, const AlphaBetaOptions& options, std::span<BoundResult> results) {
  constexpr int kCheckEvery = 6;    // iterations between two looks at the progress
  constexpr double kHopeless = 12;  // a task is given up if this many further periods like the last would not close it
  active_ = tasks.size();
  for (std::size_t b = 0; b < active_; ++b) {
    rows_[b].task = &tasks[b];
    rows_[b].result = &results[b];
    load(b, tasks[b]);
  }
  double rate = 1;
  for (int t = 1; active_ > 0; ++t, rate *= options.decay) {
    if (!iterate(options.quantize, options.iterations > 1 || options.scores)) {
      for (std::size_t b = 0; b < active_; ++b) rows_[b].result->bound = -std::numeric_limits<double>::infinity();
      return;
    }
    for (std::size_t b = active_; b-- > 0;) {
      Row& row = rows_[b];
      bool last = t >= options.iterations;
      if (t % kCheckEvery == 0) {
        last = last || options.target - row.best > kHopeless * (row.best - row.checkpoint);
        row.checkpoint = row.best;
      }
      if (row.best > options.target || row.final || (last && !options.scores)) {
        if (row.final && !limit_.reached()) {
          score(b, *row.result);
          if (options.coefficients) show_form(b, *row.result);
          if (options.strong_splits && row.task->boxes->ball == nullptr) find_strong_split(b, *row.result);
          if (row.result->strong_split.neuron == StrongSplit::kNone && !graph_.input_rows().empty()) find_influence(b, *row.result);
        }
        finish(b);
        move_row(--active_, b);  // the row that moves was already treated in this iteration
      } else if (last) {
        restore_best(b);  // the next iteration scores the best parameters
      } else {
        ascend(b, options, rate);
      }
    }
  }
}

}  // namespace assay::search
