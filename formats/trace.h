// Trace files: a trace <-> safetensors. docs/reference/trace-format.md describes the layout for writers in other languages.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "formats/safetensors.h"
#include "semantics/graph/trace.h"

namespace assay::formats {

// Rejections: those of safetensors; trace.json, trace.version, trace.field, trace.name, trace.op, trace.attribute, trace.checksum
// (of kind `malformed`), trace.type (a tensor type without a meaning here: `unsupported`); and those of Graph::append for a
// region that has no shapes. The reader does not ask whether the trace is one run: kernel/audit decides that.
[[nodiscard]] Outcome<Trace> read_trace(std::span<const std::byte> file);

// Calls write(bytes) for consecutive parts of the file. The tensors' names have to differ.
void write_trace(const Trace& trace, const std::function<void(std::span<const std::byte>)>& write);

// One region by itself: {"nodes": [...], "outputs": [...]} on operands of these types. Rejections as above.
[[nodiscard]] Outcome<Graph> read_region(std::string_view json, std::span<const ResultType> operands, std::size_t results);
[[nodiscard]] std::string write_region(const Graph& graph);

}  // namespace assay::formats
