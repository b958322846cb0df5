// Builds the AffineForm of a graph node: a dense or convolution map if the op has that structure, otherwise the sparse
// matrix that the op's denotation yields on symbolic operands.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "kernel/rows/linear_map.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/symbolic.h"
#include "semantics/ops/indexing.h"

namespace assay::rows {
namespace {

// An interval as midpoint and half-width; the half-width is rounded up.
struct Split {
  double mid, half_width;
};
Split split(const Interval& x) {
  const double mid = x.midpoint();
  return {mid, std::fmax(sub_up(x.hi(), mid), sub_up(mid, x.lo()))};
}

bool all_finite(const Array<Interval>& values) {
  return std::ranges::all_of(values.values, [](const Interval& v) { return std::isfinite(v.lo()) && std::isfinite(v.hi()); });
}

Rejection not_linear(const Node& node, std::string found) {
  return {Rejection::Kind::declined, "linear_map.not_linear", node.name, "affine in the non-constant operands", std::move(found), ""};
}

// Weights as a matrix [rows, columns]; `transposed` says that they are stored as its transpose.
std::vector<double> matrix(std::size_t rows, std::size_t columns, const std::vector<double>& w, bool transposed) {
  std::vector<double> result(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[i * columns + j] = transposed ? w[j * rows + i] : w[i * columns + j];
  }
  return result;
}

// A product with constant weights: the number of the variable operand and of the weights, and a function that makes the
// map from weights in their own layout. With `by_entries`, the map of a single matrix stores only the entries that are
// not 0.
struct Structure {
  std::size_t variable = 0, weight = 1;
  std::function<std::shared_ptr<const LinearMap>(const std::vector<double>& w, bool by_entries)> build;
};

constexpr std::size_t kSparse = 16;  // time of one product in a sparse map, in products of a vectorised dense map

std::shared_ptr<const LinearMap> product_map(std::size_t outer, std::size_t m, std::size_t n, std::size_t inner,
                                             const std::vector<double>& w, bool by_entries) {
  if (!by_entries) return dense_map(outer, m, n, inner, w);
  std::vector<SparseEntry> entries;
  for (std::size_t k = 0; k < w.size(); ++k) {
    if (w[k] != 0) entries.push_back({static_cast<std::uint32_t>(k / n), static_cast<std::uint32_t>(k % n), w[k]});
  }
  return sparse_map(m, n, std::move(entries));
}

// gemm and matmul: a constant matrix on the right, or on the left, where the variable may have further axes.
std::optional<Structure> matrix_structure(const Node& node, const Shape& a, const Shape& b, std::size_t weight) {
  const auto* gemm = std::get_if<GemmAttributes>(&node.attributes);
  const bool transposes_a = gemm != nullptr && gemm->transpose_a, transposes_b = gemm != nullptr && gemm->transpose_b;
  const Shape &w = weight == 1 ? b : a, &x = weight == 1 ? a : b;
  if (w.size() != 2 || (weight == 1 ? transposes_a : transposes_b)) return std::nullopt;
  const bool swaps = weight == 1 ? !transposes_b : transposes_a;  // the map's matrix is the transpose of the weights
  const auto m = static_cast<std::size_t>(w[swaps ? 1 : 0]), n = static_cast<std::size_t>(w[swaps ? 0 : 1]);
  const bool has_inner = weight == 0 && x.size() > 1;
  const std::size_t outer = element_count({x.begin(), x.end() - (has_inner ? 2 : 1)}),
                    inner = has_inner ? static_cast<std::size_t>(x.back()) : 1;
  return Structure{1 - weight, weight, [=](const auto& entries, bool by_entries) {
                     return product_map(outer, m, n, inner, matrix(m, n, entries, swaps), by_entries);
                   }};
}

std::optional<Structure> conv_structure(const Node& node, const Shape& x, bool is_transpose) {
  const auto& window = std::get<WindowAttributes>(node.attributes);
  ops::Window geometry(window, x, node.shape);
  ConvShape shape;
  shape.tensor_batch = static_cast<std::size_t>(x[0]);
  shape.groups = static_cast<std::size_t>(window.groups);
  shape.operand_channels = static_cast<std::size_t>(x[1]);
  shape.result_channels = static_cast<std::size_t>(node.shape[1]);
  shape.operand_positions = geometry.operand_size();
  shape.result_positions = geometry.result_size();
  shape.kernel_positions = geometry.kernel_size();
  if (shape.operand_positions == 0 || shape.result_positions == 0 || shape.kernel_positions == 0) return std::nullopt;
  for (std::uint32_t o = 0; o < shape.result_positions; ++o) {
    for (const ops::Tap& tap : is_transpose ? geometry.transposed_taps(o) : geometry.taps(o))
      shape.taps.push_back({o, static_cast<std::uint32_t>(tap.operand), static_cast<std::uint32_t>(tap.kernel)});
  }
  const std::size_t groups = shape.groups, in = shape.operand_channels / groups, out = shape.result_channels / groups;
  const std::size_t kernels = shape.kernel_positions;
  return Structure{0, 1, [=](const std::vector<double>& w, bool) {
                     // conv weights are [groups * out, in, k], conv_transpose weights [groups * in, out, k].
                     std::vector<double> ordered(w.size());
                     for (std::size_t g = 0; g < groups; ++g) {
                       for (std::size_t i = 0; i < in; ++i) {
                         for (std::size_t o = 0; o < out; ++o) {
                           const std::size_t row = is_transpose ? ((g * in + i) * out + o) : ((g * out + o) * in + i);
                           for (std::size_t k = 0; k < kernels; ++k) {
                             ordered[((k * groups + g) * in + i) * out + o] = w[row * kernels + k];
                           }
                         }
                       }
                     }
                     return conv_map(shape, ordered);
                   }};
}

std::optional<Structure> structure(const Graph& graph, const Node& node, const std::vector<bool>& is_constant) {
  const bool product_op = node.op == Op::gemm || node.op == Op::matmul || node.op == Op::conv || node.op == Op::conv_transpose;
  if (!product_op) return std::nullopt;
  const bool first = is_constant[node.operands[0]], second = is_constant[node.operands[1]];
  if (first == second) return std::nullopt;
  if (node.operands.size() > 2 && !is_constant[node.operands[2]]) return std::nullopt;
  const Shape& a = graph.node(node.operands[0]).shape;
  const Shape& b = graph.node(node.operands[1]).shape;
  if (node.op == Op::gemm || node.op == Op::matmul) return matrix_structure(node, a, b, first ? 0 : 1);
  if (first) return std::nullopt;
  return conv_structure(node, a, node.op == Op::conv_transpose);
}

// Small integers from a fixed linear congruential sequence, so that every product and sum of the probe is exact
// in double.
class SmallIntegers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(static_cast<std::int64_t>(state_ >> 33) % 7 - 3);
  }
  std::vector<double> vector(std::size_t size) {
    std::vector<double> result(size);
    for (double& v : result) v = next();
    return result;
  }

