// The values of an integer or boolean type.
#pragma once

#include <utility>

#include "semantics/graph/tensor.h"
#include "semantics/numbers/rational.h"

namespace assay {

// The least and the greatest value; all integers between them are values, too.
[[nodiscard]] std::pair<Rational, Rational> range_of(DType dtype);

}  // namespace assay
