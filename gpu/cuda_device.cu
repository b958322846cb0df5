// The CUDA device: gpu/kernels on the first device of the machine, in the default stream.
#include "gpu/cuda.h"
#include "gpu/cuda_queue.cuh"
#include "gpu/dispatch.h"
#include "gpu/emulated.h"

namespace assay::gpu {

namespace {

class CudaDevice final : public runtime::Device {
 public:
  explicit CudaDevice(std::string name)
      : name_(std::move(name)), model_(kernel_model("cuda-13")), pool_(std::make_shared<Pool<CudaSource>>()) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] const ExecutionModel& model() const override { return model_; }

  [[nodiscard]] Outcome<std::shared_ptr<void>> allocate(std::size_t bytes) override {
    std::shared_ptr<void> memory = pool_->take(bytes);
    if (memory != nullptr) return memory;
    return Rejection{Rejection::Kind::declined,       "gpu.memory", name_, std::to_string(bytes) + " bytes of device memory", "less",
                     "use smaller tensors or batches"};
  }
  [[nodiscard]] Outcome<Done> copy_in(std::span<const std::byte> from, const std::shared_ptr<void>& to) override {
    return checked(cudaMemcpy(to.get(), from.data(), from.size(), cudaMemcpyHostToDevice), "copy to " + name_);
  }
  // Waits for the kernels before it: what went wrong in one of them is said here.
  [[nodiscard]] Outcome<Done> copy_out(const std::shared_ptr<void>& from, std::span<std::byte> to) override {
    return checked(cudaMemcpy(to.data(), from.get(), to.size(), cudaMemcpyDeviceToHost), "copy from " + name_);
  }
  [[nodiscard]] Outcome<Done> run(Op op, const Attributes& attributes, std::span<const runtime::DeviceArray> operands,
                                  runtime::DeviceArray& result) override {
    CudaQueue queue(pool_);
    return run_on(queue, op, attributes, operands, result);
  }

 private:
  std::string name_;
  ExecutionModel model_;
  std::shared_ptr<Pool<CudaSource>> pool_;
};

}  // namespace

Outcome<std::shared_ptr<runtime::Device>> cuda_device() {
  int count = 0;  // a failing call leaves it alone
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    return Rejection{Rejection::Kind::declined,
                     "gpu.device",
                     "device cuda",
                     "a CUDA device and its driver",
                     error == cudaSuccess ? "no device" : cudaGetErrorString(error),
                     "run on a machine with one, or on the CPU"};
  }
  cudaDeviceProp properties{};
  if (auto done = checked(cudaGetDeviceProperties(&properties, 0), "device 0"); !done) return done.rejection();
  return std::shared_ptr<runtime::Device>(std::make_shared<CudaDevice>(properties.name));
}

}  // namespace assay::gpu
