// The kernels of all families share this code: one application of an op, element types as template arguments. Private to this
// folder.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lanes.h"
#include "semantics/demand.h"

namespace assay::runtime {

struct Call {
  Op op;
  const Attributes& attributes;
  std::span<const Array* const> operands;
  Array& result;

  [[nodiscard]] const Array& operand(std::size_t i) const { return *operands[i]; }
  template <class A>
  [[nodiscard]] const A& get() const {
    return std::get<A>(attributes);
  }
};

[[nodiscard]] inline Rejection failure(const Call& call, std::string code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::rejected,
          "runtime." + std::move(code),
          std::string(op_row(call.op).name) + ", " + std::move(place),
          std::move(required),
          std::move(found),
          "see docs/ops/" + std::string(op_row(call.op).name) + ".md"};
}
[[nodiscard]] inline Rejection not_real(const Call& call) {
  return {
      Rejection::Kind::unsupported, "runtime.dtype", std::string(op_row(call.op).name), "real elements", "complex64", "split into parts"};
}

template <class T>
struct Type {
  using type = T;
};

// f(Type<T>()) for the type that holds elements of `dtype`.
template <class F>
decltype(auto) with_float(DType dtype, const F& f) {
  demand(is_float(dtype), "with_float: float32 or float64");
  return dtype == DType::float32 ? f(Type<float>()) : f(Type<double>());
}
template <class F>
decltype(auto) with_integer(DType dtype, const F& f) {
  switch (dtype) {
    case DType::int64:
      return f(Type<std::int64_t>());
    case DType::int32:
      return f(Type<std::int32_t>());
    case DType::int16:
      return f(Type<std::int16_t>());
    case DType::int8:
      return f(Type<std::int8_t>());
    case DType::uint64:
      return f(Type<std::uint64_t>());
    case DType::uint32:
      return f(Type<std::uint32_t>());
    case DType::uint16:
      return f(Type<std::uint16_t>());
    case DType::uint8:
    case DType::boolean:
      return f(Type<std::uint8_t>());
    case DType::float32:
    case DType::float64:
    case DType::complex64:
      break;
  }
  demand(false, "with_integer: integers or booleans");
  return f(Type<std::uint8_t>());
}
template <class F>
decltype(auto) with_real(DType dtype, const F& f) {
  return is_float(dtype) ? with_float(dtype, f) : with_integer(dtype, f);
}

// An elementwise kernel over whole arrays: one operand of the result's shape, or two that broadcast to it.
void run_lanes(LaneKernel kernel, const Numbers& numbers, std::span<const Array* const> operands, Array& result);

// The families, one per source file.
Outcome<Done> run_layout(const Call& call);
Outcome<Done> run_elementwise(const Call& call);
Outcome<Done> run_comparison(const Call& call);
Outcome<Done> run_conversion(const Call& call);
Outcome<Done> run_product(const Call& call);
Outcome<Done> run_convolution(const Call& call);
Outcome<Done> run_pool(const Call& call);
Outcome<Done> run_reduction(const Call& call);
Outcome<Done> run_position(const Call& call);
Outcome<Done> run_cumulative(const Call& call);
Outcome<Done> run_scatter(const Call& call);
Outcome<Done> run_order(const Call& call);
Outcome<Done> run_softmax(const Call& call);
Outcome<Done> run_normalise(const Call& call);
Outcome<Done> run_batch_norm(const Call& call);
Outcome<Done> run_local_response(const Call& call);

}  // namespace assay::runtime
