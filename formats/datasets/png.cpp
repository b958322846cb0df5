// PNG images through libpng: grey, colours or a palette, 1 to 16 bits, without transparency.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <utility>

#include "formats/datasets/parts.h"

namespace assay::formats::dataset {
namespace {

constexpr std::size_t kSignature = 8;

// The input of libpng and its result. Its errors are jumps, so no object of `decode` may need a destructor.
struct Image {
  Bytes rest;
  std::uint64_t most = 0;  // bytes that the file can hold when unpacked
  bool is_transparent = false, is_colour = false;
  std::uint32_t width = 0, height = 0;
  unsigned depth = 0;
  std::vector<std::byte> bytes;
  std::vector<png_bytep> rows;
  std::string error;
};

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto& image = *static_cast<Image*>(png_get_io_ptr(png));
  if (count > image.rest.size()) png_error(png, "it is cut off");
  std::memcpy(to, image.rest.data(), count);
  image.rest = image.rest.subspan(count);
}

[[noreturn]] void fail(png_structp png, png_const_charp why) {
  static_cast<Image*>(png_get_error_ptr(png))->error = why;
  png_longjmp(png, 1);
}

void ignore(png_structp /*png*/, png_const_charp /*warning*/) {}

// Samples as they are stored: 16 bits little endian, fewer than 8 spread over 8, places in the palette as its colours.
bool decode(png_structp png, png_infop info, Image& image) {
  constexpr std::uint32_t kMostExtent = 1u << 16;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &image, read_bytes);
  png_set_user_limits(png, kMostExtent, kMostExtent);
  png_read_info(png, info);
  const unsigned colour = png_get_color_type(png, info);
  image.is_transparent = (colour & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  if (image.is_transparent) return true;
  image.is_colour = colour != PNG_COLOR_TYPE_GRAY;
  image.width = png_get_image_width(png, info);
  image.height = png_get_image_height(png, info);
  if (png_get_rowbytes(png, info) * image.height > image.most) png_error(png, "it is cut off");
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (colour == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
  png_set_swap(png);
  (void)png_set_interlace_handling(png);
  png_read_update_info(png, info);
  image.depth = png_get_bit_depth(png, info);
  const std::size_t row = png_get_rowbytes(png, info);
  image.bytes.resize(row * image.height);
  image.rows.resize(image.height);
  for (std::uint32_t y = 0; y < image.height; ++y) image.rows[y] = reinterpret_cast<png_bytep>(image.bytes.data() + y * row);
  png_read_image(png, image.rows.data());
  png_read_end(png, info);
  png_colorp palette = nullptr;
  int colours = 0;
  if (png_get_PLTE(png, info, &palette, &colours) != 0 && png_get_palette_max(png, info) >= colours)
    png_error(png, "it has places beyond its palette");
  return true;
}

}  // namespace

bool is_png(Bytes file) {
  return file.size() >= kSignature && png_sig_cmp(reinterpret_cast<png_const_bytep>(file.data()), 0, kSignature) == 0;
}

Outcome<DataArray> read_png(Bytes file, const std::string& place) {
  Image image;
  image.rest = file;
  image.most = std::min(kMostBytes, most_unpacked(file.size()));
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &image, fail, ignore);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) throw std::bad_alloc();
  const bool whole = decode(png, info, image);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!whole) return malformed_data("png", place, "a whole PNG file of at most 65536 by 65536", image.error);
  if (image.is_transparent) return unsupported_data("png", place, "an image without transparency", "a transparent one");
  DataArray array{"", image.depth == 16 ? ElementType::uint16 : ElementType::uint8, {image.height, image.width}, std::move(image.bytes)};
  if (image.is_colour) array.shape.push_back(3);
  return array;
}

}  // namespace assay::formats::dataset

namespace assay::formats {

std::string png_bytes(std::uint32_t width, std::uint32_t height, unsigned samples, std::span<const std::uint8_t> pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = samples == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  image.width = width;
  image.height = height;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr) == 0) throw std::bad_alloc();
  file.resize(size);
  return file;
}

}  // namespace assay::formats
