#include "runtime/array.h"

#include <cstring>
#include <utility>
#include <vector>

#include "runtime/buffers.h"
#include "runtime/device.h"

namespace assay::runtime {

Array Array::empty(DType dtype, Shape shape) {
  Array array(dtype, std::move(shape));
  array.buffer_ = acquire_buffer(array.bytes());
  return array;
}

Array Array::over(DType dtype, Shape shape, std::shared_ptr<void> memory) {
  Array array(dtype, std::move(shape));
  array.buffer_ = std::move(memory);
  return array;
}

Array Array::on_device(DType dtype, Shape shape, std::shared_ptr<Distant> distant) {
  Array array(dtype, std::move(shape));
  array.distant_ = std::move(distant);
  return array;
}

Array Array::computed_later(DType dtype, Shape shape, std::function<Outcome<Array>()> computed) {
  Distant later{nullptr, nullptr, nullptr, std::move(computed), std::make_unique<std::mutex>()};
  return on_device(dtype, std::move(shape), std::make_shared<Distant>(std::move(later)));
}

DeviceFailure::DeviceFailure(Rejection why) : std::runtime_error(why.to_text()), why_(std::move(why)) {}

Outcome<Done> Array::fetch() const {
  if (distant_ == nullptr) return Done{};
  if (distant_->device == nullptr) {
    const std::lock_guard lock(*distant_->computing);
    if (distant_->here != nullptr) return Done{};
    const auto made = distant_->computed();
    if (!made) return made.rejection();
    const Array& array = made.value();
    if (auto done = array.fetch(); !done) return done;  // it may be another shape of an array that is elsewhere itself
    distant_->here = array.distant_ == nullptr ? array.buffer_ : array.distant_->here;
    distant_->computed = nullptr;
    return Done{};
  }
  if (distant_->here != nullptr) return Done{};
  auto copy = acquire_buffer(bytes());
  if (auto done = distant_->device->copy_out(distant_->memory, {static_cast<std::byte*>(copy.get()), bytes()}); !done) return done;
  distant_->here = std::move(copy);
  return Done{};
}

void* Array::fetched() const {
  if (auto done = fetch(); !done) throw DeviceFailure(done.rejection());
  return distant_->here.get();
}

void* Array::settled() {
  (void)fetched();
  buffer_ = distant_->here;
  distant_.reset();
  return buffer_.get();
}

Array Array::from(const Tensor& tensor) {
  Array array = empty(tensor.dtype(), tensor.shape());
  if (array.bytes() > 0) std::memcpy(array.raw(), tensor.bytes().data(), array.bytes());
  return array;
}

Tensor Array::to_tensor() const {
  auto copy = std::make_shared<std::vector<std::byte>>(raw(), raw() + bytes());
  return {dtype_, shape_, std::move(copy)};
}

Array Array::reshaped(Shape shape) const {
  demand(element_count(shape) == size_, "Array::reshaped: as many elements");
  Array array = *this;
  array.shape_ = std::move(shape);
  return array;
}

Array Array::part(std::size_t first, Shape shape) const {
  const auto* const at = static_cast<const std::byte*>(here()) + first * byte_size(dtype_);
  Array array(dtype_, std::move(shape));
  demand(first + array.size_ <= size_ && first * byte_size(dtype_) % kAlignment == 0, "Array::part: inside of the array, and aligned");
  array.buffer_ = {const_cast<std::byte*>(at), [whole = distant_ == nullptr ? buffer_ : distant_->here](void*) {}};
  return array;
}

std::string type_of(const Array& array) { return std::string(to_string(array.dtype())) + to_string(array.shape()); }

}  // namespace assay::runtime
