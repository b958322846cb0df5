// Upsample and Resize: weighted sums along one axis after the other, with exact rational weights.
//
// A result position stands at a coordinate of the operand (coordinate_transformation_mode), a fraction; the weights of the elements
// near it follow from the mode. Scales are the exact values of their floats, or the quotient of two extents.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

constexpr std::int64_t kMostTerms = std::int64_t{1} << 20;  // of one axis, each an index and a fraction

struct Axis {
  std::size_t axis = 0;
  std::int64_t extent = 0, result = 0;
  Rational scale = Rational(1), first = Rational(0), last = Rational(1);  // the region of interest
};

struct Method {
  std::string mode, where, nearest;
  Rational cubic = Rational(-3, 4);
  bool exclude_outside = false, antialias = false;
};

using Weights = std::map<std::int64_t, Rational>;  // by element of the operand

Rational exact(const Call& call, double value) {
  const std::optional<Rational> result = Rational::from_double(value);
  if (!result) call.malformed("onnx.input", "finite numbers", std::to_string(value));
  return *result;
}

std::int64_t whole(const Rational& x) { return floor(x).to_int64().value_or(0); }

std::vector<double> scales_of(const Call& call) {
  std::vector<double> scales;
  if (const AttributeProto* given = call.find("scales", AttributeKind::reals)) {
    for (const std::uint32_t bits : given->reals) scales.push_back(static_cast<double>(std::bit_cast<float>(bits)));
    return scales;
  }
  const std::size_t position = call.node.op_type == "Resize" && call.opset >= 11 ? 2 : 1;
  const Tensor* tensor = call.has(position) ? &call.constant(position, "scales") : nullptr;
  if (tensor == nullptr || tensor->size() == 0) return scales;
  if (!is_float(tensor->dtype()) || tensor->shape().size() != 1)
    call.malformed("onnx.input", "scales as floats of rank 1", to_string(tensor->dtype()));
  return tensor->to_doubles();
}

Method method_of(const Call& call) {
  const bool old = call.node.op_type == "Upsample" || call.opset < 11;
  Method method{call.attribute("mode", "nearest"), call.attribute("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"),
                call.attribute("nearest_mode", old ? "floor" : "round_prefer_floor")};
  if (method.mode == "bilinear" && old) method.mode = "linear";
  if (method.mode != "nearest" && method.mode != "linear" && method.mode != "cubic")
    call.malformed("onnx.attribute", "mode nearest, linear or cubic", printable(method.mode));
  method.cubic = exact(call, static_cast<double>(call.attribute("cubic_coeff_a", -0.75F)));
  method.exclude_outside = call.attribute("exclude_outside", std::int64_t{0}) != 0;
  method.antialias = call.attribute("antialias", std::int64_t{0}) != 0 && method.mode != "nearest";
  return method;
}

// The coordinate in the operand of result position i.
Rational coordinate(const Call& call, const Method& method, const Axis& a, std::int64_t i) {
  const Rational half(1, 2), x(i), length = a.scale * Rational(a.extent), span(a.extent - 1);
  const Rational centre = (x + half) / a.scale - half;
  if (method.where == "half_pixel") return centre;
  if (method.where == "pytorch_half_pixel") return a.result > 1 ? centre : Rational(0);
  if (method.where == "asymmetric") return x / a.scale;
  if (method.where == "tf_half_pixel_for_nn") return (x + half) / a.scale;
  if (method.where == "align_corners") return a.result > 1 ? x * span / (length - Rational(1)) : Rational(0);
  if (method.where == "half_pixel_symmetric")
    return Rational(a.extent) / Rational(2) * (Rational(1) - Rational(a.result) / length) + centre;
  if (method.where == "tf_crop_and_resize") {
    if (a.result <= 1) return (a.first + a.last) * span / Rational(2);
    return a.first * span + x * (a.last - a.first) * span / (length - Rational(1));
  }
  call.malformed("onnx.attribute", "a coordinate_transformation_mode of the standard", printable(method.where));
}

