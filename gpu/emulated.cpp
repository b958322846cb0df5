#include "gpu/emulated.h"

#include <cstring>
#include <utility>

#include "gpu/dispatch.h"

namespace assay::gpu {

namespace {

class EmulatedDevice final : public runtime::Device {
 public:
  explicit EmulatedDevice(const Schedule& schedule) : schedule_(schedule), model_(kernel_model("glibc-2.36")) {}

  [[nodiscard]] std::string name() const override { return "emulation of CUDA on the CPU"; }
  [[nodiscard]] const ExecutionModel& model() const override { return model_; }

  [[nodiscard]] Outcome<std::shared_ptr<void>> allocate(std::size_t bytes) override {
    // Exactly as much as was asked for: a sanitizer sees what lies beyond.
    auto memory = std::make_shared<std::vector<std::byte>>(bytes, std::byte{0xff});
    std::byte* const data = memory->data();
    return std::shared_ptr<void>(std::move(memory), data);
  }
  [[nodiscard]] Outcome<Done> copy_in(std::span<const std::byte> from, const std::shared_ptr<void>& to) override {
    if (!from.empty()) std::memcpy(to.get(), from.data(), from.size());
    return Done{};
  }
  [[nodiscard]] Outcome<Done> copy_out(const std::shared_ptr<void>& from, std::span<std::byte> to) override {
    if (!to.empty()) std::memcpy(to.data(), from.get(), to.size());
    return Done{};
  }
  [[nodiscard]] Outcome<Done> run(Op op, const Attributes& attributes, std::span<const runtime::DeviceArray> operands,
                                  runtime::DeviceArray& result) override {
    EmulatedQueue queue(schedule_);
    return run_on(queue, op, attributes, operands, result);
  }

 private:
  Schedule schedule_;
  ExecutionModel model_;
};

}  // namespace

std::shared_ptr<runtime::Device> emulated_device(const Schedule& schedule) { return std::make_shared<EmulatedDevice>(schedule); }

ExecutionModel kernel_model(std::string math_table) {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  model.softmax = ExecutionModel::Softmax::online;
  model.math_table = std::move(math_table);
  return model;
}

}  // namespace assay::gpu
