#include "formats/trace_tensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "formats/half.h"

namespace assay::formats {

namespace {

constexpr std::array<std::pair<const char*, DType>, 12> kTypes = {{{"F32", DType::float32},
                                                                   {"F64", DType::float64},
                                                                   {"I64", DType::int64},
                                                                   {"I32", DType::int32},
                                                                   {"I16", DType::int16},
                                                                   {"I8", DType::int8},
                                                                   {"U64", DType::uint64},
                                                                   {"U32", DType::uint32},
                                                                   {"U16", DType::uint16},
                                                                   {"U8", DType::uint8},
                                                                   {"BOOL", DType::boolean},
                                                                   {"C64", DType::complex64}}};

using Storage = ExecutionModel::Storage;
constexpr std::array<std::pair<const char*, Storage>, 2> kShort = {{{"BF16", Storage::bfloat16}, {"F16", Storage::binary16}}};

// Elements of 16 bits are the float32 that they are.
Tensor widened(const Safetensors::Entry& entry, Storage storage) {
  std::vector<float> values(entry.bytes.size() / sizeof(std::uint16_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, entry.bytes.data() + i * sizeof(bits), sizeof(bits));
    values[i] = storage == Storage::bfloat16 ? of_bfloat16(bits) : of_float16(bits);
  }
  return Tensor::of_floats(entry.shape, values);
}

}  // namespace

Outcome<Trace::Entry> trace_tensor(const Safetensors::Entry& entry) {
  for (const auto& [name, storage] : kShort) {
    if (entry.dtype == name) return Trace::Entry{entry.name, Trace::Origin::result, widened(entry, storage), storage};
  }
  const auto type = std::ranges::find_if(kTypes, [&](const auto& one) { return entry.dtype == one.first; });
  if (type == kTypes.end()) {
    return Rejection{Rejection::Kind::unsupported,
                     "trace.type",
                     "tensor \"" + entry.name + "\"",
                     "float64, float32, float16, bfloat16, complex64, integers or truth values",
                     entry.dtype,
                     "record values before they are rounded to 8 bits"};
  }
  const auto bytes = std::make_shared<std::vector<std::byte>>(entry.bytes.begin(), entry.bytes.end());
  return Trace::Entry{entry.name, Trace::Origin::result, Tensor(type->second, entry.shape, bytes)};
}

StoredTensor stored_tensor(const Trace::Entry& entry) {
  const auto shorter = std::ranges::find_if(kShort, [&](const auto& one) { return entry.storage == one.second; });
  if (shorter == kShort.end() || entry.value.dtype() != DType::float32)
    return {std::ranges::find_if(kTypes, [&](const auto& one) { return entry.value.dtype() == one.second; })->first, {}};
  StoredTensor result{shorter->first, std::vector<std::byte>(entry.value.size() * sizeof(std::uint16_t))};
  for (std::size_t i = 0; i < entry.value.size(); ++i) {
    float value = 0;
    std::memcpy(&value, entry.value.bytes().data() + i * sizeof(value), sizeof(value));
    const std::uint16_t bits = entry.storage == Storage::bfloat16 ? bfloat16_of(value) : float16_of(value);
    std::memcpy(result.narrow.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
  return result;
}

std::span<const std::byte> tensor_bytes(const Trace::Entry& entry, const StoredTensor& stored) {
  return stored.narrow.empty() ? entry.value.bytes() : std::span<const std::byte>(stored.narrow);
}

}  // namespace assay::formats
