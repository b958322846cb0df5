// Upsample and Resize: weighted sums along one axis after the other, with exact rational weights.
//
// A result position is at a coordinate of the operand (coordinate_transformation_mode), and the weights of the elements near it
// follow from the mode. Weights are exact: of exact coordinates, from the exact value of a float scale or the quotient of two
// extents.
//
// Three choices jump: the nearest element, the places outside of a region, and the length of a scaled axis. They are decided as
// programs decide them, by the same formula in float32, each operation rounded. Exact coordinates would miss the jump that a
// scale like 1/3 is meant to hit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

constexpr std::int64_t kMostTerms = std::int64_t{1} << 20;  // of one axis, each an index and a fraction

// One axis in exact numbers, or in those of float32.
template <class T>
struct Frame {
  T scale{1}, first{0}, last{1};  // the region of interest
};
struct Axis {
  std::size_t axis = 0;
  std::int64_t extent = 0, result = 0;
  Frame<Rational> exact;
  Frame<float> rounded;
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
                call.attribute("nearest_mode", old ? "simple" : "round_prefer_floor")};
  if (method.mode == "bilinear" && old) method.mode = "linear";
  if (method.mode != "nearest" && method.mode != "linear" && method.mode != "cubic")
    call.malformed("onnx.attribute", "mode nearest, linear or cubic", printable(method.mode));
  method.cubic = exact(call, static_cast<double>(call.attribute("cubic_coeff_a", -0.75F)));
  method.exclude_outside = call.attribute("exclude_outside", std::int64_t{0}) != 0;
  method.antialias = call.attribute("antialias", std::int64_t{0}) != 0 && method.mode != "nearest";
  return method;
}

// The coordinate in the operand of result position i, in the standard's order of operations; Wide is what ONNX Runtime takes where its
// constants are doubles.
template <class T, class Wide>
T coordinate(const Call& call, const std::string& where, const Axis& a, const Frame<T>& frame, std::int64_t i) {
  const auto number = [](std::int64_t n) { return T(n); };
  const T half = number(1) / number(2), x = number(i), extent = number(a.extent), result = number(a.result);
  const Wide wide_half = Wide(half);
  if (where == "half_pixel") return (x + half) / frame.scale - half;
  if (where == "pytorch_half_pixel") return a.result > 1 ? (x + half) / frame.scale - half : number(0);
  if (where == "asymmetric") return x / frame.scale;
  if (where == "tf_half_pixel_for_nn") return (x + half) / frame.scale;
  if (where == "align_corners") return a.result > 1 ? x * (extent - number(1)) / (result - number(1)) : number(0);
  if (where == "half_pixel_symmetric") {
    const T offset = extent / number(2) * (number(1) - result / (frame.scale * extent));
    return T(Wide(offset) + (Wide(x) + wide_half) / Wide(frame.scale) - wide_half);
  }
  if (where == "tf_crop_and_resize") {
    if (a.result <= 1) return T(wide_half * Wide(frame.first + frame.last) * Wide(extent - number(1)));
    return frame.first * (extent - number(1)) + x * (frame.last - frame.first) * (extent - number(1)) / (result - number(1));
  }
  call.malformed("onnx.attribute", "a coordinate_transformation_mode of the standard", printable(where));
}
Rational exact_coordinate(const Call& call, const Method& method, const Axis& a, std::int64_t i) {
  return coordinate<Rational, Rational>(call, method.where, a, a.exact, i);
}
float rounded_coordinate(const Call& call, const Method& method, const Axis& a, std::int64_t i) {
  return coordinate<float, double>(call, method.where, a, a.rounded, i);
}

// `shrinks`: before opset 11 an axis that does takes the element above.
double nearest(const Call& call, const std::string& how, double x, bool shrinks) {
  if (how == "floor" || (how == "simple" && !shrinks)) return std::floor(x);
  if (how == "ceil" || how == "simple") return std::ceil(x);
  if (how == "round_prefer_floor") return std::ceil(x - 0.5);
  if (how == "round_prefer_ceil") return std::floor(x + 0.5);
  call.malformed("onnx.attribute", "a nearest_mode of the standard", printable(how));
}

