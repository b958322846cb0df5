#include "runtime/device.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace assay::runtime {

void Mirror::keep(const Array& array, std::shared_ptr<void> memory) {
  if (copies_.size() >= sweep_at_) {
    std::erase_if(copies_, [](const auto& copy) { return copy.first.expired(); });
    sweep_at_ = std::max<std::size_t>(64, 2 * copies_.size());
  }
  copies_[array.buffer()] = std::move(memory);
}

Outcome<std::shared_ptr<void>> Mirror::copy_of(const Array& array) {
  const auto known = copies_.find(array.buffer());
  if (known != copies_.end()) return known->second;
  auto memory = device_.allocate(array.bytes());
  if (!memory) return memory;
  if (auto done = device_.copy_in({array.raw(), array.bytes()}, memory.value()); !done) return done.rejection();
  keep(array, memory.value());
  return memory;
}

Outcome<Done> Mirror::run(Op op, const Attributes& attributes, std::span<const Array* const> operands, Array& result) {
  std::vector<DeviceArray> there;
  for (const Array* operand : operands) {
    auto memory = copy_of(*operand);
    if (!memory) return memory.rejection();
    there.push_back({&operand->shape(), std::move(memory).value(), operand->dtype()});
  }
  auto memory = device_.allocate(result.bytes());
  if (!memory) return memory.rejection();
  DeviceArray to{&result.shape(), memory.value(), result.dtype()};
  if (auto done = device_.run(op, attributes, there, to); !done) return done;
  if (auto done = device_.copy_out(to.memory, {result.raw(), result.bytes()}); !done) return done;
  keep(result, std::move(memory).value());
  return Done{};
}

}  // namespace assay::runtime
