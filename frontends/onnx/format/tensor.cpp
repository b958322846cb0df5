#include "frontends/onnx/format/tensor.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>

#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data and tensors are little endian");

constexpr std::size_t kMostElements = (std::size_t{1} << 31) - 1;
constexpr std::size_t kHighestRank = 64;

std::string place_of(const TensorProto& tensor) { return "tensor " + in_quotes(tensor.name) + " at byte " + std::to_string(tensor.offset); }

[[noreturn]] void malformed(const TensorProto& tensor, std::string required, std::string found) {
  refuse_malformed("onnx.tensor", place_of(tensor), std::move(required), std::move(found), "export the model again");
}

[[noreturn]] void bad_location(const TensorProto& tensor, std::string required, std::string found) {
  refuse_malformed("onnx.external_data", place_of(tensor), std::move(required), std::move(found),
                   "keep external data in the model's folder, or save the model with its data inside");
}

std::size_t width_of(std::int64_t element_type) {
  switch (element_type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kFloat16:
    case kBfloat16:
    case kInt16:
    case kUint16:
      return 2;
    case kFloat:
    case kInt32:
    case kUint32:
      return 4;
    default:
      return 8;  // double, int64, uint64
  }
}

// The float32 that equals an IEEE binary16: sign 1, exponent 5 (bias 15), fraction 10. Every binary16 is one.
std::uint32_t widen_float16(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  std::uint32_t exponent = (half >> 10) & 0x1fU;
  std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0x1f) return sign | 0x7f800000U | (fraction << 13);  // infinity, NaN
  if (exponent == 0) {
    if (fraction == 0) return sign;
    // Subnormal: fraction * 2^-24 = 1.f * 2^(-14 - shift) once the leading bit has been moved to position 10.
    const auto shift = static_cast<std::uint32_t>(std::countl_zero(fraction)) - 21U;
    fraction = (fraction << shift) & 0x3ffU;
    exponent = 1U - shift;  // wraps; the bias below brings it back
  }
  return sign | ((exponent + (127U - 15U)) << 23) | (fraction << 13);
}

template <class T>
std::vector<std::byte> pack(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T, class V>
std::vector<std::byte> narrow(const TensorProto& tensor, const std::vector<V>& values) {
  std::vector<T> narrowed;
  narrowed.reserve(values.size());
  for (const V value : values) {
    if (value < static_cast<V>(std::numeric_limits<T>::min()) || value > static_cast<V>(std::numeric_limits<T>::max())) {
      malformed(tensor, "values of " + element_type_name(tensor.element_type), std::to_string(value));
    }
    narrowed.push_back(static_cast<T>(value));
  }
  return pack(narrowed);
}

// The typed field that carries this element type, as little-endian elements.
std::vector<std::byte> typed_bytes(const TensorProto& tensor) {
  switch (tensor.element_type) {
    case kFloat:
      return pack(tensor.floats);
    case kDouble:
      return pack(tensor.doubles);
    case kInt64:
      return pack(tensor.int64s);
    case kInt32:
      return narrow<std::int32_t>(tensor, tensor.int32s);
    case kInt8:
      return narrow<std::int8_t>(tensor, tensor.int32s);
    case kInt16:
      return narrow<std::int16_t>(tensor, tensor.int32s);
    case kUint32:
      return narrow<std::uint32_t>(tensor, tensor.uint64s);
    case kUint64:
      return pack(tensor.uint64s);
    case kUint16:
    case kFloat16:
    case kBfloat16:
      return narrow<std::uint16_t>(tensor, tensor.int32s);
    default:
      return narrow<std::uint8_t>(tensor, tensor.int32s);  // uint8, bool
  }
}

std::size_t given_elements(const TensorProto& tensor) {
  const bool single = tensor.element_type == kFloat;
  const std::size_t floats = single ? tensor.floats.size() : 0;
  const std::size_t doubles = tensor.element_type == kDouble ? tensor.doubles.size() : 0;
  const std::size_t longs = tensor.element_type == kInt64 ? tensor.int64s.size() : 0;
  const bool unsigned_longs = tensor.element_type == kUint32 || tensor.element_type == kUint64;
  const bool in_int32s = !single && tensor.element_type != kDouble && tensor.element_type != kInt64 && !unsigned_longs;
  const std::size_t all =
      tensor.floats.size() + tensor.doubles.size() + tensor.int64s.size() + tensor.int32s.size() + tensor.uint64s.size();
  const std::size_t used = floats + doubles + longs + (in_int32s ? tensor.int32s.size() : 0) + (unsigned_longs ? tensor.uint64s.size() : 0);
  if (all != used || !tensor.other_data.empty()) {
    malformed(tensor, "data in the field of " + element_type_name(tensor.element_type),
              tensor.other_data.empty() ? "data in the field of another type" : "a field " + tensor.other_data);
  }
  return used;
}

std::vector<std::byte> stored_bytes(const TensorProto& tensor, std::size_t count, ExternalData& external) {
  const std::size_t given = given_elements(tensor);
  const std::size_t length = count * width_of(tensor.element_type);
  if (tensor.external) {
    if (given != 0 || tensor.raw) malformed(tensor, "external data alone", "data in the model too");
    const Bytes bytes = external.bytes_of(tensor, length);
    return {bytes.begin(), bytes.end()};
  }
  if (tensor.raw) {
    if (given != 0) malformed(tensor, "raw_data alone", "typed data too");
    if (tensor.raw->bytes.size() != length) {
      malformed(tensor, std::to_string(length) + " bytes of raw_data for shape " + to_string(tensor.dims),
                std::to_string(tensor.raw->bytes.size()));
    }
    return {tensor.raw->bytes.begin(), tensor.raw->bytes.end()};
  }
  if (given != count) malformed(tensor, std::to_string(count) + " elements for shape " + to_string(tensor.dims), std::to_string(given));
  return typed_bytes(tensor);
}

std::uint64_t parse_count(const TensorProto& tensor, const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) bad_location(tensor, key + " as a decimal number", in_quotes(text));
  return value;
}

}  // namespace

