// The exact path: back-substitution in integers.
//
// A row of a block is mantissas * 2^exponent with |mantissa| < 2^kBits. Entries of linear maps, slopes, intercepts, biases
// and box ends are put on grids of kGridBits bits: slopes and entries to nearest with the half step charged, the others
// outward. A product of a mantissa and a grid value has fewer than 112 bits, so 2^15 of them fit an int128; longer sums are
// taken in chunks. Dropping low bits of a mantissa rounds down by less than one unit, whose effect over the box is charged.

#include <algorithm>
#include <cmath>

#include "kernel/rows.h"
#include "semantics/demand.h"
#include "semantics/numbers/directed.h"

namespace assay::kernel {
namespace {

constexpr int kBits = 56;
constexpr int kGridBits = 54;
constexpr std::size_t kChunk = 1 << 14;
constexpr std::size_t kSharing = 1 << 9;  // products that may meet in one operand element of a line
constexpr double kInflate = 1 + 0x1p-26;  // rounding of sums of non-negative doubles that only ever grow a charge
constexpr double kUnderflow = 0x1p-1050;  // more than what up to 2^24 products of a charge can lose below the normal range

// Values on one grid, rounded down, up or to nearest.
struct Grid {
  std::vector<std::int64_t> mantissas;
  std::vector<bool> infinite;  // not finite, mantissa 0
  std::vector<bool> rounded;   // not on the grid
  std::int32_t exponent = 0;
  // How far value i may lie from its grid point. A grid that rounds is coarser than 2^-1074, so this does not vanish.
  [[nodiscard]] double half_step(std::size_t i) const { return rounded[i] ? std::ldexp(1.0, exponent - 1) : 0.0; }
};
enum class Round : std::uint8_t { down, up, nearest };

Grid on_grid(const std::vector<double>& values, Round round) {
  Grid grid;
  double largest = 0;
  for (const double v : values) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  int top = 0;
  std::frexp(largest, &top);
  grid.exponent = largest == 0 ? 0 : std::max(top - kGridBits, -1074);
  grid.infinite.resize(values.size(), false);
  grid.rounded.resize(values.size(), false);
  grid.mantissas.resize(values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      grid.infinite[i] = true;
      continue;
    }
    // |v| 2^-exponent <= 2^54, so the scaling is exact or lands below one unit, possibly at 0; a value that vanished is
    // still moved in the stated direction.
    const double scaled = std::ldexp(values[i], -grid.exponent);
    double integer = round == Round::down ? std::floor(scaled) : round == Round::up ? std::ceil(scaled) : std::nearbyint(scaled);
    if (scaled == 0 && values[i] != 0) integer = round == Round::down && values[i] < 0 ? -1 : round == Round::up && values[i] > 0 ? 1 : 0;
    grid.rounded[i] = !(integer == scaled && (scaled != 0 || values[i] == 0));
    grid.mantissas[i] = static_cast<std::int64_t>(integer);
  }
  return grid;
}

int bit_length(Int128 value) {
  const auto magnitude = static_cast<UnsignedInt128>(value < 0 ? -value : value);
  const auto high = static_cast<std::uint64_t>(magnitude >> 64), low = static_cast<std::uint64_t>(magnitude);
  return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

// value * 2^places, rounded down; `lost` becomes true when that was not exact.
Int128 shifted(Int128 value, int places, bool& lost) {
  if (places >= 0) return value << places;
  const int right = std::min(-places, 126);
  const Int128 result = value >> right;
  lost = lost || (right < -places ? value != 0 : result << right != value);
  return result;
}

double sum_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum * kInflate;
}

// sum_j f(j) in chunks that cannot overflow, as a dyadic number scaled by 2^exponent.
template <class F>
Dyadic chunked_sum(std::size_t size, std::int32_t exponent, F term) {
  Dyadic total;
  for (std::size_t first = 0; first < size; first += kChunk) {
    Int128 sum = 0;
    for (std::size_t j = first; j < std::min(size, first + kChunk); ++j) sum += term(j);
    total += Dyadic(sum, exponent);
  }
  return total;
}

Int128 product(std::int64_t a, std::int64_t b) { return static_cast<Int128>(a) * b; }

}  // namespace

ExactRows::ExactRows(const Graph& graph, const Boxes& boxes, std::size_t rows)
    : graph_(graph), boxes_(boxes), rows_(rows), blocks_(graph.nodes.size()), constant_(rows), failed_(rows, false) {}

void ExactRows::charge(std::size_t row, double amount) {
  if (amount == 0) return;
  const auto exact = Dyadic::from_double(amount);
  if (exact)
    constant_[row] -= *exact;
  else
    failed_[row] = true;
}

