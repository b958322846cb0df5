#include "frontends/files.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace assay {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;             // bytes per read and per expansion step
constexpr std::uint64_t kMostRatio = 64;                         // of expanded to stored bytes, several times that of models and properties
constexpr std::uint64_t kUnsuspected = std::uint64_t{16} << 20;  // expanded bytes at any ratio

Rejection problem(std::string code, const std::string& path, std::string required, std::string found, std::string advice,
                  Rejection::Kind kind = Rejection::Kind::malformed) {
  return {kind, std::move(code), printable(path), std::move(required), std::move(found), std::move(advice)};
}

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

Outcome<std::vector<std::byte>> read_stored(const std::string& path, std::uint64_t limit) {
  if (is_named_pipe(path)) return problem("files.open", path, "a file", "a named pipe", "copy what comes out of it to a file");
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file && errno == ENOMEM) throw std::bad_alloc();  // as where there is none for the bytes
  if (!file) return problem("files.open", path, "a readable file", std::strerror(errno), "check the path and its permissions");
  std::vector<std::byte> bytes;
  struct stat status {};
  constexpr std::uint64_t kBlock = 512;  // the unit of st_blocks
  if (fstat(fileno(file.get()), &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::uint64_t>(status.st_size), held = kBlock * static_cast<std::uint64_t>(status.st_blocks);
    if (size > std::max(kUnsuspected, kMostRatio * held))
      return problem("files.size", path, "at most " + std::to_string(kMostRatio) + " bytes for each one that the disk holds",
                     std::to_string(size) + " bytes, of which it holds " + std::to_string(held), "check the file: it consists of holes",
                     Rejection::Kind::declined);
    bytes.reserve(std::min(size, limit) + kChunk);  // a vector that grows would copy what was read
  }
  while (true) {
    const std::size_t old = bytes.size();
    bytes.resize(old + kChunk);
    const std::size_t got = std::fread(bytes.data() + old, 1, kChunk, file.get());
    bytes.resize(old + got);
    if (bytes.size() > limit) {
      return problem("files.size", path, "at most " + std::to_string(limit) + " bytes", "a larger file",
                     "split the file or raise the limit", Rejection::Kind::declined);
    }
    if (got < kChunk) break;
  }
  if (std::ferror(file.get()) != 0) return problem("files.read", path, "a regular file", std::strerror(errno), "name a file, not a folder");
  return bytes;
}

struct Inflater {
  z_stream stream{};
  bool ready = false;
  ~Inflater() {
    if (ready) (void)inflateEnd(&stream);
  }
};

// Window of 2^15 bytes (15), gzip header expected (+16).
constexpr int kGzipWindow = 15 + 16;

Outcome<std::vector<std::byte>> expand(const std::string& path, std::span<const std::byte> stored, std::uint64_t limit) {
  Inflater inflater;
  z_stream& z = inflater.stream;
  if (inflateInit2(&z, kGzipWindow) != Z_OK) throw std::bad_alloc();  // the one thing that it can lack
  inflater.ready = true;
  std::vector<std::byte> bytes;
  std::vector<Bytef> window(kChunk);
  std::size_t position = 0;
  while (true) {
    if (z.avail_in == 0) {
      const std::size_t step = std::min(stored.size() - position, kChunk);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(stored.data() + position));  // zlib only reads there
      z.avail_in = static_cast<uInt>(step);
      position += step;
    }
    z.next_out = window.data();
    z.avail_out = static_cast<uInt>(kChunk);
    const int state = inflate(&z, Z_NO_FLUSH);
    const std::size_t got = kChunk - z.avail_out;
    const auto* from = reinterpret_cast<const std::byte*>(window.data());
    if (bytes.size() + got > limit) {
      return problem("files.size", path, "at most " + std::to_string(limit) + " bytes after expansion", "a file that expands to more",
                     "check the file; expand it by hand", Rejection::Kind::declined);
    }
    bytes.insert(bytes.end(), from, from + got);
    const bool at_end = z.avail_in == 0 && position == stored.size();
    if (state == Z_STREAM_END) {
      if (at_end) return bytes;
      if (inflateReset(&z) != Z_OK) return problem("files.gzip", path, "a gzip member", "a broken stream", "compress the file again");
    } else if (state != Z_OK || (at_end && got == 0)) {
      return problem("files.gzip", path, "complete gzip data", z.msg != nullptr ? z.msg : "a truncated stream", "compress the file again");
    }
  }
}

// Gzip's magic number. Safetensors of a header of 0x8b1f bytes begin with it, too: their ninth byte opens the header.
bool is_gzip(const std::vector<std::byte>& bytes) {
  const bool is_safetensors = bytes.size() > 8 && bytes[8] == std::byte{'{'};
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b} && !is_safetensors;
}

}  // namespace

bool is_named_pipe(const std::string& path) {
  struct stat status {};
  return !path.starts_with("/dev/") && !path.starts_with("/proc/") && stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

Outcome<FileContents> read_file(const std::string& path, const FileLimits& limits) try {
  Outcome<std::vector<std::byte>> stored = read_stored(path, limits.stored);
  if (!stored) return stored.rejection();
  FileContents contents;
  contents.bytes = std::move(stored).value();
  contents.stored = contents.bytes.size();
  if (contents.bytes.empty() && limits.expanded != 0)
    return problem("files.empty", path, "a file with content", "0 bytes", "the file was cut off; fetch or write it again");
  if (limits.hashed) contents.sha256 = statement::sha256(contents.bytes);
  if (limits.expanded != 0 && is_gzip(contents.bytes)) {
    const std::uint64_t most = std::max(kUnsuspected, kMostRatio * contents.bytes.size());
    Outcome<std::vector<std::byte>> expanded = expand(path, contents.bytes, std::min(limits.expanded, most));
    if (!expanded) return expanded.rejection();
    contents.bytes = std::move(expanded).value();
    contents.compressed = true;
  }
  return contents;
} catch (const std::bad_alloc&) {
  return problem("files.memory", path, "memory for the whole file", "too little", "allow more with --memory, or use a smaller file",
                 Rejection::Kind::declined);
}

}  // namespace assay
