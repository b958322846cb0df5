// Functions by exp, log, tanh and erf. The forms are those of docs/contracts/defined-ops.md.
#include "runtime/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/function_lanes.cpp"  // NOLINT
#include <cmath>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "runtime/kernels/lane_loops-inl.h"
#include "runtime/kernels/lane_math-inl.h"
#include "runtime/kernels/lane_tables-inl.h"
#include "runtime/kernels/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {
namespace {

constexpr auto kExp = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(exp_of(x)); };
constexpr auto kLog = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(log_of(x)); };
constexpr auto kTanh = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(tanh_of(x)); };
constexpr auto kErf = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(erf_of(x)); };
constexpr auto kSigmoid = []<class T>(T x, Parameters<T>) HWY_ATTR { return static_cast<T>(1 / (1 + exp_of(-x))); };
constexpr auto kSoftplus = []<class T>(T x, Parameters<T>)
                               HWY_ATTR { return static_cast<T>((x < 0 ? T(0) : x) + log1p_of(exp_of(-std::fabs(x)))); };
constexpr auto kSilu = []<class T>(T x, Parameters<T> p) HWY_ATTR { return static_cast<T>(x / (1 + exp_of(-(p.a * x)))); };
constexpr auto kElu = []<class T>(T x, Parameters<T> p) HWY_ATTR { return static_cast<T>(x < 0 ? p.a * expm1_of(x) : x); };
constexpr auto kSelu = []<class T>(T x, Parameters<T> p) HWY_ATTR { return static_cast<T>(p.b * (x < 0 ? p.a * expm1_of(x) : x)); };
constexpr auto kCelu = []<class T>(T x, Parameters<T> p) HWY_ATTR { return static_cast<T>(x < 0 ? p.a * expm1_of(x / p.a) : x); };

HWY_INLINE float gelu_of(float x) { return (0.5F * x) * (1.0F + erf_of(x * 0x1.6a09e6p-1F)); }
HWY_INLINE double gelu_of(double x) { return 0.5 * x * std::erfc(-x * 0x1.6a09e667f3bcdp-1); }
constexpr auto kGelu = []<class T>(T x, Parameters<T>) HWY_ATTR { return gelu_of(x); };
// x/2 (1 + tanh(k x (1 + c x^2))), k = sqrt(2/pi), c = 0.044715
constexpr auto kGeluTanh = []<class T>(T x, Parameters<T>) HWY_ATTR {
  return static_cast<T>((T(0.5) * x) * (1 + tanh_of((T(0.79788456080286535588) * x) * (1 + T(0.044715) * (x * x)))));
};

constexpr auto kMish = []<class T>(T x, Parameters<T>) HWY_ATTR {
  const T e = exp_of(x > 20 ? T(20) : x), n = e * (e + 2);
  return x > 20 ? x : x * n / (n + 2);  // tanh(softplus(20)) rounds to 1
};

// The kernel for an op that the processor's own instructions compute faster; else nullptr.
LaneKernel by_instructions([[maybe_unused]] Op op, [[maybe_unused]] DType dtype) {
#if HWY_TARGET == HWY_AVX3
  if (dtype == DType::float32) {
    if (op == Op::exp) return &vector_loop<exp_by_scaling>;
    if (op == Op::sigmoid) return &vector_loop<sigmoid_by_scaling>;
    if (op == Op::tanh) return &vector_loop<tanh_by_table>;
    if (op == Op::erf) return &vector_loop<erf_by_table>;
    if (op == Op::gelu) return &vector_loop<gelu_by_table>;
  }
#endif
  return nullptr;
}

LaneKernel functions(Op op, DType dtype) {
  if (const LaneKernel kernel = by_instructions(op, dtype)) return kernel;
  switch (op) {
    case Op::exp:
      return unary_of<kExp>(dtype);
    case Op::log:
      return unary_of<kLog>(dtype);
    case Op::tanh:
      return unary_of<kTanh>(dtype);
    case Op::erf:
      return unary_of<kErf>(dtype);
    case Op::sigmoid:
      return unary_of<kSigmoid>(dtype);
    case Op::softplus:
      return unary_of<kSoftplus>(dtype);
    case Op::silu:
      return unary_of<kSilu>(dtype);
    case Op::elu:
      return unary_of<kElu>(dtype);
    case Op::selu:
      return unary_of<kSelu>(dtype);
    case Op::celu:
      return unary_of<kCelu>(dtype);
    case Op::mish:
      return unary_of<kMish>(dtype);
    case Op::gelu:
      return unary_of<kGelu>(dtype);
    default:
      return nullptr;
  }
}
LaneKernel gelu_by_tanh(DType dtype) { return unary_of<kGeluTanh>(dtype); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::runtime {

HWY_EXPORT(functions);
HWY_EXPORT(gelu_by_tanh);

LaneKernel function_lanes(Op op, DType dtype) { return HWY_DYNAMIC_DISPATCH(functions)(op, dtype); }
LaneKernel tanh_gelu_lanes(DType dtype) { return HWY_DYNAMIC_DISPATCH(gelu_by_tanh)(dtype); }

}  // namespace assay::runtime
#endif
