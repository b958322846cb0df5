// Which format a data set has, and which of its arrays are items and labels.
#include "formats/datasets/dataset.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <utility>

#include "formats/datasets/parts.h"
#include "formats/half.h"
#include "formats/safetensors.h"

namespace assay::formats {
namespace dataset {

namespace {

// Names and fields of files, as printable ASCII.
std::string ascii(std::string text) {
  for (char& c : text) c = c >= ' ' && c <= '~' ? c : '?';
  return text;
}

}  // namespace

Rejection malformed_data(const char* code, std::string place, std::string required, std::string found, std::string advice) {
  return {Rejection::Kind::malformed, std::string("dataset.") + code, ascii(std::move(place)),
          std::move(required),        ascii(std::move(found)),        ascii(std::move(advice))};
}

Rejection unsupported_data(const char* code, std::string place, std::string required, std::string found, std::string advice) {
  return {Rejection::Kind::unsupported, std::string("dataset.") + code, ascii(std::move(place)),
          std::move(required),          ascii(std::move(found)),        ascii(std::move(advice))};
}

Outcome<std::vector<std::byte>> file_content(const std::string& path) {
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(path, error);
  if (!error && !is_file) return malformed_data("open", path, "a regular file", "a folder, a pipe or a device", "copy the data to a file");
  const std::uint64_t size = error ? 0 : std::filesystem::file_size(path, error);
  if (error) return malformed_data("open", path, "a file that can be read", error.message());
  if (size > kMostBytes) return unsupported_data("size", path, "at most 4 GiB", std::to_string(size) + " bytes");
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    return malformed_data("open", path, "a file that can be read", "an error while reading");
  return bytes;
}

Outcome<std::vector<std::byte>> inflated(Bytes packed, Packing packing, std::uint64_t most, const std::string& place) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
  most = std::min(most, most_unpacked(packed.size()));
  std::vector<std::byte> result;
  z_stream stream{};
  const int window = packing == Packing::raw ? -MAX_WBITS : packing == Packing::zlib ? MAX_WBITS : MAX_WBITS + 16;
  if (inflateInit2(&stream, window) != Z_OK) throw std::bad_alloc();
  std::uint64_t taken = 0, made = 0;
  int state = Z_OK;
  while (state == Z_OK || (state == Z_STREAM_END && packing == Packing::gzip && taken < packed.size())) {
    if (state == Z_STREAM_END && inflateReset(&stream) != Z_OK) break;
    if (made > most) break;
    result.resize(std::min(most + 1, made + std::max(kChunk, made)));
    const std::uint64_t in = std::min<std::uint64_t>(packed.size() - taken, UINT32_MAX);
    const std::uint64_t out = std::min<std::uint64_t>(result.size() - made, UINT32_MAX);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(result.data() + made);
    stream.avail_out = static_cast<uInt>(out);
    state = inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    made += out - stream.avail_out;
    if (state == Z_BUF_ERROR && stream.avail_out == 0) state = Z_OK;
  }
  inflateEnd(&stream);
  if (made > most)
    return malformed_data("size", place, "at most " + std::to_string(most) + " bytes when unpacked", "data that unpacks to more");
  if (state != Z_STREAM_END) return malformed_data("deflate", place, "compressed data that can be unpacked", "broken or cut off");
  result.resize(made);
  return result;
}

std::optional<std::uint64_t> elements_of(std::span<const std::int64_t> shape) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(extent), &count) || count > kMostBytes) return std::nullopt;
  }
  return count;
}

namespace {

constexpr std::array<std::string_view, 13> kTypeNames{"bool",   "uint8", "int8",    "uint16",   "int16",   "uint32", "int32",
                                                      "uint64", "int64", "float16", "bfloat16", "float32", "float64"};
constexpr std::array<std::size_t, 13> kTypeBytes{1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};

template <class T>
double loaded(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

// IDX (yann.lecun.com/exdb/mnist): 0, 0, a type, a rank, big-endian extents and elements.
bool is_idx(Bytes file) {
  return file.size() >= 4 && file[0] == std::byte{0} && file[1] == std::byte{0} && file[2] >= std::byte{8} && file[2] <= std::byte{14} &&
         file[2] != std::byte{10} && file[3] >= std::byte{1} && file[3] <= std::byte{8};
}

void swap_bytes(std::vector<std::byte>& bytes, std::size_t width) {
  for (std::size_t i = 0; width > 1 && i + width <= bytes.size(); i += width)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i), bytes.begin() + static_cast<std::ptrdiff_t>(i + width));
}

