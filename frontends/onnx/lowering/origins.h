// Origins: which run-time integers differ by a constant, so that a shape that depends on both is known.
#pragma once

#include <cstdint>
#include <optional>

#include "frontends/onnx/lowering/lowering.h"

namespace assay::onnx {

// One element of an integer value: element `element` of a node, plus a number. Without a node it is that number.
struct Origin {
  std::optional<NodeId> node;
  std::int64_t element = 0;
  std::int64_t plus = 0;
};
[[nodiscard]] Origin origin_of(const Call& call, const Operand& value, std::int64_t element);

// a - b where it is one number for all inputs of the network.
[[nodiscard]] std::optional<std::int64_t> constant_difference(const Call& call, const Origin& a, const Origin& b);

}  // namespace assay::onnx
