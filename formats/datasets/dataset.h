// Data sets: arrays of items with labels, as NPY, NPZ, safetensors, IDX (.gz too), CSV, CIFAR's binary files, or a folder of PNG
// files.
//
// Files are recognised by their content, not by their names. Numbers stay as they are stored; the caller applies their meaning (a
// scale, a mean, an order of axes). Rejections have codes dataset.*; they are `malformed`, or `unsupported` for a part of the
// format that is not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semantics/outcome.h"

namespace assay::formats {

enum class ElementType : std::uint8_t {
  boolean,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  bfloat16,
  float32,
  float64
};
[[nodiscard]] const char* name_of(ElementType type);
[[nodiscard]] std::size_t bytes_of(ElementType type);
[[nodiscard]] bool is_float(ElementType type);

// Dense and row-major, little endian.
struct DataArray {
  std::string name;  // inside its file, where the format has names
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  [[nodiscard]] std::size_t size() const { return bytes.size() / bytes_of(type); }
  // Exactly, but for integers beyond 2^53, which are rounded: read_dataset refuses those that a double does not hold.
  [[nodiscard]] double number(std::size_t element) const;
  // The first element that number() rounds, or that is infinite or no number, as text; empty where there is none.
  [[nodiscard]] std::string first_inexact() const;
  // Without the first axis; empty for a scalar.
  [[nodiscard]] std::vector<std::int64_t> item_shape() const;
  [[nodiscard]] std::size_t count() const { return shape.empty() ? 0 : static_cast<std::size_t>(shape[0]); }
  [[nodiscard]] std::size_t item_size() const {
    const std::size_t items = count();
    return items == 0 ? 0 : size() / items;
  }
};

struct Dataset {
  DataArray items;                   // the first axis counts them
  std::vector<std::int64_t> labels;  // one per item, or none at all
  std::vector<std::string> names;    // of the items, where they are files
  std::vector<std::string> classes;  // of the folders in which these files are
  std::vector<std::string> notes;    // decisions about the files: "the first column has the labels"
};

struct DatasetRequest {
  // A path. FILE:NAME takes that array of an NPZ or safetensors file; without NAME the one called x, images, data, inputs or
  // x_test, or the only one that is no label.
  std::string items;
  // As `items`, with the names y, labels, label, targets or y_test; or numbers, "3,1,4". Empty: what the items' file says, if it says so.
  std::string labels;
  bool labels_inside = true;  // without `labels`: the first column of a CSV file without a header line has them
};

[[nodiscard]] Outcome<Dataset> read_dataset(const DatasetRequest& request);

// Every array of a file's content, expanded by read_file; names are empty where the format has none. The path is the place of
// rejections, and its ending tells CIFAR's files.
[[nodiscard]] Outcome<std::vector<DataArray>> read_arrays(std::span<const std::byte> file, const std::string& path);

// A whole file, expanded where gzip compressed it.
[[nodiscard]] Outcome<std::vector<std::byte>> read_file(const std::string& path);

// The files that a path of DatasetRequest means: one, or those of a folder in the order in which they are read.
[[nodiscard]] std::vector<std::string> dataset_files(const std::string& path);

// NPY, version 1.0.
[[nodiscard]] std::string npy_bytes(const DataArray& array);
// PNG of 8 bits: one sample per pixel (grey) or three, row-major.
[[nodiscard]] std::string png_bytes(std::uint32_t width, std::uint32_t height, unsigned samples, std::span<const std::uint8_t> pixels);

}  // namespace assay::formats
