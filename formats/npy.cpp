#include "formats/npy.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::formats {

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMostElements = std::size_t{1} << 48;  // so that their bytes can be counted

Rejection npy_fault(const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, code, std::move(place), std::move(required), std::move(found), "write the file again with NumPy"};
}

template <class T>
T little(std::span<const std::byte> bytes, std::size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);  // little endian, as safetensors.cpp asserts
  return value;
}

struct NpyType {
  std::string_view letters;
  DType dtype;
};
constexpr NpyType kNpyTypes[] = {{"f4", DType::float32}, {"f8", DType::float64}, {"i8", DType::int64},   {"i4", DType::int32},
                                 {"i2", DType::int16},   {"i1", DType::int8},    {"u8", DType::uint64},  {"u4", DType::uint32},
                                 {"u2", DType::uint16},  {"u1", DType::uint8},   {"b1", DType::boolean}, {"c8", DType::complex64}};

// The value of 'key' in the header, a Python dictionary of three known entries: text up to a comma or brace outside of brackets.
std::optional<std::string_view> entry(std::string_view header, std::string_view key) {
  const std::size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + key.size() + 3);
  std::size_t end = 0, depth = 0;
  for (; end < rest.size(); ++end) {
    const char c = rest[end];
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
    if (depth == 0 && (c == ',' || c == '}')) break;
  }
  if (end == rest.size()) return std::nullopt;
  rest = rest.substr(0, end);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
  return rest;
}

bool read_shape(std::string_view text, Shape& shape) {
  constexpr std::size_t kMostAxes = 64;
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return false;
  text = text.substr(1, text.size() - 2);
  while (true) {
    while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
    if (text.empty()) return true;
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0 || shape.size() == kMostAxes) return false;
    shape.push_back(extent);
    text = text.substr(static_cast<std::size_t>(end - text.data()));
  }
}

// Parts of an element that is more than one number: a complex one.
void swap_bytes(Bytes& bytes, std::size_t number) {
  for (std::size_t at = 0; at + number <= bytes.size(); at += number) std::reverse(bytes.begin() + at, bytes.begin() + at + number);
}

Bytes rows_first(const Bytes& bytes, const Shape& shape, std::size_t element) {
  Bytes result(bytes.size());
  std::vector<std::int64_t> place(shape.size(), 0);
  for (std::size_t to = 0; to < bytes.size(); to += element) {
    std::size_t from = 0, stride = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      from += static_cast<std::size_t>(place[axis]) * stride;
      stride *= static_cast<std::size_t>(shape[axis]);
    }
    std::memcpy(result.data() + to, bytes.data() + from * element, element);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++place[axis] < shape[axis]) break;
      place[axis] = 0;
    }
  }
  return result;
}

}  // namespace