 private:
  std::uint64_t state_ = 20260;
};

// Compares the structured map on integer weights with the op's denotation, bit for bit, and its transpose with its
// apply. If `by_entries`, the integer weights are 0 exactly where `weights` are 0, and the transpose is also tried with
// few non-zero coefficients.
bool probe(const Graph& graph, const Node& node, const Structure& s, const std::vector<double>& weights, bool by_entries) {
  SmallIntegers source;
  Node plain = node;
  if (auto* gemm = std::get_if<GemmAttributes>(&plain.attributes)) gemm->alpha = 1;
  plain.operands.resize(2);
  std::vector<Array<double>> operands;
  for (const NodeId id : plain.operands) operands.push_back({graph.node(id).shape, source.vector(graph.size(id))});
  for (std::size_t k = 0; by_entries && k < weights.size(); ++k) {
    double& w = operands[s.weight].values[k];
    w = weights[k] == 0 ? 0 : w == 0 ? 1 : w;
  }
  const auto reference = denote<double>(plain, pointers_to(operands));
  if (!reference) return false;
  const auto map = s.build(operands[s.weight].values, by_entries);
  const std::vector<double>& x = operands[s.variable].values;
  if (map->columns() != x.size() || map->rows() != reference.value().values.size()) return false;
  std::vector<double> y(map->rows(), 0.0);
  map->apply(1, x.data(), y.data());
  std::vector<double> a = source.vector(y.size());
  const auto comes_back = [&] {
    std::vector<double> back(map->columns(), 0.0);
    map->transpose(1, a.data(), back.data());
    return std::inner_product(y.begin(), y.end(), a.begin(), 0.0) == std::inner_product(x.begin(), x.end(), back.begin(), 0.0);
  };
  const bool agrees = y == reference.value().values && comes_back();
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = i % kSparse == 0 ? 1 : 0;
  return agrees && (!by_entries || comes_back());
}

