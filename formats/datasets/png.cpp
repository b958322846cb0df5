// PNG images (w3.org/TR/png): grey, colours or a palette, 1 to 16 bits, without transparency and not interlaced.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "formats/datasets/parts.h"

namespace assay::formats::dataset {
namespace {

constexpr std::array<unsigned char, 8> kPngMagic{0x89, 'P', 'N', 'G', 13, 10, 26, 10};

std::uint32_t word_at(Bytes file, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(file[at + i]);
  return value;
}

struct Png {
  std::uint32_t width = 0, height = 0;
  unsigned depth = 0, colour = 0;
  std::vector<std::byte> data, palette;
  [[nodiscard]] unsigned samples() const { return colour == 2 ? 3 : colour == 6 ? 4 : colour == 4 ? 2 : 1; }
  [[nodiscard]] std::size_t row_bytes() const { return (std::size_t{width} * samples() * depth + 7) / 8; }
};

Outcome<Png> read_chunks(Bytes file, const std::string& place) {
  const Rejection broken = malformed_data("png", place, "a PNG file", "broken or cut off");
  Png png;
  for (std::size_t at = kPngMagic.size();;) {
    if (file.size() < at || file.size() - at < 12) return broken;
    const std::size_t length = word_at(file, at);
    if (file.size() - at - 12 < length) return broken;
    const std::string kind(reinterpret_cast<const char*>(file.data()) + at + 4, 4);
    const Bytes body = file.subspan(at + 8, length);
    if (kind == "IHDR") {
      if (length != 13) return broken;
      png.width = word_at(body, 0);
      png.height = word_at(body, 4);
      png.depth = static_cast<unsigned>(body[8]);
      png.colour = static_cast<unsigned>(body[9]);
      if (body[12] != std::byte{0}) return unsupported_data("png", place, "an image that is not interlaced", "an interlaced one");
    } else if (kind == "PLTE") {
      png.palette.assign(body.begin(), body.end());
    } else if (kind == "tRNS") {
      return unsupported_data("png", place, "an image without transparency", "a transparent one");
    } else if (kind == "IDAT") {
      png.data.insert(png.data.end(), body.begin(), body.end());
    } else if (kind == "IEND") {
      return png;
    }
    at += 12 + length;
  }
}

int paeth(int a, int b, int c) {
  const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

// In place: each line begins with the number of its filter.
bool unfilter(std::vector<std::byte>& rows, std::size_t row, std::size_t step, std::uint32_t height) {
  const std::vector<std::byte> zeros(row + 1);
  for (std::uint32_t y = 0; y < height; ++y) {
    std::byte* const line = rows.data() + y * (row + 1);
    const std::byte* const above = y == 0 ? zeros.data() : line - (row + 1);
    const auto filter = static_cast<unsigned>(line[0]);
    if (filter > 4) return false;
    for (std::size_t i = 1; i <= row; ++i) {
      const int left = i > step ? static_cast<int>(line[i - step]) : 0, up = static_cast<int>(above[i]),
                corner = i > step ? static_cast<int>(above[i - step]) : 0;
      const int guess = filter == 1 ? left : filter == 2 ? up : filter == 3 ? (left + up) / 2 : filter == 4 ? paeth(left, up, corner) : 0;
      line[i] = static_cast<std::byte>(static_cast<int>(line[i]) + guess);
    }
  }
  return true;
}

unsigned sample_at(const std::byte* line, std::size_t index, unsigned depth) {
  if (depth == 16) return static_cast<unsigned>(line[2 * index]) << 8 | static_cast<unsigned>(line[2 * index + 1]);
  const std::size_t bit = index * depth;
  return static_cast<unsigned>(line[bit / 8]) >> (8 - depth - bit % 8) & ((1u << depth) - 1);
}

}  // namespace

bool is_png(Bytes file) { return file.size() >= kPngMagic.size() && std::memcmp(file.data(), kPngMagic.data(), kPngMagic.size()) == 0; }

Outcome<DataArray> read_png(Bytes file, const std::string& place) {
  if (!is_png(file)) return malformed_data("png", place, "a PNG file", "another beginning");
  auto read = read_chunks(file, place);
  if (!read) return read.rejection();
  Png& png = read.value();
  constexpr std::uint32_t kMostExtent = 1u << 16;
  const bool known = png.colour == 0 || png.colour == 2 || png.colour == 3;
  const bool depth =
      png.depth == 8 || (png.colour != 3 && png.depth == 16) || (png.colour != 2 && (png.depth == 1 || png.depth == 2 || png.depth == 4));
  if (!known || !depth)
    return unsupported_data("png", place, "grey, colours or a palette without transparency",
                            "colour type " + std::to_string(png.colour) + " with " + std::to_string(png.depth) + " bits");
  if (png.width == 0 || png.height == 0 || png.width > kMostExtent || png.height > kMostExtent)
    return malformed_data("png", place, "an image of at most 65536 by 65536",
                          std::to_string(png.width) + " by " + std::to_string(png.height));
  const std::size_t row = png.row_bytes(), all = (row + 1) * png.height;
  auto rows = inflated(png.data, Packing::zlib, all, place);
  if (!rows) return rows.rejection();
  if (rows.value().size() != all || !unfilter(rows.value(), row, std::max<std::size_t>(1, png.samples() * png.depth / 8), png.height))
    return malformed_data("png", place, std::to_string(png.height) + " lines", "others");
  const bool colours = png.colour != 0;
  DataArray image{"", png.depth == 16 ? ElementType::uint16 : ElementType::uint8, {png.height, png.width}, {}};
  if (colours) image.shape.push_back(3);
  const unsigned scale = png.colour == 0 && png.depth < 8 ? 255 / ((1u << png.depth) - 1) : 1;
  for (std::uint32_t y = 0; y < png.height; ++y) {
    const std::byte* const line = rows.value().data() + y * (row + 1) + 1;
    for (std::size_t i = 0; i < std::size_t{png.width} * png.samples(); ++i) {
      const unsigned sample = sample_at(line, i, png.depth);
      if (png.colour == 3) {
        if (3 * std::size_t{sample} + 3 > png.palette.size()) return malformed_data("png", place, "colours of the palette", "others");
        image.bytes.insert(image.bytes.end(), png.palette.begin() + 3 * sample, png.palette.begin() + 3 * sample + 3);
        continue;
      }
      image.bytes.push_back(static_cast<std::byte>(sample * scale & 0xff));
      if (png.depth == 16) image.bytes.push_back(static_cast<std::byte>(sample >> 8));
    }
  }
  return image;
}

}  // namespace assay::formats::dataset

namespace assay::formats {
namespace {

std::string word_text(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}

std::string png_chunk(const std::string& kind, const std::string& body) {
  const std::string text = kind + body;
  const auto sum = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
  return word_text(static_cast<std::uint32_t>(body.size())) + text + word_text(sum);
}

}  // namespace

std::string png_bytes(std::uint32_t width, std::uint32_t height, unsigned samples, std::span<const std::uint8_t> pixels) {
  std::string rows;
  const std::size_t row = std::size_t{width} * samples;
  for (std::uint32_t y = 0; y < height; ++y) rows += '\0' + std::string(reinterpret_cast<const char*>(pixels.data()) + y * row, row);
  uLongf size = compressBound(rows.size());
  std::string packed(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()), rows.size()) != Z_OK)
    throw std::bad_alloc();
  packed.resize(size);
  const std::string header = word_text(width) + word_text(height) + '\x08' + static_cast<char>(samples == 3 ? 2 : 0) + std::string(3, '\0');
  return std::string(reinterpret_cast<const char*>(dataset::kPngMagic.data()), dataset::kPngMagic.size()) + png_chunk("IHDR", header) +
         png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

}  // namespace assay::formats