Outcome<Tensor> read_npy(std::span<const std::byte> file) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::size_t kPrefix = 10, kLongPrefix = 12;  // magic, version, length of the header: two bytes, from version 2 on four
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (file.size() < kPrefix || !text.starts_with(kMagic)) return npy_fault("npy.header", "byte 0", "the magic bytes of NumPy", "others");
  const auto version = static_cast<unsigned>(file[6]);
  if (version < 1 || version > 3) return npy_fault("npy.header", "byte 6", "version 1, 2 or 3", std::to_string(version));
  const std::size_t prefix = version == 1 ? kPrefix : kLongPrefix;
  if (file.size() < prefix) return npy_fault("npy.header", "byte 8", "the length of the header", "the end of the file");
  const std::size_t length = version == 1 ? little<std::uint16_t>(file, 8) : little<std::uint32_t>(file, 8);
  if (length > file.size() - prefix)
    return npy_fault("npy.header", "byte 8", "a header inside of the file", std::to_string(length) + " bytes");
  const std::string_view header = text.substr(prefix, length);
  const auto descr = entry(header, "descr"), order = entry(header, "fortran_order"), extents = entry(header, "shape");
  Shape shape;
  if (!descr || descr->size() != 5 || !order || (*order != "True" && *order != "False") || !extents || !read_shape(*extents, shape)) {
    return npy_fault("npy.header", "header", "descr, fortran_order and shape", std::string(header.substr(0, 200)));
  }
  const auto type = std::ranges::find(kNpyTypes, descr->substr(2, 2), &NpyType::letters);
  const char bytes_order = (*descr)[1];
  if (type == std::end(kNpyTypes) || std::string_view("<>|=").find(bytes_order) == std::string_view::npos) {
    return Rejection{Rejection::Kind::unsupported,           "npy.type",          "header",
                     "numbers or booleans of up to 8 bytes", std::string(*descr), "convert with array.astype()"};
  }
  const std::size_t element = byte_size(type->dtype);
  std::size_t count = 0;
  const std::size_t room = file.size() - prefix - length;
  if (!checked_element_count(shape, kMostElements, count) || count * element != room) {
    return npy_fault("npy.size", "data", "the bytes of " + std::string(*descr) + to_string(shape), std::to_string(room) + " bytes");
  }
  Bytes bytes(file.end() - static_cast<std::ptrdiff_t>(room), file.end());
  if (bytes_order == '>') swap_bytes(bytes, type->dtype == DType::complex64 ? element / 2 : element);
  if (*order == "True" && shape.size() > 1) bytes = rows_first(bytes, shape, element);
  if (type->dtype == DType::boolean && !std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; })) {
    return npy_fault("npy.size", "data", "booleans, 0 or 1", "another byte");
  }
  return Tensor(type->dtype, std::move(shape), std::make_shared<const Bytes>(std::move(bytes)));
}

