// NPY and NPZ: NumPy's arrays (numpy.org/doc/stable/reference/generated/numpy.lib.format.html), and zip archives of them.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "formats/datasets/parts.h"

namespace assay::formats {
namespace dataset {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are little endian in memory");

constexpr std::array<unsigned char, 6> kNpyMagic{0x93, 'N', 'U', 'M', 'P', 'Y'};

bool starts_with(Bytes file, std::span<const unsigned char> magic) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

std::uint64_t number_at(Bytes file, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<std::uint64_t>(file[at + i]);
  return value;
}

// The header: a Python dictionary, as NumPy writes it. The result is empty for any other text, which Python might read otherwise:
// an escape, a text where none belongs, a key that is none of the three, or one of them twice.
class Header {
 public:
  explicit Header(std::string_view text) : text_(text) {
    std::map<std::string, std::string> entries;
    bool fine = take('{');
    while (fine && !take('}')) {
      const auto key = string();
      fine = key && take(':') && (*key == "descr" || *key == "fortran_order" || *key == "shape");
      const bool is_text = next() == '\'' || next() == '"';
      const auto value = fine ? this->value() : std::nullopt;
      fine = value && is_text == (*key == "descr") && entries.emplace(*key, *value).second && (take(',') || next() == '}');
    }
    if (fine && next() == '\0' && entries.size() == 3) entries_ = std::move(entries);
  }
  // The text of a value, of a string its characters; empty where there is none.
  [[nodiscard]] std::string operator[](const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? "" : found->second;
  }

 private:
  // Behind blanks; 0 at the end.
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    const bool there = next() == c;
    at_ += there ? 1 : 0;
    return there;
  }
  std::optional<std::string> until(std::string_view ends) {
    const std::size_t end = text_.find_first_of(ends, at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string inside(text_.substr(at_, end - at_));
    at_ = end + 1;
    return inside.find('\\') == std::string::npos ? std::optional(inside) : std::nullopt;
  }
  std::optional<std::string> string() {
    const char quote = next();
    if (quote != '\'' && quote != '"') return std::nullopt;
    ++at_;
    return until(std::string_view(&quote, 1));
  }
  // A string, numbers in parentheses, or a word.
  std::optional<std::string> value() {
    const char first = next();
    if (first == '\'' || first == '"') return string();
    if (first == '(') {
      auto inside = until(")");
      return inside ? std::optional(*inside + ")") : inside;
    }
    std::string word;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) word += text_[at_++];
    return word.empty() ? std::nullopt : std::optional(word);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::map<std::string, std::string> entries_;
};

std::optional<std::vector<std::int64_t>> shape_of(const std::string& text) {
  std::vector<std::int64_t> shape;
  if (text.size() < 2 || !text.ends_with(")")) return std::nullopt;
  std::int64_t value = -1;
  for (const char c : text.substr(1)) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      if (value > INT64_MAX / 20) return std::nullopt;
      value = std::max<std::int64_t>(value, 0) * 10 + (c - '0');
    } else if (c == ',' || c == ')') {
      if (value >= 0) shape.push_back(value);
      value = -1;
    } else if (c != ' ' && c != 'L') {
      return std::nullopt;
    }
  }
  return shape.size() <= 32 ? std::optional(shape) : std::nullopt;
}

// Column-major elements in row-major order.
void transpose(DataArray& array) {
  const std::size_t width = bytes_of(array.type), rank = array.shape.size(), count = array.size();
  std::vector<std::byte> result(array.bytes.size());
  std::vector<std::int64_t> index(rank, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t from = 0;
    for (std::size_t k = rank; k-- > 0;) from = from * static_cast<std::size_t>(array.shape[k]) + static_cast<std::size_t>(index[k]);
    std::memcpy(result.data() + i * width, array.bytes.data() + from * width, width);
    for (std::size_t k = rank; k-- > 0;) {
      if (++index[k] < array.shape[k]) break;
      index[k] = 0;
    }
  }
  array.bytes = std::move(result);
}

struct ZipEntry {
  std::string name;
  std::uint64_t method = 0, sum = 0, packed = 0, size = 0, offset = 0;
};