const FileContents& ExternalData::file(const TensorProto& tensor, const std::string& location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  namespace fs = std::filesystem;
  const fs::path relative(location);
  bool climbs = location.empty() || location.find('\0') != std::string::npos || relative.is_absolute();
  for (const fs::path& part : relative) climbs = climbs || part == "..";
  if (climbs) bad_location(tensor, "a location inside the model's folder", in_quotes(location));
  std::error_code error;
  const fs::path folder = fs::canonical(fs::absolute(fs::path(model_path_)).parent_path(), error);
  const fs::path target = error ? fs::path() : fs::canonical(folder / relative, error);
  if (error) bad_location(tensor, "the file " + in_quotes(location) + " beside the model", error.message());
  const fs::path inside = target.lexically_relative(folder);
  if (inside.empty() || *inside.begin() == "..") bad_location(tensor, "a location inside the model's folder", "a link that leaves it");
  if (!fs::is_regular_file(target, error)) bad_location(tensor, "a regular file " + in_quotes(location), "a folder, a pipe or a device");
  Outcome<FileContents> contents = read_file(target.string(), {.stored = FileLimits{}.expanded, .expanded = 0});
  if (!contents) throw Refused{contents.rejection()};
  return files_.emplace(location, std::move(contents).value()).first->second;
}

Bytes ExternalData::bytes_of(const TensorProto& tensor, std::size_t length) {
  std::string location;
  std::uint64_t offset = 0;
  std::uint64_t given = length;
  for (const auto& [key, text] : tensor.external_keys) {
    const auto is_key = [&key = key](const auto& one) { return one.first == key; };
    if (std::ranges::count_if(tensor.external_keys, is_key) > 1) bad_location(tensor, "each key once", in_quotes(key) + " twice");
    if (key == "location")
      location = text;
    else if (key == "offset")
      offset = parse_count(tensor, key, text);
    else if (key == "length")
      given = parse_count(tensor, key, text);
    else
      bad_location(tensor, "the keys location, offset, length, and no checksum, which would not be compared", in_quotes(key));
  }
  if (given != length)
    bad_location(tensor, "length " + std::to_string(length) + " for shape " + to_string(tensor.dims), std::to_string(given));
  const std::vector<std::byte>& bytes = file(tensor, location).bytes;
  if (offset > bytes.size() || bytes.size() - offset < length) {
    bad_location(tensor, std::to_string(length) + " bytes from offset " + std::to_string(offset),
                 std::to_string(bytes.size()) + " bytes in the file");
  }
  return Bytes(bytes).subspan(static_cast<std::size_t>(offset), length);
}

