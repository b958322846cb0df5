// Digits as sequences of 16 patches of 2 by 2 pixels, and a transformer over those that it is shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../training/digits.h"
#include "training/layers/shapes.h"
#include "transformer_block.h"

namespace digits {

inline constexpr std::int64_t kPatches = 16, kPatchPixels = 4, kHeads = 4;

// [B, 1, 8, 8] to [B, 16, 4]
inline Value patches_of(const Value& x) {
  const std::int64_t batch = x.shape()[0];
  return reshape(permute(reshape(x, {batch, 4, 2, 4, 2}), {0, 1, 3, 2, 4}), {batch, kPatches, kPatchPixels});
}

// Back again, and read.
inline std::vector<double> pixels_of(const Value& patches) {
  const std::int64_t batch = patches.shape()[0];
  return permute(reshape(patches, {batch, 4, 4, 2, 2}), {0, 1, 3, 2, 4}).to_doubles();
}

// {images, patches that are shown}: of each image so many at random, as rows of 0 and 1: [B, count, 16].
inline std::vector<Array> partly_shown(const Array& images, const RandomKey& key, std::size_t count) {
  const std::int64_t batch = images.shape()[0];
  Array shown = Array::empty(images.dtype(), {batch, static_cast<std::int64_t>(count), kPatches});
  const auto fill = [&]<class T>(std::span<T> rows) {
    std::ranges::fill(rows, T{0});
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
      const std::vector<std::int64_t> order = permutation(key.split(i), kPatches);
      for (std::size_t k = 0; k < count; ++k) rows[(i * count + k) * kPatches + static_cast<std::size_t>(order[k])] = 1;
    }
  };
  shown.dtype() == DType::float32 ? fill(shown.data<float>()) : fill(shown.data<double>());
  return {images, shown};
}

// 1 for each patch that is not shown: [B, 16, 1]
inline Value hidden(const Value& shown) { return reshape(1 - sum(shown, {1}), {shown.shape()[0], kPatches, 1}); }

// Codes [B, count, width] at the patches that are shown, and `token` [width] at the others: [B, 16, width].
inline Value in_place(const Value& codes, const Value& shown, const Value& token) {
  return matmul(permute(shown, {0, 2, 1}), codes) + hidden(shown) * token;
}

// The mean over hidden patches of squares [B, 16, width].
inline Value mean_of_hidden(const Value& squares, const Value& shown) {
  const std::int64_t count = shown.shape()[0] * (kPatches - shown.shape()[1]) * squares.shape()[2];
  return sum(hidden(shown) * squares) * (1 / static_cast<double>(count));
}

struct PatchEncoder {
  Linear patch;
  Value places;
  TransformerBlock first, second;
  LayerNorm last;
  PatchEncoder(const Scope& at, std::int64_t width)
      : patch(at / "patch", kPatchPixels, width),
        places((at / "places").parameter("weight", sinusoidal_places(at.session(), kPatches, width))),
        first(at / "first", width, kHeads),
        second(at / "second", width, kHeads),
        last(at / "last", Shape{width}) {}
  Value operator()(const Value& x) const { return encode(patch(patches_of(x)) + places); }  // [B, 16, width]
  // The same of the patches that are shown, without a look at the others: [B, count, width].
  Value operator()(const Value& x, const Value& shown) const { return encode(patch(matmul(shown, patches_of(x))) + matmul(shown, places)); }

 private:
  Value encode(const Value& tokens) const { return last(second(first(tokens, false), false)); }
};

}  // namespace digits
