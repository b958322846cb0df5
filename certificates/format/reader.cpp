#include "certificates/format/reader.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

namespace assay::certificate {
namespace {

// A forged length costs no more memory than the file has bytes: payloads are read in pieces of this size.
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

// The last four bytes are the CRC-32C of the ones before them, continued from `crc`.
bool ends_with_checksum(std::uint32_t crc, std::string_view bytes) {
  const std::size_t body = bytes.size() - 4;
  crc = crc32c(crc, bytes.substr(0, body));
  for (std::size_t i = 0; i < 4; ++i, crc >>= 8) {
    if (static_cast<std::uint8_t>(bytes[body + i]) != (crc & 0xFF)) return false;
  }
  return true;
}

}  // namespace

Reader::~Reader() { std::fclose(file_); }

Rejection Reader::fault(const char* code, std::string required, std::string found) const {
  return {Rejection::Kind::malformed, code, "byte " + std::to_string(position_), std::move(required), std::move(found),
          "write the certificate again; certificates/FORMAT.md describes the file"};
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
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return Rejection{Rejection::Kind::malformed, "certificate.io", path, "the certificate can be read", std::strerror(errno), "check the path"};
  std::unique_ptr<Reader> reader(new Reader(file));
  if (auto header = reader->read_header(); !header) return header.rejection();
  return reader;
}

Outcome<Done> Reader::read_header() {
  const auto truncated = [this] { return fault("certificate.truncated", "a whole header", "the end of the file"); };
  std::string head;
  if (!read(kMagic.size(), head) || head != kMagic) return fault("certificate.magic", "the file starts with ASSAY", "something else");
  if (!read(1, head)) return truncated();
  header_.version = static_cast<std::uint8_t>(head.back());
  if (header_.version != kVersion) return fault("certificate.version", "format version 1", std::to_string(header_.version));
  if (!read(header_.digest.size() + 1, head)) return truncated();
  std::memcpy(header_.digest.data(), head.data() + kMagic.size() + 1, header_.digest.size());
  const std::size_t start = head.size(), name_bytes = static_cast<std::uint8_t>(head.back());
  if (!read(name_bytes + 4, head)) return truncated();
  header_.semantics = head.substr(start, name_bytes);
  if (!ends_with_checksum(0, head)) return fault("certificate.checksum", "the header's checksum fits its bytes", "a damaged header");
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
  if (length_bytes.fault()) return fault("certificate.varint", "a length in its shortest form, of at most 5 bytes", "a longer one");
  if (length > kMaxFrameBytes)
    return fault("certificate.length", "a frame of at most " + std::to_string(kMaxFrameBytes) + " bytes", std::to_string(length));
  const std::uint64_t start = position_;
  frame_.clear();
  if (!read(length + 4, frame_)) return fault("certificate.truncated", "a whole frame", "the end of the file");
  if (!ends_with_checksum(crc32c(0, head), frame_)) return fault("certificate.checksum", "the frame's checksum fits its bytes", "a damaged frame");
  cursor_ = Cursor(std::string_view(frame_).substr(0, length), start);
  return type;
}

Outcome<Done> Reader::check_end() {
  const std::uint64_t count = cursor_.varint();
  std::string rest;
  if (!cursor_.fault() && cursor_.at_end() && count == frames_ && !read(1, rest)) return Done{};
  return fault("certificate.frame", "one number in the end frame, " + std::to_string(frames_) + " as frames were read, and nothing after it",
               rest.empty() ? std::to_string(count) : "more bytes");
}

Outcome<const Record*> Reader::next(const Graph* graph) {
  graph_ = graph;
  while (cursor_.at_end()) {
    const auto type = read_frame();
    if (!type) return type.rejection();
    if (type.value() == FrameType::end) {
      if (auto ended = check_end(); !ended) return ended.rejection();
      return nullptr;
    }
    ++frames_;
  }
  record_ = Record{};
  record_.number = ++records_;
  record_.offset = cursor_.offset();
  decode();
  if (cursor_.fault()) return *cursor_.fault();
  record_.bytes = cursor_.offset() - record_.offset;
  return &record_;
}

void Reader::decode() {
  const std::uint8_t type = cursor_.byte();
  if (type < 1 || type > kRecordTypes) return cursor_.fail("certificate.record", "a known record type (1..15)", std::to_string(type));
  record_.type = static_cast<RecordType>(type);
  switch (record_.type) {
    case RecordType::begin_group: record_.group = cursor_.varint(); return;
    case RecordType::end_group: return forget(0);
    case RecordType::sweep:
      record_.round_to_float = cursor_.byte() != 0;
      record_.node = decode_node();
      return;
    case RecordType::box: record_.node = decode_node(); return;
    case RecordType::refine: return decode_refine();
    case RecordType::define_hints:
      record_.hints_id = cursor_.varint32();
      decode_hints(cursor_.byte());
      if (!definitions_.empty() && record_.hints_id <= definitions_.back().id)
        return cursor_.fail("certificate.hint", "an id above those in force", std::to_string(record_.hints_id));
      definitions_.push_back({record_.hints_id, depth_, record_.hints});
      return;
    case RecordType::conclude: decode_cases(); return decode_hints(cursor_.byte());
    case RecordType::conclude_with: decode_cases(); return decode_defined();
    case RecordType::empty: return;
    case RecordType::split_zero:
    case RecordType::split_f32:
    case RecordType::split_f64: return decode_split();
    case RecordType::next: return forget(depth_);
    case RecordType::done:
      forget(depth_);
      depth_ -= depth_ > 0 ? 1 : 0;
      return;
    case RecordType::witness: return decode_witness();
  }
}

// A branch with this many open splits ends: what it and its descendants defined is out of force.
void Reader::forget(std::size_t depth) {
  while (!definitions_.empty() && definitions_.back().depth >= depth) definitions_.pop_back();
}

Reader::Definition* Reader::find(std::uint64_t id) {
  const auto found = std::ranges::lower_bound(definitions_, id, {}, &Definition::id);
  return found != definitions_.end() && found->id == id ? &*found : nullptr;
}

NodeId Reader::decode_node() {
  const NodeId node = cursor_.varint32();
  if (graph_ != nullptr && !(node < graph_->nodes.size()))
    cursor_.fail("certificate.value", "a node below " + std::to_string(graph_->nodes.size()), std::to_string(node));
  return node;
}

std::uint64_t Reader::elements(NodeId node) const {
  return graph_ == nullptr || cursor_.fault() ? kMaxElements : static_cast<std::uint64_t>(graph_->size(node));
}

void Reader::decode_split() {
  ++depth_;
  record_.node = decode_node();
  record_.element = cursor_.varint32();
  if (!(record_.element < elements(record_.node)))
    return cursor_.fail("certificate.value", "an element below " + std::to_string(elements(record_.node)), std::to_string(record_.element));
  if (record_.type == RecordType::split_f32) record_.threshold = static_cast<double>(cursor_.f32());
  if (record_.type == RecordType::split_f64) record_.threshold = cursor_.f64();
  if (!std::isfinite(record_.threshold)) cursor_.fail("certificate.value", "a finite threshold", "NaN or an infinity");
}

void Reader::decode_refine() {
  record_.node = decode_node();
  const std::uint8_t flags = cursor_.byte();
  record_.selection.kind = static_cast<kernel::Selection::Kind>(flags >> kSelectionShift & 3);
  record_.claimed = (flags & kHasClaims) != 0;
  record_.round_to_float = (flags & kRoundToFloat) != 0;
  if (record_.selection.kind > kernel::Selection::Kind::mask) return cursor_.fail("certificate.value", "a known selection (0..2)", "3");
  if (record_.selection.kind == kernel::Selection::Kind::mask) {
    const auto mask = decode_array(elements(record_.node), [](const kernel::Hints&) { return nullptr; });
    if (graph_ != nullptr && mask.size() != elements(record_.node))
      return cursor_.fail("certificate.hint", "a mask over all elements of the node", std::to_string(mask.size()));
    for (const float value : mask) record_.selection.mask.push_back(value != 0.0f);
  }
  decode_hints(flags & ~(3 << kSelectionShift | kHasClaims | kRoundToFloat));
  if (!record_.claimed) return;
  const std::uint64_t count = cursor_.count(8);
  record_.claims.lo = decode_floats(count);
  record_.claims.hi = decode_floats(count);
}

void Reader::decode_cases() {
  const std::uint64_t head = cursor_.varint(), count = head >> 1;
  if (!(count <= kMaxCases)) return cursor_.fail("certificate.length", "at most 2^20 cases", std::to_string(count));
  for (std::uint32_t i = 0; i < count && !cursor_.fault(); ++i) {
    kernel::CaseMultipliers entry{i, {}};
    if ((head & 1) == 0) {
      const std::uint64_t code = cursor_.varint();
      if (code >> 33 != 0) return cursor_.fail("certificate.value", "a case position below 2^32", std::to_string(code >> 1));
      entry.position = static_cast<std::uint32_t>(code >> 1);
      if ((code & 1) != 0) entry.rows = decode_floats(cursor_.count(4));
    }
    record_.cases.push_back(std::move(entry));
  }
}

void Reader::decode_hints(std::uint8_t flags) {
  if ((flags & ~kHintFlags) != 0) return cursor_.fail("certificate.value", "only known flags", std::to_string(flags));
  if ((flags & kHasLower) != 0) decode_side(&kernel::Hints::lower);
  if ((flags & kHasUpper) != 0) decode_side(&kernel::Hints::upper);
  if ((flags & kHasBeta) != 0) record_.hints.beta = decode_beta();
}

void Reader::decode_defined() {
  record_.hints_id = cursor_.varint32();
  std::vector<float> beta = decode_beta();
  const Definition* defined = find(record_.hints_id);
  if (defined == nullptr) return cursor_.fail("certificate.hint", "an id of hints in force", std::to_string(record_.hints_id));
  record_.hints = defined->hints;
  record_.hints.beta = std::move(beta);
}

void Reader::decode_side(std::vector<std::vector<float>> kernel::Hints::*side) {
  for (std::uint64_t left = cursor_.count(3); left > 0 && !cursor_.fault(); --left) {
    const NodeId node = decode_node();
    auto& arrays = record_.hints.*side;
    if (node < arrays.size()) return cursor_.fail("certificate.hint", "node numbers in ascending order", std::to_string(node));
    if (!(node < (graph_ != nullptr ? graph_->nodes.size() : kMaxElements))) return cursor_.fail("certificate.value", "a node", std::to_string(node));
    arrays.resize(node + 1);
    arrays[node] = decode_array(elements(node), [&](const kernel::Hints& base) {
      return node < (base.*side).size() ? &(base.*side)[node] : nullptr;
    });
    if (graph_ != nullptr && arrays[node].size() != graph_->size(node))
      return cursor_.fail("certificate.hint", std::to_string(graph_->size(node)) + " values for node " + std::to_string(node),
                          std::to_string(arrays[node].size()));
  }
}

std::vector<float> Reader::decode_beta() {
  return decode_array(depth_, [](const kernel::Hints& base) { return &base.beta; });
}

std::vector<float> Reader::decode_floats(std::uint64_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = cursor_.f32();
  for (const float value : values) {
    if (std::isnan(value)) cursor_.fail("certificate.value", "no NaN", "NaN");
  }
  return values;
}

// An array of at most `limit` elements; base_of(hints) is the same array of defined hints, or null.
std::vector<float> Reader::decode_array(std::uint64_t limit, auto&& base_of) {
  const std::uint64_t count = cursor_.varint();
  if (!(count <= limit)) cursor_.fail("certificate.hint", "an array of at most " + std::to_string(limit) + " elements", std::to_string(count));
  if (count == 0 || cursor_.fault()) return {};
  std::vector<float> values(count);
  const auto kind = static_cast<ArrayKind>(cursor_.byte());
  switch (kind) {
    case ArrayKind::fill: std::ranges::fill(values, cursor_.f32()); break;
    case ArrayKind::bits: {
      const std::string_view bytes = cursor_.take((count + 7) / 8);
      for (std::size_t i = 0; i < count && !cursor_.fault(); ++i) values[i] = static_cast<float>(bytes[i / 8] >> (i % 8) & 1);
      break;
    }
    case ArrayKind::u8:
      for (float& value : values) value = static_cast<float>(cursor_.byte()) / 128.0f;
      break;
    case ArrayKind::f32:
      for (float& value : values) value = cursor_.f32();
      break;
    case ArrayKind::list_u8:
    case ArrayKind::list_f32: {
      const std::uint64_t base = cursor_.varint();  // 0: zeros, else id + 1
      const Definition* defined = base > 0 ? find(base - 1) : nullptr;
      const std::vector<float>* start = defined != nullptr ? base_of(defined->hints) : nullptr;
      if (base > 0 && (start == nullptr || start->size() != count))
        cursor_.fail("certificate.hint", "hints in force with this array in this length", "hints " + std::to_string(base - 1) + " have none");
      decode_list(kind, start, values);
      break;
    }
    default: cursor_.fail("certificate.hint", "a known array encoding (0..5)", std::to_string(static_cast<int>(kind)));
  }
  for (const float value : values) {
    if (!std::isfinite(value)) cursor_.fail("certificate.hint", "finite hints", "NaN or an infinity");
  }
  return values;
}

void Reader::decode_list(ArrayKind kind, const std::vector<float>* base, std::vector<float>& values) {
  if (cursor_.fault()) return;
  if (base != nullptr) values = *base;
  std::uint64_t index = 0;
  for (std::uint64_t left = cursor_.count(2); left > 0 && !cursor_.fault(); --left, ++index) {
    const std::uint64_t gap = cursor_.varint();
    if (!(index < values.size() && gap < values.size() - index))
      return cursor_.fail("certificate.hint", "listed elements below " + std::to_string(values.size()), "one beyond");
    index += gap;
    values[index] = kind == ArrayKind::list_u8 ? static_cast<float>(cursor_.byte()) / 128.0f : cursor_.f32();
  }
}

void Reader::decode_witness() {
  record_.witness.case_index = cursor_.varint32();
  for (std::uint64_t left = cursor_.count(2); left > 0 && !cursor_.fault(); --left) {
    const std::uint64_t length = cursor_.count(1);
    if (!(length <= kMaxRationalBytes)) return cursor_.fail("certificate.length", "a number of at most 20000 characters", std::to_string(length));
    const std::string_view text = cursor_.take(length);
    auto value = Rational::parse(text);
    if (!value) return cursor_.fail("certificate.value", "a rational number", std::string(text.substr(0, 40)));
    record_.witness.inputs.push_back(*std::move(value));
  }
}

}  // namespace assay::certificate
