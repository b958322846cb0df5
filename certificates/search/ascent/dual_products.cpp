// Products of two operands in dual ascent: McCormick's planes, the mix of the two below and the mix of the two above being what is optimised.
//
// On the factors' boxes p q >= m (q_lo p + p_lo q - p_lo q_lo) + (1 - m) (q_hi p + p_hi q - p_hi q_hi), and dually above; the bound is linear in m
// for fixed relaxed values, so that its gradient is the difference of the two planes there.
#include "certificates/search/ascent/dual_ascent.h"
#include "certificates/search/ascent/dual_row.h"

namespace assay::search {

// Mixes take the place of slopes.
void DualAscent::choose_planes(std::size_t b, const DualGraph::Activation& product) {
  for (std::size_t j = 0; j < product.step->size; ++j) {
    const DualGraph::Factors factors = graph_.factors(product, j, *rows_[b].task->boxes);
    const std::size_t slot = product.first_slot + j;
    slots(low_slope_, b)[slot] = static_cast<double>(static_cast<float>(slots(latent_, b)[slot]));
    slots(up_slope_, b)[slot] = static_cast<double>(static_cast<float>(slots(up_latent_, b)[slot]));
    slots(low_icpt_, b)[slot] = factors.plane(true, slots(low_slope_, b)[slot]).constant;
    slots(up_icpt_, b)[slot] = factors.plane(false, slots(up_slope_, b)[slot]).constant;
  }
}

DualGraph::Factors::Plane DualAscent::plane_in_use(std::size_t b, const DualGraph::Activation& product, std::size_t j) const {
  const bool below = a_[product.step->node][b * product.step->size + j] > 0;
  return graph_.factors(product, j, *rows_[b].task->boxes).plane(below, slots(below ? low_slope_ : up_slope_, b)[product.first_slot + j]);
}

void DualAscent::back_through_products(std::size_t b, const DualGraph::Activation& product) {
  const NodeId p = product.step->operands[0], q = product.step->operands[1];
  const std::size_t size = product.step->size, p_size = network_.step_of(p).size, q_size = network_.step_of(q).size;
  for (std::size_t j = 0; j < size; ++j) {
    const double a = a_[product.step->node][b * size + j];
    if (a == 0) continue;
    const DualGraph::Factors factors = graph_.factors(product, j, *rows_[b].task->boxes);
    const DualGraph::Factors::Plane plane = plane_in_use(b, product, j);
    a_[p][b * p_size + factors.p] += a * plane.p;
    a_[q][b * q_size + factors.q] += a * plane.q;
    constant_[b] += a * plane.constant;
  }
}

// The factors' relaxed values.
std::pair<double, double> DualAscent::at_factors(std::size_t b, const DualGraph::Activation& product, std::size_t j) const {
  const DualGraph::Factors factors = graph_.factors(product, j, *rows_[b].task->boxes);
  const NodeId p = product.step->operands[0], q = product.step->operands[1];
  return {z_[p][b * network_.step_of(p).size + factors.p], z_[q][b * network_.step_of(q).size + factors.q]};
}

// By the mix that is in use, of the bound.
double DualAscent::mix_gradient(std::size_t b, const DualGraph::Activation& product, std::size_t j) const {
  const double a = a_[product.step->node][b * product.step->size + j];
  const DualGraph::Factors factors = graph_.factors(product, j, *rows_[b].task->boxes);
  const auto [p, q] = at_factors(b, product, j);
  return a * (factors.plane(a > 0, 1).at(p, q) - factors.plane(a > 0, 0).at(p, q));
}

}  // namespace assay::search
