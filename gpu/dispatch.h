// Which family of kernels runs an op. Shared by the emulated device and the CUDA device.
#pragma once

#include <span>
#include <vector>

#include "gpu/kernels/elementwise.h"
#include "gpu/kernels/layout.h"
#include "gpu/kernels/normalise.h"
#include "gpu/kernels/pool.h"
#include "gpu/kernels/product.h"
#include "gpu/kernels/reduce.h"
#include "gpu/kernels/softmax.h"
#include "runtime/device.h"

namespace assay::gpu {

// A Queue has launch(Launch, kernel) and upload(span), which copies a table into memory of the device until the call is over.
template <class Queue>
Outcome<Done> run(Queue& queue, const Call& call) {
  switch (call.op) {
    case Op::gemm:
      return run_gemm(queue, call);
    case Op::matmul:
      return run_matmul(queue, call);
    case Op::softmax:
    case Op::log_softmax:
      return run_softmax(queue, call);
    case Op::normalise:
      return run_normalise(queue, call);
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::max_weight:
      return run_reduction(queue, call);
    case Op::max_pool:
      return run_max_pool(queue, call);
    case Op::reshape:
    case Op::permute:
    case Op::expand:
    case Op::slice:
    case Op::pad:
      return run_layout(queue, call);
    case Op::gather:
    case Op::weighted_gather:
      return run_gather(queue, call);
    default:  // the slice ends here: what no family knows is refused
      return run_elementwise(queue, call);
  }
}

// The same on a device's arrays.
template <class Queue>
Outcome<Done> run_on(Queue& queue, Op op, const Attributes& attributes, std::span<const runtime::DeviceArray> operands,
                     runtime::DeviceArray& result) {
  std::vector<Operand> views;
  for (const runtime::DeviceArray& operand : operands) {
    views.push_back({{static_cast<const float*>(operand.memory.get()), element_count(*operand.shape)}, operand.shape});
  }
  const View<float> y{static_cast<float*>(result.memory.get()), element_count(*result.shape)};
  return run(queue, {op, attributes, views, y, *result.shape});
}

}  // namespace assay::gpu
