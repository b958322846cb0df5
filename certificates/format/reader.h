// Reader: frames and records of a certificate file, in order (FORMAT.md). Knows no rules; memory is one frame and the
// hints in force. Everything that it returns is untrusted evidence.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "certificates/format/cursor.h"
#include "certificates/format/format.h"
#include "kernel/kernel.h"
#include "semantics/outcome.h"

namespace assay::certificate {

struct Header {
  std::uint8_t version = 0;
  kernel::Digest digest{};
  std::string semantics;
};

// One record; the members that its type does not use are empty.
struct Record {
  RecordType type = RecordType::empty;
  std::uint64_t number = 0;         // from 1
  std::uint64_t offset = 0;         // in the file
  std::uint64_t bytes = 0;
  std::uint64_t group = 0;          // begin_group
  NodeId node = 0;                  // sweep (first), box, refine, splits
  std::uint32_t element = 0;        // splits
  double threshold = 0;             // splits; finite
  bool round_to_float = false;      // sweep, refine
  kernel::Selection selection;      // refine
  bool claimed = false;             // refine
  kernel::Claims claims;
  std::uint32_t hints_id = 0;       // define_hints, conclude_with
  kernel::Hints hints;              // refine, conclude, define_hints; conclude_with: the defined ones with their own beta
  std::vector<kernel::CaseMultipliers> cases;  // conclude, conclude_with
  kernel::Witness witness;
};

class Reader {
 public:
  // Reads and checks the header.
  static Outcome<std::unique_ptr<Reader>> open(const std::string& path);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] const Header& header() const { return header_; }
  // The next record, or null after the end frame, which must be the last thing in the file. With a graph, node numbers and
  // array lengths must fit it. The record is valid until the next call.
  Outcome<const Record*> next(const Graph* graph);
  [[nodiscard]] std::uint64_t bytes_read() const { return position_; }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

 private:
  struct Definition {
    std::uint32_t id;
    std::size_t depth;  // open splits where it was defined
    kernel::Hints hints;
  };

  explicit Reader(std::FILE* file) : file_(file) {}
  bool read(std::uint64_t count, std::string& into);
  Rejection fault(const char* code, std::string required, std::string found) const;
  Outcome<Done> read_header();
  Outcome<FrameType> read_frame();
  Outcome<Done> check_end();
  void decode();
  void decode_split();
  void decode_refine();
  void decode_cases();
  void decode_defined();
  void decode_hints(std::uint8_t flags);
  void decode_side(std::vector<std::vector<float>> kernel::Hints::*side);
  void decode_list(ArrayKind kind, const std::vector<float>* base, std::vector<float>& values);
  std::vector<float> decode_array(std::uint64_t limit, auto&& base_of);
  std::vector<float> decode_floats(std::uint64_t count);
  std::vector<float> decode_beta();
  void decode_witness();
  NodeId decode_node();
  [[nodiscard]] std::uint64_t elements(NodeId node) const;
  Definition* find(std::uint64_t id);
  void forget(std::size_t depth);

  std::FILE* file_;
  Header header_;
  std::uint64_t position_ = 0, frames_ = 0, records_ = 0;
  std::string frame_;
  Cursor cursor_;
  Record record_;
  const Graph* graph_ = nullptr;
  std::size_t depth_ = 0;                // open splits, as far as the records say
  std::vector<Definition> definitions_;  // in force, ids ascending
};

}  // namespace assay::certificate