Outcome<DataArray> read_idx(Bytes file, const std::string& place) {
  static const std::map<int, ElementType> kTypes{{8, ElementType::uint8},  {9, ElementType::int8},     {11, ElementType::int16},
                                                 {12, ElementType::int32}, {13, ElementType::float32}, {14, ElementType::float64}};
  const auto rank = static_cast<std::size_t>(file[3]);
  const std::size_t head = 4 + 4 * rank;
  if (file.size() < head) return malformed_data("idx", place, "a header of " + std::to_string(head) + " bytes", "the file ends before");
  DataArray array;
  array.type = kTypes.at(static_cast<int>(file[2]));
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t extent = 0;
    for (std::size_t k = 0; k < 4; ++k) extent = extent << 8 | static_cast<std::int64_t>(file[4 + 4 * i + k]);
    array.shape.push_back(extent);
  }
  const auto elements = elements_of(array.shape);
  if (!elements || *elements * bytes_of(array.type) != file.size() - head)
    return malformed_data("idx", place, "as many bytes as the extents in the header say", std::to_string(file.size() - head));
  array.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(head), file.end());
  swap_bytes(array.bytes, bytes_of(array.type));
  return array;
}

// CIFAR's binary files: a label, of CIFAR-100 a coarse one before it, then 3 x 32 x 32 bytes.
constexpr std::size_t kCifarItem = 3 * 32 * 32;

std::size_t cifar_labels(Bytes file) {
  return file.empty() ? 0 : file.size() % (kCifarItem + 1) == 0 ? 1 : file.size() % (kCifarItem + 2) == 0 ? 2 : 0;
}

Outcome<std::vector<DataArray>> read_cifar(Bytes file, const std::string& place) {
  const std::size_t own = cifar_labels(file), record = own + kCifarItem, count = file.size() / record;
  const std::array<unsigned, 2> classes = own == 1 ? std::array{10u, 0u} : std::array{20u, 100u};
  std::vector<DataArray> arrays{{"items", ElementType::uint8, {static_cast<std::int64_t>(count), 3, 32, 32}, {}}};
  for (std::size_t k = 0; k < own; ++k)
    arrays.push_back({k + 1 == own ? "labels" : "coarse_labels", ElementType::uint8, {static_cast<std::int64_t>(count)}, {}});
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes one = file.subspan(i * record, record);
    for (std::size_t k = 0; k < own; ++k) {
      if (static_cast<unsigned>(one[k]) >= classes[k])
        return malformed_data("cifar", place + ", record " + std::to_string(i), "a label below " + std::to_string(classes[k]),
                              std::to_string(static_cast<unsigned>(one[k])));
      arrays[k + 1].bytes.push_back(one[k]);
    }
    arrays[0].bytes.insert(arrays[0].bytes.end(), one.begin() + static_cast<std::ptrdiff_t>(own), one.end());
  }
  return arrays;
}

bool is_safetensors(Bytes file) {
  std::uint64_t length = 0;
  if (file.size() < 9) return false;
  std::memcpy(&length, file.data(), 8);
  return length >= 2 && length <= file.size() - 8 && file[8] == std::byte{'{'};
}

Outcome<std::vector<DataArray>> read_tensors(Bytes file, const std::string& place) {
  static const std::map<std::string_view, ElementType> kTypes{
      {"BOOL", ElementType::boolean}, {"U8", ElementType::uint8},    {"I8", ElementType::int8},     {"U16", ElementType::uint16},
      {"I16", ElementType::int16},    {"U32", ElementType::uint32},  {"I32", ElementType::int32},   {"U64", ElementType::uint64},
      {"I64", ElementType::int64},    {"F16", ElementType::float16}, {"F32", ElementType::float32}, {"F64", ElementType::float64},
      {"BF16", ElementType::bfloat16}};
  auto content = read_safetensors(file);
  if (!content) {
    Rejection why = content.rejection();
    why.place = place + ", " + why.place;
    return why;
  }
  std::vector<DataArray> arrays;
  for (const Safetensors::Entry& entry : content.value().entries) {
    const auto type = kTypes.find(entry.dtype);
    if (type == kTypes.end()) continue;  // 8-bit floats and complex numbers are no data of ours
    arrays.push_back({entry.name, type->second, entry.shape, {entry.bytes.begin(), entry.bytes.end()}});
  }
  return arrays;
}

