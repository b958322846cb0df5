// The tests of sessions share this code.
#pragma once

#include <cmath>
#include <vector>

#include "runtime/session.h"
#include "tests/catch.h"

namespace assay::test {

using Reals = std::vector<double>;
using Results = Outcome<std::vector<runtime::Value>>;

inline runtime::Array array(const Shape& shape, const Reals& values) { return runtime::Array::from(Tensor::of_doubles(shape, values)); }

inline void check_near(const Reals& found, const Reals& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("element " << i << ": " << found[i] << ", wanted " << wanted[i]);
    CHECK(std::abs(found[i] - wanted[i]) <= 1e-12 * (1 + std::abs(wanted[i])));
  }
}

}  // namespace assay::test