void ExactRows::merge(NodeId node, const std::vector<Int128>& fresh, const std::vector<std::int32_t>& exponents) {
  const std::size_t size = graph_.size(node);
  Block& block = blocks_[node];
  const bool first = block.mantissas.empty();
  if (first) {
    block.mantissas.assign(rows_ * size, 0);
    block.exponents.assign(rows_, 0);
  }
  const double width = sum_of(magnitudes(*boxes_[node]));
  std::vector<Int128> sum(size);
  for (std::size_t row = 0; row < rows_; ++row) {
    const Int128* b = fresh.data() + row * size;
    std::int64_t* a = block.mantissas.data() + row * size;
    int largest = 0, present = 0;
    for (std::size_t i = 0; i < size; ++i) {
      largest = std::max(largest, bit_length(b[i]));
      present |= a[i] != 0 ? 1 : 0;
    }
    if (largest == 0 && present != 0) continue;
    demand(largest <= 120, "exact_rows: a sum left its width");
    // Bring both to one exponent: the new part may use 120 bits, the old one has kBits.
    std::int32_t exponent = exponents[row];
    int shift_new = 0;  // left (positive) or right (negative) shift of the new part
    int shift_old = 0;  // and of the old part
    if (present != 0) {
      shift_old = block.exponents[row] - exponent;
      if (shift_old < 0)
        shift_new = std::min(-shift_old, 120 - largest);
      else
        shift_new = std::min(0, 120 - kBits - shift_old);
      exponent -= shift_new;
      shift_old += shift_new;
    }
    bool lost_new = false, lost_old = false, lost_sum = false;  // bits that were not 0
    int sum_bits = 0;
    for (std::size_t i = 0; i < size; ++i) {
      sum[i] = shifted(b[i], shift_new, lost_new) + (present == 0 ? 0 : shifted(a[i], shift_old, lost_old));
      sum_bits = std::max(sum_bits, bit_length(sum[i]));
    }
    demand(sum_bits <= 122, "exact_rows: a sum left its width");
    const int drop = std::max(0, sum_bits - kBits);
    for (std::size_t i = 0; i < size; ++i) a[i] = static_cast<std::int64_t>(shifted(sum[i], -drop, lost_sum));
    // Each lossy shift rounds down by less than one unit of the grid it leaves behind; z in [-x, x], so the row loses at
    // most that unit times sum x. A unit below 2^-1000 is charged as 2^-1000, so that the charge cannot underflow.
    const int lossy = (lost_new ? 1 : 0) + (lost_old ? 1 : 0) + (lost_sum ? 1 : 0);
    block.exponents[row] = exponent + drop;
    if (lossy > 0) charge(row, mul_up(std::ldexp(static_cast<double>(lossy), std::max(block.exponents[row], -1000)), width));
  }
}

void ExactRows::add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error) {
  const std::size_t size = graph_.size(node);
  if (!std::isfinite(coefficient)) {
    failed_[row] = true;
    return;
  }
  std::vector<Int128> fresh(rows_ * size, 0);
  std::vector<std::int32_t> exponents(rows_, 0);
  int exponent = 0;
  const double fraction = std::frexp(coefficient, &exponent);
  fresh[row * size + element] = static_cast<Int128>(std::ldexp(fraction, 53));
  exponents[row] = exponent - 53;
  merge(node, fresh, exponents);
  const Box& box = *boxes_[node];
  if (error > 0) charge(row, mul_up(error, std::fmax(std::fabs(box.lo[element]), std::fabs(box.hi[element]))));
}

void ExactRows::literal(NodeId node, std::uint32_t element, bool at_least, double threshold, double beta) {
  const Dyadic product = *Dyadic::from_double(beta) * *Dyadic::from_double(threshold);
  for (std::size_t row = 0; row < rows_; ++row) {
    add(row, node, element, at_least ? -beta : beta, 0.0);
    if (at_least)
      constant_[row] += product;
    else
      constant_[row] -= product;
  }
}

void ExactRows::through(NodeId node, const LinearStep& step) {
  const Block a = std::move(blocks_[node]);
  blocks_[node] = {};
  const AffineForm& form = *step.form;
  const std::size_t size = form.bias.size();
  std::vector<double> price(size, 0.0), product_price(size);
  for (const AffineForm::Part& part : form.parts) {
    int chain = 0;
    while ((std::size_t{1} << chain) < part.map->fan_out()) ++chain;
    const IntegerEntries entries = part.map->integer_entries(std::min(kGridBits, 118 - kBits - chain));
    const std::vector<double> x = magnitudes(*boxes_[part.operand]);
    if (entries.half_step > 0) {
      std::fill(product_price.begin(), product_price.end(), 0.0);
      part.map->apply_pattern(x.data(), product_price.data());
      for (std::size_t j = 0; j < size; ++j) price[j] += entries.half_step * product_price[j] * kInflate + kUnderflow;
    }
    if (part.error) {
      std::fill(product_price.begin(), product_price.end(), 0.0);
      part.error->apply_magnitude(x.data(), product_price.data());
      for (std::size_t j = 0; j < size; ++j) price[j] += product_price[j] * kInflate + kUnderflow;
    }
    std::vector<Int128> fresh(rows_ * part.map->columns(), 0);
    part.map->transpose(entries, rows_, a.mantissas.data(), fresh.data());
    std::vector<std::int32_t> exponents = a.exponents;
    for (std::int32_t& e : exponents) e += entries.exponent;
    merge(part.operand, fresh, exponents);
  }
  for (std::size_t j = 0; j < size && !form.bias_error.empty(); ++j) price[j] += form.bias_error[j];
  const Grid bias = on_grid(form.bias, Round::nearest);
  for (std::size_t j = 0; j < size; ++j) price[j] = (price[j] + bias.half_step(j)) * kInflate;
  const Grid prices = on_grid(price, Round::up);
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::int64_t* m = a.mantissas.data() + row * size;
    constant_[row] += chunked_sum(size, a.exponents[row] + bias.exponent, [&](std::size_t j) { return product(m[j], bias.mantissas[j]); });
    constant_[row] -=
        chunked_sum(size, a.exponents[row] + prices.exponent, [&](std::size_t j) { return product(std::abs(m[j]), prices.mantissas[j]); });
    for (std::size_t j = 0; j < size; ++j) failed_[row] = failed_[row] || (m[j] != 0 && prices.infinite[j]);
  }
}

