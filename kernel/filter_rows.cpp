// The double filter: back-substitution in double with one slack per row.
//
// u = 2^-53. A computed sum of n products differs from the exact one by at most (n + 2) u sum|terms| (1 + 2^-30) for
// n < 2^20, any order, with or without FMA (Jeannerod and Rump 2013), plus one smallest subnormal per product, for which
// kUnderflow stands generously. All slack sums are of non-negative terms; kInflate covers their own rounding.

#include <algorithm>
#include <cmath>

#include "kernel/rows.h"
#include "semantics/demand.h"
#include "semantics/numbers/directed.h"

#ifdef __FAST_MATH__
#error "the kernel needs IEEE arithmetic as written: build without -ffast-math"
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ASSAY_TARGETS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ASSAY_TARGETS
#endif

namespace assay::kernel {
namespace {

constexpr double kUnit = 0x1p-53;         // unit roundoff of double
constexpr double kInflate = 1 + 0x1p-26;  // rounding of the slack sums themselves, up to 2^25 terms
constexpr double kUnderflow = 0x1p-900;   // more than any rounding error below the normal range, per product; itself normal

double terms(std::size_t n) { return static_cast<double>(n + 8) * kUnit; }

using Lanes = double __attribute__((vector_size(64), aligned(8), may_alias));
using Mask = long long __attribute__((vector_size(64)));
constexpr std::size_t kLanes = 8;

double total(const double (&lanes)[kLanes]) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

struct Sums {
  double value = 0, price = 0;
};

// value = sum a b, price = sum |a| p; terms with a == 0 are skipped (b or p may be infinite there).
ASSAY_TARGETS void price_row(std::size_t n, const double* a, const double* b, const double* p, Sums& out) {
  alignas(64) double value[kLanes] = {}, price[kLanes] = {};
  Lanes& values = *reinterpret_cast<Lanes*>(value);
  Lanes& prices = *reinterpret_cast<Lanes*>(price);
  std::size_t j = 0;
  const Lanes zero = {};
  for (; j + kLanes <= n; j += kLanes) {
    const Lanes x = *reinterpret_cast<const Lanes*>(a + j);
    const Lanes y = *reinterpret_cast<const Lanes*>(b + j);
    const Lanes q = *reinterpret_cast<const Lanes*>(p + j);
    const Mask present = x != zero;
    values += present ? x * y : zero;
    prices += present ? (x > zero ? x : -x) * q : zero;
  }
  for (; j < n; ++j) {
    if (a[j] == 0) continue;
    value[0] += a[j] * b[j];
    price[0] += std::fabs(a[j]) * p[j];
  }
  out = {total(value), total(price)};
}

// One row through an elementwise line: out = a * slope by the sign of a, value = sum a * intercept, price = sum |a| p.
ASSAY_TARGETS void relax_row(std::size_t n, const double* a, const double* const s[2], const double* const t[2], const double* p,
                             double* out, Sums& sums) {
  alignas(64) double value[kLanes] = {}, price[kLanes] = {};
  Lanes& values = *reinterpret_cast<Lanes*>(value);
  Lanes& prices = *reinterpret_cast<Lanes*>(price);
  std::size_t j = 0;
  const Lanes zero = {};
  for (; j + kLanes <= n; j += kLanes) {
    const Lanes x = *reinterpret_cast<const Lanes*>(a + j);
    const Mask positive = x > zero, present = x != zero;
    const Lanes slope = positive ? *reinterpret_cast<const Lanes*>(s[0] + j) : *reinterpret_cast<const Lanes*>(s[1] + j);
    const Lanes intercept = positive ? *reinterpret_cast<const Lanes*>(t[0] + j) : *reinterpret_cast<const Lanes*>(t[1] + j);
    *reinterpret_cast<Lanes*>(out + j) = present ? x * slope : zero;
    values += present ? x * intercept : zero;
    prices += present ? (positive ? x : -x) * *reinterpret_cast<const Lanes*>(p + j) : zero;
  }
  for (; j < n; ++j) {
    out[j] = 0;
    if (a[j] == 0) continue;
    const int side = a[j] > 0 ? 0 : 1;
    out[j] = a[j] * s[side][j];
    value[0] += a[j] * t[side][j];
    price[0] += std::fabs(a[j]) * p[j];
  }
  sums = {total(value), total(price)};
}

// value = sum of min over [lo, hi] of a z, price = sum |a| max(|lo|, |hi|).
ASSAY_TARGETS void concretize_row(std::size_t n, const double* a, const double* lo, const double* hi, Sums& out) {
  alignas(64) double value[kLanes] = {}, price[kLanes] = {};
  Lanes& values = *reinterpret_cast<Lanes*>(value);
  Lanes& prices = *reinterpret_cast<Lanes*>(price);
  std::size_t j = 0;
  const Lanes zero = {};
  for (; j + kLanes <= n; j += kLanes) {
    const Lanes x = *reinterpret_cast<const Lanes*>(a + j);
    const Lanes l = *reinterpret_cast<const Lanes*>(lo + j), h = *reinterpret_cast<const Lanes*>(hi + j);
    const Mask present = x != zero;
    const Lanes end = x > zero ? l : h;
    const Lanes product = present ? x * end : zero;
    values += product;
    const Lanes low = l < zero ? -l : l, high = h < zero ? -h : h, magnitude = low > high ? low : high;
    prices += present ? (x > zero ? x : -x) * magnitude : zero;
  }
  for (; j < n; ++j) {
    if (a[j] == 0) continue;
    value[0] += a[j] * (a[j] > 0 ? lo[j] : hi[j]);
    price[0] += std::fabs(a[j]) * std::fmax(std::fabs(lo[j]), std::fabs(hi[j]));
  }
  out = {total(value), total(price)};
}

double sum_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum * kInflate;
}

}  // namespace