std::int64_t nearest(const Call& call, const Method& method, const Rational& x) {
  const Rational half(1, 2);
  if (method.nearest == "floor") return whole(x);
  if (method.nearest == "ceil") return -whole(-x);
  if (method.nearest == "round_prefer_floor") return -whole(half - x);
  if (method.nearest == "round_prefer_ceil") return whole(x + half);
  call.malformed("onnx.attribute", "a nearest_mode of the standard", printable(method.nearest));
}

// The kernel at a distance >= 0: 0 from 1 (linear) or 2 (cubic) on.
Rational kernel_at(const Method& method, const Rational& s) {
  const Rational one(1), two(2), three(3), a = method.cubic;
  if (method.mode == "linear") return max(one - s, Rational(0));
  if (s <= one) return ((a + two) * s - (a + three)) * s * s + one;
  return s < two ? ((a * s - Rational(5) * a) * s + Rational(8) * a) * s - Rational(4) * a : Rational(0);
}

Weights weights_at(const Call& call, const Method& method, const Axis& a, const Rational& x) {
  Weights weights;
  const auto inside = [&](std::int64_t i) { return std::clamp(i, std::int64_t{0}, a.extent - 1); };
  if (method.mode == "nearest") return {{inside(nearest(call, method, x)), Rational(1)}};
  const Rational narrow = method.antialias ? min(a.scale, Rational(1)) : Rational(1);  // downwards the kernel is stretched
  const Rational reach = Rational(method.mode == "linear" ? 1 : 2) / narrow;
  if (reach > Rational(kMostTerms)) call.unsupported("onnx.limit", "kernels of at most 2^20 elements", reach.to_string(), "resize less");
  Rational total(0);
  for (std::int64_t at = whole(x - reach) + 1; Rational(at) < x + reach; ++at) {
    if (method.exclude_outside && at != inside(at)) continue;
    const Rational weight = kernel_at(method, abs(x - Rational(at)) * narrow);
    weights[inside(at)] += weight;
    total += weight;
  }
  if (total.sign() == 0)
    call.unsupported("onnx.resize", "weights that do not add up to 0", "exclude_outside of all of them", "set exclude_outside to 0");
  for (auto& [at, weight] : weights) weight = weight / total;
  return weights;
}

bool is_outside(const Method& method, const Axis& a, const Rational& x) {
  return method.where == "tf_crop_and_resize" && (x.sign() < 0 || x > Rational(a.extent - 1));
}

Operand resize_axis(Call& call, const Method& method, const Axis& a, const Operand& x) {
  const auto limit = [&](std::int64_t terms) {
    if (terms > kMostTerms)
      call.unsupported("onnx.limit", "at most 2^20 positions and weights along an axis", std::to_string(terms), "resize less");
  };
  limit(a.result);
  WeightedGatherAttributes sums{static_cast<std::int64_t>(a.axis), {0}, {}, {}};
  bool plain = true;  // one element each, with weight 1
  for (std::int64_t i = 0; i < a.result; ++i) {
    const Rational at = coordinate(call, method, a, i);
    for (const auto& [index, weight] : is_outside(method, a, at) ? Weights{} : weights_at(call, method, a, at)) {
      if (weight.sign() == 0) continue;
      sums.indices.push_back(index);
      sums.weights.push_back(weight);
      plain = plain && weight == Rational(1);
    }
    sums.starts.push_back(static_cast<std::int64_t>(sums.indices.size()));
    plain = plain && sums.starts.back() == i + 1;
    limit(static_cast<std::int64_t>(sums.indices.size()));
  }
  if (!plain) return call.emit(Op::weighted_gather, {x}, std::move(sums));
  return gather_axis(call, x, static_cast<std::int64_t>(a.axis), std::move(sums.indices));
}

