// The exact path: back-substitution in integers.
//
// A row of a block is mantissas * 2^exponent with |mantissa| <= 2^kBits. Entries of linear maps, slopes, intercepts,
// biases and box ends are on grids (grid.h). A product of a mantissa and a grid value has at most 110 bits, so 2^14 of
// them fit an int128; longer sums are split into chunks. Dropping low bits of a mantissa rounds it down by less than
// one unit. The effect over the box is subtracted from the row's constant.

#include <algorithm>
#include <cmath>

#include "kernel/exact/exact_rows.h"
#include "semantics/demand.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"

namespace assay::exact {
namespace {

constexpr std::size_t kChunk = 1 << 14;
constexpr std::size_t kTileRows = 8;  // rows that share one pass over a map
constexpr double kInflate = 1 + 0x1p-26;

// The bits of some numbers. `all` answers questions about low bits; bit_length(longest) is the largest of all numbers.
struct Bits {
  rows::Int128 all = 0, longest = 0;
  void meet(rows::Int128 v) {
    all |= v;
    longest |= v ^ (v >> 127);
  }
  [[nodiscard]] int length() const { return bit_length(longest); }
  [[nodiscard]] bool below(int places) const { return places > 0 && (all & ((rows::Int128{1} << std::min(places, 126)) - 1)) != 0; }
};

rows::Int128 product(std::int64_t a, std::int64_t b) { return static_cast<rows::Int128>(a) * b; }

struct Scaled {
  rows::Int128 mantissa;
  std::int32_t exponent;
};
Scaled scaled(double finite) {
  int exponent = 0;
  const double fraction = std::frexp(finite, &exponent);
  return {static_cast<rows::Int128>(std::ldexp(fraction, 53)), exponent - 53};
}

}  // namespace

ExactRows::ExactRows(const Graph& graph, const rows::Boxes& boxes, std::size_t rows)
    : graph_(graph), boxes_(boxes), rows_(rows), blocks_(graph.nodes.size()), constant_(rows), failed_(rows, false) {}

ExactRows::Block& ExactRows::open(NodeId node) {
  Block& block = blocks_[node];
  if (!block.mantissas.empty()) return block;
  block.mantissas.assign(rows_ * graph_.size(node), 0);
  block.exponents.assign(rows_, 0);
  block.used.assign(rows_, false);
  double width = 0;
  const relax::Box& box = *boxes_[node];
  for (std::size_t i = 0; i < box.lo.size(); ++i) width += std::max(std::fabs(box.lo[i]), std::fabs(box.hi[i]));
  block.finite = std::isfinite(width * kInflate);
  const Scaled sum = scaled(block.finite ? width * kInflate : 0.0);
  block.width = sum.mantissa;
  block.width_exponent = sum.exponent;
  return block;
}

// block[row] += fresh 2^exponent. Overwrites `fresh`.
void ExactRows::merge(Block& block, std::size_t row, std::span<rows::Int128> fresh, std::int32_t exponent) {
  Bits bits;
  for (const rows::Int128 b : fresh) bits.meet(b);
  if (bits.all == 0) return;
  demand(bits.length() <= 120, "exact_rows: a sum left its width");
  std::int64_t* a = block.mantissas.data() + row * fresh.size();
  int lossy = 0;  // number of shifts that dropped bits
  if (block.used[row]) {
    // Shift both to one exponent: the new part may use 120 bits, the old one has kBits.
    const int apart = block.exponents[row] - exponent;
    const int left_new = apart < 0 ? std::min(-apart, 120 - bits.length()) : std::min(0, 120 - kBits - apart), left_old = apart + left_new;
    Bits old, sum;
    const auto shifted = [](rows::Int128 v, int left) { return left >= 0 ? v << left : v >> std::min(-left, 127); };
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      old.meet(a[i]);
      fresh[i] = shifted(fresh[i], left_new) + shifted(a[i], left_old);
      sum.meet(fresh[i]);
    }
    lossy = (bits.below(-left_new) ? 1 : 0) + (old.below(-left_old) ? 1 : 0);
    demand(sum.length() <= 122, "exact_rows: a sum left its width");
    bits = sum;
    exponent -= left_new;
  }
  const int drop = std::max(0, bits.length() - kBits);
  lossy += bits.below(drop) ? 1 : 0;
  for (std::size_t i = 0; i < fresh.size(); ++i) a[i] = static_cast<std::int64_t>(fresh[i] >> drop);
  block.used[row] = true;
  block.exponents[row] = exponent + drop;
  // Each lossy shift rounds down by less than one unit of the resulting grid. Since z is in [-x, x], the row loses at
  // most that unit times sum x.
  constant_[row].add(-lossy * block.width, block.width_exponent + block.exponents[row]);
  if (lossy > 0 && !block.finite) failed_[row] = true;
}