// FILE:NAME in its parts; a file of the whole name comes first.
std::pair<std::string, std::string> split_name(const std::string& path) {
  const std::size_t colon = path.rfind(':');
  std::error_code error;  // of names that are too long for a file
  if (colon == std::string::npos || colon == 0 || std::filesystem::exists(path, error) ||
      !std::filesystem::exists(path.substr(0, colon), error))
    return {path, ""};
  return {path.substr(0, colon), path.substr(colon + 1)};
}

Outcome<std::vector<DataArray>> arrays_of(Bytes bytes, const std::string& path, bool labels_inside, std::vector<std::string>& notes) {
  const auto one = [](Outcome<DataArray> array) -> Outcome<std::vector<DataArray>> {
    if (!array) return array.rejection();
    return std::vector<DataArray>{std::move(array).value()};
  };
  if (is_npy(bytes)) return one(read_npy(bytes, path));
  if (is_zip(bytes)) return read_npz(bytes, path);
  if (is_idx(bytes)) return one(read_idx(bytes, path));
  if (is_png(bytes)) {
    auto image = read_png(bytes, path);
    if (image) image.value().shape.insert(image.value().shape.begin(), 1);
    return one(std::move(image));
  }
  if (is_safetensors(bytes)) return read_tensors(bytes, path);
  if (path.ends_with(".bin") && cifar_labels(bytes) != 0) return read_cifar(bytes, path);
  return read_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path, labels_inside, notes);
}

Outcome<std::vector<DataArray>> arrays_in_file(const std::string& path, bool labels_inside, std::vector<std::string>& notes) {
  const auto file = read_file(path);
  return file ? arrays_of(file.value(), path, labels_inside, notes) : file.rejection();
}

constexpr std::array<std::string_view, 8> kItemNames{"x", "images", "data", "inputs", "items", "x_test", "X", "X_test"};
constexpr std::array<std::string_view, 6> kLabelNames{"y", "labels", "label", "targets", "y_test", "target"};

template <std::size_t n>
const DataArray* named(const std::vector<DataArray>& arrays, const std::array<std::string_view, n>& names) {
  for (const std::string_view name : names) {
    for (const DataArray& array : arrays) {
      if (array.name == name) return &array;
    }
  }
  return nullptr;
}

Outcome<DataArray> chosen(std::vector<DataArray> arrays, const std::string& path, const std::string& name, bool labels) {
  std::string all;
  for (const DataArray& array : arrays) all += (all.empty() ? "" : ", ") + array.name;
  const auto is_label = [](const DataArray& array) { return std::ranges::find(kLabelNames, array.name) != kLabelNames.end(); };
  const DataArray* found = nullptr;
  if (!name.empty()) {
    for (const DataArray& array : arrays) found = array.name == name ? &array : found;
  } else if (arrays.size() == 1) {
    found = &arrays[0];
  } else if (labels) {
    found = named(arrays, kLabelNames);
  } else {
    found = named(arrays, kItemNames);
    if (found == nullptr && std::ranges::count_if(arrays, is_label) + 1 == static_cast<std::ptrdiff_t>(arrays.size()))
      found = &*std::ranges::find_if_not(arrays, is_label);
  }
  if (found == nullptr)
    return malformed_data("name", path, name.empty() ? std::string("one array, or one with a usual name") : "an array " + name, all,
                          "say which one: " + path + ":NAME");
  return *found;
}

Outcome<std::vector<std::int64_t>> labels_of(const DataArray& array, const std::string& place) {
  std::vector<std::int64_t> labels;
  const std::size_t width = array.item_size();
  if (array.count() > 0 && width != 1) {  // one-hot rows
    return malformed_data("labels", place, "one number per item", std::to_string(width) + " per item");
  }
  for (std::size_t i = 0; i < array.size(); ++i) {
    const double value = array.number(i);
    if (!(value >= 0 && value <= 1e9 && value == std::floor(value)))
      return malformed_data("labels", place + ", item " + std::to_string(i), "a whole number from 0", std::to_string(value));
    labels.push_back(static_cast<std::int64_t>(value));
  }
  return labels;
}

