// BatchBounds: a sweep of ranges, then ascent, with all lanes in step.
//
// load() finds the ranges of all operands from the inputs upward, as a sweep of the kernel does. bound() starts from a
// case's rows, walks back through products and lines, and moves mixes and weights along the gradient (Adam, Kingma and
// Ba 2015). A small table keeps the lines of curves on recently used boxes, since halves of a box share most operands.
//
// Sources: alpha-CROWN (Xu et al. 2021) for the ascent, McCormick 1976 for the planes of products. How this version
// differs: only mixes and weights are optimised, since lines of curves are those that the kernel takes if a certificate
// names none. A mix that the coefficient of its product does not use is set back to the middle, which a certificate
// leaves out. to_multipliers() and to_hints() hand the best parameters to the kernel.

#include "search/bounds/batch_boxes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "search/relax/elementwise.h"
#include "search/relax/function_lines.h"
#include "semantics/demand.h"

namespace assay::search {
namespace {

constexpr double kMiddle = 0.5;
constexpr double kRate = 0.2, kDecay = 0.93;
constexpr double kClosed = 1e-9;          // relative to a row's scale: above it, no more steps are needed
constexpr std::size_t kCurvesKept = 256;  // for each neuron; boxes are halved at few places

}  // namespace

BatchBounds::BatchBounds(const ScalarGraph& graph) : graph_(graph) {
  const std::size_t atoms = graph.atoms() * kLanes, mixes = 2 * graph.products() * kLanes;
  for (std::vector<double>* array : {&z_lo_, &z_hi_, &c_, &z_}) array->resize(atoms);
  for (std::vector<double>* array : {&mixes_, &raw_alpha_, &first_, &second_, &gradient_}) array->resize(mixes);
  for (std::vector<double>* array : {&lo_, &hi_}) array->resize(graph.operands().size() * kLanes);
  lines_.resize(4 * graph.neurons().size() * kLanes);
  value_.resize(kLanes);
  curves_.resize(graph.neurons().size());
  for (std::size_t k = 0; k < graph.neurons().size(); ++k) {
    const ScalarGraph::Neuron& neuron = graph.neurons()[k];
    const ScalarForm &p = graph.operands()[neuron.p], &q = graph.operands()[neuron.q];
    BatchNeuron& lane = neurons_.emplace_back(
        BatchNeuron{graph.entries(p), graph.entries(q), p.constant, q.constant, neuron.product != ScalarGraph::kNone});
    lane.low_slope = lanes(lines_, 4 * k), lane.low_icpt = lanes(lines_, 4 * k + 1);
    lane.up_slope = lanes(lines_, 4 * k + 2), lane.up_icpt = lanes(lines_, 4 * k + 3);
    lane.p_lo = lanes(lo_, neuron.p), lane.p_hi = lanes(hi_, neuron.p);
    lane.q_lo = lanes(lo_, neuron.q), lane.q_hi = lanes(hi_, neuron.q);
    if (!lane.is_product) continue;
    lane.mix_low = lanes(mixes_, neuron.product);
    lane.mix_up = lanes(mixes_, graph.products() + neuron.product);
  }
}

// Finds the ranges of all operands in order: both ends of each, by walking its form back to the inputs.
void BatchBounds::load(std::span<const InputBox> boxes) {
  demand(!boxes.empty() && boxes.size() <= kLanes, "BatchBounds: a box for some lane, and a lane for each box");
  count_ = boxes.size();
  for (std::size_t i = 0; i < graph_.inputs(); ++i) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const InputBox& box = boxes[l < count_ ? l : 0];
      lanes(z_lo_, i)[l] = box.lo[i];
      lanes(z_hi_, i)[l] = box.hi[i];
    }
  }
  std::ranges::fill(mixes_, kMiddle);
  std::size_t known = 0;
  for (std::size_t k = 0; k < graph_.neurons().size(); ++k) {
    while (known <= std::max(graph_.neurons()[k].p, graph_.neurons()[k].q)) find_range(known++);
    choose_lines(k);
  }
}