void ExactRows::relax(NodeId node, const Line& line) {
  const Block a = std::move(blocks_[node]);
  blocks_[node] = {};
  const Relaxation& r = line.relaxation;
  const std::size_t size = r.lower_intercept.size();
  const Grid lower = on_grid(r.lower_intercept, Round::down), upper = on_grid(r.upper_intercept, Round::up);
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::int64_t* m = a.mantissas.data() + row * size;
    constant_[row] += chunked_sum(size, a.exponents[row] + lower.exponent,
                                  [&](std::size_t j) { return m[j] > 0 ? product(m[j], lower.mantissas[j]) : 0; });
    constant_[row] += chunked_sum(size, a.exponents[row] + upper.exponent,
                                  [&](std::size_t j) { return m[j] < 0 ? product(m[j], upper.mantissas[j]) : 0; });
    for (std::size_t j = 0; j < size; ++j)
      failed_[row] = failed_[row] || (m[j] > 0 && lower.infinite[j]) || (m[j] < 0 && upper.infinite[j]);
  }
  for (const Relaxation::Part& part : r.parts) {
    const std::size_t columns = graph_.size(part.operand);
    std::vector<double> slopes = part.lower;
    slopes.insert(slopes.end(), part.upper.begin(), part.upper.end());
    const Grid grid = on_grid(slopes, Round::nearest);
    const std::vector<double> x = magnitudes(*boxes_[part.operand]);
    std::vector<double> price(2 * size, 0.0);  // of the lower slopes, then of the upper ones
    std::vector<std::size_t> uses(columns, 0);
    for (std::size_t j = 0; j < size; ++j) {
      const std::size_t column = part.index.empty() ? j : part.index[j];
      if (++uses[column] > kSharing) std::fill(failed_.begin(), failed_.end(), true);
      for (const std::size_t side : {j, size + j}) {
        if (grid.rounded[side]) price[side] = grid.half_step(side) * x[column] * kInflate + kUnderflow;
      }
    }
    const Grid prices = on_grid(price, Round::up);
    std::vector<Int128> fresh(rows_ * columns, 0);
    std::vector<std::int32_t> exponents = a.exponents;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (failed_[row]) continue;
      const std::int64_t* m = a.mantissas.data() + row * size;
      const auto side = [&](std::size_t j) { return m[j] > 0 ? j : size + j; };
      for (std::size_t j = 0; j < size; ++j) {
        if (m[j] == 0) continue;
        failed_[row] = failed_[row] || grid.infinite[side(j)] || prices.infinite[side(j)];
        fresh[row * columns + (part.index.empty() ? j : part.index[j])] += product(m[j], grid.mantissas[side(j)]);
      }
      constant_[row] -= chunked_sum(size, a.exponents[row] + prices.exponent,
                                    [&](std::size_t j) { return product(std::abs(m[j]), prices.mantissas[side(j)]); });
      exponents[row] += grid.exponent;
    }
    merge(part.operand, fresh, exponents);
  }
}

void ExactRows::concretize(NodeId node) {
  const Block a = std::move(blocks_[node]);
  blocks_[node] = {};
  const Box& box = *boxes_[node];
  const std::size_t size = box.lo.size();
  const Grid lo = on_grid(box.lo, Round::down), hi = on_grid(box.hi, Round::up);
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::int64_t* m = a.mantissas.data() + row * size;
    constant_[row] +=
        chunked_sum(size, a.exponents[row] + lo.exponent, [&](std::size_t j) { return m[j] > 0 ? product(m[j], lo.mantissas[j]) : 0; });
    constant_[row] +=
        chunked_sum(size, a.exponents[row] + hi.exponent, [&](std::size_t j) { return m[j] < 0 ? product(m[j], hi.mantissas[j]) : 0; });
    for (std::size_t j = 0; j < size; ++j) failed_[row] = failed_[row] || (m[j] > 0 && lo.infinite[j]) || (m[j] < 0 && hi.infinite[j]);
  }
}

double ExactRows::lower(std::size_t row) const { return failed_[row] ? -INFINITY : constant_[row].double_down(); }

}  // namespace assay::kernel
