// Data from files, by the readers that `assay robust` has too (formats/datasets/dataset.h). The caller converts it to a session's
// type.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "training/data/loader.h"

namespace assay::training {

// Rejections of all: dataset.*, with the file in their place.
//
// Every array of an NPY, NPZ, safetensors, IDX, CIFAR, CSV or PNG file by its name: "" where the format has none, "items" for the numbers
// [rows, columns] of CSV, as float64; with "labels" of a column that has such a name. 16-bit floats become float32.
[[nodiscard]] Outcome<std::map<std::string, Array>> read_arrays(const std::string& path);
// The items of each path, with their labels [N] of int64 where it says any, one path after the other: {items, labels} or {items}.
// A path is a file, FILE:NAME, or a folder with PNG files, or with one folder of them per class.
struct Samples {
  Dataset data;
  std::vector<std::string> classes;  // of the folders
};
[[nodiscard]] Outcome<Samples> read_samples(const std::vector<std::string>& paths);
[[nodiscard]] Outcome<std::string> read_text(const std::string& path);
// [N, H, W] to [N, 1, H, W]; [N, H, W, C] to [N, C, H, W] (one of the two is demanded).
[[nodiscard]] Array channels_first(const Array& images);

// Characters as numbers: the bytes that occur, in order.
class Characters {
 public:
  explicit Characters(std::string_view text);
  [[nodiscard]] std::size_t count() const { return bytes_.size(); }
  [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const;  // a byte that does not occur is the first (0)
  [[nodiscard]] std::string decode(std::span<const std::int64_t> numbers) const;

 private:
  std::string bytes_;
};
// All windows of `length` numbers, `step` apart, and the same one place later: {inputs [N, length], targets [N, length]}.
[[nodiscard]] Dataset windows_of(std::span<const std::int64_t> numbers, std::size_t length, std::size_t step = 1);

// Whole numbers to [0, 1] by 255, in this float type.
[[nodiscard]] Array scaled_images(const Array& images, DType dtype);

}  // namespace assay::training
