// Device: what a session needs of a processor that is not this one. SessionOptions::device names one; none: the ops run on the CPU.
//
// A device computes float32, and integers and truth values beside it. What it does not compute it refuses: no op goes to another processor
// than the one that was asked for.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "runtime/array.h"
#include "semantics/graph/execution_model.h"
#include "semantics/graph/op.h"
#include "semantics/outcome.h"

namespace assay::runtime {

// Elements in the memory of a device: dense, row-major.
struct DeviceArray {
  const Shape* shape = nullptr;
  std::shared_ptr<void> memory;
  DType dtype = DType::float32;
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual std::string name() const = 0;             // for reports
  [[nodiscard]] virtual const ExecutionModel& model() const = 0;  // what its kernels promise to keep

  // At least `bytes` bytes, not initialised; goes back to the device when the last owner lets go. Rejection: gpu.memory.
  [[nodiscard]] virtual Outcome<std::shared_ptr<void>> allocate(std::size_t bytes) = 0;
  [[nodiscard]] virtual Outcome<Done> copy_in(std::span<const std::byte> from, const std::shared_ptr<void>& to) = 0;
  [[nodiscard]] virtual Outcome<Done> copy_out(const std::shared_ptr<void>& from, std::span<std::byte> to) = 0;

  // As runtime::run, on memory of this device. Rejections: gpu.op, an op or form that the device has no kernel for; gpu.dtype, elements
  // of a type that it does not hold; gpu.operand, an index or a divisor that has no result; gpu.launch, what the device's driver, or the
  // emulation, has to say about a kernel.
  [[nodiscard]] virtual Outcome<Done> run(Op op, const Attributes& attributes, std::span<const DeviceArray> operands,
                                          DeviceArray& result) = 0;
};

// Arrays with their copies on a device. Every result is copied out at once, so that values and observers read arrays as ever; an operand is
// copied in once, for as long as its buffer lives. A buffer that a session has seen is not written any more.
class Mirror {
 public:
  explicit Mirror(Device& device) : device_(device) {}
  [[nodiscard]] Outcome<Done> run(Op op, const Attributes& attributes, std::span<const Array* const> operands, Array& result);
  [[nodiscard]] std::size_t copies() const { return copies_.size(); }

 private:
  [[nodiscard]] Outcome<std::shared_ptr<void>> copy_of(const Array& array);
  void keep(const Array& array, std::shared_ptr<void> memory);

  Device& device_;
  std::map<std::weak_ptr<void>, std::shared_ptr<void>, std::owner_less<>> copies_;  // by the array's buffer
  std::size_t sweep_at_ = 64;  // copies of buffers that are gone are dropped when there are so many
};

}  // namespace assay::runtime
