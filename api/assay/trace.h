// Recorded runs for `assay audit` and `assay gradcheck`, in memory and in files: a run is regions, small graphs with the
// execution model that they claim to keep, and the tensors that they read and made (docs/reference/trace-format.md).
//
//   assay::Trace trace;  // semantics/graph/trace.h
//   ...
//   assay::formats::write_trace(trace, [&](std::span<const std::byte> part) { file.write(...); });
#pragma once

#include "formats/trace.h"
