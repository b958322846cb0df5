// LinearMap: one linear op between two nodes, y = M x, with one batched apply/transpose pair.
//
// Boxes, back-substitution, the gradient gate and the search all use this pair. Batches are row-major: x is
// [batch, columns], y is [batch, rows]. All products accumulate into their result. Entries are finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernel/rows/product.h"
#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"
#include "semantics/outcome.h"

namespace assay::rows {

// A map's entries as integers on one grid: entry = mantissa * 2^exponent, each off by at most `half_step` (a power of
// two, 0 when all are exact).
struct IntegerEntries {
  std::vector<std::int64_t> mantissas;
  std::int32_t exponent = 0;
  double half_step = 0;
};

// The elements of a node whose coefficients a block of rows holds, each once and in any order; those of all others are 0.
// None: all of them, in the node's order.
using Elements = std::shared_ptr<const std::vector<std::uint32_t>>;

// Coefficients of a node's elements, [rows, elements]. Behind a convolution the rows that start at one position touch a
// window of the earlier feature map, and its positions are listed with the channels of each side by side.
struct Block {
  Elements elements;
  std::vector<double> values;

  [[nodiscard]] std::size_t count(std::size_t size) const { return elements ? elements->size() : size; }  // of a node of `size`
  [[nodiscard]] std::uint32_t element(std::size_t k) const { return elements ? (*elements)[k] : static_cast<std::uint32_t>(k); }
};
// The same rows of a node of `size` elements by other elements, among which those of the block are.
[[nodiscard]] Block spread(std::size_t rows, const Block& block, const Elements& elements, std::size_t size);

// Numbers elements in the order in which they are met.
class Places {
 public:
  explicit Places(std::size_t size) : place_(size, kNowhere) {}
  [[nodiscard]] std::uint32_t operator[](std::uint32_t element) const { return place_[element]; }
  void meet(std::uint32_t element) {
    if (place_[element] != kNowhere) return;
    place_[element] = static_cast<std::uint32_t>(met_.size());
    met_.push_back(element);
  }
  void meet_all() {
    met_.reserve(place_.size());
    for (std::uint32_t i = 0; i < place_.size(); ++i) meet(i);
  }
  [[nodiscard]] const std::vector<std::uint32_t>& met() const { return met_; }

 private:
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::vector<std::uint32_t> place_, met_;
};

class LinearMap {
 public:
  virtual ~LinearMap() = default;
  [[nodiscard]] std::size_t rows() const { return rows_; }        // elements of the result
  [[nodiscard]] std::size_t columns() const { return columns_; }  // elements of the operand

  // y[b,i] += sum_j M[i,j] x[b,j].
  virtual void apply(std::size_t batch, const double* x, double* y) const = 0;
  // out[b,j] += sum_i a[b,i] M[i,j].
  virtual void transpose(std::size_t batch, const double* a, double* out) const = 0;
  // out = a M: of which elements, is the map's choice. The memory of `out` is used again, whatever it holds. Returns the multiply-adds of
  // a row.
  virtual std::size_t transpose_block(std::size_t batch, const Block& a, Block& out) const;
  // y[i] += sum_j |M[i,j]| x[j] for x >= 0.
  virtual void apply_magnitude(const double* x, double* y) const = 0;
  // y[i] += sum over the stored entries of row i of x[j].
  virtual void apply_pattern(const double* x, double* y) const = 0;

  // The entries on a grid of at most `bits` bits, and out[b,j] += sum_i a[b,i] entry[i,j] in integers.
  [[nodiscard]] virtual IntegerEntries integer_entries(int bits) const = 0;
  virtual void transpose(const IntegerEntries& entries, std::size_t batch, const std::int64_t* a, Int128* out) const = 0;

  // Largest number of terms in one sum of apply (fan_in) and of transpose (fan_out).
  [[nodiscard]] std::size_t fan_in() const { return fan_in_; }
  [[nodiscard]] std::size_t fan_out() const { return fan_out_; }
  // Entry (i, i) is exactly 1 for every i, and there are no others.
  [[nodiscard]] virtual bool is_identity() const { return false; }
  // Multiply-adds of one apply or transpose of one row.
  [[nodiscard]] virtual std::size_t cost() const = 0;

 protected:
  LinearMap(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns) {}
  std::size_t rows_, columns_, fan_in_ = 1, fan_out_ = 1;
};

// y[o, r, i] = sum_c w[r, c] x[o, c, i]: products with a constant matrix on either side. w is [rows, columns].
[[nodiscard]] std::shared_ptr<const LinearMap> dense_map(std::size_t outer, std::size_t rows, std::size_t columns, std::size_t inner,
                                                         const std::vector<double>& w);

// Convolutions of any dimension: y[c_out, p] = sum over taps (p, q, k) and c_in of the group of w[k][c_in][c_out] x[c_in, q],
// per batch element of the tensor. A tap joins an output position to an input position by a kernel position.
struct ConvTap {
  std::uint32_t result, operand, kernel;
};
struct ConvShape {
  std::size_t tensor_batch, groups, result_channels, operand_channels;  // channels per whole tensor
  std::size_t result_positions, operand_positions, kernel_positions;
  std::vector<ConvTap> taps;
};
// w is [kernel position, group, operand channel of the group, result channel of the group].
[[nodiscard]] std::shared_ptr<const LinearMap> conv_map(ConvShape shape, const std::vector<double>& w);

// Any other map by its entries, in any order; several entries of one place add up.
struct SparseEntry {
  std::uint32_t row, column;
  double value;
};
[[nodiscard]] std::shared_ptr<const LinearMap> sparse_map(std::size_t rows, std::size_t columns, std::vector<SparseEntry> entries);

// y = sum over parts of (M_p +- E_p) x_p + (bias +- bias_error): where true coefficients are not doubles (batch norm, means),
// M holds midpoints and E (null when exact) entrywise half-widths.
struct AffineForm {
  struct Part {
    NodeId operand;
    std::shared_ptr<const LinearMap> map;
    std::shared_ptr<const LinearMap> error;
  };
  std::vector<Part> parts;         // non-constant operands; an operand may occur twice
  std::vector<double> bias;        // one per element
  std::vector<double> bias_error;  // empty when exact
};

// outer after inner, where outer is one exact identity map plus a bias: y = inner + bias. nullopt for any other outer.
[[nodiscard]] std::optional<AffineForm> folded(const AffineForm& outer, const AffineForm& inner);

// The affine form of a linear or layout node; structured maps (dense, conv) are probed against the denotation on integer
// data bit for bit, all others are read off the denotation. `constants` holds the values of the nodes that depend on no
// input (empty arrays elsewhere). Declined (code "linear_map.not_linear") for nodes that are not affine in the others.
struct ConstantValues {
  std::vector<bool> is_constant;
  std::vector<Array<Interval>> values;
  std::vector<double> product_terms;  // in a floating semantics: of the product of constants that the node holds, if any, and a bias
};
[[nodiscard]] Outcome<AffineForm> affine_form(const Graph& graph, NodeId node, const ConstantValues& constants);

}  // namespace assay::rows