// keep_aspect_ratio_policy: one scale for all axes, the least or the greatest; extents are rounded, halves up.
void keep_aspect_ratio(const Call& call, std::vector<Axis>& axes) {
  const std::string policy = call.attribute("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller")
    call.malformed("onnx.attribute", "a keep_aspect_ratio_policy of the standard", printable(policy));
  Rational scale = axes.front().scale;
  for (const Axis& a : axes) scale = policy == "not_larger" ? min(scale, a.scale) : max(scale, a.scale);
  for (Axis& a : axes) {
    a.scale = scale;
    a.result = whole(scale * Rational(a.extent) + Rational(1, 2));
  }
}

std::vector<Axis> axes_to_resize(const Call& call) {
  const Shape& x = call.shape(0);
  Ints given(x.size());
  std::iota(given.begin(), given.end(), 0);
  if (const auto listed = call.attribute_ints("axes")) given = *listed;
  (void)call.distinct_axes(given, x.size());
  const std::vector<double> scales = scales_of(call);
  const Ints sizes = scales.empty() && call.has(3) ? call.ints(3, "sizes") : Ints{};
  if (std::max(scales.size(), sizes.size()) != given.size())
    call.malformed("onnx.input", std::to_string(given.size()) + " scales or sizes", std::to_string(std::max(scales.size(), sizes.size())));
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Axis a;
    a.axis = static_cast<std::size_t>(call.axis(given[i], x.size()));
    a.extent = x[a.axis];
    const bool by_scale = !scales.empty();
    const bool fits = a.extent > 0 && (by_scale ? scales[i] > 0 && scales[i] <= static_cast<double>(kLargestExtent)
                                                : sizes[i] > 0 && sizes[i] <= kLargestExtent);
    if (!fits) call.malformed("onnx.resize", "scales or sizes above 0 of axes that are not empty", to_string(x));
    a.scale = by_scale ? exact(call, scales[i]) : Rational(sizes[i], a.extent);
    a.result = by_scale ? whole(a.scale * Rational(a.extent)) : sizes[i];
    axes.push_back(std::move(a));
  }
  if (scales.empty()) keep_aspect_ratio(call, axes);
  return axes;
}

void read_region(const Call& call, std::vector<Axis>& axes) {
  const Tensor& region = call.constant(1, "a region of interest");
  if (!is_float(region.dtype()) || region.size() != 2 * axes.size())
    call.malformed("onnx.input", "a start and an end per axis", to_string(region.shape()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].first = exact(call, region.as_double(i));
    axes[i].last = exact(call, region.as_double(i + axes.size()));
  }
}

// Elements whose coordinate lies outside the operand along some axis take the extrapolation value.
Operand extrapolated(Call& call, const Method& method, const std::vector<Axis>& axes, const Operand& y) {
  const auto value = static_cast<double>(call.attribute("extrapolation_value", 0.0F));
  if (value == 0) return y;  // such an element has no terms
  Operand result = y;
  for (const Axis& a : axes) {
    Ints outside;
    for (std::int64_t i = 0; i < a.result; ++i) outside.push_back(is_outside(method, a, coordinate(call, method, a, i)) ? 1 : 0);
    if (std::find(outside.begin(), outside.end(), 1) == outside.end()) continue;
    Shape shape(y->shape.size(), 1);
    shape[a.axis] = a.result;
    const Operand mask = call.make_ints(DType::boolean, shape, outside);
    result = call.emit(Op::where, {mask, reals_like(call, y, {}, {value}), result});
  }
  return result;
}

}  // namespace

Results lower_resize(Call& call) {
  const Method method = method_of(call);
  std::vector<Axis> axes = axes_to_resize(call);
  if (method.where == "tf_crop_and_resize") read_region(call, axes);
  Operand y = call.in(0);
  for (const Axis& a : axes) {
    const bool stays =
        a.result == a.extent && a.scale == Rational(1) && method.where != "tf_crop_and_resize" && method.where != "tf_half_pixel_for_nn";
    if (!stays) y = resize_axis(call, method, a, y);
  }
  return {extrapolated(call, method, axes, y)};
}

}  // namespace assay::onnx
