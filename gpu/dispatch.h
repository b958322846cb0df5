// Which family of kernels runs an op. Shared by the emulated device and the CUDA device.
#pragma once

#include <span>
#include <vector>

#include "gpu/kernels/batch_norm.h"
#include "gpu/kernels/comparison.h"
#include "gpu/kernels/convolution.h"
#include "gpu/kernels/elementwise.h"
#include "gpu/kernels/gather.h"
#include "gpu/kernels/integers.h"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/normalise.h"
#include "gpu/kernels/order.h"
#include "gpu/kernels/pool.h"
#include "gpu/kernels/product.h"
#include "gpu/kernels/reduce.h"
#include "gpu/kernels/scan.h"
#include "gpu/kernels/softmax.h"
#include "runtime/device.h"
#include "semantics/graph/family.h"

namespace assay::gpu {

// A Queue has launch(Launch, kernel); upload(span), which copies a table into memory of the device until the call is over;
// scratch<T>(count), memory for as long; download(view), what stands there now.
template <class Queue>
Outcome<Done> run(Queue& queue, const Call& call) {
  const bool floats = call.result.dtype == DType::float32;
  switch (kind_of(call.op)) {
    case OpKind::leaf:
      break;
    case OpKind::layout:
      return call.op == Op::gather ? run_gather(queue, call) : run_layout(queue, call);
    case OpKind::place:
      return run_place(queue, call);
    case OpKind::weighted_gather:
      return run_weighted_gather(queue, call);
    case OpKind::arithmetic:
    case OpKind::min_max:
    case OpKind::piecewise:
    case OpKind::power:
    case OpKind::rounding:
      return floats ? run_elementwise(queue, call) : run_integers(queue, call);
    case OpKind::step:
    case OpKind::function:
    case OpKind::activation:
      return run_elementwise(queue, call);
    case OpKind::bitwise:
      return run_integers(queue, call);
    case OpKind::comparison:
    case OpKind::logic:
      return run_comparison(queue, call);
    case OpKind::where:
      return run_where(queue, call);
    case OpKind::cast:
      return run_cast(queue, call);
    case OpKind::product:
      return call.op == Op::gemm ? run_gemm(queue, call) : run_matmul(queue, call);
    case OpKind::convolution:
      return run_convolution(queue, call);
    case OpKind::pool:
      return run_pool(queue, call);
    case OpKind::batch_norm:
      return run_batch_norm(queue, call);
    case OpKind::local_response:
      return run_local_response(queue, call);
    case OpKind::sum:
    case OpKind::reduced_product:
    case OpKind::extremum:
    case OpKind::max_weight:
      return run_reduction(queue, call);
    case OpKind::running_sum:
    case OpKind::running_product:
      return run_scan(queue, call);
    case OpKind::position:
      return run_position(queue, call);
    case OpKind::order:
      return call.op == Op::take ? run_take(queue, call) : run_sort(queue, call);
    case OpKind::ranking:
      return run_sort(queue, call);
    case OpKind::softmax:
      return run_softmax(queue, call);
    case OpKind::masked_softmax:
      return run_masked_softmax(queue, call);
    case OpKind::normalise:
      return run_normalise(queue, call);
  }
  return refused(call.op, "no kernel");
}

// The same on a device's arrays.
template <class Queue>
Outcome<Done> run_on(Queue& queue, Op op, const Attributes& attributes, std::span<const runtime::DeviceArray> operands,
                     runtime::DeviceArray& result, Factors factors) {
  std::vector<Operand> views;
  for (const runtime::DeviceArray& operand : operands) {
    views.push_back({{operand.memory.get(), element_count(*operand.shape), operand.dtype}, operand.shape});
  }
  const Elements<void> y{result.memory.get(), element_count(*result.shape), result.dtype};
  return run(queue, {op, attributes, views, y, *result.shape, factors});
}

}  // namespace assay::gpu
