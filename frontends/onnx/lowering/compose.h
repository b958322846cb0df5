// Compose: short forms of what several lowerings need.
#pragma once

#include "frontends/onnx/lowering/handlers.h"

namespace assay::onnx {

using Ints = std::vector<std::int64_t>;

inline constexpr std::int64_t kLargestExtent = (std::int64_t{1} << 31) - 1;

// The operand's elements `first`, first + step, ..., `count` of them, along one axis.
[[nodiscard]] Operand slice_axis(Call& call, const Operand& x, std::size_t axis, std::int64_t first, std::int64_t count,
                                 std::int64_t step = 1);
[[nodiscard]] Operand permute(Call& call, const Operand& x, Ints axes);  // adds no node where the order stays
[[nodiscard]] Operand expand(Call& call, const Operand& x, const Shape& shape);
[[nodiscard]] Operand concat(Call& call, const std::vector<Operand>& parts, std::size_t axis);  // adds no node for one part
// Element i of the result is element indices[i] of x, row-major; -1 stands for `fill`.
[[nodiscard]] Operand select_flat(Call& call, const Operand& x, Ints indices, const Shape& shape, double fill = 0);
// `pieces` equal parts along an axis that they divide.
[[nodiscard]] std::vector<Operand> split_axis(Call& call, const Operand& x, std::size_t axis, std::size_t pieces);

// A constant of x's float type; the values are numbers of that type, or the nearest ones.
[[nodiscard]] Operand reals_like(Call& call, const Operand& x, Shape shape, const std::vector<double>& values);

// Integer (or whole float) elements of a constant input of any rank.
[[nodiscard]] Ints whole_numbers(const Call& call, std::size_t i, const char* what);
// The index counted from the front; -extent <= index < extent is required.
[[nodiscard]] std::int64_t resolved_index(const Call& call, std::int64_t index, std::int64_t extent);
// GatherND, ScatterND and ScatterElements at indices that the network computes (places.cpp).
[[nodiscard]] Operand gather_at_places(Call& call);
[[nodiscard]] Operand scatter_at_places(Call& call);
[[nodiscard]] Operand scatter_along(Call& call, std::size_t axis);

// Steps through the indices of a shape in row-major order; false behind the last one.
[[nodiscard]] bool next_index(Ints& index, const Shape& shape);
// Elements between neighbours along each axis.
[[nodiscard]] Ints strides_of(const Shape& shape);
// [B, S, heads * D] as [B, heads, S, D]; an operand of four axes stays.
[[nodiscard]] Operand by_head(Call& call, const Operand& x, std::int64_t heads);
[[nodiscard]] Operand scaled(Call& call, const Operand& x, double factor);

}  // namespace assay::onnx
