// Trace files: a trace <-> safetensors. docs/trace-format.md describes the layout for writers in other languages.
#pragma once

#include <functional>

#include "formats/safetensors.h"
#include "semantics/graph/trace.h"

namespace assay::formats {

// Rejections: those of safetensors; trace.json, trace.version, trace.field, trace.name, trace.op, trace.attribute, trace.checksum (of kind
// `malformed`), trace.type (a tensor type without a meaning here: `unsupported`); and those of Graph::append for a region that has no
// shapes. Nothing is said about whether the trace is one run: kernel/audit decides that.
[[nodiscard]] Outcome<Trace> read_trace(std::span<const std::byte> file);

// Calls write(bytes) for consecutive parts of the file. The tensors' names have to differ.
void write_trace(const Trace& trace, const std::function<void(std::span<const std::byte>)>& write);

}  // namespace assay::formats