// The range of an operand: from the ranges of its atoms, narrowed by back-substitution of the form with either sign.
void BatchBounds::find_range(std::size_t operand) {
  const ScalarForm& form = graph_.operands()[operand];
  double *lo = lanes(lo_, operand), *hi = lanes(hi_, operand);
  lane_range(graph_.entries(form), form.constant, z_lo_.data(), z_hi_.data(), lo, hi);
  for (const double sign : {1.0, -1.0}) {
    if (form.end_neuron == 0) break;
    start(form, sign);
    walk_back(form.end_neuron);
    lane_minimum(graph_.inputs(), c_.data(), z_lo_.data(), z_hi_.data(), value_.data(), z_.data());
    for (std::size_t l = 0; l < kLanes; ++l) {
      if (sign > 0)
        lo[l] = std::max(lo[l], value_[l]);
      else
        hi[l] = std::max(lo[l], std::min(hi[l], -value_[l]));
    }
  }
}

void BatchBounds::start(const ScalarForm& form, double sign) {
  std::ranges::fill(c_, 0.0);
  std::ranges::fill(value_, sign * form.constant);
  for (const ScalarEntry& entry : graph_.entries(form)) std::fill_n(lanes(c_, entry.atom), kLanes, sign * entry.value);
}

void BatchBounds::walk_back(std::size_t end_neuron) {
  for (std::size_t k = end_neuron; k-- > 0;) {
    const double* c = lanes(c_, graph_.inputs() + k);
    if (std::any_of(c, c + kLanes, [](double one) { return one != 0; })) lane_back(neurons_[k], c, c_.data(), value_.data());
  }
}

// The lines and values of a function on an operand's box; recently used ones are kept.
const BatchBounds::Curve& BatchBounds::curve(std::size_t neuron, double lo, double hi) {
  std::vector<Curve>& kept = curves_[neuron];
  kept.resize(kCurvesKept);
  const std::uint64_t hash = (std::bit_cast<std::uint64_t>(lo) * 3 + std::bit_cast<std::uint64_t>(hi)) * 0x9e3779b97f4a7c15U;
  Curve& curve = kept[hash >> 56U];
  if (curve.lo == lo && curve.hi == hi) return curve;
  curve.lo = lo, curve.hi = hi;
  const Step& step = *graph_.neurons()[neuron].step;
  if (step.function != nullptr) {
    FunctionLines lines;
    lines.prepare(*step.function, 1, &lo, &hi);
    const std::vector<Piece> pieces = step.function->pieces(lo, hi);
    // the slopes that the policy chooses, because a sweep takes no hints
    const bool by_chord = lo < hi && (pieces.size() > 2 || (!pieces.empty() && pieces.front().curve == assay::Curve::by_derivative));
    const double chord = by_chord ? (step.function->value(hi) - step.function->value(lo)) / (hi - lo) : 0;
    curve.below = lines.below(0, by_chord ? chord : lines.first_slope_below(0));
    curve.above = lines.above(0, by_chord ? chord : lines.first_slope_above(0));
    const Interval values = step.function->on(Dual<Interval>(Interval(lo, hi))).value();
    curve.least = values.lo(), curve.most = values.hi();
    return curve;
  }
  curve.below = line_below(step, first_slope_below(step, lo, hi), lo, hi);
  curve.above = line_above(step, first_slope_above(step, lo, hi), lo, hi);
  const double at_lo = unary_value(step, lo), at_hi = unary_value(step, hi), inside = unary_value(step, std::clamp(0.0, lo, hi));
  curve.least = std::min({at_lo, at_hi, inside}), curve.most = std::max({at_lo, at_hi, inside});
  return curve;
}

