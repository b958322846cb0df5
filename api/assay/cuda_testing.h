// This header tests unmodified CUDA kernels of any framework. The test runs on a device where nvcc compiles the file or its
// runtime is linked. Elsewhere it runs on the emulation (assay_emulate_cuda in CMake).
//
//   const auto report = assay::testing::audit_kernel(
//       assay::Op::softmax, assay::SoftmaxAttributes{-1}, [](const assay::testing::CudaLaunch& launch) {
//         const auto& x = launch.operands[0];
//         const auto rows = x.size() / x.extent(-1);
//         my_softmax<<<rows, launch.threads(), 0, launch.stream()>>>(x.data(), launch.results[0].data(), x.extent(-1));
//       });
//   REQUIRE(report.passed());       // report.text says why not; report.write_junit(path), write_sarif, write_trace
//
// A launcher returns nothing, a cudaError_t, or an Outcome<Done>. By the last it declines probes that its kernel is not for
// (docs/how-to/cuda-testing.md).
#pragma once

#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#else
#include "gpu/cuda/cuda_runtime.h"
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "assay/kernel_audit.h"

namespace assay::testing {

class CudaLaunch : public KernelLaunch {
 public:
  explicit CudaLaunch(const KernelLaunch& launch) : KernelLaunch(launch) {}
  [[nodiscard]] cudaStream_t stream() const { return static_cast<cudaStream_t>(raw_stream()); }
};

namespace cuda {

inline Outcome<Done> checked(cudaError_t error, const char* place) {
  if (error == cudaSuccess) return Done{};
  return Rejection{Rejection::Kind::rejected, "gpu.launch", place, "cudaSuccess", cudaGetErrorString(error), "docs/how-to/cuda-testing.md"};
}

// The first device, or the emulation of one.
class Device final : public KernelDevice {
 public:
  Device() { (void)cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~Device() override { (void)cudaStreamDestroy(stream_); }

  [[nodiscard]] std::string name() const override { return kEmulated ? "the emulation of CUDA" : "CUDA"; }
  [[nodiscard]] ExecutionModel model() const override {
    ExecutionModel model;
    model.kind = ExecutionModel::Kind::floating;
    model.accumulator = ExecutionModel::Accumulator::any_order;
    model.softmax = ExecutionModel::Softmax::online;
    model.math_table = kEmulated ? "glibc-2.36" : "cuda-13";
    return model;
  }
  [[nodiscard]] void* stream(bool is_default) override { return is_default ? nullptr : static_cast<void*>(stream_); }
  [[nodiscard]] Outcome<void*> allocate(std::size_t bytes) override {
    char* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, bytes);
    if (error == cudaSuccess) return static_cast<void*>(memory);
    (void)cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
      return Rejection{Rejection::Kind::declined, "gpu.memory",        "a buffer", std::to_string(bytes) + " bytes of device memory",
                       "a device with less left", "use smaller shapes"};
    is_lost_ = true;
    return Rejection{Rejection::Kind::unsupported,
                     "gpu.device",
                     "the device",
                     "a CUDA device and its driver",
                     cudaGetErrorString(error),
                     "run on a machine with one, or on the emulation"};
  }
  void release(void* memory) override { (void)cudaFree(memory); }
  [[nodiscard]] Outcome<Done> copy_in(void* to, std::span<const std::byte> from, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    if (auto done = checked(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, in), "copy to the device"); !done)
      return done;
    return checked(cudaStreamSynchronize(in), "copy to the device");
  }
  [[nodiscard]] Outcome<Done> copy_out(std::span<std::byte> to, const void* from, void* stream) override {
    const auto in = static_cast<cudaStream_t>(stream);
    if (auto done = checked(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, in), "copy from the device"); !done)
      return done;
    return checked(cudaStreamSynchronize(in), "copy from the device");
  }
  [[nodiscard]] bool is_lost() const override { return is_lost_; }

#if defined(ASSAY_CUDA_EMULATION)
  static constexpr bool kEmulated = true;
  [[nodiscard]] std::size_t schedules() const override { return 3; }
  void set_schedule(std::size_t number) override {
    using Order = gpu::Schedule::Order;
    gpu::cuda::set_schedule({number == 0 ? Order::forward : number == 1 ? Order::reverse : Order::random, ++seed_});
  }
  void give(const void* memory, std::size_t first, std::size_t bytes, const std::string& what, bool is_operand) override {
    gpu::cuda::name_part(memory, first, bytes, what, is_operand);
    if (!is_operand) gpu::cuda::forget_content(memory);
  }
  void begin(void* stream) override { gpu::cuda::expect_stream(reinterpret_cast<std::uintptr_t>(stream)); }
  [[nodiscard]] Outcome<Done> end(void*) override {
    gpu::cuda::expect_stream(std::nullopt);
    if (auto fault = gpu::cuda::take_fault()) return std::move(*fault);
    return Done{};
  }
#else
  static constexpr bool kEmulated = false;
  void set_schedule(std::size_t) override {}
  void give(const void*, std::size_t, std::size_t, const std::string&, bool) override {}
  void begin(void*) override { (void)cudaGetLastError(); }
  // An error of the launch itself is one that later launches survive; an error in a kernel ends the device's context.
  [[nodiscard]] Outcome<Done> end(void* stream) override {
    if (auto done = checked(cudaGetLastError(), "the launch"); !done) return done;
    auto done = checked(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "the kernel");
    if (done) done = checked(cudaDeviceSynchronize(), "the kernel");
    is_lost_ = !done;
    return done;
  }
#endif

 private:
  cudaStream_t stream_ = nullptr;
  std::uint64_t seed_ = 0;
  bool is_lost_ = false;
};

template <class Launcher>
KernelLauncher wrapped(Launcher launcher) {
  return [launcher = std::move(launcher)](const KernelLaunch& launch) -> Outcome<Done> {
    using Given = std::invoke_result_t<const Launcher&, const CudaLaunch&>;
    const CudaLaunch here(launch);
    const auto hand_back = [&] {
      if (here.asked_for_threads()) (void)launch.threads();
    };
    if constexpr (std::is_void_v<Given>) {
      launcher(here);
      hand_back();
      return Done{};
    } else {
      const auto given = launcher(here);
      hand_back();
      if constexpr (std::is_same_v<std::decay_t<Given>, cudaError_t>) {
        return checked(given, "the launcher");
      } else {
        return given;
      }
    }
  };
}

}  // namespace cuda

// Audits a kernel of an op, with these attributes (negative axes count from the end), or with NoAttributes on all probes.
template <class Launcher>
[[nodiscard]] KernelReport audit_kernel(Op op, const Attributes& attributes, const Launcher& launcher, const KernelPlan& plan = {}) {
  cuda::Device device;
  return audit_kernel_on(device, op, attributes, cuda::wrapped(launcher), plan);
}
// Audits a kernel of a composite region: "attention", "attention backward", "layer norm", ... (docs/reference/probes.md).
template <class Launcher>
[[nodiscard]] KernelReport audit_kernel(const std::string& region, const Launcher& launcher, const KernelPlan& plan = {}) {
  cuda::Device device;
  return audit_kernel_on(device, region, cuda::wrapped(launcher), plan);
}

}  // namespace assay::testing
