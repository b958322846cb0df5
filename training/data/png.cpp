// PNG images by libpng's simple interface.
#include <png.h>

#include <string>

#include "training/data/sources.h"

namespace assay::training {

namespace {

Rejection no_image(std::string required, std::string found) {
  return {Rejection::Kind::malformed, "training.png",   "image",
          std::move(required),        std::move(found), "see docs/training.md for what is read"};
}

// [H, W, C] to [C, H, W], or back.
void turned(const std::uint8_t* from, std::uint8_t* to, std::size_t pixels, std::size_t channels, bool back) {
  for (std::size_t p = 0; p < pixels; ++p) {
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t by_pixel = p * channels + c, by_channel = c * pixels + p;
      to[back ? by_pixel : by_channel] = from[back ? by_channel : by_pixel];
    }
  }
}

}  // namespace

Outcome<Array> read_png(std::span<const std::byte> file, std::int64_t channels) {
  constexpr std::size_t kMostPixels = std::size_t{1} << 26;
  if (channels != 1 && channels != 3) return no_image("1 channel (grey) or 3 (colours)", std::to_string(channels));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0)
    return no_image("a PNG file", static_cast<const char*>(image.message));
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const std::size_t pixels = std::size_t{image.width} * image.height;
  if (pixels > kMostPixels) {
    png_image_free(&image);
    return no_image("at most " + std::to_string(kMostPixels) + " pixels", std::to_string(pixels));
  }
  std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(image));
  const png_color black{};
  if (png_image_finish_read(&image, &black, bytes.data(), 0, nullptr) == 0)
    return no_image("a whole image", static_cast<const char*>(image.message));
  Array result = Array::empty(DType::uint8, {channels, image.height, image.width});
  turned(bytes.data(), result.data<std::uint8_t>().data(), pixels, static_cast<std::size_t>(channels), false);
  return result;
}

Outcome<std::vector<std::byte>> write_png(const Array& image) {
  const Shape& shape = image.shape();
  if (image.dtype() != DType::uint8 || shape.size() != 3 || (shape[0] != 1 && shape[0] != 3))
    return no_image("uint8[1 or 3, H, W]", type_of(image));
  png_image head{};
  head.version = PNG_IMAGE_VERSION;
  head.format = shape[0] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  head.height = static_cast<png_uint_32>(shape[1]);
  head.width = static_cast<png_uint_32>(shape[2]);
  std::vector<std::uint8_t> bytes(image.size());
  turned(image.data<std::uint8_t>().data(), bytes.data(), image.size() / static_cast<std::size_t>(shape[0]),
         static_cast<std::size_t>(shape[0]), true);
  png_alloc_size_t size = 0;
  std::vector<std::byte> file;
  if (png_image_write_to_memory(&head, nullptr, &size, 0, bytes.data(), 0, nullptr) == 0)
    return no_image("an image", static_cast<const char*>(head.message));
  file.resize(size);
  if (png_image_write_to_memory(&head, file.data(), &size, 0, bytes.data(), 0, nullptr) == 0)
    return no_image("an image", static_cast<const char*>(head.message));
  file.resize(size);
  return file;
}

}  // namespace assay::training