void BatchBounds::choose_lines(std::size_t neuron) {
  const ScalarGraph::Neuron& one = graph_.neurons()[neuron];
  double *least = lanes(z_lo_, graph_.inputs() + neuron), *most = lanes(z_hi_, graph_.inputs() + neuron);
  const double *p_lo = lanes(lo_, one.p), *p_hi = lanes(hi_, one.p), *q_lo = lanes(lo_, one.q), *q_hi = lanes(hi_, one.q);
  double *low_slope = lanes(lines_, 4 * neuron), *low_icpt = low_slope + kLanes, *up_slope = low_icpt + kLanes,
         *up_icpt = up_slope + kLanes;
  for (std::size_t l = 0; l < kLanes; ++l) {
    if (neurons_[neuron].is_product) {
      const auto [low, high] = std::minmax({p_lo[l] * q_lo[l], p_lo[l] * q_hi[l], p_hi[l] * q_lo[l], p_hi[l] * q_hi[l]});
      least[l] = low, most[l] = high;
    } else if (one.step->op == Op::relu) {
      const double lo = p_lo[l], hi = p_hi[l];
      const bool open = lo < 0 && hi > 0;
      low_slope[l] = open ? (hi > -lo ? 1 : 0) : lo >= 0 ? 1 : 0;
      up_slope[l] = open ? hi / (hi - lo) : low_slope[l];
      low_icpt[l] = 0;
      up_icpt[l] = open ? -lo * up_slope[l] : 0;
      least[l] = std::max(lo, 0.0), most[l] = std::max(hi, 0.0);
    } else {
      const Curve& known = curve(neuron, p_lo[l], p_hi[l]);
      low_slope[l] = known.below.slope, low_icpt[l] = known.below.intercept;
      up_slope[l] = known.above.slope, up_icpt[l] = known.above.intercept;
      least[l] = known.least, most[l] = known.most;
    }
  }
}

// Ascent from each lane's start. Closed lanes continue with the others, since all lanes take the same steps.
void BatchBounds::bound(std::uint32_t one, std::span<const BoxParameters* const> starts, int iterations, std::size_t first,
                        std::span<BoxBound> results) {
  demand(first + results.size() <= count_ && starts.size() == results.size(), "BatchBounds: results of boxes that are loaded");
  const std::vector<ScalarForm>& rows = graph_.rows(one);
  const std::size_t mixes = 2 * graph_.products();
  for (std::vector<double>* array : {&weights_, &weight_first_, &weight_second_, &weight_gradient_})
    array->assign(rows.size() * kLanes, 0.0);
  for (std::vector<double>* array : {&first_, &second_}) std::ranges::fill(*array, 0.0);
  for (std::size_t l = 0; l < kLanes; ++l) {
    const BoxParameters* known = starts[first <= l && l < first + results.size() ? l - first : 0];
    for (std::size_t i = 0; i < mixes; ++i) lanes(raw_alpha_, i)[l] = known != nullptr ? known->mixes[i] : kMiddle;
    for (std::size_t r = 0; r < rows.size(); ++r)
      lanes(weights_, r)[l] = known != nullptr ? known->weights[r] : 1 / static_cast<double>(rows.size());
  }
  for (BoxBound& result : results) {
    result.bound = -INFINITY;
    result.parameters.mixes.assign(mixes, static_cast<float>(kMiddle));
    result.parameters.weights.assign(rows.size(), static_cast<float>(1 / static_cast<double>(rows.size())));
    result.x.resize(graph_.inputs());
  }
  double rate = kRate;
  for (int iteration = 0;; ++iteration, rate *= kDecay) {
    lane_round(mixes, raw_alpha_.data(), mixes_.data());
    start_case(rows);
    keep_better(first, results, rows.size());
    if (iteration >= iterations || std::ranges::all_of(results, [](const BoxBound& b) { return b.bound > kClosed; })) return;
    ascend(rows, rate);
  }
}

void BatchBounds::start_case(const std::vector<ScalarForm>& rows) {
  std::ranges::fill(c_, 0.0);
  std::ranges::fill(value_, 0.0);
  std::size_t end_neuron = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double* weight = lanes(weights_, r);
    end_neuron = std::max<std::size_t>(end_neuron, rows[r].end_neuron);
    for (std::size_t l = 0; l < kLanes; ++l) value_[l] += weight[l] * rows[r].constant;
    for (const ScalarEntry& entry : graph_.entries(rows[r])) {
      double* c = lanes(c_, entry.atom);
      for (std::size_t l = 0; l < kLanes; ++l) c[l] += weight[l] * entry.value;
    }
  }
  walk_back(end_neuron);
  lane_minimum(graph_.inputs(), c_.data(), z_lo_.data(), z_hi_.data(), value_.data(), z_.data());
}