std::vector<double> magnitudes(const Box& box) {
  std::vector<double> result(box.lo.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::fmax(std::fabs(box.lo[i]), std::fabs(box.hi[i]));
  return result;
}

// Prices of one element are floored at kUnderflow per product: a price that vanished would be missing |A| times.
Penalty affine_penalty(const AffineForm& form, const std::vector<std::vector<double>>& x) {
  const std::size_t size = form.bias.size();
  Penalty penalty{std::vector<double>(size, 0.0), 0.0};
  std::size_t most = form.parts.size();  // terms that meet in one sum of apply (all parts, on top of the bias) or of transpose
  for (const AffineForm::Part& part : form.parts) most += std::max(part.map->fan_in(), part.map->fan_out());
  std::vector<double> product(size), error(size);
  for (std::size_t p = 0; p < form.parts.size(); ++p) {
    const LinearMap& map = *form.parts[p].map;
    std::fill(product.begin(), product.end(), 0.0);
    map.apply_magnitude(x[p].data(), product.data());
    // Twice: apply works on midpoint and radius, whose magnitudes add up to at most 2 x.
    const double factor = 2 * terms(most);
    for (std::size_t i = 0; i < size; ++i) penalty.per_element[i] += factor * product[i] * kInflate;
    if (form.parts[p].error) {
      std::fill(error.begin(), error.end(), 0.0);
      form.parts[p].error->apply_magnitude(x[p].data(), error.data());
      for (std::size_t i = 0; i < size; ++i) penalty.per_element[i] += error[i] * kInflate;
    }
    penalty.absolute += kUnderflow * static_cast<double>(most) * (sum_of(x[p]) + 1);
  }
  // The bias is one of `size` terms of a row's constant, and the first of `most` + 1 terms of apply.
  const double bias_factor = terms(std::max(size, most));
  for (std::size_t i = 0; i < size; ++i) {
    penalty.per_element[i] += bias_factor * std::fabs(form.bias[i]);
    if (!form.bias_error.empty()) penalty.per_element[i] += form.bias_error[i];
    penalty.per_element[i] = penalty.per_element[i] * kInflate + kUnderflow * static_cast<double>(most + 1);
  }
  penalty.absolute += kUnderflow * static_cast<double>(size);
  return penalty;
}

Penalty line_penalty(const Relaxation& r, const std::vector<std::vector<double>>& x) {
  const std::size_t size = r.lower_intercept.size();
  Penalty penalty{std::vector<double>(size, 0.0), kUnderflow * static_cast<double>(size)};
  for (std::size_t p = 0; p < r.parts.size(); ++p) {
    const Relaxation::Part& part = r.parts[p];
    std::vector<std::size_t> uses(part.index.empty() ? 0 : x[p].size(), 0);
    std::size_t most = 1;
    for (const std::uint32_t i : part.index) most = std::max(most, ++uses[i]);
    for (std::size_t j = 0; j < size; ++j) {
      const double slope = std::fmax(std::fabs(part.lower[j]), std::fabs(part.upper[j]));
      const double magnitude = x[p][part.index.empty() ? j : part.index[j]];
      if (slope > 0) penalty.per_element[j] += terms(most) * slope * magnitude;
    }
    penalty.absolute += kUnderflow * static_cast<double>(most) * (sum_of(x[p]) + 1);
  }
  const double least = kUnderflow * static_cast<double>(r.parts.size() + 1);
  for (std::size_t j = 0; j < size; ++j) {
    const double intercept = std::fmax(std::fabs(r.lower_intercept[j]), std::fabs(r.upper_intercept[j]));
    penalty.per_element[j] = (penalty.per_element[j] + terms(size) * intercept) * kInflate + least;
  }
  return penalty;
}

FilterRows::FilterRows(const Graph& graph, const Boxes& boxes, std::size_t rows, bool keep_inputs)
    : graph_(graph),
      boxes_(boxes),
      rows_(rows),
      blocks_(graph.nodes.size()),
      constant_(rows, 0.0),
      slack_(rows, 0.0),
      keep_inputs_(keep_inputs),
      inputs_(keep_inputs ? graph.nodes.size() : 0) {}

std::vector<double> FilterRows::input_coefficients(std::size_t row) const {
  std::vector<double> result;
  for (const NodeId id : graph_.inputs) {
    const std::size_t size = graph_.size(id);
    if (inputs_[id].empty())
      result.resize(result.size() + size, 0.0);
    else
      result.insert(result.end(), inputs_[id].begin() + row * size, inputs_[id].begin() + (row + 1) * size);
  }
  return result;
}

std::vector<double>& FilterRows::block(NodeId node) {
  if (blocks_[node].empty()) blocks_[node].assign(rows_ * graph_.size(node), 0.0);
  return blocks_[node];
}

void FilterRows::add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error) {
  double& slot = block(node)[row * graph_.size(node) + element];
  const Box& box = *boxes_[node];
  const double magnitude = std::fmax(std::fabs(box.lo[element]), std::fabs(box.hi[element]));
  slot += coefficient;
  const double rounding = error + 2 * kUnit * std::fabs(slot);  // the sum may have rounded; 0 if error and slot are 0
  if (rounding > 0) slack_[row] += rounding * magnitude * kInflate;
}

