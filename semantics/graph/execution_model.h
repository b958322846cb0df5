// ExecutionModel: which computations a claim speaks about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "semantics/outcome.h"

namespace assay {

// `real` = exact arithmetic on the real numbers denoted by the bits of the model and the decimals of the property.
// `floating` = every execution that the fields below admit. A kernel that does not know a semantics declines it.
// The defaults are the weakest model that is true of a plain float32 runtime; a stricter one makes a contract sharper.
struct ExecutionModel {
  enum class Kind : std::uint8_t { real, floating } kind = Kind::real;
  enum class Format : std::uint8_t { binary32, binary64 } format = Format::binary32;
  enum class Rounding : std::uint8_t { nearest_even } rounding = Rounding::nearest_even;
  bool flush_operands = false;  // subnormal operands may read as zero
  bool flush_results = false;   // subnormal results may be zero
  bool fused_multiply_add = true;
  // Sums and products of many terms.
  enum class Accumulator : std::uint8_t { any_order, left_to_right, tree } accumulator = Accumulator::any_order;
  std::uint32_t tree_height = 0;  // tree: no term passes through more additions than this
  enum class AccumulatorFormat : std::uint8_t { same, binary64 } accumulator_format = AccumulatorFormat::same;
  // aligned: sums of products are those of tensor cores (docs/contracts/sums.md), others round to nearest.
  enum class AccumulatorRounding : std::uint8_t { nearest_even, toward_zero, aligned } accumulator_rounding = {};
  // What the factors of a product of matrices or a convolution are rounded to before they are multiplied.
  enum class InputRounding : std::uint8_t { none, tf32, bfloat16, binary16 } input_rounding = InputRounding::none;
  // What every result is rounded to when it is stored: inputs, constants and operands are then numbers of that format.
  enum class Storage : std::uint8_t { same, bfloat16, binary16 } storage = Storage::same;
  bool bias_in_product = true;      // a dot product or convolution with bias is one op of m + 1 terms
  bool reciprocal_of_count = true;  // a mean may multiply with the rounded 1/n instead of dividing by n
  // Algorithm classes of the defined ops (docs/contracts).
  enum class Softmax : std::uint8_t { max_subtracted, online } softmax = Softmax::max_subtracted;
  enum class Moments : std::uint8_t { two_pass, welford, one_pass, one_or_two_pass } moments = Moments::two_pass;
  enum class Sigmoid : std::uint8_t { exponential, tanh_form } sigmoid = Sigmoid::exponential;
  // algebraic: sums and products whose steps nothing else reads may be evaluated by any equal formula, with constants combined and rounded
  // anew (kernel/floats/rewrites.h).
  enum class Rewrites : std::uint8_t { none, algebraic } rewrites = Rewrites::none;
  std::string math_table;  // name of the declared math library's error table (kernel/floats/math_tables.h)

  friend bool operator==(const ExecutionModel&, const ExecutionModel&) = default;
};

// "real arithmetic", or the canonical spelling of the float model: its format, then every field as key=word, in one order,
// separated by single spaces. Two models are equal iff their spellings are.
[[nodiscard]] std::string to_string(const ExecutionModel& model);

// The same without the fields that have their defaults; what is read back from it is the same model.
[[nodiscard]] std::string short_spelling(const ExecutionModel& model);

// The model with this spelling. Fields may come in any order and be left out (their defaults hold), none twice.
[[nodiscard]] Outcome<ExecutionModel> parse_execution_model(std::string_view text);

// Every problem: a height without a tree or a tree without one, an unprintable table name.
[[nodiscard]] std::vector<Rejection> validate(const ExecutionModel& model);

}  // namespace assay
