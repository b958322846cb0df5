// The readers of data sets share these parts, one function per format. Private to formats/datasets/*.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/datasets/dataset.h"

namespace assay::formats::dataset {

using Bytes = std::span<const std::byte>;

inline constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;  // of one array

[[nodiscard]] Rejection malformed_data(const char* code, std::string place, std::string required, std::string found,
                                       std::string advice = "");
[[nodiscard]] Rejection unsupported_data(const char* code, std::string place, std::string required, std::string found,
                                         std::string advice = "");

[[nodiscard]] Outcome<std::vector<std::byte>> file_content(const std::string& path);
// The most bytes that so many bytes of deflate can hold.
[[nodiscard]] inline std::uint64_t most_unpacked(std::uint64_t packed) { return 1032 * packed + 64; }
// Raw deflate, zlib or gzip (all members); declined beyond `most` bytes.
enum class Packing : std::uint8_t { raw, zlib, gzip };
[[nodiscard]] Outcome<std::vector<std::byte>> inflated(Bytes packed, Packing packing, std::uint64_t most, const std::string& place);

// Elements of a shape, or nothing where they cannot be held.
[[nodiscard]] std::optional<std::uint64_t> elements_of(std::span<const std::int64_t> shape);

[[nodiscard]] bool is_npy(Bytes file);
[[nodiscard]] bool is_zip(Bytes file);
[[nodiscard]] bool is_png(Bytes file);
[[nodiscard]] Outcome<DataArray> read_npy(Bytes file, const std::string& place);
[[nodiscard]] Outcome<std::vector<DataArray>> read_npz(Bytes file, const std::string& place);
// [height, width] or [height, width, channels].
[[nodiscard]] Outcome<DataArray> read_png(Bytes file, const std::string& place);
// Rows of numbers; an array "labels" of one column, where there is one, and the array "items".
[[nodiscard]] Outcome<std::vector<DataArray>> read_csv(std::string_view text, const std::string& place, bool labels_inside,
                                                       std::vector<std::string>& notes);

}  // namespace assay::formats::dataset
