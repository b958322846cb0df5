// Array: the runtime's tensors. Dense, row-major, 64-byte aligned, with a shared buffer that comes from a pool; or in the memory of a
// device, from which the elements are copied when they are first read here; or not there at all until then.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "semantics/demand.h"
#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay::runtime {

class Array;
class Device;

// Elements in the memory of a device, or computed when they are asked for. All copies of an array share this.
struct Distant {
  std::shared_ptr<Device> device;  // null: computed
  std::shared_ptr<void> memory;    // there
  std::shared_ptr<void> here;      // a copy, once somebody asked for it
  std::function<Outcome<Array>()> computed = {};
  std::unique_ptr<std::mutex> computing = {};  // kernels read from several threads
};

// Thrown where elements are read that a device does not give any more; Array::fetch() says the same as a value.
class DeviceFailure : public std::runtime_error {
 public:
  explicit DeviceFailure(Rejection why);
  [[nodiscard]] const Rejection& why() const { return why_; }

 private:
  Rejection why_;
};

// Returns true if elements of this type are held as T: booleans as uint8, complex64 as std::complex<float>.
template <class T>
[[nodiscard]] constexpr bool holds(DType dtype) {
  if constexpr (std::is_same_v<T, float>) return dtype == DType::float32;
  if constexpr (std::is_same_v<T, double>) return dtype == DType::float64;
  if constexpr (std::is_same_v<T, std::int64_t>) return dtype == DType::int64;
  if constexpr (std::is_same_v<T, std::int32_t>) return dtype == DType::int32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return dtype == DType::uint8 || dtype == DType::boolean;
  if constexpr (std::is_same_v<T, std::int8_t>) return dtype == DType::int8;
  if constexpr (std::is_same_v<T, std::int16_t>) return dtype == DType::int16;
  if constexpr (std::is_same_v<T, std::uint16_t>) return dtype == DType::uint16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return dtype == DType::uint32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return dtype == DType::uint64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return dtype == DType::complex64;
  return false;
}

// Copies share the buffer. A writer has to be its only reader: kernels write fresh arrays only.
class Array {
 public:
  Array() = default;  // float32, [0]
  // The elements are not initialised.
  static Array empty(DType dtype, Shape shape);
  static Array from(const Tensor& tensor);
  // Over planned memory: aligned, large enough, shared with all holders of the pointer.
  static Array over(DType dtype, Shape shape, std::shared_ptr<void> memory);
  static Array on_device(DType dtype, Shape shape, std::shared_ptr<Distant> distant);
  // An array of this type and shape is computed when the elements are first read.
  static Array computed_later(DType dtype, Shape shape, std::function<Outcome<Array>()> computed);
  [[nodiscard]] Tensor to_tensor() const;

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * byte_size(dtype_); }
  // The same elements under another shape of equal element count; shares the buffer.
  [[nodiscard]] Array reshaped(Shape shape) const;
  // Elements from `first` on, where an array can begin (demanded), under another shape. They stay where they are, and keep all of this
  // array alive, but count as a buffer of their own.
  [[nodiscard]] Array part(std::size_t first, Shape shape) const;
  // The owner of the elements: the same for all copies.
  [[nodiscard]] std::weak_ptr<void> buffer() const { return buffer_; }
  [[nodiscard]] bool shares_buffer_with(const Array& other) const { return buffer_ == other.buffer_ && distant_ == other.distant_; }
  // Null for elements that are here.
  [[nodiscard]] const std::shared_ptr<Distant>& distant() const { return distant_; }
  // Copies the elements here if they lie on a device; readers do so on their own, but throw where that fails.
  [[nodiscard]] Outcome<Done> fetch() const;

  // T is the type that holds the elements (demanded). Elements that are written are here from then on.
  template <class T>
  [[nodiscard]] std::span<T> data() {
    demand(holds<T>(dtype_), "Array: elements of another type");
    return {static_cast<T*>(own()), size_};
  }
  template <class T>
  [[nodiscard]] std::span<const T> data() const {
    demand(holds<std::remove_const_t<T>>(dtype_), "Array: elements of another type");
    return {static_cast<const T*>(here()), size_};
  }
  [[nodiscard]] std::byte* raw() { return static_cast<std::byte*>(own()); }
  [[nodiscard]] const std::byte* raw() const { return static_cast<const std::byte*>(here()); }

 private:
  Array(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)), size_(element_count(shape_)) {}
  [[nodiscard]] const void* here() const { return distant_ == nullptr ? buffer_.get() : fetched(); }
  [[nodiscard]] void* own() { return distant_ == nullptr ? buffer_.get() : settled(); }
  [[nodiscard]] void* fetched() const;
  [[nodiscard]] void* settled();

  DType dtype_ = DType::float32;
  Shape shape_ = {0};
  std::size_t size_ = 0;
  std::shared_ptr<void> buffer_;  // null for elements on a device
  std::shared_ptr<Distant> distant_;
};

[[nodiscard]] std::string type_of(const Array& array);  // for messages: "float32[2, 3]"

}  // namespace assay::runtime
