// Writer: makes the frames, checks the order of calls, and writes the file.

#include "certificates/format/writer.h"

#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "certificates/format/encode.h"
#include "certificates/format/format.h"

namespace assay::certificate {
namespace {

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "certificate writer: %s (internal error)\n", what);
  std::abort();
}

Rejection io_error(const std::string& path, const std::string& what) {
  return {
      Rejection::Kind::declined, "certificate.io", path, "a file that can be written", what, "check the path, permissions and free space"};
}

bool is_regular_file(std::FILE* file) {
  struct stat status {};
  return fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

struct Writer::State {
  std::string path;
  std::FILE* file = nullptr;
  bool regular = false;
  bool finished = false;
  std::string records;  // of the frame being filled
  std::string failure;  // the first I/O error
  std::uint64_t bytes = 0, frames = 0, record_count = 0;
  std::size_t depth = 0;  // open splits
  bool in_group = false;

  void put(const std::string& data) {
    if (!failure.empty()) return;
    if (std::fwrite(data.data(), 1, data.size(), file) != data.size()) failure = std::strerror(errno);
    bytes += data.size();
  }

  void put_frame(FrameType type, const std::string& payload) {
    std::string head;
    put_byte(head, static_cast<std::uint64_t>(type));
    put_varint(head, payload.size());
    std::string tail;
    put_u32(tail, crc32c(crc32c(0, head), payload));
    put(head);
    put(payload);
    put(tail);
  }

  void flush_records() {
    if (records.empty()) return;
    if (records.size() > kMaxFrameBytes && failure.empty()) failure = "one branch needs more bytes than a frame can hold";
    put_frame(FrameType::records, records);
    ++frames;
    records.clear();
  }

  void ended_record() {
    if (records.size() >= kFrameTarget) flush_records();
  }

  void put_record(RecordType type) {
    put_byte(records, static_cast<std::uint64_t>(type));
    ++record_count;
  }
};

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}

Outcome<std::unique_ptr<Writer>> Writer::open(const std::string& path, const logic::Problem& problem, const statement::Digest* cube) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->file = std::fopen(path.c_str(), "wb");
  if (state->file == nullptr) return io_error(path, std::strerror(errno));
  state->regular = is_regular_file(state->file);
  std::string header(kMagic);
  put_byte(header, kVersion);
  for (const std::uint8_t byte : cube != nullptr ? *cube : problem.digest()) put_byte(header, byte);
  const std::string semantics = name_of(problem.statement().semantics);
  put_byte(header, semantics.size());
  header += semantics;
  put_u32(header, crc32c(0, header));
  state->put(header);
  return std::unique_ptr<Writer>(new Writer(std::move(state)));
}

Writer::~Writer() {
  if (state_->file != nullptr) std::fclose(state_->file);
  if (!state_->finished && state_->regular) std::remove(state_->path.c_str());
}

void Writer::begin_group(std::size_t group) {
  demand(!state_->in_group, "begin_group inside a group");
  state_->in_group = true;
  state_->put_record(RecordType::begin_group);
  put_varint(state_->records, group);
  state_->ended_record();
}

void Writer::append(const Fragment& steps) {
  demand(state_->in_group, "steps outside a group");
  std::size_t begin = 0;
  const auto put_to = [&](std::size_t end) {
    if (state_->records.size() + (end - begin) > kMaxFrameBytes) state_->flush_records();
    state_->records.append(steps.bytes(), begin, end - begin);
    state_->ended_record();
    begin = end;
  };
  for (const std::size_t end : steps.frame_ends()) put_to(end);
  put_to(steps.byte_size());
  state_->record_count += steps.records();
}

void Writer::split(NodeId node, std::uint32_t element, double threshold) {
  demand(state_->in_group, "split outside a group");
  ++state_->depth;
  put_split(state_->records, node, element, threshold);
  ++state_->record_count;
  state_->ended_record();
}

void Writer::next() {
  demand(state_->depth > 0, "next without split");
  state_->put_record(RecordType::next);
  state_->ended_record();
}

void Writer::done() {
  demand(state_->depth > 0, "done without split");
  --state_->depth;
  state_->put_record(RecordType::done);
  state_->ended_record();
}

void Writer::end_group() {
  demand(state_->in_group && state_->depth == 0, "end_group with an open split or outside a group");
  state_->in_group = false;
  state_->put_record(RecordType::end_group);
  state_->ended_record();
}

void Writer::witness(const logic::Witness& witness) {
  demand(!state_->in_group, "witness inside a group");
  std::string& out = state_->records;
  state_->put_record(RecordType::witness);
  put_varint(out, witness.case_index);
  put_varint(out, witness.inputs.size());
  for (const Rational& input : witness.inputs) {
    const std::string text = input.to_string();
    if (text.size() > kMaxRationalBytes && state_->failure.empty()) state_->failure = "a witness coordinate has too many digits";
    put_varint(out, text.size());
    out += text;
  }
  state_->ended_record();
}

std::uint64_t Writer::bytes_written() const { return state_->bytes; }
std::uint64_t Writer::records() const { return state_->record_count; }

Outcome<std::uint64_t> Writer::finish() {
  demand(!state_->in_group, "finish inside a group");
  return finish_open();
}

Outcome<std::uint64_t> Writer::finish_open() {
  demand(!state_->finished, "finish called twice");
  state_->flush_records();
  std::string payload;
  put_varint(payload, state_->frames);
  state_->put_frame(FrameType::end, payload);
  if (std::fflush(state_->file) != 0 && state_->failure.empty()) state_->failure = std::strerror(errno);
  const bool closed = std::fclose(state_->file) == 0;
  state_->file = nullptr;
  if (!closed && state_->failure.empty()) state_->failure = std::strerror(errno);
  if (!state_->failure.empty()) return io_error(state_->path, state_->failure);
  state_->finished = true;
  return state_->bytes;
}

}  // namespace assay::certificate
