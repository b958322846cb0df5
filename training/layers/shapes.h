// Views that layers need, by name.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/session.h"

namespace assay::training {

using runtime::Value;

// Places start .. start + count - 1 of an axis; one place, without the axis.
[[nodiscard]] Value slice(const Value& x, std::size_t axis, std::int64_t start, std::int64_t count);
[[nodiscard]] Value select(const Value& x, std::size_t axis, std::int64_t place);
[[nodiscard]] std::vector<Value> split(const Value& x, std::size_t axis, std::int64_t parts);  // equal parts (demanded)
[[nodiscard]] Value stack(std::span<const Value> values, std::size_t axis);                    // along a new axis
[[nodiscard]] Value flatten(const Value& x);                                                   // [B, the rest]
[[nodiscard]] Value transpose(const Value& x, std::size_t a, std::size_t b);
// A vector [C] as [1, C, 1, ...], to meet axis 1 of `rank` axes.
[[nodiscard]] Value along_channels(const Value& x, std::size_t rank);
// Numbers as an array of the session's type.
[[nodiscard]] runtime::Array numbers(const runtime::Session& session, const Shape& shape, std::span<const double> values);

}  // namespace assay::training
