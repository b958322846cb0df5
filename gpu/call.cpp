#include "gpu/call.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace assay::gpu {

Rejection refused(Op op, std::string what) {
  return {Rejection::Kind::unsupported,
          "gpu.op",
          std::string(op_row(op).name),
          "an op and a form that the device has a kernel for",
          std::move(what),
          "run it in a session on the CPU, which runs every op"};
}

Rejection refused(Op op, DType dtype) {
  return {Rejection::Kind::unsupported,
          "gpu.dtype",
          std::string(op_row(op).name),
          "elements of a type that the device's kernels hold",
          to_string(dtype),
          "cast to one of them, or use a session on the CPU"};
}

std::optional<DType> other_than_floats(const Call& call) {
  for (const Operand& operand : call.operands) {
    if (operand.data.dtype != DType::float32) return operand.data.dtype;
  }
  if (call.result.dtype != DType::float32) return call.result.dtype;
  return std::nullopt;
}

Lines lines_of(const Shape& shape, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  Lines lines{0, static_cast<std::size_t>(shape[at]), dense_strides(shape)[at]};
  lines.count = lines.extent == 0 ? 0 : element_count(shape) / lines.extent;
  return lines;
}

std::vector<std::size_t> dense_strides(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * static_cast<std::size_t>(shape[axis]);
  return strides;
}

std::vector<std::size_t> repeating_strides(const Shape& from, const Shape& to) {
  const std::vector<std::size_t> dense = dense_strides(from);
  std::vector<std::size_t> strides(to.size(), 0);
  const std::size_t ahead = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) strides[ahead + axis] = dense[axis];
  }
  return strides;
}

std::optional<Strided> strided(const std::vector<std::size_t>& extents, const std::vector<std::size_t>& strides) {
  std::vector<std::pair<std::size_t, std::size_t>> axes;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    if (!axes.empty() && axes.back().second == strides[axis] * extents[axis]) {
      axes.back() = {axes.back().first * extents[axis], strides[axis]};
    } else {
      axes.emplace_back(extents[axis], strides[axis]);
    }
  }
  if (axes.size() > kMostAxes) return std::nullopt;
  Strided found;
  found.axes = axes.size();
  for (std::size_t axis = 0; axis < axes.size(); ++axis) std::tie(found.extents[axis], found.strides[axis]) = axes[axis];
  return found;
}

std::optional<Strided> strided(const Shape& extents, const std::vector<std::size_t>& strides) {
  return strided(std::vector<std::size_t>(extents.begin(), extents.end()), strides);
}

std::optional<Groups> groups_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  const std::vector<std::size_t> dense = dense_strides(shape);
  std::vector<std::size_t> extents[2], strides[2];
  Groups groups;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool within = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
    const auto extent = static_cast<std::size_t>(shape[axis]);
    extents[within ? 1 : 0].push_back(extent);
    strides[within ? 1 : 0].push_back(dense[axis]);
    (within ? groups.size : groups.count) *= extent;
  }
  const auto kept = strided(extents[0], strides[0]), inside = strided(extents[1], strides[1]);
  if (!kept || !inside) return std::nullopt;
  groups.kept = *kept;
  groups.within = *inside;
  return groups;
}

namespace {

// The fraction as the nearest float: its double is off by less than a neighbour's distance, exact differences decide.
float nearest_float(const Rational& value) {
  const auto first = static_cast<float>(value.double_down());
  if (value.is_double() || !std::isfinite(first)) return first;
  const auto away = [&](float candidate) {
    const Rational difference = value - *Rational::from_double(static_cast<double>(candidate));
    return difference.sign() < 0 ? -difference : difference;
  };
  float best = first;
  for (const float next : {std::nextafter(first, -kInfinity), std::nextafter(first, kInfinity)}) {
    if (!std::isfinite(next)) continue;
    const Rational here = away(next), there = away(best);
    if (here < there || (here == there && (bits_of(next) & 1U) == 0)) best = next;
  }
  return best;
}

}  // namespace

std::vector<float> floats_of(const std::vector<Rational>& weights) {
  std::vector<float> floats;
  for (const Rational& weight : weights) floats.push_back(nearest_float(weight));
  return floats;
}

Segments elements_by_position(const std::vector<std::int64_t>& positions, std::size_t count) {
  std::vector<std::int64_t> starts(count + 1, 0), elements(positions.size());
  for (const std::int64_t position : positions) ++starts[static_cast<std::size_t>(position) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::int64_t> next(starts.begin(), starts.end() - 1);
  for (std::size_t i = 0; i < positions.size(); ++i)
    elements[static_cast<std::size_t>(next[static_cast<std::size_t>(positions[i])]++)] = static_cast<std::int64_t>(i);
  return {starts, elements};
}

}  // namespace assay::gpu
