// LinearMap: one linear op between two nodes, y = M x, with a batched apply and transpose.
//
// Boxes, back-substitution, the gradient gate and the search all use this pair. Batches are row-major: x is
// [batch, columns], y is [batch, rows]. All products add to their result. Entries are finite.
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

// The entries of a map as integers on one grid: entry = mantissa * 2^exponent. Each is off by at most `half_step`, a
// power of two; 0 means that all are exact.
struct IntegerEntries {
  std::vector<std::int64_t> mantissas;
  std::int32_t exponent = 0;
  double half_step = 0;
};

// The elements of a node whose coefficients a block of rows holds, each once and in any order. The coefficients of all
// other elements are 0. Null: all elements, in the node's order.
using Elements = std::shared_ptr<const std::vector<std::uint32_t>>;

// Coefficients of a node's elements, [rows, elements]. Behind a convolution, the rows that start at one position touch
// a window of the earlier feature map. Their block lists the positions of that window, with the channels of each
// position side by side.
struct Block {
  Elements elements;
  std::vector<double> values;

  // `size` is the number of elements of the node.
  [[nodiscard]] std::size_t count(std::size_t size) const { return elements ? elements->size() : size; }
  [[nodiscard]] std::uint32_t element(std::size_t k) const { return elements ? (*elements)[k] : static_cast<std::uint32_t>(k); }
};
// The same rows with another list of elements, which includes those of the block, for a node of `size` elements.
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
  // out = a M. The map chooses the list of elements of `out`. The memory of `out` is reused, whatever it holds. Returns
  // the multiply-adds per row.
  virtual std::size_t transpose_block(std::size_t batch, const Block& a, Block& out) const;
  // y[i] += sum_j |M[i,j]| x[j] for x >= 0.
  virtual void apply_magnitude(const double* x, double* y) const = 0;
  // y[i] += the sum of x[j] over the stored entries (i, j) of row i.
  virtual void apply_pattern(const double* x, double* y) const = 0;

  // integer_entries: the entries on a grid of at most `bits` bits. transpose: out[b,j] += sum_i a[b,i] entry[i,j]
  // in integers.
  [[nodiscard]] virtual IntegerEntries integer_entries(int bits) const = 0;
  virtual void transpose(const IntegerEntries& entries, std::size_t batch, const std::int64_t* a, Int128* out) const = 0;

  // Largest number of terms in one sum of apply (fan_in) and of transpose (fan_out).
  [[nodiscard]] std::size_t fan_in() const { return fan_in_; }
  [[nodiscard]] std::size_t fan_out() const { return fan_out_; }
  // Whether entry (i, i) is exactly 1 for every i, and there are no other entries.
  [[nodiscard]] virtual bool is_identity() const { return false; }
  // Multiply-adds per row of one apply or transpose.
  [[nodiscard]] virtual std::size_t cost() const = 0;

 protected:
  LinearMap(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns) {}
  std::size_t rows_, columns_, fan_in_ = 1, fan_out_ = 1;
};

// y[o, r, i] = sum_c w[r, c] x[o, c, i]: products with a constant matrix on either side. w is [rows, columns].
[[nodiscard]] std::shared_ptr<const LinearMap> dense_map(std::size_t outer, std::size_t rows, std::size_t columns, std::size_t inner,
                                                         const std::vector<double>& w);

// Convolutions of any dimension. For each batch element of the tensor, y[c_out, p] is the sum of w[k][c_in][c_out]
// x[c_in, q] over taps (p, q, k) and over the c_in of the group. A tap joins an output position to an input position by
// a kernel position.
struct ConvTap {
  std::uint32_t result, operand, kernel;
};
struct ConvShape {
  std::size_t tensor_batch, groups, result_channels, operand_channels;  // channels of the whole tensor
  std::size_t result_positions, operand_positions, kernel_positions;
  std::vector<ConvTap> taps;
};
// w is [kernel position, group, operand channel of the group, result channel of the group].
[[nodiscard]] std::shared_ptr<const LinearMap> conv_map(ConvShape shape, const std::vector<double>& w);

// Any other map, given by its entries in any order. Several entries at one place add up.
struct SparseEntry {
  std::uint32_t row, column;
  double value;
};
[[nodiscard]] std::shared_ptr<const LinearMap> sparse_map(std::size_t rows, std::size_t columns, std::vector<SparseEntry> entries);

// y = sum over parts of (M_p +- E_p) x_p + (bias +- bias_error). Where true coefficients are not doubles (batch norm,
// means), M holds midpoints and E the half-widths of the entries. E is null if all are exact.
struct AffineForm {
  struct Part {
    NodeId operand;
    std::shared_ptr<const LinearMap> map;
    std::shared_ptr<const LinearMap> error;
  };
  std::vector<Part> parts;              // non-constant operands; an operand may occur twice
  std::vector<double> bias;             // one per element
  std::vector<double> bias_error;       // empty when exact
  [[nodiscard]] bool is_shift() const;  // its one operand, plus the bias
  [[nodiscard]] bool is_copy() const;   // ... without a bias
};

// The composition of `outer` after `inner`, if `outer` is one exact identity map plus a bias: y = inner + bias. nullopt
// for any other outer.
[[nodiscard]] std::optional<AffineForm> folded(const AffineForm& outer, const AffineForm& inner);

// The affine form of a linear or layout node. Structured maps (dense, conv) are compared bit for bit with the
// denotation on integer data; all others are read off the denotation. `constants` holds the values of the nodes that
// depend on no input (empty arrays elsewhere). Declined (code "linear_map.not_linear") if the node is not affine in its
// other operands.
struct ConstantValues {
  std::vector<bool> is_constant;
  std::vector<Array<Interval>> values;
  // In a floating semantics: the number of terms of the product of constants that the node holds, if any, and
  // of a bias.
  std::vector<double> product_terms;
};
[[nodiscard]] Outcome<AffineForm> affine_form(const Graph& graph, NodeId node, const ConstantValues& constants);

}  // namespace assay::rows