std::string write_npy(const Tensor& tensor) {
  constexpr std::size_t kAlign = 64, kPrefix = 10;
  const auto type = std::ranges::find(kNpyTypes, tensor.dtype(), &NpyType::dtype);
  const char order = byte_size(tensor.dtype()) == 1 ? '|' : '<';
  std::string shape;
  for (const std::int64_t extent : tensor.shape()) shape += std::to_string(extent) + ", ";
  if (tensor.shape().size() > 1) shape.resize(shape.size() - 2);
  std::string header =
      "{'descr': '" + std::string(1, order) + std::string(type->letters) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append((kAlign - (kPrefix + header.size() + 1) % kAlign) % kAlign, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string file("\x93NUMPY\x01\x00", 8);
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  file.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return file;
}

namespace {

// Records of a zip archive (APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.16); without encryption, spanning or 64-bit records.
constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;

Rejection broken(std::string place, std::string required, std::string found) {
  return npy_fault("npz.archive", std::move(place), std::move(required), std::move(found));
}

bool inflated(std::span<const std::byte> packed, Bytes& result) {
  z_stream stream{};
  constexpr int kRaw = -15;  // no header, a window of 2^15 bytes
  if (inflateInit2(&stream, kRaw) != Z_OK) return false;
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int done = inflate(&stream, Z_FINISH);
  const bool whole = done == Z_STREAM_END && stream.avail_out == 0;
  (void)inflateEnd(&stream);
  return whole;
}

// The end record, searched from the back: a comment of up to 2^16 - 1 bytes may follow it.
std::optional<std::size_t> end_record(std::span<const std::byte> file) {
  constexpr std::size_t kMostComment = 65535;
  if (file.size() < kEndSize) return std::nullopt;
  for (std::size_t back = 0; back <= std::min(kMostComment, file.size() - kEndSize); ++back) {
    const std::size_t at = file.size() - kEndSize - back;
    if (little<std::uint32_t>(file, at) == kEnd && little<std::uint16_t>(file, at + 20) == back) return at;
  }
  return std::nullopt;
}

Outcome<Bytes> member(std::span<const std::byte> file, std::size_t at, const std::string& name, std::size_t& left) {
  const auto method = little<std::uint16_t>(file, at + 10), flags = little<std::uint16_t>(file, at + 8);
  const auto crc = little<std::uint32_t>(file, at + 16), packed = little<std::uint32_t>(file, at + 20),
             size = little<std::uint32_t>(file, at + 24), local = little<std::uint32_t>(file, at + 42);
  if ((flags & 1) != 0 || (method != 0 && method != Z_DEFLATED)) return broken(name, "a member that is stored or deflated", "another one");
  if (file.size() < kLocalSize || local > file.size() - kLocalSize || little<std::uint32_t>(file, local) != kLocal)
    return broken(name, "a member inside of the file", "none there");
  const std::size_t start = local + kLocalSize + little<std::uint16_t>(file, local + 26) + little<std::uint16_t>(file, local + 28);
  if (start > file.size() || packed > file.size() - start)
    return broken(name, "a member inside of the file", std::to_string(packed) + " bytes");
  if (size > left) {
    return Rejection{Rejection::Kind::declined,
                     "npz.memory",
                     name,
                     "at most " + std::to_string(left) + " bytes more",
                     std::to_string(size),
                     "unpack the archive and read its members one by one"};
  }
  left -= size;
  const std::span<const std::byte> data = file.subspan(start, packed);
  Bytes bytes(size);
  const bool fine = method == 0 ? packed == size : inflated(data, bytes);
  if (method == 0 && fine) bytes.assign(data.begin(), data.end());
  if (!fine || crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != crc)
    return npy_fault("npz.member", name, "the bytes that the archive says", "others");
  return bytes;
}

void put(std::string& out, std::uint64_t value, std::size_t bytes) { out.append(reinterpret_cast<const char*>(&value), bytes); }

}  // namespace

Outcome<std::map<std::string, Tensor>> read_npz(std::span<const std::byte> file, std::size_t most) {
  const auto end = end_record(file);
  if (!end) return broken("end", "the record that ends an archive", "none");
  const std::size_t count = little<std::uint16_t>(file, *end + 10);
  std::size_t at = little<std::uint32_t>(file, *end + 16), left = most;
  std::map<std::string, Tensor> tensors;
  for (std::size_t k = 0; k < count; ++k) {
    if (*end < kCentralSize || at > *end - kCentralSize || little<std::uint32_t>(file, at) != kCentral)
      return broken("member " + std::to_string(k), "an entry of the list of members", "none there");
    const std::size_t length = little<std::uint16_t>(file, at + 28);
    if (length > *end - at - kCentralSize)
      return broken("member " + std::to_string(k), "a name inside of the file", std::to_string(length) + " bytes");
    std::string name(reinterpret_cast<const char*>(file.data()) + at + kCentralSize, length);
    const auto bytes = member(file, at, name, left);
    if (!bytes) return bytes.rejection();
    auto tensor = read_npy(bytes.value());
    if (!tensor) return tensor.rejection();
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (!tensors.emplace(name, std::move(tensor).value()).second) return broken(name, "each name once", "twice");
    at += kCentralSize + length + little<std::uint16_t>(file, at + 30) + little<std::uint16_t>(file, at + 32);
  }
  return tensors;
}

std::string write_npz(const std::map<std::string, Tensor>& tensors) {
  constexpr std::uint64_t kVersion = 20, kFirstDay = 0x0021;  // of the format; 1 January 1980, the earliest date
  std::string file, list;
  for (const auto& [key, tensor] : tensors) {
    const std::string name = key + ".npy", data = write_npy(tensor);
    const auto crc = crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(data.data()), data.size());
    std::string common;
    for (const std::uint64_t field : {kVersion, std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}, kFirstDay}) put(common, field, 2);
    for (const std::uint64_t field : {std::uint64_t{crc}, std::uint64_t{data.size()}, std::uint64_t{data.size()}}) put(common, field, 4);
    put(common, name.size(), 2);
    put(common, 0, 2);
    put(list, kCentral, 4);
    put(list, kVersion, 2);
    list += common;
    put(list, 0, 8);  // no comment, first disk, binary, and half of the attributes
    put(list, 0, 2);
    put(list, file.size(), 4);
    list += name;
    put(file, kLocal, 4);
    file += common + name + data;
  }
  const std::size_t start = file.size();
  file += list;
  put(file, kEnd, 4);
  put(file, 0, 4);
  put(file, tensors.size(), 2);
  put(file, tensors.size(), 2);
  put(file, list.size(), 4);
  put(file, start, 4);
  put(file, 0, 2);
  return file;
}

}  // namespace assay::formats
