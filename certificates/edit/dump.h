// Dump: a certificate as text, one line per record, indented by depth. Checks the file's form, not its claims.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "certificates/format/reader.h"
#include "semantics/outcome.h"

namespace assay::certificate {

struct Summary {
  std::array<std::uint64_t, kRecordTypes + 1> records{};  // by RecordType
  std::array<std::uint64_t, kRecordTypes + 1> bytes{};    // of those records
  std::uint64_t frames = 0, file_bytes = 0;
  std::size_t depth = 0;  // the deepest
};

// "header: version 1, real arithmetic, statement 3fa0..."
[[nodiscard]] std::string header_text(const Header& header);
// One record on one line, without indentation.
[[nodiscard]] std::string record_text(const Record& record);
// Several lines: counts and bytes per record type, frames, depth.
[[nodiscard]] std::string summary_text(const Summary& summary);

// Reads to the end; calls `line` (if set) for each record, and for each line that `below` (if set) has to say about it. With a graph,
// the records have to fit it, and a line says which slopes, splits and claims have no effect.
[[nodiscard]] Outcome<Summary> dump(Reader& reader, const std::function<void(const std::string&)>& line, const Graph* graph = nullptr,
                                    const std::function<std::vector<std::string>(const Record&)>& below = nullptr);

}  // namespace assay::certificate
