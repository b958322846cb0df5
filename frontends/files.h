// Files: whole-file reading for the front ends, with limits and a digest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "semantics/outcome.h"
#include "semantics/printable.h"
#include "semantics/statement/statement.h"

namespace assay {

// Bytes that the programs may hold for files of so many bytes on disk: what a small file asks for is no more than a small network needs.
struct MemoryRule {
  std::uint64_t base = std::uint64_t{256} << 20, per_byte = 256, most = std::uint64_t{8} << 30;
  [[nodiscard]] std::uint64_t of(std::uint64_t stored) const {
    return stored < most / per_byte ? std::min(most, base + per_byte * stored) : most;
  }
  // The same number of bytes for files of any size.
  [[nodiscard]] static MemoryRule exactly(std::uint64_t bytes) { return {bytes, 1, bytes}; }
};

struct FileLimits {
  std::uint64_t stored = std::uint64_t{2} << 30;    // bytes on disk
  std::uint64_t expanded = std::uint64_t{4} << 30;  // bytes after gzip expansion; 0: never expand
  bool hashed = true;                               // else the contents have no digest
};

struct FileContents {
  std::vector<std::byte> bytes;  // expanded
  std::uint64_t stored = 0;      // bytes on disk
  statement::Digest sha256{};    // of the stored file, as `sha256sum FILE` prints it; zeros where none was asked for
  bool compressed = false;
};

// Returns true if opening it would wait for a program that writes. Names of open files in /dev and /proc, such as /dev/stdin, do
// not wait.
[[nodiscard]] bool is_named_pipe(const std::string& path);

// Reads a whole file; content that opens with the gzip magic 1f 8b is expanded (all members of a multi-member file). Only data
// that is not to be expanded may be empty. Content that expands beyond 16 MiB and 64 times its stored size is taken for an
// attack. So is a file with holes that is longer than that many times its bytes on disk. Codes:
// files.open, files.read, files.empty, files.gzip of kind `malformed`; files.size, files.memory of kind `declined`.
[[nodiscard]] Outcome<FileContents> read_file(const std::string& path, const FileLimits& limits = {});

}  // namespace assay
