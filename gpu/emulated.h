// The emulated device: the kernels of gpu/kernels on the CPU, for machines without a GPU and for finding faults.
#pragma once

#include <memory>
#include <vector>

#include "gpu/call.h"
#include "runtime/device.h"

namespace assay::gpu {

// Launches on the emulation, one after the other.
class EmulatedQueue {
 public:
  explicit EmulatedQueue(const Schedule& schedule) : schedule_(schedule) {}

  template <class Kernel>
  [[nodiscard]] Outcome<Done> launch(const Launch& launch, const Kernel& kernel) {
    return emulation::run(
        launch, schedule_, [](const void* k, emulation::Thread& thread) { (*static_cast<const Kernel*>(k))(thread); }, &kernel);
  }
  template <class T>
  [[nodiscard]] Outcome<View<const T>> upload(std::span<const T> table) {
    const auto copy = std::make_shared<std::vector<T>>(table.begin(), table.end());
    tables_.push_back(copy);
    return View<const T>{copy->data(), copy->size()};
  }
  template <class T>
  [[nodiscard]] Outcome<View<T>> scratch(std::size_t count) {
    const auto memory = std::make_shared<std::vector<T>>(count);
    tables_.push_back(memory);
    return View<T>{memory->data(), count};
  }
  template <class T>
  [[nodiscard]] Outcome<std::vector<T>> download(View<const T> view) {
    return std::vector<T>(view.data, view.data + view.size);
  }

 private:
  Schedule schedule_;
  std::vector<std::shared_ptr<void>> tables_;
};

// Its memory is ours, each byte 0xff when it is handed out: NaN among floats. The C library's functions stand for the device's.
[[nodiscard]] std::shared_ptr<runtime::Device> emulated_device(const Schedule& schedule = {});

// What kernels keep to with functions of this math table: online softmax, two-pass moments, sums in any order, perhaps fused.
[[nodiscard]] ExecutionModel kernel_model(std::string math_table);

}  // namespace assay::gpu