struct SplitWeights {
  std::vector<double> mid, error;
  std::size_t used = 0;                    // number of weights that are not 0
  bool exact = true, error_alone = false;  // error_alone: some weight has midpoint 0 but a half-width above 0
};
SplitWeights split_weights(const Array<Interval>& weights, double factor) {
  SplitWeights result;
  for (const Interval& w : weights.values) {
    const Split s = split(Interval(factor) * w);
    result.mid.push_back(s.mid);
    result.error.push_back(s.half_width);
    result.used += s.mid != 0 ? 1 : 0;
    result.exact = result.exact && s.half_width == 0;
    result.error_alone = result.error_alone || (s.mid == 0 && s.half_width != 0);
  }
  return result;
}

void set_bias(AffineForm& form, std::size_t i, const Interval& value) {
  const Split s = split(value);
  form.bias[i] = s.mid;
  if (s.half_width == 0) return;
  if (form.bias_error.empty()) form.bias_error.assign(form.bias.size(), 0.0);
  form.bias_error[i] = s.half_width;
}

Outcome<AffineForm> structured_form(const Graph& graph, const Node& node, const Structure& s, const ConstantValues& constants) {
  const auto* gemm = std::get_if<GemmAttributes>(&node.attributes);
  const SplitWeights weights = split_weights(constants.values[node.operands[s.weight]], gemm ? gemm->alpha : 1.0);
  // By entries: for one matrix that is mostly zeros, if every term of an execution's sum is a stored entry.
  const bool is_matrix = (node.op == Op::gemm || node.op == Op::matmul) &&
                         weights.mid.size() == element_count(node.shape) * graph.size(node.operands[s.variable]);
  const bool by_entries = is_matrix && !weights.error_alone && weights.used > 0 && weights.used <= weights.mid.size() / kSparse;
  if (!probe(graph, node, s, weights.mid, by_entries))
    return not_linear(node, "the structured map disagrees with the denotation on integer data");
  AffineForm form;
  form.parts.push_back(
      {node.operands[s.variable], s.build(weights.mid, by_entries), weights.exact ? nullptr : s.build(weights.error, by_entries)});
  form.bias.assign(element_count(node.shape), 0.0);
  if (node.operands.size() < 3) return form;
  const Array<Interval>& bias = constants.values[node.operands[2]];
  const std::size_t size = form.bias.size();
  if (node.op == Op::gemm) {  // C broadcasts to [M, N]
    const Shape c = bias.shape.size() == 2 ? bias.shape : bias.shape.size() == 1 ? Shape{1, bias.shape[0]} : Shape{1, 1};
    const auto n = static_cast<std::size_t>(node.shape[1]);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t row = c[0] == 1 ? 0 : i / n, column = c[1] == 1 ? 0 : i % n;
      set_bias(form, i, Interval(gemm->beta) * bias.values[row * static_cast<std::size_t>(c[1]) + column]);
    }
    return form;
  }
  const std::size_t channels = bias.values.size(), positions = element_count({node.shape.begin() + 2, node.shape.end()});
  for (std::size_t i = 0; i < size; ++i) set_bias(form, i, bias.values[i / positions % channels]);
  return form;
}

// Layout ops: one index map per non-constant operand.
AffineForm layout_form(const Graph& graph, NodeId id, const ConstantValues& constants) {
  const Node& node = graph.node(id);
  AffineForm form;
  form.bias.assign(element_count(node.shape), 0.0);
  for (std::size_t which = 0; which < node.operands.size(); ++which) {
    const IndexMap map = index_map(graph, id, which);
    const NodeId operand = node.operands[which];
    const bool constant = constants.is_constant[operand];
    std::vector<SparseEntry> entries;
    for (std::size_t i = 0; i < map.index.size(); ++i) {
      if (map.index[i] < 0) {
        if (node.op == Op::pad) form.bias[i] = map.fill[i];
        continue;
      }
      const auto from = static_cast<std::uint32_t>(map.index[i]);
      if (constant)
        set_bias(form, i, constants.values[operand].values[from]);
      else
        entries.push_back({static_cast<std::uint32_t>(i), from, 1.0});
    }
    if (!constant) form.parts.push_back({operand, sparse_map(form.bias.size(), graph.size(operand), std::move(entries)), nullptr});
  }
  return form;
}

