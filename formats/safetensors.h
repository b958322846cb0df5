// safetensors files (github.com/huggingface/safetensors): 8 bytes of header length, a JSON header, the tensors' bytes. No meaning is given
// to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "semantics/outcome.h"

namespace assay::formats {

struct Safetensors {
  struct Entry {
    std::string name;
    std::string dtype;  // "F32", "I64", "BOOL", ... as written
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;  // inside the file's bytes, which have to outlive this
  };
  std::vector<Entry> entries;  // in order of their bytes
  std::map<std::string, std::string> metadata;
};

// Bytes of one element; 0 for a type that is not known.
[[nodiscard]] std::size_t element_size(std::string_view dtype);

// Rejections are `malformed`, with codes safetensors.length, .json, .duplicate, .entry, .type, .size, .offsets: the tensors fill the data
// part without holes or overlaps, and each has as many bytes as its type and shape say.
[[nodiscard]] Outcome<Safetensors> read_safetensors(std::span<const std::byte> file);

// The header, padded with spaces so that the data part starts at a multiple of 8; then the entries' bytes have to be written in order.
[[nodiscard]] std::string safetensors_header(const Safetensors& content);

}  // namespace assay::formats
