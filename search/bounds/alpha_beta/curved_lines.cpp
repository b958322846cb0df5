// Lines of functions other than relu, whose slopes are optimised as alphas.
//
// A slope decides a line: it touches the curve at the point with that derivative (function_lines.h), or passes through
// an end of the box. Sources: optimised tangents for sigmoid and tanh, chosen as in CROWN (Zhang et al. 2018) and
// optimised as in alpha-CROWN (Xu et al. 2021). How this version differs: it takes any function that the semantics has
// a record of.
#include <algorithm>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/alpha_beta/batch_row.h"
#include "search/relax/lines.h"

namespace assay::search {

// Prepares the pieces of functions that have a record, and the first slopes if the task has none.
void AlphaBetaCrown::prepare_lines(std::size_t b) {
  Row& row = rows_[b];
  const NeuronBoxes& boxes = *row.task->boxes;
  const bool known = row.task->start != nullptr && row.task->start->upper_alpha.size() == r_;
  row.lines.resize(graph_.activations().size());
  row.softmax.resize(graph_.activations().size());
  for (std::size_t k = 0; k < row.lines.size(); ++k) {
    const auto& [step, operand, first, factor] = graph_.activations()[k];
    if (step->kind == Step::Kind::softmax) prepare_softmax(b, k);
    if (step->function == nullptr) continue;
    FunctionLines& lines = row.lines[k];
    lines.prepare(*step->function, step->size, boxes.lo.data() + first, boxes.hi.data() + first);
    const bool has_jumps = jumps(*step->function);
    for (std::size_t j = 0; j < step->size; ++j) {
      double &low = neurons(raw_alpha_, b)[first + j], &up = neurons(up_raw_alpha_, b)[first + j];
      if (known && !has_jumps) continue;
      low = known ? std::clamp(low, lines.least_slope(j), lines.most_slope(j)) : lines.first_slope_below(j);
      up = known ? std::clamp(up, lines.least_slope(j), lines.most_slope(j)) : lines.first_slope_above(j);
    }
    std::copy_n(neurons(raw_alpha_, b) + first, step->size, neurons(best_, b) + first);
    std::copy_n(neurons(up_raw_alpha_, b) + first, step->size, neurons(up_best_, b) + first);
  }
  row.prepared = true;
}

void AlphaBetaCrown::choose_curved_lines(std::size_t b, std::size_t which) {
  const NeuronGraph::Activation& activation = graph_.activations()[which];
  const NeuronBoxes& boxes = *rows_[b].task->boxes;
  const FunctionLines* lines = activation.step->function != nullptr ? &rows_[b].lines[which] : nullptr;
  for (std::size_t j = activation.first_neuron; j < activation.first_neuron + activation.step->size; ++j) {
    const double l = boxes.lo[j], u = boxes.hi[j], low = static_cast<double>(static_cast<float>(neurons(raw_alpha_, b)[j])),
                 up = static_cast<double>(static_cast<float>(neurons(up_raw_alpha_, b)[j]));
    const std::size_t element = j - activation.first_neuron;
    const Line below = lines != nullptr ? lines->below(element, low) : line_below(*activation.step, low, l, u);
    const Line above = lines != nullptr ? lines->above(element, up) : line_above(*activation.step, up, l, u);
    neurons(low_slope_, b)[j] = below.slope;
    neurons(low_icpt_, b)[j] = below.intercept;
    neurons(low_point_, b)[j] = below.point;
    neurons(up_slope_, b)[j] = above.slope;
    neurons(up_icpt_, b)[j] = above.intercept;
    neurons(up_point_, b)[j] = above.point;
  }
}

}  // namespace assay::search