std::vector<statement::Source> ExternalData::sources() const {
  std::vector<statement::Source> sources;
  for (const auto& [location, contents] : files_) sources.push_back({"external data", location, contents.sha256});
  return sources;
}

std::uint64_t ExternalData::stored() const {
  std::uint64_t bytes = 0;
  for (const auto& [location, contents] : files_) bytes += contents.stored;
  return bytes;
}

bool dtype_of(std::int64_t element_type, DType& dtype) {
  switch (element_type) {
    case kFloat:
    case kFloat16:
    case kBfloat16:
      dtype = DType::float32;
      return true;
    case kDouble:
      dtype = DType::float64;
      return true;
    case kInt64:
      dtype = DType::int64;
      return true;
    case kInt32:
      dtype = DType::int32;
      return true;
    case kUint8:
      dtype = DType::uint8;
      return true;
    case kInt8:
      dtype = DType::int8;
      return true;
    case kInt16:
      dtype = DType::int16;
      return true;
    case kUint16:
      dtype = DType::uint16;
      return true;
    case kUint32:
      dtype = DType::uint32;
      return true;
    case kUint64:
      dtype = DType::uint64;
      return true;
    case kBool:
      dtype = DType::boolean;
      return true;
    default:
      return false;
  }
}

Tensor read_tensor(const TensorProto& tensor, ExternalData& external) {
  DType dtype = DType::float32;
  if (!dtype_of(tensor.element_type, dtype)) {
    refuse_unsupported("onnx.element_type", place_of(tensor), "float, double, float16, bfloat16, an integer type of 8 to 64 bits, or bool",
                       element_type_name(tensor.element_type), "export the model in float32");
  }
  std::size_t count = 0;
  if (tensor.dims.size() > kHighestRank || !checked_element_count(tensor.dims, kMostElements, count)) {
    malformed(tensor, "at most 64 extents >= 0 with a product below 2^31", to_string(tensor.dims));
  }
  std::vector<std::byte> bytes = stored_bytes(tensor, count, external);
  if (tensor.element_type == kFloat16 || tensor.element_type == kBfloat16) {
    std::vector<std::uint32_t> wide(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t half = static_cast<std::uint32_t>(bytes[2 * i]) | static_cast<std::uint32_t>(bytes[2 * i + 1]) << 8;
      wide[i] = tensor.element_type == kFloat16 ? widen_float16(half) : half << 16;
    }
    bytes = pack(wide);
  }
  if (tensor.element_type == kBool) {
    for (const std::byte b : bytes) {
      if (b > std::byte{1}) malformed(tensor, "booleans 0 or 1", std::to_string(static_cast<int>(b)));
    }
  }
  for (std::size_t i = 7; tensor.element_type == kUint64 && i < bytes.size(); i += 8) {
    if (bytes[i] >= std::byte{0x80})
      refuse_unsupported("onnx.element_type", place_of(tensor), "uint64 values below 2^63", "a larger one", "store smaller numbers");
  }
  return {dtype, tensor.dims, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

bool fits(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::int64:
      return true;
    case DType::int32:
      return value == static_cast<std::int32_t>(value);
    case DType::int8:
      return value == static_cast<std::int8_t>(value);
    case DType::uint8:
      return value == static_cast<std::uint8_t>(value);
    case DType::int16:
      return value == static_cast<std::int16_t>(value);
    case DType::uint16:
      return value == static_cast<std::uint16_t>(value);
    case DType::uint32:
      return value == static_cast<std::uint32_t>(value);
    case DType::uint64:
      return value >= 0;
    case DType::boolean:
      return value == 0 || value == 1;
    case DType::float32:
    case DType::float64:
    case DType::complex64:
      break;
  }
  return false;
}

Tensor tensor_of_ints(DType dtype, Shape shape, const std::vector<std::int64_t>& values) {
  if (dtype == DType::int64) return Tensor::of_ints(std::move(shape), values);
  const std::size_t width = byte_size(dtype);
  std::vector<std::byte> bytes(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(bytes.data() + i * width, &values[i], width);  // low bytes first
  return {dtype, std::move(shape), std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

}  // namespace assay::onnx
