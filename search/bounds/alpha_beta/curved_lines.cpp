// The lines that dual ascent uses for functions that are no relu.
#include <algorithm>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/alpha_beta/batch_row.h"
#include "search/relax/lines.h"

namespace assay::search {

// The pieces of functions that have a record, and the slopes to start from if the task has none.
void DualAscent::prepare_lines(std::size_t b) {
  Row& row = rows_[b];
  const DualBoxes& boxes = *row.task->boxes;
  const bool known = row.task->start != nullptr && row.task->start->upper.size() == r_;
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
      double &low = slots(latent_, b)[first + j], &up = slots(up_latent_, b)[first + j];
      if (known && !has_jumps) continue;
      low = known ? std::clamp(low, lines.least_slope(j), lines.most_slope(j)) : lines.first_slope_below(j);
      up = known ? std::clamp(up, lines.least_slope(j), lines.most_slope(j)) : lines.first_slope_above(j);
    }
    std::copy_n(slots(latent_, b) + first, step->size, slots(best_, b) + first);
    std::copy_n(slots(up_latent_, b) + first, step->size, slots(up_best_, b) + first);
  }
  row.prepared = true;
}

void DualAscent::choose_curved_lines(std::size_t b, std::size_t which) {
  const DualGraph::Activation& activation = graph_.activations()[which];
  const DualBoxes& boxes = *rows_[b].task->boxes;
  const FunctionLines* lines = activation.step->function != nullptr ? &rows_[b].lines[which] : nullptr;
  for (std::size_t j = activation.first_slot; j < activation.first_slot + activation.step->size; ++j) {
    const double l = boxes.lo[j], u = boxes.hi[j], low = static_cast<double>(static_cast<float>(slots(latent_, b)[j])),
                 up = static_cast<double>(static_cast<float>(slots(up_latent_, b)[j]));
    const std::size_t element = j - activation.first_slot;
    const Line below = lines != nullptr ? lines->below(element, low) : line_below(*activation.step, low, l, u);
    const Line above = lines != nullptr ? lines->above(element, up) : line_above(*activation.step, up, l, u);
    slots(low_slope_, b)[j] = below.slope;
    slots(low_icpt_, b)[j] = below.intercept;
    slots(low_point_, b)[j] = below.point;
    slots(up_slope_, b)[j] = above.slope;
    slots(up_icpt_, b)[j] = above.intercept;
    slots(up_point_, b)[j] = above.point;
  }
}

}  // namespace assay::search
