// Products of two operands in alpha-beta-CROWN, matrix products included. The mix of McCormick's two planes below and
// the mix of the two above are optimised. All pairs of factors that one element adds up share its mixes, as in the
// kernel's hints. Also softmax, whose planes take no hints.
//
// On the factors' boxes p q >= m (q_lo p + p_lo q - p_lo q_lo) + (1 - m) (q_hi p + p_hi q - p_hi q_hi), and dually
// above. For fixed relaxed values the bound is linear in m, so its gradient is the difference of the two planes there.
//
// Sources: McCormick 1976 for the planes; Shi et al. 2020 for products in attention. How this version differs: the mix
// of two planes is optimised like an alpha.

#include <algorithm>
#include <cmath>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/alpha_beta/alpha_beta_loops.h"
#include "search/bounds/alpha_beta/batch_row.h"
#include "semantics/interrupt.h"

namespace assay::search {

template <class Visit>
void AlphaBetaCrown::each_line(std::size_t b, const NeuronGraph::Activation& product, Visit visit) const {
  const Step& step = *product.step;
  const NeuronBoxes& boxes = *rows_[b].task->boxes;
  const std::size_t at = product.first_factor, second = at + network_.step_of(step.operands[0]).size;
  const double* a = a_[step.node].data() + b * step.size;
  for (std::size_t j = 0; j < step.size; j += step.inner) {
    poll(step.extent * step.inner);
    const std::size_t p = step.broadcast[0].empty() ? j : step.broadcast[0][j], q = step.broadcast[1].empty() ? j : step.broadcast[1][j];
    const ProductLine line{step.extent,
                           step.inner,
                           boxes.factor_lo.data() + at + p,
                           boxes.factor_hi.data() + at + p,
                           boxes.factor_lo.data() + second + q,
                           boxes.factor_hi.data() + second + q,
                           a + j,
                           neurons(low_slope_, b) + product.first_neuron + j,
                           neurons(up_slope_, b) + product.first_neuron + j};
    visit(line, j, p, q);
  }
}

void AlphaBetaCrown::back_through_products(std::size_t b, const NeuronGraph::Activation& product) {
  double* a_p = row_of(a_, b, product.step->operands[0]);
  double* a_q = row_of(a_, b, product.step->operands[1]);
  each_line(b, product, [&](const ProductLine& line, std::size_t, std::size_t p, std::size_t q) {
    if (std::any_of(line.a, line.a + line.count, [](double a) { return a != 0; }))
      constant_[b] += back_through_product(line, a_p + p, a_q + q);
  });
}

void AlphaBetaCrown::forward_through_products(std::size_t b, const NeuronGraph::Activation& product) {
  double* y = row_of(z_, b, product.step->node);
  const double* z_p = row_of(z_, b, product.step->operands[0]);
  const double* z_q = row_of(z_, b, product.step->operands[1]);
  std::fill_n(y, product.step->size, 0.0);
  each_line(b, product, [&](const ProductLine& line, std::size_t j, std::size_t p, std::size_t q) {
    forward_through_product(line, z_p + p, z_q + q, y + j);
  });
}

std::vector<double> AlphaBetaCrown::mix_gradients(std::size_t b, const NeuronGraph::Activation& product) const {
  std::vector<double> gradients(product.step->size, 0.0);
  const double* z_p = row_of(z_, b, product.step->operands[0]);
  const double* z_q = row_of(z_, b, product.step->operands[1]);
  each_line(b, product, [&](const ProductLine& line, std::size_t j, std::size_t p, std::size_t q) {
    add_mix_gradients(line, z_p + p, z_q + q, gradients.data() + j);
  });
  return gradients;
}

// The loss at x*, plus a share of the mean loss over the box: for each pair of factors a quarter of the product of
// their widths.
float AlphaBetaCrown::score_of_product(std::size_t b, const NeuronGraph::Activation& product, std::size_t j) const {
  constexpr double kMeanShare = 0.2;
  const Step& step = *product.step;
  const double a = row_of(a_, b, step.node)[j];
  const double* z_p = row_of(z_, b, step.operands[0]);
  const double* z_q = row_of(z_, b, step.operands[1]);
  double value = 0, mean = 0;
  for (std::size_t k = 0; k < step.extent; ++k) {
    const NeuronGraph::Factors factors = graph_.factors(product, j, k, *rows_[b].task->boxes);
    value += z_p[factors.p] * z_q[factors.q];
    mean += factors.p_width * factors.q_width / 4;
  }
  return static_cast<float>(std::max(0.0, a * (value - row_of(z_, b, step.node)[j])) + kMeanShare * std::fabs(a) * mean);
}

// A literal changes few boxes, so the planes of the same row's last task, or of the first row, are used again if their
// boxes are the same.
void AlphaBetaCrown::prepare_softmax(std::size_t b, std::size_t which) {
  const NeuronGraph::Activation& activation = graph_.activations()[which];
  const NeuronBoxes& boxes = *rows_[b].task->boxes;
  const std::size_t size = activation.step->size, extent = activation.step->extent, stride = activation.step->inner;
  const double *lo = boxes.factor_lo.data() + activation.first_factor, *hi = boxes.factor_hi.data() + activation.first_factor;
  for (const Row* known : {&rows_[b], &rows_[0]}) {
    if (which >= known->softmax.size() || known->softmax[which] == nullptr) continue;
    const Softmax& one = *known->softmax[which];
    if (!std::equal(one.lo.begin(), one.lo.end(), lo) || !std::equal(one.hi.begin(), one.hi.end(), hi)) continue;
    rows_[b].softmax[which] = known->softmax[which];
    return;
  }
  auto fresh = std::make_shared<Softmax>(Softmax{{lo, lo + 2 * size}, {hi, hi + 2 * size}, {}});
  for (std::size_t first = 0; first < size; ++first) {
    if (first / stride % extent == 0)
      fresh->planes.emplace_back(first, extent, SoftmaxPlanes::Boxes{lo + first, hi + first, lo + size + first, hi + size + first, stride});
  }
  rows_[b].softmax[which] = std::move(fresh);
}

}  // namespace assay::search
