#include "training/data/sources.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/datasets/dataset.h"
#include "semantics/demand.h"

namespace assay::training {

namespace {

using formats::DataArray;
using formats::ElementType;

Array array_of(const DataArray& data) {
  static const std::map<ElementType, DType> kTypes{
      {ElementType::boolean, DType::boolean}, {ElementType::uint8, DType::uint8},     {ElementType::int8, DType::int8},
      {ElementType::uint16, DType::uint16},   {ElementType::int16, DType::int16},     {ElementType::uint32, DType::uint32},
      {ElementType::int32, DType::int32},     {ElementType::uint64, DType::uint64},   {ElementType::int64, DType::int64},
      {ElementType::float32, DType::float32}, {ElementType::float64, DType::float64}, {ElementType::float16, DType::float32},
      {ElementType::bfloat16, DType::float32}};
  Array array = Array::empty(kTypes.at(data.type), data.shape);
  if (data.type == ElementType::float16 || data.type == ElementType::bfloat16) {
    const auto to = array.data<float>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(data.number(i));
  } else if (!data.bytes.empty()) {
    std::memcpy(array.raw(), data.bytes.data(), data.bytes.size());
  }
  return array;
}

}  // namespace

Outcome<std::map<std::string, Array>> read_arrays(const std::string& path) {
  const auto file = formats::read_file(path);
  if (!file) return file.rejection();
  const auto read = formats::read_arrays(file.value(), path);
  if (!read) return read.rejection();
  std::map<std::string, Array> arrays;
  for (const DataArray& one : read.value()) arrays.emplace(one.name, array_of(one));
  return arrays;
}

Outcome<Samples> read_samples(const std::vector<std::string>& paths) {
  Samples samples;
  DataArray items;
  std::vector<std::int64_t> labels;
  for (const std::string& path : paths) {
    auto read = formats::read_dataset({path, "", true});
    if (!read) return read.rejection();
    formats::Dataset& set = read.value();
    const bool first = &path == paths.data();
    if (!first && (set.items.type != items.type || set.items.item_shape() != items.item_shape() || set.labels.empty() != labels.empty() ||
                   set.classes != samples.classes))
      return Rejection{Rejection::Kind::malformed,
                       "dataset.items",
                       path,
                       "items of the type and shape, with labels and classes, of the first path",
                       "items of another kind",
                       "read them one by one"};
    labels.insert(labels.end(), set.labels.begin(), set.labels.end());
    if (first) {
      items = std::move(set.items);
      samples.classes = std::move(set.classes);
    } else {
      items.shape[0] += set.items.shape[0];
      items.bytes.insert(items.bytes.end(), set.items.bytes.begin(), set.items.bytes.end());
    }
  }
  samples.data.push_back(array_of(items));
  if (!labels.empty()) samples.data.push_back(Array::from(Tensor::of_ints({static_cast<std::int64_t>(labels.size())}, labels)));
  return samples;
}

Outcome<std::string> read_text(const std::string& path) {
  const auto file = formats::read_file(path);
  if (!file) return file.rejection();
  return std::string(reinterpret_cast<const char*>(file.value().data()), file.value().size());
}

Array channels_first(const Array& images) {
  const Shape& shape = images.shape();
  demand(shape.size() == 3 || shape.size() == 4, "channels_first: images [N, H, W] or [N, H, W, C]");
  const std::int64_t channels = shape.size() == 3 ? 1 : shape[3];
  Array result = Array::empty(images.dtype(), {shape[0], channels, shape[1], shape[2]});
  const auto pixels = static_cast<std::size_t>(shape[1] * shape[2]), depth = static_cast<std::size_t>(channels),
             width = byte_size(images.dtype());
  const std::byte* const from = images.raw();
  std::byte* const to = result.raw();
  for (std::size_t n = 0; n < static_cast<std::size_t>(shape[0]); ++n) {
    for (std::size_t p = 0; p < pixels; ++p) {
      for (std::size_t c = 0; c < depth; ++c)
        std::memcpy(to + ((n * depth + c) * pixels + p) * width, from + ((n * pixels + p) * depth + c) * width, width);
    }
  }
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
