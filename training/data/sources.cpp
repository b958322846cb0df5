#include "training/data/sources.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <utility>

#include "formats/npy.h"
#include "formats/tables.h"
#include "semantics/demand.h"
#include "training/atomic_file.h"

namespace assay::training {

namespace {

Rejection no_data(const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, std::string("training.") + code,        std::move(place), std::move(required),
          std::move(found),           "see docs/training.md for what is read"};
}

Rejection in_file(Rejection why, const std::string& path) {
  why.place = path + ": " + why.place;
  return why;
}

Outcome<Array> array_in(const Outcome<Tensor>& tensor, const std::string& path) {
  if (!tensor) return in_file(tensor.rejection(), path);
  return Array::from(tensor.value());
}

Array labels_of(const std::vector<std::int64_t>& labels) {
  return Array::from(Tensor::of_ints({static_cast<std::int64_t>(labels.size())}, labels));
}

}  // namespace

Outcome<std::vector<std::byte>> read_data(const std::string& path) {
  auto file = read_whole(path);
  if (!file || file.value().size() < 2 || file.value()[0] != std::byte{0x1f} || file.value()[1] != std::byte{0x8b}) return file;
  constexpr std::size_t kPart = std::size_t{1} << 20, kMost = std::size_t{1} << 33;  // bytes at a time, and in all
  constexpr int kGzip = 15 + 16;                                                     // a window of 2^15 bytes, and a gzip header
  z_stream stream{};
  if (inflateInit2(&stream, kGzip) != Z_OK) return no_data("gzip", path, "memory to expand it", "none");
  stream.next_in = reinterpret_cast<Bytef*>(file.value().data());
  stream.avail_in = static_cast<uInt>(file.value().size());
  std::vector<std::byte> bytes;
  int done = Z_OK;
  while (done == Z_OK && bytes.size() < kMost) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPart);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + before);
    stream.avail_out = static_cast<uInt>(kPart);
    done = inflate(&stream, Z_NO_FLUSH);
    bytes.resize(before + kPart - stream.avail_out);
  }
  (void)inflateEnd(&stream);
  if (done != Z_STREAM_END || stream.avail_in != 0) return no_data("gzip", path, "one whole compressed file", "another end");
  return bytes;
}

Outcome<Array> read_npy_file(const std::string& path) {
  const auto file = read_data(path);
  if (!file) return file.rejection();
  return array_in(formats::read_npy(file.value()), path);
}

Outcome<std::map<std::string, Array>> read_npz_file(const std::string& path) {
  const auto file = read_data(path);
  if (!file) return file.rejection();
  const auto tensors = formats::read_npz(file.value());
  if (!tensors) return in_file(tensors.rejection(), path);
  std::map<std::string, Array> arrays;
  for (const auto& [name, tensor] : tensors.value()) arrays[name] = Array::from(tensor);
  return arrays;
}

Outcome<Array> read_idx_file(const std::string& path) {
  const auto file = read_data(path);
  if (!file) return file.rejection();
  return array_in(formats::read_idx(file.value()), path);
}

Outcome<Array> read_csv_file(const std::string& path, bool has_names, std::vector<std::size_t> columns, char separator) {
  const auto file = read_data(path);
  if (!file) return file.rejection();
  const std::string_view text(reinterpret_cast<const char*>(file.value().data()), file.value().size());
  const auto csv = formats::read_csv(text, has_names, separator);
  if (!csv) return in_file(csv.rejection(), path);
  if (columns.empty() && !csv.value().rows.empty()) {
    columns.resize(csv.value().rows[0].size());
    std::iota(columns.begin(), columns.end(), 0);
  }
  return array_in(formats::numbers_of(csv.value(), columns), path);
}

