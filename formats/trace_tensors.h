// The tensors of a trace and their bytes in the file. Elements of 16 bits are float32 in memory, and their storage is remembered.
// Private to this folder.
#pragma once

#include <span>
#include <vector>

#include "formats/safetensors.h"
#include "semantics/graph/trace.h"

namespace assay::formats {

// The tensor as the result of a region; or trace.type.
[[nodiscard]] Outcome<Trace::Entry> trace_tensor(const Safetensors::Entry& entry);

// The bytes of a tensor in the file.
struct StoredTensor {
  const char* type;
  std::vector<std::byte> narrow;  // of elements of 16 bits; else the tensor's own are written
};
[[nodiscard]] StoredTensor stored_tensor(const Trace::Entry& entry);
[[nodiscard]] std::span<const std::byte> tensor_bytes(const Trace::Entry& entry, const StoredTensor& stored);

}  // namespace assay::formats