void FilterRows::literal(NodeId node, std::uint32_t element, bool at_least, double threshold, double beta) {
  for (std::size_t row = 0; row < rows_; ++row) {
    add(row, node, element, at_least ? -beta : beta, 0.0);
    const double product = at_least ? beta * threshold : -beta * threshold;
    constant_[row] += product;
    slack_[row] += 2 * kUnit * (std::fabs(product) + std::fabs(constant_[row])) * kInflate + kUnderflow;
  }
}

void FilterRows::merge(NodeId node, std::vector<double> fresh) {
  std::vector<double>& to = blocks_[node];
  if (to.empty()) {
    to = std::move(fresh);
    return;
  }
  const std::vector<double> x = magnitudes(*boxes_[node]);
  for (std::size_t row = 0; row < rows_; ++row) {
    double* a = to.data() + row * x.size();
    const double* b = fresh.data() + row * x.size();
    double price = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      a[i] += b[i];
      if (a[i] != 0) price += std::fabs(a[i]) * x[i];
    }
    slack_[row] += 2 * kUnit * price * kInflate;
  }
}

void FilterRows::through(NodeId node, const LinearStep& step) {
  const std::vector<double> a = std::move(blocks_[node]);
  blocks_[node].clear();
  const std::size_t size = step.form->bias.size();
  for (std::size_t row = 0; row < rows_; ++row) {
    Sums sums;
    price_row(size, a.data() + row * size, step.form->bias.data(), step.penalty->per_element.data(), sums);
    constant_[row] += sums.value;
    slack_[row] += (sums.price + step.penalty->absolute + 2 * kUnit * std::fabs(constant_[row])) * kInflate;
  }
  for (const AffineForm::Part& part : step.form->parts) {
    if (part.map->is_identity()) {
      merge(part.operand, a);
      continue;
    }
    std::vector<double> fresh(rows_ * part.map->columns(), 0.0);
    part.map->transpose(rows_, a.data(), fresh.data());
    merge(part.operand, std::move(fresh));
  }
}

