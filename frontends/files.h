// Files: whole-file reading for the front ends, with limits and a digest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "semantics/statement/statement.h"
#include "semantics/outcome.h"

namespace assay {

struct FileLimits {
  std::uint64_t stored = std::uint64_t{2} << 30;    // bytes on disk
  std::uint64_t expanded = std::uint64_t{4} << 30;  // bytes after gzip expansion; 0: never expand
};

struct FileContents {
  std::vector<std::byte> bytes;  // expanded
  kernel::Digest sha256{};       // of the stored file, as `sha256sum FILE` prints it
  bool compressed = false;
};

// Reads a whole file; content that opens with the gzip magic 1f 8b is expanded (all members of a multi-member file).
// Only data that is not to be expanded may be empty. What expands beyond 64 MiB and 64 times its stored size is taken for an attack. Codes:
// files.open, files.read, files.empty, files.gzip, files.memory of kind `malformed`; files.size of kind `declined`.
[[nodiscard]] Outcome<FileContents> read_file(const std::string& path, const FileLimits& limits = {});

// `text` as printable ASCII: other bytes as \xNN, cut after `limit` characters. For names from files in messages.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace assay
