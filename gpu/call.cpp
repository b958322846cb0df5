#include "gpu/call.h"

#include <algorithm>
#include <tuple>

#include "gpu/kernels/layout.h"

namespace assay::gpu {

Rejection refused(Op op, std::string what) {
  return {Rejection::Kind::unsupported,
          "gpu.op",
          std::string(op_row(op).name),
          "an op and a form that the device has a kernel for",
          std::move(what),
          "gpu/README.md lists them; a session on the CPU runs every op"};
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

std::optional<std::vector<float>> floats_of(const std::vector<Rational>& weights) {
  std::vector<float> floats;
  for (const Rational& weight : weights) {
    if (!weight.is_double()) return std::nullopt;
    floats.push_back(static_cast<float>(weight.double_down()));
  }
  return floats;
}

}  // namespace assay::gpu
