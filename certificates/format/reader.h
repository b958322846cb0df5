// Reader: the frames and records of a certificate file, in order (FORMAT.md). It applies no rules. Its memory is one
// frame and the hints in force. Everything that it returns is untrusted evidence.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "certificates/format/record.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

struct Header {
  std::uint8_t version = 0;
  statement::Digest digest{};
  std::string semantics;
};

class Decoder;

class Reader {
 public:
  // Reads and checks the header.
  static Outcome<std::unique_ptr<Reader>> open(const std::string& path);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] const Header& header() const { return header_; }
  // The next record, or null after the end frame, which must end the file. With a graph, node numbers and array lengths
  // must fit the graph. The record is valid until the next call. With `skims`, the record has no arrays and may be
  // malformed; its bytes, or the rest of the frame, have to be decoded again.
  Outcome<const Record*> next(const Graph* graph, bool skims = false);
  // The bytes in the file of the record that next() returned last; valid until the next call.
  [[nodiscard]] std::string_view encoded() const;
  [[nodiscard]] std::uint64_t bytes_read() const { return position_; }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

 private:
  explicit Reader(std::FILE* file);
  bool read(std::uint64_t count, std::string& into);
  [[nodiscard]] Rejection fault(const char* code, std::string required, std::string found) const;
  Outcome<Done> read_header();
  Outcome<FrameType> read_frame();
  Outcome<Done> check_end();

  std::FILE* file_;
  Header header_;
  std::uint64_t position_ = 0, frames_ = 0;
  std::string frame_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace assay::certificate
