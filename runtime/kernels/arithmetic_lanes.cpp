// Arithmetic and piecewise functions of floats. A NaN operand gives NaN, but for comparisons inside thresholded_relu and shrink.
#include "runtime/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/arithmetic_lanes.cpp"  // NOLINT
#include <cmath>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "runtime/kernels/lane_loops-inl.h"
#include "runtime/kernels/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {
namespace {

// Element functions; `p` holds the op's numbers a and b.
constexpr auto kAdd = []<class T>(T x, T z, Parameters<T>) HWY_ATTR { return static_cast<T>(x + z); };
constexpr auto kSub = []<class T>(T x, T z, Parameters<T>) HWY_ATTR { return static_cast<T>(x - z); };
constexpr auto kMul = []<class T>(T x, T z, Parameters<T>) HWY_ATTR { return static_cast<T>(x * z); };
constexpr auto kDiv = []<class T>(T x, T z, Parameters<T>) HWY_ATTR { return static_cast<T>(x / z); };
constexpr auto kMin = []<class T>(T x, T z, Parameters<T>) HWY_ATTR { return static_cast<T>((x < z || x != x) ? x : z); };
constexpr auto kMax = []<class T>(T x, T z, Parameters<T>) HWY_ATTR { return static_cast<T>((x > z || x != x) ? x : z); };
constexpr auto kPrelu = []<class T>(T x, T z, Parameters<T>) HWY_ATTR { return static_cast<T>(x < 0 ? z * x : x); };
constexpr auto kNeg = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(-x); };
constexpr auto kScale = []<class T>(T x, Parameters<T> p) HWY_ATTR { return static_cast<T>(p.a * x); };
constexpr auto kReciprocal = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(1 / x); };
constexpr auto kSqrt = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(std::sqrt(x)); };
constexpr auto kAbs = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(std::fabs(x)); };
constexpr auto kSquare = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(x * x); };
constexpr auto kRelu = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(x < 0 ? T(0) : x); };
constexpr auto kLeakyRelu = []<class T>(T x, Parameters<T> p) HWY_ATTR { return static_cast<T>(x < 0 ? p.a * x : x); };
constexpr auto kSign = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(x > 0 ? T(1) : x < 0 ? T(-1) : x); };
constexpr auto kStep = []<class T>(T x, Parameters<T>) HWY_ATTR {
  return static_cast<T>(x > 0 ? T(1) : x < 0 ? T(0) : x == 0 ? T(0.5) : x);
};
constexpr auto kClip = []<class T>(T x, Parameters<T> p)
                           HWY_ATTR { return static_cast<T>((x < p.a ? p.a : x) > p.b ? p.b : (x < p.a ? p.a : x)); };
constexpr auto kFloor = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(std::floor(x)); };
constexpr auto kCeil = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(std::ceil(x)); };
constexpr auto kRound = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(std::rint(x)); };
constexpr auto kSoftsign = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(x / (1 + std::fabs(x))); };
constexpr auto kThresholded = []<class T>(T x, Parameters<T> p) HWY_ATTR { return static_cast<T>(x > p.a ? x : T(0)); };
constexpr auto kShrink = []<class T>(T x, Parameters<T> p) HWY_ATTR {
  return static_cast<T>(x < -p.a ? x + p.b : x > p.a ? x - p.b : T(0));
};

template <class T>
HWY_INLINE T between(T x, T lo, T hi) {
  const T raised = x < lo ? lo : x;
  return raised > hi ? hi : raised;
}
constexpr auto kHardSigmoid = []<class T>(T x, Parameters<T> p) HWY_ATTR { return static_cast<T>(between(p.a * x + p.b, T(0), T(1))); };
constexpr auto kHardSwish = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(x * between(x + 3, T(0), T(6)) / 6); };

LaneKernel arithmetic(Op op, DType dtype) {
  switch (op) {
    case Op::add:
      return binary_of<kAdd>(dtype);
    case Op::sub:
      return binary_of<kSub>(dtype);
    case Op::mul:
      return binary_of<kMul>(dtype);
    case Op::div:
      return binary_of<kDiv>(dtype);
    case Op::min:
      return binary_of<kMin>(dtype);
    case Op::max:
      return binary_of<kMax>(dtype);
    case Op::prelu:
      return binary_of<kPrelu>(dtype);
    case Op::neg:
      return unary_of<kNeg>(dtype);
    case Op::scale:
      return unary_of<kScale>(dtype);
    case Op::reciprocal:
      return unary_of<kReciprocal>(dtype);
    case Op::sqrt:
      return unary_of<kSqrt>(dtype);
    case Op::abs:
      return unary_of<kAbs>(dtype);
    case Op::pow:  // of exponent 2
      return unary_of<kSquare>(dtype);
    case Op::relu:
      return unary_of<kRelu>(dtype);
    case Op::leaky_relu:
      return unary_of<kLeakyRelu>(dtype);
    case Op::sign:
      return unary_of<kSign>(dtype);
    case Op::step:
      return unary_of<kStep>(dtype);
    case Op::clip:
      return unary_of<kClip>(dtype);
    case Op::floor:
      return unary_of<kFloor>(dtype);
    case Op::ceil:
      return unary_of<kCeil>(dtype);
    case Op::round:
      return unary_of<kRound>(dtype);
    case Op::softsign:
      return unary_of<kSoftsign>(dtype);
    case Op::thresholded_relu:
      return unary_of<kThresholded>(dtype);
    case Op::shrink:
      return unary_of<kShrink>(dtype);
    case Op::hard_sigmoid:
      return unary_of<kHardSigmoid>(dtype);
    case Op::hard_swish:
      return unary_of<kHardSwish>(dtype);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::runtime {

HWY_EXPORT(arithmetic);

LaneKernel arithmetic_lanes(Op op, DType dtype) { return HWY_DYNAMIC_DISPATCH(arithmetic)(op, dtype); }

}  // namespace assay::runtime
#endif
