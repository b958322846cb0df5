// ExecutionModel: the computations that a claim is about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "semantics/outcome.h"

namespace assay {

// `real` is exact arithmetic on the real numbers denoted by the bits of the model and the decimals of the
// property. `floating` is every execution that the fields below admit. A kernel that does not support a
// semantics declines it. The defaults are the weakest model that is true of a plain float32 runtime; a stricter
// model makes a contract sharper.
struct ExecutionModel {
  enum class Kind : std::uint8_t { real, floating } kind = Kind::real;
  enum class Format : std::uint8_t { binary32, binary64 } format = Format::binary32;
  enum class Rounding : std::uint8_t { nearest_even } rounding = Rounding::nearest_even;
  bool flush_operands = false;  // subnormal operands may be read as zero
  bool flush_results = false;   // subnormal results may be zero
  bool fused_multiply_add = true;
  // Sums and products of many terms.
  enum class Accumulator : std::uint8_t { any_order, left_to_right, tree } accumulator = Accumulator::any_order;
  std::uint32_t tree_height = 0;  // for tree: the most additions that any term passes through
  enum class AccumulatorFormat : std::uint8_t { same, binary64 } accumulator_format = AccumulatorFormat::same;
  // aligned: sums of products are those of tensor cores (docs/contracts/sums.md); other sums round to nearest.
  enum class AccumulatorRounding : std::uint8_t { nearest_even, toward_zero, aligned } accumulator_rounding = {};
  // The format to which the factors of a matrix product or a convolution are rounded before they are multiplied.
  enum class InputRounding : std::uint8_t { none, tf32, bfloat16, binary16 } input_rounding = InputRounding::none;
  // The format to which every result is rounded when it is stored. Inputs, constants and operands are then numbers
  // of it.
  enum class Storage : std::uint8_t { same, bfloat16, binary16 } storage = Storage::same;
  bool bias_in_product = true;      // a dot product or convolution with bias is one op of m + 1 terms
  bool reciprocal_of_count = true;  // a mean may multiply with the rounded 1/n instead of dividing by n
  // Algorithm classes of the defined ops (docs/contracts).
  enum class Softmax : std::uint8_t { max_subtracted, online } softmax = Softmax::max_subtracted;
  enum class Moments : std::uint8_t { two_pass, welford, one_pass, one_or_two_pass } moments = Moments::two_pass;
  enum class Sigmoid : std::uint8_t { exponential, tanh_form } sigmoid = Sigmoid::exponential;
  // algebraic: sums and products whose steps nothing else reads may be evaluated by any equal formula, with constants
  // combined and rounded anew (kernel/floats/rewrites.h).
  enum class Rewrites : std::uint8_t { none, algebraic } rewrites = Rewrites::none;
  // The name of the mathematics library's error table (kernel/floats/math_tables.h).
  std::string math_table;

  friend bool operator==(const ExecutionModel&, const ExecutionModel&) = default;
};

// "real arithmetic", or the canonical spelling of the float model: its format, then every field as key=word, in a fixed
// order, separated by single spaces. Two models are equal iff their spellings are.
[[nodiscard]] std::string to_string(const ExecutionModel& model);

// The same without the fields that have their defaults; reading it back gives the same model.
[[nodiscard]] std::string short_spelling(const ExecutionModel& model);

// The model with this spelling. Fields may come in any order; an omitted field has its default, and none may
// occur twice.
[[nodiscard]] Outcome<ExecutionModel> parse_execution_model(std::string_view text);

// All problems: a height without a tree, a tree without a height, an unprintable table name.
[[nodiscard]] std::vector<Rejection> validate(const ExecutionModel& model);

}  // namespace assay