// The kernel at a distance >= 0: 0 from 1 (linear) or 2 (cubic) on.
Rational kernel_at(const Method& method, const Rational& s) {
  const Rational one(1), two(2), three(3), a = method.cubic;
  if (method.mode == "linear") return max(one - s, Rational(0));
  if (s <= one) return ((a + two) * s - (a + three)) * s * s + one;
  return s < two ? ((a * s - Rational(5) * a) * s + Rational(8) * a) * s - Rational(4) * a : Rational(0);
}

Weights weights_at(const Call& call, const Method& method, const Axis& a, std::int64_t i) {
  Weights weights;
  const auto inside = [&](std::int64_t at) { return std::clamp(at, std::int64_t{0}, a.extent - 1); };
  if (method.mode == "nearest") {
    const double at = nearest(call, method.nearest, static_cast<double>(rounded_coordinate(call, method, a, i)), a.rounded.scale < 1);
    return {{static_cast<std::int64_t>(std::clamp(at, 0.0, static_cast<double>(a.extent - 1))), Rational(1)}};
  }
  const Rational x = exact_coordinate(call, method, a, i);
  const Rational narrow = method.antialias ? min(a.exact.scale, Rational(1)) : Rational(1);  // downwards the kernel is stretched
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

bool is_outside(const Call& call, const Method& method, const Axis& a, std::int64_t i) {
  if (method.where != "tf_crop_and_resize") return false;
  const float x = rounded_coordinate(call, method, a, i);
  return x < 0 || x > static_cast<float>(a.extent - 1);
}

// The float executions that follow this axis.
enum class Followed : std::uint8_t { by_all, by_onnxruntime, by_none };

// A coordinate that every program computes exactly: its formula rounds nowhere, and the factor that a division may become is exact.
bool is_certain(const Method& method, const Axis& a, float rounded, const Rational& exact) {
  int exponent = 0;
  bool exact_factor = std::frexp(a.rounded.scale, &exponent) == 0.5F;
  if (method.where == "align_corners" && a.result > 1) {
    const float factor = static_cast<float>(a.extent - 1) / static_cast<float>(a.result - 1);
    exact_factor = Rational::from_double(static_cast<double>(factor)) == Rational(a.extent - 1, a.result - 1);
  }
  return exact_factor && Rational::from_double(static_cast<double>(rounded)) == exact;
}

// Which element is nearest, or whether the place is outside, changes within 16 roundings of the coordinate.
bool is_near_jump(const Call& call, const Method& method, const Axis& a, const Rational& exact) {
  const double margin = (std::fabs(exact.double_up()) + static_cast<double>(a.extent)) * 0x1p-20, lo = exact.double_down() - margin,
               hi = exact.double_up() + margin, last = static_cast<double>(a.extent - 1);
  const auto element = [&](double x) { return std::clamp(nearest(call, method.nearest, x, a.rounded.scale < 1), 0.0, last); };
  const bool leaves = method.where == "tf_crop_and_resize" && ((lo < 0 && hi >= 0) || (lo <= last && hi > last));
  return leaves || (method.mode == "nearest" && element(lo) != element(hi));
}

// Weights of so few bits that no program rounds them, in any order of operations: of multiples of 1/64, or 1/32 for cubic ones.
bool has_short_weights(const Method& method, const Axis& a, float rounded, const Rational& exact) {
  if (method.mode == "nearest") return true;
  const bool stretched = method.antialias && a.exact.scale < Rational(1);
  const bool short_kernel = method.mode == "linear" || ((method.cubic * Rational(4)).is_integer() && abs(method.cubic) <= Rational(1));
  return !stretched && short_kernel && Rational::from_double(static_cast<double>(rounded)) == exact &&
         (exact * Rational(method.mode == "linear" ? 64 : 32)).is_integer();
}

// `at` becomes the first position of the result that decides it.
Followed followed(const Call& call, const Method& method, const Axis& a, std::int64_t& at) {
  Followed by = Followed::by_all;
  for (std::int64_t i = 0; i < a.result; ++i) {
    const float rounded = rounded_coordinate(call, method, a, i);
    const Rational exact = exact_coordinate(call, method, a, i);
    if (is_certain(method, a, rounded, exact) && has_short_weights(method, a, rounded, exact)) continue;
    const bool is_short = has_short_weights(method, a, rounded, exact);
    if (is_short && method.mode == "nearest" && !is_near_jump(call, method, a, exact)) continue;
    if (by == Followed::by_all || !is_short) at = i;
    if (!is_short) return Followed::by_none;
    if (method.where == "tf_crop_and_resize") return Followed::by_none;  // its products and sums may be fused
    by = Followed::by_onnxruntime;
  }
  return by;
}

// Says where programs may read other elements, or other weights, than the graph.
void say_what_differs(Call& call, const Method& method, const Axis& a) {
  std::int64_t at = 0;
  const Followed by = followed(call, method, a, at);
  if (by == Followed::by_all) return;
  const bool jumps = method.mode == "nearest" || method.where == "tf_crop_and_resize";
  const std::string axis = "axis " + std::to_string(a.axis);
  call.lowering.note(place_of(call.node) + ": along " + axis +
                     (jumps ? " coordinates lie where the element changes; they are taken as ONNX Runtime computes them in float32, other "
                              "programs may read a neighbour"
                            : " the weights are those of exact coordinates, which programs round"));
  call.real_only(by == Followed::by_onnxruntime,
                 jumps ? "coordinates away from where the element changes"
                       : "weights that are multiples of 1/64 (cubic: of 2^-17), of exact coordinates",
                 axis + " with the scale " + a.exact.scale.to_string() + ": position " + std::to_string(at) + " of the result is element " +
                     exact_coordinate(call, method, a, at).to_string() + " of the operand");
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
    // Two halves of one element say that programs add up weighted terms, and round them: along other axes, or beyond an end.
    const int parts = method.mode == "nearest" ? 1 : 2;
    for (const auto& [index, weight] : is_outside(call, method, a, i) ? Weights{} : weights_at(call, method, a, i)) {
      if (weight.sign() == 0) continue;
      const int count = weight == Rational(1) ? parts : 1;
      sums.indices.insert(sums.indices.end(), static_cast<std::size_t>(count), index);
      sums.weights.insert(sums.weights.end(), static_cast<std::size_t>(count), weight / Rational(count));
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
void keep_aspect_ratio(const Call& call, std::vector<Axis>& axes, bool from_the_end) {
  const std::string policy = call.attribute("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller")
    call.malformed("onnx.attribute", "a keep_aspect_ratio_policy of the standard", printable(policy));
  if (from_the_end) call.real_only(false, "axes of at least 0 with a policy", "axes below 0, which ONNX Runtime leaves as they are");
  Axis one = axes.front();
  for (const Axis& a : axes) one = (policy == "not_larger" ? a.exact.scale < one.exact.scale : a.exact.scale > one.exact.scale) ? a : one;
  for (Axis& a : axes) {
    a.exact.scale = one.exact.scale;
    a.rounded.scale = one.rounded.scale;
    a.result = whole(a.exact.scale * Rational(a.extent) + Rational(1, 2));
    if (std::round(a.rounded.scale * static_cast<float>(a.extent)) != static_cast<float>(a.result))
      call.unsupported("onnx.resize", "a length that float32 arithmetic gives as well", std::to_string(a.result),
                       "give sizes, without a policy");
  }
}

// As programs compute it: the product in float32, cut off.
std::int64_t scaled_length(const Call& call, const Axis& a) {
  const auto length = static_cast<std::int64_t>(a.rounded.scale * static_cast<float>(a.extent));
  const std::int64_t exact = whole(a.exact.scale * Rational(a.extent));
  if (length != exact) {
    call.lowering.inference_may_differ = true;
    call.lowering.note(place_of(call.node) + ": axis " + std::to_string(a.axis) + " gets the length " + std::to_string(length) +
                       ", the float32 product of its extent and scale, as programs compute it; the exact product is below " +
                       std::to_string(exact + 1));
  }
  return length;
}

std::vector<Axis> axes_to_resize(const Call& call) {
  const Shape& x = call.shape(0);
  Ints given(x.size());
  std::iota(given.begin(), given.end(), 0);
  if (const auto listed = call.attribute_ints("axes")) given = *listed;
  (void)call.distinct_axes(given, x.size());
  const std::vector<double> scales = scales_of(call);
  const Ints sizes = call.has(3) ? call.ints(3, "sizes") : Ints{};
  if (!scales.empty() && !sizes.empty()) call.malformed("onnx.input", "scales or sizes", "both of them");
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
    if (by_scale && call.node.op_type == "Upsample" && scales[i] < 1)
      call.malformed("onnx.resize", "scales of at least 1 in Upsample", std::to_string(scales[i]));
    a.exact.scale = by_scale ? exact(call, scales[i]) : Rational(sizes[i], a.extent);
    a.rounded.scale = by_scale ? static_cast<float>(scales[i]) : static_cast<float>(sizes[i]) / static_cast<float>(a.extent);
    a.result = by_scale ? scaled_length(call, a) : sizes[i];
    axes.push_back(std::move(a));
  }
  if (scales.empty()) keep_aspect_ratio(call, axes, std::any_of(given.begin(), given.end(), [](std::int64_t axis) { return axis < 0; }));
  return axes;
}

void read_region(const Call& call, std::vector<Axis>& axes) {
  const Tensor& region = call.constant(1, "a region of interest");
  if (!is_float(region.dtype()) || region.size() != 2 * axes.size())
    call.malformed("onnx.input", "a start and an end per axis", to_string(region.shape()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].exact.first = exact(call, region.as_double(i));
    axes[i].exact.last = exact(call, region.as_double(i + axes.size()));
    axes[i].rounded.first = static_cast<float>(region.as_double(i));
    axes[i].rounded.last = static_cast<float>(region.as_double(i + axes.size()));
  }
}

// Elements whose coordinate lies outside the operand along some axis take the extrapolation value.
Operand extrapolated(Call& call, const Method& method, const std::vector<Axis>& axes, const Operand& y) {
  const auto value = static_cast<double>(call.attribute("extrapolation_value", 0.0F));
  if (value == 0) return y;  // an element of this kind has no terms
  Operand result = y;
  for (const Axis& a : axes) {
    Ints outside;
    for (std::int64_t i = 0; i < a.result; ++i) outside.push_back(is_outside(call, method, a, i) ? 1 : 0);
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
  const bool keeps_shape = std::all_of(axes.begin(), axes.end(), [](const Axis& a) { return a.result == a.extent; });
  for (const Axis& a : axes) {
    const bool unscaled = a.result == a.extent && a.exact.scale == Rational(1);
    if (unscaled && method.where != "tf_crop_and_resize") continue;
    if (unscaled || keeps_shape) {
      call.lowering.note(place_of(call.node) + ": ONNX Runtime leaves axes as they are where no length changes, or with the scale 1");
      call.real_only(false, "axes of other lengths: ONNX Runtime leaves one with the scale 1, or all where none changes, as they are",
                     "axis " + std::to_string(a.axis) + " with the scale " + a.exact.scale.to_string());
    }
    y = resize_axis(call, method, a, y);
    say_what_differs(call, method, a);
  }
  return {extrapolated(call, method, axes, y)};
}

}  // namespace assay::onnx
