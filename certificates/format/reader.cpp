// Reader: reads the frames of a certificate file one after the other.

#include "certificates/format/reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "certificates/format/decoder.h"
#include "semantics/statement/words.h"

namespace assay::certificate {
namespace {

// Payloads are read in pieces of this size, so that a forged length takes no more memory than the file has bytes.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

// Whether the last four bytes are the CRC-32C of the bytes before them, continued from `crc`.
bool ends_with_checksum(std::uint32_t crc, std::string_view bytes) {
  const std::size_t body = bytes.size() - 4;
  crc = crc32c(crc, bytes.substr(0, body));
  for (std::size_t i = 0; i < 4; ++i, crc >>= 8) {
    if (static_cast<std::uint8_t>(bytes[body + i]) != (crc & 0xFF)) return false;
  }
  return true;
}

}  // namespace

Reader::Reader(std::FILE* file) : file_(file), decoder_(std::make_unique<Decoder>()) {}
Reader::~Reader() { std::fclose(file_); }

Rejection Reader::fault(const char* code, std::string required, std::string found) const {
  return {Rejection::Kind::malformed,
          code,
          "byte " + std::to_string(position_),
          std::move(required),
          std::move(found),
          statement::in_format("1. Bytes", "copy the file again; if your own tool wrote it, open it in binary mode, and follow ")};
}

bool Reader::read(std::uint64_t count, std::string& into) {
  while (count > 0) {
    const std::uint64_t piece = std::min(count, kPiece);
    const std::size_t start = into.size();
    into.resize(start + piece);
    const std::size_t got = std::fread(into.data() + start, 1, piece, file_);
    position_ += got;
    into.resize(start + got);
    if (got != piece) return false;
    count -= piece;
  }
  return true;
}

Outcome<std::unique_ptr<Reader>> Reader::open(const std::string& path) {
  struct stat named {};
  const bool waits =
      stat(path.c_str(), &named) == 0 && S_ISFIFO(named.st_mode) && !path.starts_with("/dev/") && !path.starts_with("/proc/");
  std::FILE* file = waits ? nullptr : std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return Rejection{Rejection::Kind::malformed,
                     "certificate.io",
                     path,
                     "a certificate that can be read",
                     waits ? "a named pipe" : std::strerror(errno),
                     "check the path"};
  std::unique_ptr<Reader> reader(new Reader(file));
  const int first = std::fgetc(file);
  if (first == EOF && std::ferror(file) != 0)
    return Rejection{Rejection::Kind::malformed,       "certificate.io",     path,
                     "a certificate that can be read", std::strerror(errno), "name a certificate file"};
  if (first == EOF) return reader->fault("certificate.truncated", "a whole header", "an empty file");
  std::ungetc(first, file);
  if (auto header = reader->read_header(); !header) return header.rejection();
  return reader;
}

Outcome<Done> Reader::read_header() {
  const auto truncated = [this] { return fault("certificate.truncated", "a whole header", "the end of the file"); };
  std::string head;
  if (!read(kMagic.size(), head) || head != kMagic) return fault("certificate.magic", "a file that starts with ASSAY", "other bytes");
  if (!read(1, head)) return truncated();
  header_.version = static_cast<std::uint8_t>(head.back());
  if (header_.version != kVersion) return fault("certificate.version", "format version 1", std::to_string(header_.version));
  if (!read(header_.digest.size() + 1, head)) return truncated();
  std::memcpy(header_.digest.data(), head.data() + kMagic.size() + 1, header_.digest.size());
  const std::size_t start = head.size(), name_bytes = static_cast<std::uint8_t>(head.back());
  if (!read(name_bytes + 4, head)) return truncated();
  header_.semantics = head.substr(start, name_bytes);
  if (!ends_with_checksum(0, head)) return fault("certificate.checksum", "a header that fits its checksum", "a damaged header");
  return Done{};
}

// Reads one frame into frame_ and places the cursor on its payload.
Outcome<FrameType> Reader::read_frame() {
  std::string head;
  if (!read(1, head)) return fault("certificate.truncated", "an end frame", "the end of the file: the proof was never finished");
  const auto type = static_cast<FrameType>(head[0]);
  if (type != FrameType::records && type != FrameType::end)
    return fault("certificate.frame", "a known frame type (1 records, 2 end)", std::to_string(static_cast<std::uint8_t>(head[0])));
  do {
    if (!read(1, head)) return fault("certificate.truncated", "a whole frame", "the end of the file");
  } while ((head.back() & 128) != 0 && head.size() < 6);
  Cursor length_bytes(std::string_view(head).substr(1), position_);
  const std::uint64_t length = length_bytes.varint();
  if (length_bytes.fault()) return fault("certificate.varint", "a length in its shortest form, of at most 5 bytes", "a longer form");
  if (length > kMaxFrameBytes)
    return fault("certificate.length", "a frame of at most " + std::to_string(kMaxFrameBytes) + " bytes", std::to_string(length));
  const std::uint64_t start = position_;
  frame_.clear();
  if (!read(length + 4, frame_)) return fault("certificate.truncated", "a whole frame", "the end of the file");
  if (!ends_with_checksum(crc32c(0, head), frame_))
    return fault("certificate.checksum", "a frame that fits its checksum", "damage from byte " + std::to_string(start - head.size()));
  decoder_->cursor = Cursor(std::string_view(frame_).substr(0, length), start);
  return type;
}

Outcome<Done> Reader::check_end() {
  Cursor& cursor = decoder_->cursor;
  const std::uint64_t count = cursor.varint();
  std::string rest;
  if (!cursor.fault() && cursor.at_end() && count == frames_ && !read(1, rest)) return Done{};
  return fault("certificate.frame",
               "one number in the end frame, " + std::to_string(frames_) + " as frames were read, and nothing after it",
               rest.empty() ? std::to_string(count) : "bytes after it");
}

std::string_view Reader::encoded() const { return decoder_->encoded(); }

Outcome<const Record*> Reader::next(const Graph* graph, bool skims) {
  while (decoder_->cursor.at_end()) {
    const auto type = read_frame();
    if (!type) return type.rejection();
    if (type.value() == FrameType::end) {
      if (auto ended = check_end(); !ended) return ended.rejection();
      return nullptr;
    }
    ++frames_;
  }
  const Record* record = decoder_->next(graph, skims);
  if (!skims && decoder_->cursor.fault()) return *decoder_->cursor.fault();
  return record;
}

}  // namespace assay::certificate
