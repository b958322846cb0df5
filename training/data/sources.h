// Data sets from files. Images are [N, C, H, W] and labels [N] of int64; what belongs to a session's type is the caller's to convert.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "training/data/loader.h"

namespace assay::training {

// A whole file, expanded if it is compressed by gzip. Rejections training.read, training.gzip.
[[nodiscard]] Outcome<std::vector<std::byte>> read_data(const std::string& path);

// Rejections of all: training.read, training.gzip, those of the format (formats/npy.h, formats/tables.h), with the file's name in their place.
[[nodiscard]] Outcome<Array> read_npy_file(const std::string& path);
[[nodiscard]] Outcome<std::map<std::string, Array>> read_npz_file(const std::string& path);
[[nodiscard]] Outcome<Array> read_idx_file(const std::string& path);
// Numeric columns [rows, columns], float64; no columns: all.
[[nodiscard]] Outcome<Array> read_csv_file(const std::string& path, bool has_names, std::vector<std::size_t> columns = {},
                                           char separator = ',');

// Records of 3073 bytes (CIFAR-10: a label) or 3074 (CIFAR-100: two labels, of which `fine` is the second). {images [N, 3, 32, 32] of
// uint8, labels}. Rejections training.cifar, training.read.
enum class Cifar : std::uint8_t { ten, hundred_coarse, hundred_fine };
[[nodiscard]] Outcome<Dataset> read_cifar(const std::vector<std::string>& paths, Cifar which);

// A folder with one folder per class, whose names are the classes in alphabetical order; the PNG files in it, in alphabetical order, all
// of one size. 1 channel: grey, 3: colours. {images of uint8, labels}. Rejections training.folder, training.png.
struct ImageFolder {
  Dataset data;
  std::vector<std::string> classes;
};
[[nodiscard]] Outcome<ImageFolder> read_png_folder(const std::string& path, std::int64_t channels);
[[nodiscard]] Outcome<Array> read_png(std::span<const std::byte> file, std::int64_t channels);  // uint8 [C, H, W]
[[nodiscard]] Outcome<std::vector<std::byte>> write_png(const Array& image);                    // uint8 [C, H, W], C 1 or 3

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