void ExactRows::add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error) {
  const relax::Box& box = *boxes_[node];
  const double largest_loss = error > 0 ? mul_up(error, std::fmax(std::fabs(box.lo[element]), std::fabs(box.hi[element]))) : 0.0;
  if (!std::isfinite(coefficient) || !std::isfinite(largest_loss)) {
    failed_[row] = true;
    return;
  }
  poll(graph_.size(node));
  std::vector<rows::Int128> fresh(graph_.size(node), 0);
  const Scaled value = scaled(coefficient), lost = scaled(largest_loss);
  fresh[element] = value.mantissa;
  merge(open(node), row, fresh, value.exponent);
  constant_[row].add(-lost.mantissa, lost.exponent);
}

// Adds the coefficients on one grid, in which the largest one has at most 2^60 steps. The distances from the grid are
// subtracted like the errors.
void ExactRows::add_row(std::size_t row, NodeId node, std::span<const double> coefficients, std::span<const double> errors) {
  constexpr int kRowBits = 60;
  poll(coefficients.size());
  double largest = 0, lost = 0;
  bool finite = true;
  for (const double c : coefficients) {
    largest = std::fmax(largest, std::fabs(c));
    finite = finite && std::isfinite(c);
  }
  int exponent = 0;
  (void)std::frexp(finite ? largest : 0.0, &exponent);
  exponent -= kRowBits;
  std::vector<rows::Int128> fresh(coefficients.size(), 0);
  const relax::Box& box = *boxes_[node];
  for (std::size_t i = 0; finite && i < coefficients.size(); ++i) {
    const double steps = std::nearbyint(std::ldexp(coefficients[i], -exponent));
    fresh[i] = static_cast<rows::Int128>(steps);
    const double off = std::ldexp(steps, exponent) == coefficients[i] ? 0.0 : std::ldexp(1.0, exponent);
    lost = add_up(lost, mul_up(add_up(errors[i], off), std::fmax(std::fabs(box.lo[i]), std::fabs(box.hi[i]))));
  }
  if (!finite || !std::isfinite(lost)) {
    failed_[row] = true;
    return;
  }
  merge(open(node), row, fresh, exponent);
  add_constant(row, -lost);
}

void ExactRows::add_constant(std::size_t row, double value) {
  if (!std::isfinite(value)) {
    failed_[row] = true;
    return;
  }
  const Scaled one = scaled(value);
  constant_[row].add(one.mantissa, one.exponent);
}

std::vector<double> ExactRows::coefficients(std::size_t row, NodeId node) const {
  const Block& block = blocks_[node];
  std::vector<double> result;
  for (std::size_t i = row * graph_.size(node); i < (row + 1) * graph_.size(node); ++i)
    result.push_back(std::ldexp(static_cast<double>(block.mantissas[i]), block.exponents[row]));
  return result;
}

