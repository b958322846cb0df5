// The double filter: back-substitution in double with one rounding error bound per row.
//
// u = 2^-53. A computed sum of n products differs from the exact one by at most (n + 2) u sum|terms| (1 + 2^-30) for
// n < 2^20, in any order, with or without FMA (Jeannerod and Rump 2013), plus one smallest subnormal per product, which
// kUnderflow exceeds by far. All sums of error bounds have non-negative terms, and kInflate covers their own rounding.

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernel/rows/rows.h"
#include "semantics/demand.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"

namespace assay::rows {
namespace {

constexpr double kUnit = 0x1p-53;  // unit roundoff of double
// Covers the rounding of the sums of error bounds themselves, up to 2^25 terms.
constexpr double kInflate = 1 + 0x1p-26;
// Exceeds any rounding error of a product below the normal range; itself normal.
constexpr double kUnderflow = 0x1p-900;

double terms(std::size_t n) { return static_cast<double>(n + 8) * kUnit; }

double magnitude_at(const relax::Box& box, std::size_t i) { return std::max(std::fabs(box.lo[i]), std::fabs(box.hi[i])); }

double sum_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum * kInflate;
}

// A relaxation's part in the interface that carry() expects.
struct Slopes {
  const relax::Relaxation::Part& part;
  const std::uint32_t* index = part.index.empty() ? nullptr : part.index.data();
  const double *lower = part.lower.data(), *upper = part.upper.data();
  [[nodiscard]] std::size_t first(std::size_t j) const { return part.first(j); }
  [[nodiscard]] std::size_t last(std::size_t j) const { return part.last(j); }
  [[nodiscard]] std::size_t element(std::size_t k) const { return index != nullptr ? index[k] : k; }
  [[nodiscard]] double factor(std::size_t k, bool positive) const { return (positive ? lower : upper)[k]; }
};

// The values that belong to the elements of a block, in the block's order.
class Picked {
 public:
  Picked(const Block& block, const std::vector<double>& all) : first_(all.data()) {
    if (!block.elements) return;
    picked_.reserve(block.elements->size());
    for (const std::uint32_t i : *block.elements) picked_.push_back(all[i]);
    first_ = picked_.data();
  }
  [[nodiscard]] const double* data() const { return first_; }

 private:
  std::vector<double> picked_;
  const double* first_;
};

}  // namespace

