// The CUDA device: gpu/kernels on the first device of the machine, in a stream of its own.
#include "gpu/cuda.h"
#include "gpu/cuda_driver.cuh"
#include "gpu/emulated.h"
#include "gpu/facts.h"
#include "gpu/stream_device.h"

namespace assay::gpu {

namespace {

Rejection no_device(cudaError_t error) {
  return {Rejection::Kind::unsupported,
          "gpu.device",
          "device cuda",
          "a CUDA device and its driver",
          error == cudaSuccess ? "no device" : cudaGetErrorString(error),
          "run on a machine with one, or with the device emulated or cpu"};
}

Outcome<DeviceFacts> facts_of(int device) {
  cudaDeviceProp properties{};
  if (auto done = checked(cudaGetDeviceProperties(&properties, device), "properties of the device"); !done) return done.rejection();
  DeviceFacts facts;
  facts.name = properties.name;
  facts.major = properties.major;
  facts.minor = properties.minor;
  facts.memory = properties.totalGlobalMem;
  facts.multiprocessors = properties.multiProcessorCount;
  int pools = 0;
  if (auto done = checked(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device), "memory pools"); !done)
    return done.rejection();
  facts.pools = pools != 0;
  if (auto done = checked(cudaDriverGetVersion(&facts.driver), "version of the driver"); !done) return done.rejection();
  if (auto done = checked(cudaRuntimeGetVersion(&facts.toolkit), "version of the toolkit"); !done) return done.rejection();
  return facts;
}

// Memory that is given back stays in the pool for the next request.
Outcome<Done> keep_memory(int device) {
  cudaMemPool_t pool{};
  if (auto done = checked(cudaDeviceGetDefaultMemPool(&pool, device), "memory pool"); !done) return done;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return checked(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &most), "memory pool");
}

}  // namespace

Outcome<DeviceFacts> cuda_facts() {
  int count = 0;  // a failing call leaves it alone
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) return no_device(error);
  return facts_of(0);
}

Outcome<std::shared_ptr<runtime::Device>> cuda_device(Factors factors) {
  const auto facts = cuda_facts();
  if (!facts) return facts.rejection();
  if (auto why = refusal_of(facts.value())) return *why;
  if (auto done = checked(cudaSetDevice(0), "device 0"); !done) return done.rejection();
  if (auto done = keep_memory(0); !done) return done.rejection();
  cudaStream_t stream{};
  if (auto done = checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"); !done) return done.rejection();
  auto shared = std::make_shared<Stream<CudaDriver>>(facts.value().name, 0, stream);
  return std::shared_ptr<runtime::Device>(
      std::make_shared<StreamDevice<CudaDriver>>(kernel_model("cuda-13", factors, shared->has_library()), shared));
}

}  // namespace assay::gpu