Outcome<Dataset> read_cifar(const std::vector<std::string>& paths, Cifar which) {
  constexpr std::size_t kImage = 3 * 32 * 32;
  const std::size_t labels = which == Cifar::ten ? 1 : 2, record = labels + kImage;
  const std::size_t place = which == Cifar::hundred_fine ? 1 : 0, classes = which == Cifar::ten              ? 10
                                                                            : which == Cifar::hundred_coarse ? 20
                                                                                                             : 100;
  std::vector<std::byte> images;
  std::vector<std::int64_t> found;
  for (const std::string& path : paths) {
    const auto file = read_data(path);
    if (!file) return file.rejection();
    const std::vector<std::byte>& bytes = file.value();
    if (bytes.size() % record != 0)
      return no_data("cifar", path, "records of " + std::to_string(record) + " bytes", std::to_string(bytes.size()) + " bytes");
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      const auto label = static_cast<std::size_t>(bytes[at + place]);
      if (label >= classes) return no_data("cifar", path, "labels below " + std::to_string(classes), std::to_string(label));
      found.push_back(static_cast<std::int64_t>(label));
      images.insert(images.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at + labels),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at + record));
    }
  }
  Array array = Array::empty(DType::uint8, {static_cast<std::int64_t>(found.size()), 3, 32, 32});
  if (!images.empty()) std::memcpy(array.raw(), images.data(), images.size());
  return Dataset{array, labels_of(found)};
}

Outcome<ImageFolder> read_png_folder(const std::string& path, std::int64_t channels) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto sorted = [&](const fs::path& folder) {
    std::vector<fs::path> entries;
    for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator(); at.increment(error))
      entries.push_back(at->path());
    std::ranges::sort(entries);
    return entries;
  };
  ImageFolder result;
  std::vector<Array> images;
  std::vector<std::int64_t> labels;
  for (const fs::path& folder : sorted(path)) {
    if (!fs::is_directory(folder, error)) continue;
    for (const fs::path& file : sorted(folder)) {
      if (file.extension() != ".png") continue;
      const auto bytes = read_whole(file.string());
      if (!bytes) return bytes.rejection();
      auto image = read_png(bytes.value(), channels);
      if (!image) return in_file(image.rejection(), file.string());
      if (!images.empty() && image.value().shape() != images[0].shape())
        return no_data("folder", file.string(), to_string(images[0].shape()), to_string(image.value().shape()));
      images.push_back(std::move(image).value());
      labels.push_back(static_cast<std::int64_t>(result.classes.size()));
    }
    result.classes.push_back(folder.filename().string());
  }
  if (error) return no_data("folder", path, "folders that can be read", error.message());
  if (images.empty()) return no_data("folder", path, "folders with PNG files", "none");
  Shape shape = images[0].shape();
  shape.insert(shape.begin(), static_cast<std::int64_t>(images.size()));
  Array all = Array::empty(DType::uint8, shape);
  for (std::size_t k = 0; k < images.size(); ++k)
    std::memcpy(all.raw() + k * images[k].bytes(), std::as_const(images[k]).raw(), images[k].bytes());
  result.data = {all, labels_of(labels)};
  return result;
}

Characters::Characters(std::string_view text) : bytes_(text) {
  std::ranges::sort(bytes_);
  bytes_.erase(std::unique(bytes_.begin(), bytes_.end()), bytes_.end());
}

std::vector<std::int64_t> Characters::encode(std::string_view text) const {
  std::vector<std::int64_t> numbers;
  for (const char c : text) {
    const auto found = std::ranges::lower_bound(bytes_, c);
    numbers.push_back(found != bytes_.end() && *found == c ? found - bytes_.begin() : 0);
  }
  return numbers;
}

std::string Characters::decode(std::span<const std::int64_t> numbers) const {
  std::string text;
  for (const std::int64_t number : numbers) text += bytes_.at(static_cast<std::size_t>(number));
  return text;
}

Dataset windows_of(std::span<const std::int64_t> numbers, std::size_t length, std::size_t step) {
  demand(step > 0, "windows_of: a positive step");
  std::vector<std::int64_t> inputs, targets;
  std::int64_t count = 0;
  for (std::size_t at = 0; at + length < numbers.size(); at += step, ++count) {
    const auto window = numbers.subspan(at, length), next = numbers.subspan(at + 1, length);
    inputs.insert(inputs.end(), window.begin(), window.end());
    targets.insert(targets.end(), next.begin(), next.end());
  }
  const Shape shape{count, static_cast<std::int64_t>(length)};
  return {Array::from(Tensor::of_ints(shape, inputs)), Array::from(Tensor::of_ints(shape, targets))};
}

Array scaled_images(const Array& images, DType dtype) {
  constexpr double kMost = 255;
  Array result = Array::empty(dtype, images.shape());
  const auto from = images.data<std::uint8_t>();
  const auto scale = [&]<class T>(std::span<T> to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(static_cast<double>(from[i]) / kMost);
  };
  dtype == DType::float32 ? scale(result.data<float>()) : scale(result.data<double>());
  return result;
}

}  // namespace assay::training