std::vector<double> magnitudes(const relax::Box& box) {
  std::vector<double> result(box.lo.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = magnitude_at(box, i);
  return result;
}

Sizes affine_sizes(const AffineForm& form, const std::vector<std::vector<double>>& x) {
  Sizes sizes{std::vector<double>(form.bias.size(), 0.0), std::vector<double>(form.bias.size(), 0.0)};
  for (std::size_t p = 0; p < form.parts.size(); ++p) {
    form.parts[p].map->apply_magnitude(x[p].data(), sizes.products.data());
    if (form.parts[p].error) form.parts[p].error->apply_magnitude(x[p].data(), sizes.errors.data());
  }
  return sizes;
}

// The error bound of each element is at least kUnderflow per product: an error that vanished would be missing
// |A| times.
ErrorBound affine_error_bound(const AffineForm& form, const std::vector<std::vector<double>>& x, std::shared_ptr<const Sizes> sizes,
                              std::vector<double> rounding) {
  const std::size_t size = form.bias.size();
  ErrorBound error_bound{std::vector<double>(size, 0.0), kUnderflow * static_cast<double>(size), std::move(rounding), std::move(sizes)};
  // The most terms in one sum of apply (all parts, in addition to the bias) or of transpose.
  std::size_t most = form.parts.size();
  for (const AffineForm::Part& part : form.parts) most += std::max(part.map->fan_in(), part.map->fan_out());
  for (const std::vector<double>& operand : x) error_bound.absolute += kUnderflow * static_cast<double>(most) * (sum_of(operand) + 1);
  // Twice, because apply works on midpoint and radius, whose magnitudes add up to at most 2 x.
  const double factor = 2 * terms(most);
  // The bias is one of `size` terms of a row's constant, and the first of `most` + 1 terms of apply.
  const double bias_factor = terms(std::max(size, most));
  for (std::size_t i = 0; i < size; ++i) {
    double& error = error_bound.per_element[i];
    error = (factor * error_bound.sizes->products[i] + error_bound.sizes->errors[i]) * kInflate + bias_factor * std::fabs(form.bias[i]);
    if (!form.bias_error.empty()) error += form.bias_error[i];
    if (!error_bound.rounding.empty()) error += error_bound.rounding[i];
    error = error * kInflate + kUnderflow * static_cast<double>(most + 1);
  }
  return error_bound;
}

ErrorBound line_error_bound(const relax::Relaxation& r, const Boxes& boxes) {
  const std::size_t size = r.lower_intercept.size();
  ErrorBound error_bound{std::vector<double>(size, 0.0), kUnderflow * static_cast<double>(size)};
  std::size_t products = 0;  // products of one element
  for (const relax::Relaxation::Part& part : r.parts) {
    const std::vector<double> x = magnitudes(*boxes[part.operand]);
    std::vector<std::size_t> uses(part.index.empty() ? 0 : x.size(), 0);
    std::size_t most = 1;
    for (const std::uint32_t i : part.index) most = std::max(most, ++uses[i]);
    const double factor = terms(most);
    const auto error_of = [&](std::size_t k, std::size_t element) {
      const double slope = std::max(std::fabs(part.lower[k]), std::fabs(part.upper[k]));
      return slope > 0 ? factor * slope * x[element] : 0.0;
    };
    std::size_t longest = 1;
    if (part.index.empty() && part.start.empty()) {
      for (std::size_t j = 0; j < size; ++j) error_bound.per_element[j] += error_of(j, j);
    } else {
      longest = 0;
      for (std::size_t j = 0; j < size; ++j) {
        longest = std::max(longest, part.last(j) - part.first(j));
        for (std::size_t k = part.first(j); k < part.last(j); ++k) error_bound.per_element[j] += error_of(k, part.element(k));
      }
    }
    products += longest;
    error_bound.absolute += kUnderflow * static_cast<double>(most) * (sum_of(x) + 1);
  }
  const double least = kUnderflow * static_cast<double>(products + 1), factor = terms(size);
  for (std::size_t j = 0; j < size; ++j) {
    const double intercept = std::max(std::fabs(r.lower_intercept[j]), std::fabs(r.upper_intercept[j]));
    error_bound.per_element[j] = (error_bound.per_element[j] + factor * intercept) * kInflate + least;
  }
  return error_bound;
}

FilterRows::FilterRows(const Graph& graph, const Boxes& boxes, std::size_t rows, bool keep_inputs)
    : graph_(graph),
      boxes_(boxes),
      rows_(rows),
      blocks_(graph.nodes.size()),
      constant_(rows, 0.0),
      error_bound_(rows, 0.0),
      sums_(rows),
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

Block FilterRows::take() {
  if (spare_.empty()) return {};
  Block block = std::move(spare_.back());
  spare_.pop_back();
  block.elements = nullptr;
  return block;
}

Block FilterRows::consume(NodeId node) {
  --open_;
  work_ += 2 * blocks_[node].values.size();
  return std::exchange(blocks_[node], {});
}

void FilterRows::open(NodeId node, Elements elements) {
  Block& block = blocks_[node];
  block = {std::move(elements), {}};
  block.values.assign(rows_ * block.count(graph_.size(node)), 0.0);
  ++open_;
}

void FilterRows::add(std::size_t row, NodeId node, std::uint32_t element, double coefficient, double error) {
  const std::size_t size = graph_.size(node);
  Block& block = blocks_[node];
  if (!has(node)) open(node, nullptr);
  std::size_t place = element;
  if (block.elements) {
    const auto found = std::ranges::find(*block.elements, element);
    if (found == block.elements->end())
      block = spread(rows_, block, nullptr, size);
    else
      place = static_cast<std::size_t>(found - block.elements->begin());
  }
  double& slot = block.values[row * block.count(size) + place];
  const relax::Box& box = *boxes_[node];
  // The first entry is exact.
  const double rounding = error + (slot == 0 ? 0 : 2 * kUnit * std::fabs(slot + coefficient));
  slot += coefficient;
  if (rounding > 0) error_bound_[row] += rounding * magnitude_at(box, element) * kInflate;
}

void FilterRows::add_row(std::size_t row, NodeId node, std::span<const double> coefficients, std::span<const double> errors) {
  hold_all(node);
  Block& block = blocks_[node];
  double* slots = block.values.data() + row * coefficients.size();
  const relax::Box& box = *boxes_[node];
  double lost = 0;
  poll(coefficients.size());
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i] == 0 && errors[i] == 0) continue;
    slots[i] += coefficients[i];
    lost += (errors[i] + 2 * kUnit * std::fabs(slots[i])) * magnitude_at(box, i);
  }
  error_bound_[row] += lost * kInflate;
}

void FilterRows::hold_all(NodeId node) {
  if (!has(node)) open(node, nullptr);
  if (blocks_[node].elements) blocks_[node] = spread(rows_, blocks_[node], nullptr, graph_.size(node));
}

// First the block takes all elements: looking up each of many literals in its list would cost more than the
// step itself.
void FilterRows::add_constant(std::size_t row, double value) {
  constant_[row] += value;
  error_bound_[row] += 2 * kUnit * std::fabs(constant_[row]) * kInflate;
}

std::vector<double> FilterRows::coefficients(std::size_t row, NodeId node) const {
  const Block& block = blocks_[node];
  std::vector<double> result(graph_.size(node), 0.0);
  const std::size_t count = block.count(result.size());
  for (std::size_t k = 0; k < count; ++k) result[block.element(k)] = block.values[row * count + k];
  return result;
}