// constant += the sum of the row's mantissas times their factors.
void ExactRows::collect(const Block& block, std::size_t row, const Grid& grid) {
  if (grid.mantissas.empty()) return;
  const std::size_t size = grid.mantissas.size() / 2;
  poll(2 * size);
  const std::int64_t* m = block.mantissas.data() + row * size;
  for (std::size_t first = 0; first < size; first += kChunk) {
    rows::Int128 sum = 0;
    for (std::size_t j = first; j < std::min(size, first + kChunk); ++j) sum += product(m[j], grid.mantissas[j + (m[j] > 0 ? 0 : size)]);
    constant_[row].add(sum, block.exponents[row] + grid.exponent);
  }
  for (std::size_t j = 0; j < size && !grid.infinite.empty(); ++j) {
    if (m[j] != 0 && grid.infinite[j + (m[j] > 0 ? 0 : size)]) failed_[row] = true;
  }
}

void ExactRows::through_affine(NodeId node, const rows::LinearStep& step) {
  const Block a = std::exchange(blocks_[node], {});
  const rows::AffineForm& form = *step.form;
  const GridForm own = step.grid ? GridForm{} : grid_form(form), &grid = step.grid ? *step.grid : own;
  const std::size_t size = form.bias.size();
  const Grid errors = form_errors(form, grid, operand_magnitudes(form.parts, boxes_), step.error_bound->rounding);
  for (std::size_t row = 0; row < rows_; ++row) {
    collect(a, row, grid.bias);
    collect(a, row, errors);
  }
  std::vector<rows::Int128> fresh;
  for (std::size_t p = 0; p < form.parts.size(); ++p) {
    const rows::LinearMap& map = *form.parts[p].map;
    const std::size_t columns = map.columns();
    Block& block = open(form.parts[p].operand);
    for (std::size_t first = 0; first < rows_; first += kTileRows) {
      const std::size_t count = std::min(kTileRows, rows_ - first);
      fresh.assign(count * columns, 0);
      map.transpose(grid.parts[p], count, a.mantissas.data() + first * size, fresh.data());
      for (std::size_t r = 0; r < count; ++r) {
        merge(block, first + r, std::span(fresh).subspan(r * columns, columns), a.exponents[first + r] + grid.parts[p].exponent);
      }
    }
  }
}

void ExactRows::through_relaxation(NodeId node, const rows::LinearBounds& line) {
  const Block a = std::exchange(blocks_[node], {});
  const relax::Relaxation& r = line.relaxation;
  const GridLine own = line.grid ? GridLine{} : grid_line(r, rows::operand_magnitudes(r.parts, boxes_)),
                 &grid = line.grid ? *line.grid : own;
  const std::size_t size = r.lower_intercept.size();
  if (!grid.usable) std::fill(failed_.begin(), failed_.end(), true);
  std::vector<rows::Int128> fresh;
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::int64_t* m = a.mantissas.data() + row * size;
    collect(a, row, grid.intercept);
    collect(a, row, grid.error);
    for (std::size_t p = 0; p < r.parts.size(); ++p) {
      const relax::Relaxation::Part& part = r.parts[p];
      const Grid& slopes = grid.slopes[p];
      Block& block = open(part.operand);
      if (failed_[row]) continue;
      fresh.assign(graph_.size(part.operand), 0);
      for (std::size_t j = 0; j < size; ++j) {
        if (m[j] == 0) continue;
        for (std::size_t k = part.first(j); k < part.last(j); ++k) {
          const std::size_t side = k + (m[j] > 0 ? 0 : part.lower.size());
          fresh[part.element(k)] += product(m[j], slopes.mantissas[side]);
          if (!slopes.infinite.empty() && slopes.infinite[side]) failed_[row] = true;
        }
      }
      merge(block, row, fresh, a.exponents[row] + slopes.exponent);
    }
  }
}

void ExactRows::concretize(NodeId node) {
  const Block a = std::exchange(blocks_[node], {});
  const Grid ends = outward_grid(boxes_[node]->lo, boxes_[node]->hi);
  for (std::size_t row = 0; row < rows_; ++row) collect(a, row, ends);
}

rows::RowBound ExactRows::bound(std::size_t row) const {
  const double lower = failed_[row] ? -INFINITY : constant_[row].double_down();
  return {lower, lower, 0};
}

}  // namespace assay::exact