void FilterRows::relax(NodeId node, const Line& line) {
  const std::vector<double> a = std::move(blocks_[node]);
  blocks_[node].clear();
  const Relaxation& r = line.relaxation;
  const std::size_t size = r.lower_intercept.size();
  const double* const t[2] = {r.lower_intercept.data(), r.upper_intercept.data()};
  if (r.parts.size() == 1 && r.parts[0].index.empty()) {
    const double* const s[2] = {r.parts[0].lower.data(), r.parts[0].upper.data()};
    std::vector<double> fresh(rows_ * size);
    for (std::size_t row = 0; row < rows_; ++row) {
      Sums sums;
      relax_row(size, a.data() + row * size, s, t, line.penalty.per_element.data(), fresh.data() + row * size, sums);
      constant_[row] += sums.value;
      slack_[row] += (sums.price + line.penalty.absolute + 2 * kUnit * std::fabs(constant_[row])) * kInflate;
    }
    merge(r.parts[0].operand, std::move(fresh));
    return;
  }
  for (std::size_t row = 0; row < rows_; ++row) {
    double value = 0, price = 0;
    for (std::size_t j = 0; j < size; ++j) {
      const double c = a[row * size + j];
      if (c == 0) continue;
      value += c * t[c > 0 ? 0 : 1][j];
      price += std::fabs(c) * line.penalty.per_element[j];
    }
    constant_[row] += value;
    slack_[row] += (price + line.penalty.absolute + 2 * kUnit * std::fabs(constant_[row])) * kInflate;
  }
  for (const Relaxation::Part& part : r.parts) {
    const std::size_t columns = graph_.size(part.operand);
    std::vector<double> fresh(rows_ * columns, 0.0);
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t j = 0; j < size; ++j) {
        const double c = a[row * size + j];
        if (c != 0) fresh[row * columns + (part.index.empty() ? j : part.index[j])] += c * (c > 0 ? part.lower[j] : part.upper[j]);
      }
    }
    merge(part.operand, std::move(fresh));
  }
}

void FilterRows::concretize(NodeId node) {
  const std::vector<double> a = std::move(blocks_[node]);
  blocks_[node].clear();
  if (keep_inputs_ && graph_.node(node).op == Op::input) inputs_[node] = a;
  const Box& box = *boxes_[node];
  const std::size_t size = box.lo.size();
  for (std::size_t row = 0; row < rows_; ++row) {
    Sums sums;
    concretize_row(size, a.data() + row * size, box.lo.data(), box.hi.data(), sums);
    constant_[row] += sums.value;
    const double rounding = sums.price * terms(size) + kUnderflow * static_cast<double>(size) + 2 * kUnit * std::fabs(constant_[row]);
    slack_[row] += rounding * kInflate;
  }
}

double FilterRows::lower(std::size_t row) const {
  for (const auto& block : blocks_) demand(block.empty(), "a lower bound was asked for before every block was consumed");
  const double bound = sub_down(constant_[row], slack_[row] * kInflate);
  return bound == bound ? bound : -INFINITY;
}

double FilterRows::estimate(std::size_t row) const { return constant_[row]; }

}  // namespace assay::kernel
