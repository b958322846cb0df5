// ExecutionModel: which computations a claim speaks about.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

// `real` = exact arithmetic on the real numbers denoted by the bits of the model and the decimals of the property.
// `floating` = every execution that the fields below admit. A kernel that does not know a semantics declines it.
struct ExecutionModel {
  enum class Kind : std::uint8_t { real, floating } kind = Kind::real;
  enum class Format : std::uint8_t { binary32, binary64 } format = Format::binary32;
  enum class Rounding : std::uint8_t { nearest_even } rounding = Rounding::nearest_even;
  bool flush_operands = false;   // subnormal operands may read as zero
  bool flush_results = false;    // subnormal results may be zero
  bool fused_multiply_add = true;
  enum class Accumulator : std::uint8_t { any_order, left_to_right } accumulator = Accumulator::any_order;
  bool bias_in_product = true;   // a dot product or convolution with bias is one op of m + 1 terms
  std::string math_table;        // name of the declared math library's error table
};

// "real arithmetic", or the float model spelled out, as the theorem prints it.
[[nodiscard]] std::string to_string(const ExecutionModel& model);

}  // namespace assay