std::optional<std::vector<std::int64_t>> spelled_labels(const std::string& text) {
  std::vector<std::int64_t> labels;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 0 || (next < end && (*next != ',' || next + 1 == end))) return std::nullopt;
    labels.push_back(value);
    at = next < end ? next + 1 : end;
  }
  return labels;
}

// A folder whose PNG files, or those of its folders (one per class), are the items.
Outcome<Dataset> read_folder(const std::string& path) {
  Dataset set;
  const std::vector<std::string> files = dataset_files(path);
  if (files.empty()) return malformed_data("folder", path, "PNG files, or a folder of them per class", "none");
  std::vector<std::string> classes;
  for (const std::string& file : files) {
    const std::string parent = std::filesystem::path(file).parent_path().filename().string();
    if (std::filesystem::path(file).parent_path() != std::filesystem::path(path) && std::ranges::find(classes, parent) == classes.end())
      classes.push_back(parent);
  }
  std::ranges::sort(classes);
  set.classes = classes;
  const bool numbered = std::ranges::all_of(classes, [](const std::string& name) { return name.size() < 7 && spelled_labels(name); });
  if (!classes.empty() && !numbered) {
    std::string all;
    for (const std::string& name : classes) all += (all.empty() ? "" : ", ") + name;
    set.notes.push_back("labels count the folders in the order of their names: " + all);
  }
  for (const std::string& file : files) {
    auto bytes = file_content(file);
    if (!bytes) return bytes.rejection();
    auto image = read_png(bytes.value(), file);
    if (!image) return image.rejection();
    const DataArray& one = image.value();
    if (set.items.shape.empty()) {
      set.items.type = one.type;
      set.items.shape = {0};
      set.items.shape.insert(set.items.shape.end(), one.shape.begin(), one.shape.end());
    }
    if (one.type != set.items.type || one.shape != set.items.item_shape())
      return malformed_data("folder", file, "an image of the size, depth and colours of the first, " + files[0],
                            "an image of another size, depth or number of colours");
    ++set.items.shape[0];
    set.items.bytes.insert(set.items.bytes.end(), one.bytes.begin(), one.bytes.end());
    set.names.push_back(std::filesystem::relative(file, path).string());
    if (classes.empty()) continue;
    const std::string parent = std::filesystem::path(file).parent_path().filename().string();
    const auto place = std::ranges::find(classes, parent);
    if (place == classes.end())
      return malformed_data("folder", file, "images either all in folders, one per class, or none",
                            "images beside folders, and images in them");
    set.labels.push_back(numbered ? spelled_labels(parent)->front() : place - classes.begin());
  }
  return set;
}

Outcome<std::vector<std::int64_t>> requested_labels(const DatasetRequest& request, std::vector<std::string>& notes) {
  std::error_code error;
  if (auto spelled = spelled_labels(request.labels); spelled && !std::filesystem::exists(request.labels, error)) return std::move(*spelled);
  const auto [path, name] = split_name(request.labels);
  auto arrays = arrays_in_file(path, false, notes);
  if (!arrays) return arrays.rejection();
  auto array = chosen(std::move(arrays).value(), path, name, true);
  if (!array) return array.rejection();
  return labels_of(array.value(), request.labels);
}

}  // namespace
}  // namespace dataset

const char* name_of(ElementType type) { return dataset::kTypeNames[static_cast<std::size_t>(type)].data(); }
std::size_t bytes_of(ElementType type) { return dataset::kTypeBytes[static_cast<std::size_t>(type)]; }
bool is_float(ElementType type) { return type >= ElementType::float16; }

