// The digits of examples/digits: images [N, 1, 8, 8] in [0, 1] and labels, every fifth image held out.
#pragma once

#include <algorithm>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/functions.h"
#include "training/data/sources.h"
#include "training/model.h"

namespace digits {

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

struct Digits {
  Dataset train, held;
};

inline std::optional<Digits> load(const std::string& path, DType dtype) {
  const auto table = read_arrays(path);
  if (!table) {
    std::cerr << table.rejection().to_text() << "\n";
    return std::nullopt;
  }
  const Array& rows = table.value().begin()->second;
  const auto numbers = rows.data<double>();
  const std::int64_t count = rows.shape()[0];
  std::vector<double> pixels;
  std::vector<std::int64_t> labels, kept, held;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = numbers.subspan(static_cast<std::size_t>(i) * 65, 65);  // 64 pixels from 0 to 16, and the digit
    for (const double x : row.first(64)) pixels.push_back(x / 16);
    labels.push_back(static_cast<std::int64_t>(row[64]));
    (i % 5 == 0 ? held : kept).push_back(i);
  }
  const std::vector<float> narrow(pixels.begin(), pixels.end());
  const Shape shape{count, 1, 8, 8};
  const Dataset all{Array::from(dtype == DType::float32 ? Tensor::of_floats(shape, narrow) : Tensor::of_doubles(shape, pixels)),
                    Array::from(Tensor::of_ints({count}, labels))};
  return Digits{chosen(all, kept), chosen(all, held)};
}

// Each pixel moved by up to `most`, and kept in [0, 1].
inline std::vector<Array> noisy(std::vector<Array> batch, const RandomKey& key, double most) {
  const Array noise = runtime::uniform(key, batch[0].dtype(), batch[0].shape(), -most, most);
  const auto add = [&]<class T>(std::span<T> pixels) {
    const auto moves = noise.data<T>();
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = std::clamp(pixels[i] + moves[i], T{0}, T{1});
  };
  batch[0].dtype() == DType::float32 ? add(batch[0].data<float>()) : add(batch[0].data<double>());
  return batch;
}

// Images whose largest score is that of their label.
template <class Net>
std::size_t count_right(Model& model, const Net& net, const Dataset& data) {
  model.session().clear();
  model.set_training(false);
  const std::vector<double> scores = net(model.session().input(data[0])).to_doubles();
  model.set_training(true);
  const std::vector<std::int64_t> labels = data[1].to_tensor().to_ints();
  const std::size_t classes = scores.size() / labels.size();
  std::size_t right = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = std::span(scores).subspan(i * classes, classes);
    right += std::ranges::max_element(row) - row.begin() == labels[i] ? 1 : 0;
  }
  return right;
}

// Images of 64 numbers in [0, 1], side by side.
inline void draw(const std::vector<std::span<const double>>& images) {
  for (std::size_t row = 0; row < 8; ++row) {
    std::string line;
    for (const auto& image : images) {
      if (!line.empty()) line += "    ";
      for (const double pixel : image.subspan(8 * row, 8)) line += " .:-=+*#@@@"[static_cast<std::size_t>(10 * pixel)];
    }
    std::cout << line << "\n";
  }
}

// The first image of each list, its pixels brought into [0, 1].
inline void draw_firsts(std::vector<std::vector<double>> lists) {
  std::vector<std::span<const double>> firsts;
  for (std::vector<double>& list : lists) {
    for (double& pixel : list) pixel = std::clamp(pixel, 0.0, 1.0);
    firsts.push_back(std::span(list).first(64));
  }
  draw(firsts);
}

}  // namespace digits
