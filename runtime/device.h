// Device: the interface of a session to a processor that is not this one. SessionOptions::device names one; none: the ops run on
// the CPU.
//
// A device computes float32, and integers and truth values beside it. It refuses other ops: no op goes to another processor than
// the one that was asked for. Requests run in order, in one stream; sessions that share a device share it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/array.h"
#include "runtime/random.h"
#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"
#include "semantics/graph/op.h"
#include "semantics/outcome.h"

namespace assay::runtime {

// Elements in the memory of a device: dense, row-major.
struct DeviceArray {
  const Shape* shape = nullptr;
  std::shared_ptr<void> memory;
  DType dtype = DType::float32;
};

// The requests to a device since it was made.
struct Traffic {
  std::size_t copies_in = 0, copies_out = 0;  // of arrays
  std::size_t bytes_in = 0, bytes_out = 0;    // of those
  std::size_t tables = 0, checks = 0;         // copies for kernels: positions to the device, what was found among operands back
  std::size_t launches = 0;                   // of kernels, and of lists of them
  std::size_t lists = 0;                      // launches of lists
  std::size_t memory = 0, most_memory = 0;    // bytes in use: now, and at most
};

// Launches that a device keeps (Device::begin_recording): they run again as they were asked for, on the same memory, in one go.
class Launches {
 public:
  Launches() = default;
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;
  virtual ~Launches() = default;
  [[nodiscard]] virtual Outcome<Done> run() = 0;  // as Device::run
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual std::string name() const = 0;             // for reports
  [[nodiscard]] virtual const ExecutionModel& model() const = 0;  // the model that its kernels promise to keep
  [[nodiscard]] virtual Traffic traffic() const = 0;

  // At least `bytes` bytes, not initialised. They return to the device when the last owner lets go, which may be while kernels
  // that were launched before still use them. Rejection: gpu.memory, after which the device stays usable.
  [[nodiscard]] virtual Outcome<std::shared_ptr<void>> allocate(std::size_t bytes) = 0;
  // Returns when `from` may be written again, which may be before the copy is made.
  [[nodiscard]] virtual Outcome<Done> copy_in(std::span<const std::byte> from, const std::shared_ptr<void>& to) = 0;
  // Waits for all that was asked for before.
  [[nodiscard]] virtual Outcome<Done> copy_out(const std::shared_ptr<void>& from, std::span<std::byte> to) = 0;

  // From one place of this device to another, in order with all else.
  [[nodiscard]] virtual Outcome<Done> copy(const std::shared_ptr<void>& from, const std::shared_ptr<void>& to, std::size_t bytes) = 0;

  // As runtime::run, on memory of this device. Rejections: gpu.op, an op or form that the device has no kernel for; gpu.dtype, elements
  // of a type that it does not hold; gpu.operand, an index or a divisor that has no result; gpu.memory; gpu.launch, what the device's
  // driver, or the emulation, has to say about a kernel. A kernel may fail after run() has returned. After any failure of the driver
  // the device is lost: it answers everything with gpu.lost, and results that were not read are never given.
  [[nodiscard]] virtual Outcome<Done> run(Op op, const Attributes& attributes, std::span<const DeviceArray> operands,
                                          DeviceArray& result) = 0;
  // A graph of elementwise float ops in one pass: its inputs are the operands, its outputs the results, all of one shape. Rejection gpu.op
  // before anything ran: a node that is no such op, more operands, ops or results than a pass holds.
  [[nodiscard]] virtual Outcome<Done> run_pass(const Graph& graph, std::span<const DeviceArray> operands,
                                               std::span<const DeviceArray> results) = 0;

  // Between the two calls, launches of run() and run_pass() are kept and do not run; memory that they use stays as long as they
  // are kept. Copies are made. Rejections gpu.graph, after which the device works as if nothing had been recorded:
  //   * of begin_recording(), if the device keeps no launches;
  //   * of an op that looks at its operands before it launches; the recording continues and is worth nothing;
  //   * of end_recording().
  [[nodiscard]] virtual Outcome<Done> begin_recording() = 0;
  [[nodiscard]] virtual Outcome<std::shared_ptr<Launches>> end_recording() = 0;

  // The numbers that runtime::drawn gives, bit for bit. Rejection gpu.dtype.
  [[nodiscard]] virtual Outcome<Done> draw(const RandomKey& key, const Drawing& drawing, const DeviceArray& result) = 0;
  // The sum of the squares of all elements, float32, taken in double. Waits for it.
  [[nodiscard]] virtual Outcome<double> sum_of_squares(std::span<const DeviceArray> arrays) = 0;
};

// Arrays and their memory on a device. Results stay there; an operand from here is copied in once, for as long as its buffer lives.
// A buffer that a session has seen is not written any more.
class Mirror {
 public:
  explicit Mirror(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  [[nodiscard]] Outcome<Array> run(Op op, const Attributes& attributes, std::span<const Array* const> operands, DType dtype, Shape shape);
  // Into a place of this device.
  [[nodiscard]] Outcome<Done> run(Op op, const Attributes& attributes, std::span<const Array* const> operands, const Array& place);
  // Device::run_pass: one array per output; or into places of this device.
  [[nodiscard]] Outcome<std::vector<Array>> run_pass(const Graph& graph, std::span<const Array* const> operands);
  [[nodiscard]] Outcome<Done> run_pass(const Graph& graph, std::span<const Array* const> operands, std::span<const Array> places);
  [[nodiscard]] Outcome<Array> draw(const RandomKey& key, const Drawing& drawing);
  [[nodiscard]] Outcome<double> sum_of_squares(std::span<const Array* const> arrays);
  // The elements into a place of this device, without a copy of them that stays.
  [[nodiscard]] Outcome<Done> copy(const Array& array, const Array& place);
  // A place for a result: new memory, or planned memory.
  [[nodiscard]] Outcome<Array> place_for(DType dtype, Shape shape);
  [[nodiscard]] Array place_in(std::shared_ptr<void> memory, DType dtype, Shape shape) const;
  [[nodiscard]] Outcome<std::shared_ptr<void>> allocate(
      std::size_t bytes);  // also after what is held for arrays that are gone was given back
  [[nodiscard]] const std::shared_ptr<Device>& device() const { return device_; }
  [[nodiscard]] std::size_t copies() const { return copies_.size(); }
  void sweep();  // copies of arrays that are gone are given back

 private:
  [[nodiscard]] Outcome<DeviceArray> there(const Array& array);
  [[nodiscard]] Outcome<std::vector<DeviceArray>> there(std::span<const Array* const> arrays);

  std::shared_ptr<Device> device_;
  std::map<std::weak_ptr<void>, std::shared_ptr<void>, std::owner_less<>> copies_;  // by the array's buffer
  std::size_t sweep_at_ = 64;  // copies of buffers that are gone are dropped when there are so many
};

}  // namespace assay::runtime