void FilterRows::merge(NodeId node, Block fresh) {
  if (fresh.values.empty()) return;
  Block& to = blocks_[node];
  if (!has(node)) {
    to = std::move(fresh);
    ++open_;
    return;
  }
  const Elements all = united(to.elements, fresh.elements, graph_.size(node));
  for (Block* block : {&to, &fresh}) {
    if (!same_order(block->elements, all)) *block = spread(rows_, *block, all, graph_.size(node));
  }
  const std::size_t count = to.count(graph_.size(node));
  work_ += 2 * rows_ * count;
  magnitudes_.resize(count);
  for (std::size_t i = 0; i < count; ++i) magnitudes_[i] = magnitude_at(*boxes_[node], to.element(i));
  for (std::size_t row = 0; row < rows_; ++row) {
    poll(count);
    double* a = to.values.data() + row * count;
    const double* b = fresh.values.data() + row * count;
    double error = 0;
    for (std::size_t i = 0; i < count; ++i) {
      a[i] += b[i];
      if (a[i] != 0) error += std::fabs(a[i]) * magnitudes_[i];
    }
    error_bound_[row] += 2 * kUnit * error * kInflate;
  }
  spare_.push_back(std::move(fresh));
}

// Adds the sums of a node to constants and error bounds; `absolute` is the part of the error that does not depend on
// the row.
void FilterRows::collect(double absolute) {
  poll(100 * rows_);
  for (std::size_t row = 0; row < rows_; ++row) {
    constant_[row] += sums_[row].value;
    error_bound_[row] += (sums_[row].error + absolute + 2 * kUnit * std::fabs(constant_[row])) * kInflate;
  }
}

void FilterRows::through_affine(NodeId node, const LinearStep& step) {
  Block a = consume(node);
  const Picked bias(a, step.form->bias), error(a, step.error_bound->per_element);
  pass_constants(rows_, a.count(step.form->bias.size()), a.values.data(), {bias.data(), bias.data()}, error.data(), sums_.data());
  collect(step.error_bound->absolute);
  // Each part goes over the list of elements once for all rows. With all elements, it goes over its entries only. So
  // many parts with few rows are faster with all elements.
  if (a.elements && step.form->parts.size() > rows_) a = spread(rows_, a, nullptr, step.form->bias.size());
  for (const AffineForm::Part& part : step.form->parts) {
    if (part.map->is_identity()) {
      merge(part.operand, &part == &step.form->parts.back() ? std::exchange(a, {}) : a);
      continue;
    }
    Block fresh = take();
    work_ += rows_ * part.map->transpose_block(rows_, a, fresh);
    merge(part.operand, std::move(fresh));
  }
  if (!a.values.empty()) spare_.push_back(std::move(a));
}

void FilterRows::through_relaxation(NodeId node, const LinearBounds& line) {
  Block a = consume(node);
  const relax::Relaxation& r = line.relaxation;
  const std::size_t size = a.count(r.lower_intercept.size());
  const Picked lower(a, r.lower_intercept), upper(a, r.upper_intercept), error(a, line.error_bound.per_element);
  if (r.parts.size() == 1 && r.parts[0].index.empty() && r.parts[0].start.empty()) {
    Block fresh = take();
    fresh.elements = a.elements;
    fresh.values.resize(rows_ * size);
    const Picked lower_slope(a, r.parts[0].lower), upper_slope(a, r.parts[0].upper);
    pass_lines(rows_, size, a.values.data(), {lower.data(), upper.data()}, error.data(), {lower_slope.data(), upper_slope.data()},
               fresh.values.data(), sums_.data());
    collect(line.error_bound.absolute);
    merge(r.parts[0].operand, std::move(fresh));
  } else {
    pass_constants(rows_, size, a.values.data(), {lower.data(), upper.data()}, error.data(), sums_.data());
    collect(line.error_bound.absolute);
    for (const relax::Relaxation::Part& part : r.parts) {
      Block fresh = take();
      work_ += rows_ * carry(rows_, a, r.lower_intercept.size(), Slopes{part}, graph_.size(part.operand), fresh);
      merge(part.operand, std::move(fresh));
    }
  }
  spare_.push_back(std::move(a));
}

void FilterRows::concretize(NodeId node) {
  Block a = consume(node);
  const relax::Box& box = *boxes_[node];
  const std::vector<double> magnitude = magnitudes(box);
  const std::size_t size = a.count(box.lo.size());
  const Picked lo(a, box.lo), hi(a, box.hi), largest(a, magnitude);
  pass_constants(rows_, size, a.values.data(), {lo.data(), hi.data()}, largest.data(), sums_.data());
  for (RowSums& sums : sums_) sums.error *= terms(size);
  collect(kUnderflow * static_cast<double>(size));
  if (keep_inputs_ && graph_.node(node).op == Op::input)
    inputs_[node] = std::move((a.elements ? spread(rows_, a, nullptr, box.lo.size()) : a).values);
  else
    spare_.push_back(std::move(a));
}

RowBound FilterRows::bound(std::size_t row) const {
  demand(open_ == 0, "a lower bound was asked for before every block was consumed");
  const double lower = sub_down(constant_[row], error_bound_[row] * kInflate);
  return {lower == lower ? lower : -INFINITY, constant_[row], error_bound_[row],
          keep_inputs_ ? input_coefficients(row) : std::vector<double>()};
}

}  // namespace assay::rows