// The sizes and the offset that do not fit 32 bits stand in the extra field, in this order.
void read_zip64(Bytes extra, ZipEntry& entry) {
  constexpr std::uint64_t kElsewhere = 0xffffffff;
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t kind = number_at(extra, at, 2), length = number_at(extra, at + 2, 2);
    std::size_t next = at + 4;
    const std::size_t end = next + length;
    for (std::uint64_t* one : {&entry.size, &entry.packed, &entry.offset}) {
      if (kind != 1 || *one != kElsewhere || next + 8 > std::min(end, extra.size())) continue;
      *one = number_at(extra, next, 8);
      next += 8;
    }
    at = end;
  }
}

Outcome<std::vector<ZipEntry>> zip_entries(Bytes file, const std::string& place) {
  constexpr std::size_t kEnd = 22, kEntry = 46, kLongestComment = 65535;
  const Rejection broken = malformed_data("zip", place, "a zip archive with its directory at the end", "broken or cut off");
  std::size_t end = file.size() < kEnd ? 0 : file.size() - kEnd + 1;
  const std::size_t least = file.size() > kEnd + kLongestComment ? file.size() - kEnd - kLongestComment : 0;
  do {
    if (end <= least) return broken;
    --end;
  } while (number_at(file, end, 4) != 0x06054b50);
  std::uint64_t count = number_at(file, end + 10, 2), at = number_at(file, end + 16, 4);
  if (at == 0xffffffff && end >= 20 && number_at(file, end - 20, 4) == 0x07064b50) {
    const std::uint64_t wide = number_at(file, end - 12, 8);
    if (wide > file.size() || file.size() - wide < 56 || number_at(file, wide, 4) != 0x06064b50) return broken;
    count = number_at(file, wide + 32, 8);
    at = number_at(file, wide + 48, 8);
  }
  std::vector<ZipEntry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (at > file.size() || file.size() - at < kEntry || number_at(file, at, 4) != 0x02014b50) return broken;
    const std::uint64_t name = number_at(file, at + 28, 2), extra = number_at(file, at + 30, 2), comment = number_at(file, at + 32, 2);
    if (file.size() - at - kEntry < name + extra + comment) return broken;
    ZipEntry entry{std::string(reinterpret_cast<const char*>(file.data()) + at + kEntry, name),
                   number_at(file, at + 10, 2),
                   number_at(file, at + 16, 4),
                   number_at(file, at + 20, 4),
                   number_at(file, at + 24, 4),
                   number_at(file, at + 42, 4)};
    read_zip64(file.subspan(at + kEntry + name, extra), entry);
    entries.push_back(std::move(entry));
    at += kEntry + name + extra + comment;
  }
  return entries;
}

Outcome<std::vector<std::byte>> zip_content(Bytes file, const ZipEntry& entry, const std::string& place) {
  constexpr std::size_t kLocal = 30;
  const Rejection broken = malformed_data("zip", place, "an entry inside the archive", "broken or cut off");
  if (entry.offset > file.size() || file.size() - entry.offset < kLocal || number_at(file, entry.offset, 4) != 0x04034b50) return broken;
  const std::uint64_t start = entry.offset + kLocal + number_at(file, entry.offset + 26, 2) + number_at(file, entry.offset + 28, 2);
  if (start > file.size() || file.size() - start < entry.packed || entry.size > kMostBytes) return broken;
  const Bytes packed = file.subspan(start, entry.packed);
  if (entry.method != 0 && entry.method != 8)
    return unsupported_data("zip", place, "entries that are stored or deflated", "method " + std::to_string(entry.method));
  auto content =
      entry.method == 0 ? std::vector<std::byte>(packed.begin(), packed.end()) : inflated(packed, Packing::raw, entry.size, place);
  if (!content) return content;
  const auto* const bytes = reinterpret_cast<const Bytef*>(content.value().data());
  if (content.value().size() != entry.size || crc32_z(0, bytes, content.value().size()) != entry.sum)
    return malformed_data("zip", place, "content of the size and checksum that the archive says", "content of another size or checksum");
  return content;
}

}  // namespace

bool is_npy(Bytes file) { return starts_with(file, kNpyMagic); }
bool is_zip(Bytes file) { return starts_with(file, std::array<unsigned char, 4>{'P', 'K', 3, 4}); }