// The matrix read off the denotation: the elements of non-constant operands are fresh variables, constants
// stay numbers.
Outcome<AffineForm> symbolic_form(const Graph& graph, const Node& node, const ConstantValues& constants) {
  std::vector<Array<Symbolic>> operands;
  std::vector<std::size_t> first;  // the number of the first variable of each operand
  std::size_t variables = 0;
  for (const NodeId id : node.operands) {
    Array<Symbolic> operand{graph.node(id).shape, {}};
    first.push_back(variables);
    for (std::size_t i = 0; i < graph.size(id); ++i) {
      if (constants.is_constant[id])
        operand.values.emplace_back(constants.values[id].values[i]);
      else
        operand.values.push_back(Symbolic::variable(static_cast<std::uint32_t>(variables + i)));
    }
    if (!constants.is_constant[id]) variables += graph.size(id);
    operands.push_back(std::move(operand));
  }
  auto result = denote<Symbolic>(node, pointers_to(operands));
  if (!result) return result.rejection();

  AffineForm form;
  form.bias.assign(result.value().values.size(), 0.0);
  std::vector<std::vector<SparseEntry>> entries(operands.size()), errors(operands.size());
  for (std::size_t i = 0; i < form.bias.size(); ++i) {
    const Symbolic& value = result.value().values[i];
    if (!value.is_linear()) return not_linear(node, "a product of two non-constant operands");
    set_bias(form, i, value.constant());
    for (const auto& [variable, coefficient] : value.terms()) {
      std::size_t which = operands.size() - 1;
      while (constants.is_constant[node.operands[which]] || first[which] > variable) --which;
      const auto column = static_cast<std::uint32_t>(variable - first[which]);
      const Split s = split(coefficient);
      entries[which].push_back({static_cast<std::uint32_t>(i), column, s.mid});
      if (s.half_width != 0) errors[which].push_back({static_cast<std::uint32_t>(i), column, s.half_width});
    }
  }
  for (std::size_t which = 0; which < operands.size(); ++which) {
    const NodeId id = node.operands[which];
    if (constants.is_constant[id]) continue;
    form.parts.push_back({id, sparse_map(form.bias.size(), graph.size(id), std::move(entries[which])),
                          errors[which].empty() ? nullptr : sparse_map(form.bias.size(), graph.size(id), std::move(errors[which]))});
  }
  return form;
}

}  // namespace

bool AffineForm::is_shift() const { return parts.size() == 1 && !parts[0].error && parts[0].map->is_identity(); }

bool AffineForm::is_copy() const {
  return is_shift() && bias_error.empty() && std::ranges::all_of(bias, [](double b) { return b == 0; });
}

std::optional<AffineForm> folded(const AffineForm& outer, const AffineForm& inner) {
  if (!outer.is_shift()) return std::nullopt;
  AffineForm result{inner.parts, std::vector<double>(outer.bias.size(), 0.0), {}};
  const auto around = [](const AffineForm& form, std::size_t i) {
    const Interval bias(form.bias[i]);
    return form.bias_error.empty() ? bias : bias + Interval(-form.bias_error[i], form.bias_error[i]);
  };
  for (std::size_t i = 0; i < outer.bias.size(); ++i) set_bias(result, i, around(outer, i) + around(inner, i));
  return result;
}

Outcome<AffineForm> affine_form(const Graph& graph, NodeId id, const ConstantValues& constants) {
  const Node& node = graph.node(id);
  const OpClass op_class = op_row(node.op).op_class;
  if (op_class != OpClass::layout && op_class != OpClass::linear && op_class != OpClass::bilinear) {
    return not_linear(node, std::string(op_row(node.op).name));
  }
  // Results of integers may overflow, and only their denotation detects that.
  if (!is_float(node.dtype) && op_class != OpClass::layout) return not_linear(node, "integer arithmetic");
  for (const NodeId operand : node.operands) {
    if (constants.is_constant[operand] && !all_finite(constants.values[operand]))
      return not_linear(node, "a constant operand that is not finite");
  }
  if (op_class == OpClass::layout) return layout_form(graph, id, constants);
  std::size_t variables = 0;
  for (const NodeId operand : node.operands) variables += constants.is_constant[operand] ? 0 : 1;
  const bool sum_op = node.op == Op::add || node.op == Op::sub;
  if (variables > 1 && !sum_op) return not_linear(node, "several non-constant operands");
  if (const auto s = structure(graph, node, constants.is_constant)) return structured_form(graph, node, *s, constants);
  if (node.op == Op::conv || node.op == Op::conv_transpose) return not_linear(node, "a convolution without constant weights");
  return symbolic_form(graph, node, constants);
}

}  // namespace assay::rows
