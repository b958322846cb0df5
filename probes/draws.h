// Random numbers of one kind each, from which the probes of ops and of composite regions are filled.
#pragma once

#include <random>

#include "probes/catalogue.h"
#include "semantics/graph/execution_model.h"

namespace assay::probes {

// The ends of a format: exponents of the least subnormal, of the least normal and above the greatest number, and that number; where exp
// overflows, and where it underflows.
struct Ends {
  int least, normal, top;
  double largest, edge, beyond;
};
[[nodiscard]] Ends ends_of(DType dtype, ExecutionModel::Storage storage);

// A number of full precision where the operand may be drawn from.
[[nodiscard]] double number(std::mt19937_64& random, Draw from);
// A random sign and power of two within the format, subnormal numbers and overflow of squares and sums included.
[[nodiscard]] double of_any_size(std::mt19937_64& random, Draw from, const Ends& ends);
// Infinities, NaN, subnormal numbers, the ends of functions, and ordinary numbers.
[[nodiscard]] double special(std::mt19937_64& random, const Ends& ends);

}  // namespace assay::probes