Outcome<DataArray> read_npy(Bytes file, const std::string& place) {
  static const std::map<std::string, ElementType> kTypes{
      {"b1", ElementType::boolean}, {"u1", ElementType::uint8},   {"i1", ElementType::int8},    {"u2", ElementType::uint16},
      {"i2", ElementType::int16},   {"u4", ElementType::uint32},  {"i4", ElementType::int32},   {"u8", ElementType::uint64},
      {"i8", ElementType::int64},   {"f2", ElementType::float16}, {"f4", ElementType::float32}, {"f8", ElementType::float64}};
  const std::size_t width = file.size() > 6 && file[6] == std::byte{1} ? 2 : 4;
  if (!is_npy(file) || file.size() < 8 + width) return malformed_data("npy", place, "a header of NumPy", "a file that begins otherwise");
  const std::uint64_t length = number_at(file, 8, width), start = 8 + width + length;
  if (start > file.size()) return malformed_data("npy", place, "a header inside the file", "its end is beyond");
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8 + width, length);
  const Header header(text);
  const std::string description = header["descr"], order = header["fortran_order"];
  const auto shape = shape_of(header["shape"]);
  if (order.empty() && text.find("'descr': [") == std::string_view::npos)
    return malformed_data("npy", place, "a header with descr, fortran_order and shape, each once, as NumPy writes it",
                          std::string(text.substr(0, 200)), "write it again with numpy.save");
  const auto type = kTypes.find(description.empty() ? "" : description.substr(1));
  if (type == kTypes.end() || std::string("<>|=").find(description[0]) == std::string::npos)
    return unsupported_data("npy", place, "numbers: bool, integers or floats of up to 8 bytes", "descr '" + description.substr(0, 40) + "'",
                            "convert it with array.astype(numpy.float32)");
  if (!shape || (order != "False" && order != "True"))
    return malformed_data("npy", place, "shape and fortran_order in the header", std::string(text.substr(0, 200)));
  DataArray array{"", type->second, *shape, {}};
  const auto elements = elements_of(*shape);
  if (!elements || *elements * bytes_of(array.type) != file.size() - start)
    return malformed_data("npy", place, "as many bytes as type and shape say", std::to_string(file.size() - start));
  array.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(start), file.end());
  const auto step = static_cast<std::ptrdiff_t>(bytes_of(array.type));
  for (auto at = array.bytes.begin(); description[0] == '>' && at != array.bytes.end(); at += step) std::reverse(at, at + step);
  if (order == "True" && shape->size() > 1) transpose(array);
  return array;
}

Outcome<std::vector<DataArray>> read_npz(Bytes file, const std::string& place) {
  auto entries = zip_entries(file, place);
  if (!entries) return entries.rejection();
  std::vector<DataArray> arrays;
  std::set<std::string> names;
  std::uint64_t left = std::min(kMostBytes, most_unpacked(file.size()));  // entries that share their bytes are no archive of NumPy
  for (const ZipEntry& entry : entries.value()) {
    const std::string where = place + ", entry '" + entry.name.substr(0, 80) + "'";
    if (entry.size > left)
      return unsupported_data("size", where, "at most " + std::to_string(kMostBytes) + " bytes in all entries, none of them twice",
                              "an archive that asks for more");
    left -= entry.size;
    const std::string name = entry.name.ends_with(".npy") ? entry.name.substr(0, entry.name.size() - 4) : entry.name;
    if (!names.insert(name).second)
      return malformed_data("zip", where, "each array once, with or without the ending .npy", "a second one of this name",
                            "write the archive again: readers differ in which one they take");
    auto content = zip_content(file, entry, where);
    if (!content) return content.rejection();
    auto array = read_npy(content.value(), where);
    if (!array) return array.rejection();
    array.value().name = name;
    arrays.push_back(std::move(array).value());
  }
  return arrays;
}

}  // namespace dataset

std::string npy_bytes(const DataArray& array) {
  static constexpr std::array<std::string_view, 13> kDescriptions{"|b1", "|u1", "|i1", "<u2", "<i2", "<u4", "<i4",
                                                                  "<u8", "<i8", "<f2", "<u2", "<f4", "<f8"};
  std::string header =
      "{'descr': '" + std::string(kDescriptions[static_cast<std::size_t>(array.type)]) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : array.shape) header += std::to_string(extent) + ",";
  header += "), }";
  constexpr std::size_t kBefore = 10, kAlign = 64;
  header.append((kAlign - (kBefore + header.size() + 1) % kAlign) % kAlign, ' ');
  header += '\n';
  std::string result("\x93NUMPY\x01\x00", 8);
  result += static_cast<char>(header.size() & 0xff);
  result += static_cast<char>(header.size() >> 8);
  result += header;
  result.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  return result;
}

}  // namespace assay::formats
