// Shapes, element types and constant tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace assay {

using Shape = std::vector<std::int64_t>;  // [] is a scalar; extents >= 0; row-major

// The product of the extents; the caller has checked that it does not overflow (checked_element_count).
[[nodiscard]] std::size_t element_count(const Shape& shape);
// False if an extent is negative or the product exceeds `limit`.
[[nodiscard]] bool checked_element_count(const Shape& shape, std::size_t limit, std::size_t& count);
[[nodiscard]] std::string to_string(const Shape& shape);  // "[1, 3, 32, 32]"
// ONNX (NumPy) multidirectional broadcasting; false if the shapes do not match.
[[nodiscard]] bool broadcast(const Shape& a, const Shape& b, Shape& result);

enum class DType : std::uint8_t { float32, float64, int64, int32, uint8, int8, boolean, complex64, int16, uint16, uint32, uint64 };

[[nodiscard]] std::size_t byte_size(DType dtype);
[[nodiscard]] const char* to_string(DType dtype);
[[nodiscard]] bool is_float(DType dtype);
[[nodiscard]] bool is_integer(DType dtype);   // boolean is none
[[nodiscard]] bool is_unsigned(DType dtype);  // uint8, uint16, uint32, uint64

// A dense row-major tensor with bit-exact, immutable, shared data (little endian; booleans one byte, 0 or 1).
class Tensor {
 public:
  Tensor() = default;
  // Demands bytes->size() == element_count(shape) * byte_size(dtype).
  Tensor(DType dtype, Shape shape, std::shared_ptr<const std::vector<std::byte>> bytes);
  static Tensor of_floats(Shape shape, std::span<const float> values);
  static Tensor of_doubles(Shape shape, std::span<const double> values);
  static Tensor of_ints(Shape shape, std::span<const std::int64_t> values);

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return bytes_ ? std::span<const std::byte>(*bytes_) : std::span<const std::byte>();
  }
  // Element i as a double; exact for every dtype. Demands no complex64, and no 64-bit integer that is not a double.
  [[nodiscard]] double as_double(std::size_t i) const;
  // Element i of an integer or boolean tensor. Demands values below 2^63 (readers refuse larger uint64 constants).
  [[nodiscard]] std::int64_t as_int(std::size_t i) const;
  [[nodiscard]] std::vector<double> to_doubles() const;
  [[nodiscard]] std::vector<std::int64_t> to_ints() const;
  // The same bytes with another shape of equal element count.
  [[nodiscard]] Tensor reshaped(Shape shape) const;

 private:
  DType dtype_ = DType::float32;
  Shape shape_;
  std::size_t size_ = 0;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

}  // namespace assay