double DataArray::number(std::size_t element) const {
  const std::byte* at = bytes.data() + element * bytes_of(type);
  switch (type) {
    case ElementType::boolean:
    case ElementType::uint8:
      return dataset::loaded<std::uint8_t>(at);
    case ElementType::int8:
      return dataset::loaded<std::int8_t>(at);
    case ElementType::uint16:
      return dataset::loaded<std::uint16_t>(at);
    case ElementType::int16:
      return dataset::loaded<std::int16_t>(at);
    case ElementType::uint32:
      return dataset::loaded<std::uint32_t>(at);
    case ElementType::int32:
      return dataset::loaded<std::int32_t>(at);
    case ElementType::uint64:
      return dataset::loaded<std::uint64_t>(at);
    case ElementType::int64:
      return dataset::loaded<std::int64_t>(at);
    case ElementType::float16:
      return of_float16(static_cast<std::uint16_t>(dataset::loaded<std::uint16_t>(at)));
    case ElementType::bfloat16:
      return of_bfloat16(static_cast<std::uint16_t>(dataset::loaded<std::uint16_t>(at)));
    case ElementType::float32:
      return dataset::loaded<float>(at);
    case ElementType::float64:
      return dataset::loaded<double>(at);
  }
  return 0;
}

std::string DataArray::first_inexact() const {
  constexpr std::uint64_t kTwoTo63 = std::uint64_t{1} << 63;
  for (std::size_t i = 0; i < size(); ++i) {
    const double value = number(i);
    if (!std::isfinite(value))
      return "element " + std::to_string(i) + ": " + (std::isnan(value) ? "NaN" : value > 0 ? "infinity" : "-infinity");
    if (type != ElementType::int64 && type != ElementType::uint64) continue;
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
    const bool negative = type == ElementType::int64 && bits >= kTwoTo63;
    const std::uint64_t size = negative ? 0 - bits : bits;
    const bool exact = size == 0 || std::bit_width(size) - std::countr_zero(size) <= std::numeric_limits<double>::digits;
    if (!exact) return "element " + std::to_string(i) + ": " + (negative ? "-" : "") + std::to_string(size);
  }
  return "";
}

std::vector<std::int64_t> DataArray::item_shape() const {
  return shape.empty() ? shape : std::vector<std::int64_t>(shape.begin() + 1, shape.end());
}

std::vector<std::string> dataset_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string file = dataset::split_name(path).first;
  if (!fs::is_directory(file, error)) return {file};
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(file, error)) {
    std::string ending = entry.path().extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (ending == ".png" && entry.is_regular_file(error)) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

Outcome<std::vector<std::byte>> read_file(const std::string& path) {
  auto file = dataset::file_content(path);
  if (!file || file.value().size() < 2 || file.value()[0] != std::byte{0x1f} || file.value()[1] != std::byte{0x8b}) return file;
  return dataset::inflated(file.value(), dataset::Packing::gzip, dataset::kMostBytes, path);
}

Outcome<std::vector<DataArray>> read_arrays(std::span<const std::byte> file, const std::string& path) {
  std::vector<std::string> notes;
  return dataset::arrays_of(file, path, false, notes);
}

Outcome<Dataset> read_dataset(const DatasetRequest& request) {
  using namespace dataset;
  const auto [path, name] = split_name(request.items);
  Dataset set;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    auto folder = read_folder(path);
    if (!folder) return folder.rejection();
    set = std::move(folder).value();
  } else {
    auto arrays = arrays_in_file(path, request.labels_inside && request.labels.empty(), set.notes);
    if (!arrays) return arrays.rejection();
    const DataArray* labels = arrays.value().size() > 1 ? named(arrays.value(), kLabelNames) : nullptr;
    if (labels != nullptr && request.labels.empty()) {
      auto inside = labels_of(*labels, path + ", " + labels->name);
      if (!inside) return inside.rejection();
      set.labels = std::move(inside).value();
      set.notes.push_back("labels are those of the file itself, under the name " + labels->name);
    }
    auto items = chosen(std::move(arrays).value(), path, name, false);
    if (!items) return items.rejection();
    set.items = std::move(items).value();
  }
  if (set.items.count() == 0) return malformed_data("items", path, "at least one item", "none");
  if (const std::string inexact = set.items.first_inexact(); !inexact.empty())
    return malformed_data("number", path, "finite numbers, and integers that a double holds exactly", inexact,
                          "leave such items out, or convert them with array.astype");
  if (!request.labels.empty()) {
    auto labels = requested_labels(request, set.notes);
    if (!labels) return labels.rejection();
    set.labels = std::move(labels).value();
  }
  if (!set.labels.empty() && set.labels.size() != set.items.count())
    return malformed_data("labels", request.labels.empty() ? path : request.labels,
                          std::to_string(set.items.count()) + " labels, one per item", std::to_string(set.labels.size()));
  return set;
}

}  // namespace assay::formats
