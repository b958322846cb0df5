// Elements as doubles and integers, broadcasting, names of types.

#include "semantics/graph/tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "semantics/demand.h"

namespace assay {

static_assert(std::endian::native == std::endian::little, "tensor bytes are little endian and are read in place");

std::size_t element_count(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

bool checked_element_count(const Shape& shape, std::size_t limit, std::size_t& count) {
  // An extent 0 makes the product 0, whatever the other extents; but every extent is still bounded separately.
  std::size_t product = 1;
  bool has_zero = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || static_cast<std::uint64_t>(extent) > limit) return false;
    if (extent == 0) {
      has_zero = true;
    } else if (__builtin_mul_overflow(product, static_cast<std::size_t>(extent), &product) || product > limit) {
      return false;
    }
  }
  count = has_zero ? 0 : product;
  return count <= limit;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
  return text + "]";
}

bool broadcast(const Shape& a, const Shape& b, Shape& result) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape common(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {  // aligned at the last axis; a missing axis has extent 1
    const std::int64_t in_a = axis + a.size() < rank ? 1 : a[axis + a.size() - rank];
    const std::int64_t in_b = axis + b.size() < rank ? 1 : b[axis + b.size() - rank];
    if (in_a != in_b && in_a != 1 && in_b != 1) return false;
    common[axis] = in_a == 1 ? in_b : in_a;
  }
  result = std::move(common);
  return true;
}

std::size_t byte_size(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 4;
    case DType::float64:
      return 8;
    case DType::int64:
      return 8;
    case DType::int32:
      return 4;
    case DType::uint8:
      return 1;
    case DType::int8:
      return 1;
    case DType::boolean:
      return 1;
    case DType::complex64:
      return 8;
    case DType::int16:
    case DType::uint16:
      return 2;
    case DType::uint32:
      return 4;
    case DType::uint64:
      return 8;
  }
  demand(false, "byte_size: unknown dtype");
  return 0;
}

const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::int64:
      return "int64";
    case DType::int32:
      return "int32";
    case DType::uint8:
      return "uint8";
    case DType::int8:
      return "int8";
    case DType::boolean:
      return "bool";
    case DType::complex64:
      return "complex64";
    case DType::int16:
      return "int16";
    case DType::uint16:
      return "uint16";
    case DType::uint32:
      return "uint32";
    case DType::uint64:
      return "uint64";
  }
  demand(false, "to_string: unknown dtype");
  return "";
}

bool is_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

bool is_integer(DType dtype) { return !is_float(dtype) && dtype != DType::boolean && dtype != DType::complex64; }

bool is_unsigned(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::uint64;
}

namespace {

template <class T>
Tensor tensor_of(DType dtype, Shape shape, std::span<const T> values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size_bytes());
  if (!values.empty()) std::memcpy(bytes->data(), values.data(), values.size_bytes());
  return Tensor(dtype, std::move(shape), std::move(bytes));
}

template <class T>
T element_at(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<const std::vector<std::byte>> bytes)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(std::move(bytes)) {
  demand(bytes_ != nullptr, "Tensor: no data");
  demand(checked_element_count(shape_, std::numeric_limits<std::size_t>::max() / 8, size_), "Tensor: impossible shape");
  demand(bytes_->size() == size_ * byte_size(dtype_), "Tensor: shape and data disagree");
}

Tensor Tensor::of_floats(Shape shape, std::span<const float> values) { return tensor_of(DType::float32, std::move(shape), values); }
Tensor Tensor::of_doubles(Shape shape, std::span<const double> values) { return tensor_of(DType::float64, std::move(shape), values); }
Tensor Tensor::of_ints(Shape shape, std::span<const std::int64_t> values) { return tensor_of(DType::int64, std::move(shape), values); }

double Tensor::as_double(std::size_t i) const {
  demand(i < size_ && dtype_ != DType::complex64, "Tensor::as_double: no such real element");
  if (dtype_ == DType::float32) return static_cast<double>(element_at<float>(*bytes_, i));
  if (dtype_ == DType::float64) return element_at<double>(*bytes_, i);
  const std::int64_t value = as_int(i);
  const auto rounded = static_cast<double>(value);
  // 2^63 itself is not an int64, so the way back is taken only below it.
  demand(rounded < 0x1p63 && static_cast<std::int64_t>(rounded) == value, "Tensor::as_double: an int64 that is no double");
  return rounded;
}

std::int64_t Tensor::as_int(std::size_t i) const {
  demand(i < size_, "Tensor::as_int: no such element");
  switch (dtype_) {
    case DType::int64:
      return element_at<std::int64_t>(*bytes_, i);
    case DType::int32:
      return element_at<std::int32_t>(*bytes_, i);
    case DType::uint8:
      return element_at<std::uint8_t>(*bytes_, i);
    case DType::int8:
      return element_at<std::int8_t>(*bytes_, i);
    case DType::int16:
      return element_at<std::int16_t>(*bytes_, i);
    case DType::uint16:
      return element_at<std::uint16_t>(*bytes_, i);
    case DType::uint32:
      return element_at<std::uint32_t>(*bytes_, i);
    case DType::uint64: {
      const auto value = element_at<std::int64_t>(*bytes_, i);
      demand(value >= 0, "Tensor::as_int: a uint64 of 2^63 or more");
      return value;
    }
    case DType::boolean:
      return element_at<std::uint8_t>(*bytes_, i) != 0 ? 1 : 0;
    case DType::float32:
    case DType::float64:
    case DType::complex64:
      break;
  }
  demand(false, "Tensor::as_int: not an integer tensor");
  return 0;
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> values(size_);
  for (std::size_t i = 0; i < size_; ++i) values[i] = as_double(i);
  return values;
}

std::vector<std::int64_t> Tensor::to_ints() const {
  std::vector<std::int64_t> values(size_);
  for (std::size_t i = 0; i < size_; ++i) values[i] = as_int(i);
  return values;
}

Tensor Tensor::reshaped(Shape shape) const { return Tensor(dtype_, std::move(shape), bytes_); }

}  // namespace assay
