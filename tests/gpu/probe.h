// A probe: one application of an op on operands that a kernel might get wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/gpu/devices.h"

namespace assay::test {

struct Probe {
  Op op;
  Attributes attributes;
  std::vector<Tensor> operands;
};

using Draws = std::function<Tensor(const Shape&)>;

}  // namespace assay::test