// A mix that the coefficient of its product does not use is kept as the middle one, which a certificate leaves out.
void BatchBounds::keep_better(std::size_t first, std::span<BoxBound> results, std::size_t rows) {
  const std::size_t products = graph_.products();
  for (std::size_t l = first; l < first + results.size(); ++l) {
    BoxBound& result = results[l - first];
    if (!(value_[l] > result.bound)) continue;
    result.bound = value_[l];
    for (std::size_t k = 0; k < neurons_.size(); ++k) {
      const std::uint32_t product = graph_.neurons()[k].product;
      if (product == ScalarGraph::kNone) continue;
      const double c = lanes(c_, graph_.inputs() + k)[l];
      result.parameters.mixes[product] = static_cast<float>(c > 0 ? lanes(mixes_, product)[l] : kMiddle);
      result.parameters.mixes[products + product] = static_cast<float>(c < 0 ? lanes(mixes_, products + product)[l] : kMiddle);
    }
    for (std::size_t r = 0; r < rows; ++r) result.parameters.weights[r] = static_cast<float>(lanes(weights_, r)[l]);
    for (std::size_t i = 0; i < graph_.inputs(); ++i) result.x[i] = lanes(z_, i)[l];
  }
}

// Moves the mixes of products by the difference of their planes at the minimiser, and the weights of rows by how the
// rows differ there.
void BatchBounds::ascend(const std::vector<ScalarForm>& rows, double rate) {
  const std::size_t products = graph_.products();
  double unused[kLanes];
  for (std::size_t k = 0; k < neurons_.size(); ++k) {
    const double* c = lanes(c_, graph_.inputs() + k);
    const std::uint32_t product = graph_.neurons()[k].product;
    double* below = neurons_[k].is_product ? lanes(gradient_, product) : unused;
    lane_forward(neurons_[k], c, z_.data(), lanes(z_, graph_.inputs() + k), below);
    if (!neurons_[k].is_product) continue;
    double* above = lanes(gradient_, products + product);
    for (std::size_t l = 0; l < kLanes; ++l) {
      above[l] = c[l] > 0 ? 0 : below[l];
      below[l] = c[l] > 0 ? below[l] : 0;
    }
  }
  lane_ascend(2 * products, rate, gradient_.data(), {raw_alpha_.data(), first_.data(), second_.data()});
  if (rows.size() < 2) return;
  double mean[kLanes] = {}, sum[kLanes] = {};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    double* gradient = lanes(weight_gradient_, r);
    std::fill_n(gradient, kLanes, rows[r].constant);
    lane_evaluate(graph_.entries(rows[r]), z_.data(), gradient);
    for (std::size_t l = 0; l < kLanes; ++l) mean[l] += gradient[l] / static_cast<double>(rows.size());
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t l = 0; l < kLanes; ++l) lanes(weight_gradient_, r)[l] -= mean[l];
  }
  lane_ascend(rows.size(), rate, weight_gradient_.data(), {weights_.data(), weight_first_.data(), weight_second_.data()});
  for (std::size_t i = 0; i < rows.size() * kLanes; ++i) sum[i % kLanes] += weights_[i];
  for (std::size_t i = 0; i < rows.size() * kLanes; ++i)
    weights_[i] = sum[i % kLanes] > 0 ? weights_[i] / sum[i % kLanes] : 1 / static_cast<double>(rows.size());
}

logic::CaseMultipliers to_multipliers(const ScalarGraph& graph, std::uint32_t position, std::uint32_t one,
                                      const BoxParameters& parameters) {
  logic::CaseMultipliers result{position, {}};
  const std::vector<RowView>& rows = graph.network().rows(one);
  for (std::size_t r = 0; rows.size() > 1 && r < rows.size(); ++r)
    result.rows.push_back(static_cast<float>(static_cast<double>(parameters.weights[r]) / rows[r].scale));
  return result;
}

logic::Hints to_hints(const ScalarGraph& graph, const BoxParameters& parameters) {
  logic::Hints hints;
  const Graph& nodes = graph.network().problem()->graph();
  for (const ScalarGraph::Neuron& neuron : graph.neurons()) {
    if (neuron.product == ScalarGraph::kNone) continue;
    for (const bool below : {true, false}) {
      const float mix = parameters.mixes[neuron.product + (below ? 0 : graph.products())];
      if (mix == static_cast<float>(kMiddle)) continue;
      std::vector<float>& mixes = (below ? hints.lower : hints.upper)[neuron.step->node];
      mixes.resize(nodes.size(neuron.step->node), static_cast<float>(kMiddle));
      mixes[neuron.element] = mix;
    }
  }
  return hints;
}

}  // namespace assay::search
