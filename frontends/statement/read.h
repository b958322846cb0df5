// Statement files: the canonical bytes of docs/reference/canonical-graph.md, read back. No model format and no property language
// takes part: a program that recomputes these bytes needs no other front end.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "semantics/outcome.h"
#include "semantics/statement/statement.h"

namespace assay::statement_file {

// Codes statement_file.bytes (malformed: the first field that cannot be, with its byte), statement_file.canonical (malformed: other bytes
// mean the same), those of files.h and of validate(graph).
[[nodiscard]] Outcome<statement::Statement> read(const std::string& path);
// The same from the bytes of a file; `name` is for messages.
[[nodiscard]] Outcome<statement::Statement> parse(std::span<const std::byte> bytes, const std::string& name);

}  // namespace assay::statement_file
