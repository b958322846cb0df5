// Finds a complex signal from magnitudes alone: |fft(mask * x)|^2 for some random masks, whose phases nobody measured.
// The signal is the one complex parameter. Source: Candes, Li and Soltanolkotabi 2015, "Phase retrieval from coded
// diffraction patterns".
#include <cmath>
#include <complex>
#include <cstdio>
#include <iostream>

#include "runtime/functions.h"
#include "training/complex.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

constexpr std::int64_t kPoints = 128, kMasks = 8;

// Real and imaginary parts of elements 1, i, -1 and -i.
std::vector<Array> draw_masks(Session& session) {
  std::vector<double> re, im;
  for (const double u : session.uniform({kMasks, kPoints}, 0, 4).to_tensor().to_doubles()) {
    const auto quarter = static_cast<int>(u);
    re.push_back(quarter % 2 == 0 ? 1 - quarter : 0);
    im.push_back(quarter % 2 == 1 ? 2 - quarter : 0);
  }
  return {numbers(session, {kMasks, kPoints}, re), numbers(session, {kMasks, kPoints}, im)};
}

Value magnitudes(const Complex& signal, const Complex& masks) {
  return abs_squared(fft(signal * masks)) * (1.0 / static_cast<double>(kPoints));
}

// How far the signal found is from the true one, after the turn that brings them closest, which no magnitude knows. Relative.
double distance(const Complex& found, const Complex& truth) {
  const auto numbers_of = [](const Complex& z) {
    const std::vector<double> re = z.re.to_doubles(), im = z.im.to_doubles();
    std::vector<std::complex<double>> values;
    for (std::size_t i = 0; i < re.size(); ++i) values.emplace_back(re[i], im[i]);
    return values;
  };
  const auto x = numbers_of(found), y = numbers_of(truth);
  std::complex<double> product = 0;
  for (std::size_t i = 0; i < x.size(); ++i) product += std::conj(x[i]) * y[i];
  double error = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error += std::norm(x[i] * product / std::abs(product) - y[i]);
    size += std::norm(y[i]);
  }
  return std::sqrt(error / size);
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 1500;
  options.is_complex = true;
  if (const auto status = options.read(argc, argv, "phase_retrieval", "A complex signal from magnitudes of its spectrum")) return *status;
  std::cout << options.banner("phase_retrieval") << "\n";
  Session session(options.session());
  const std::vector<Array> truth{session.normal({kPoints}), session.normal({kPoints})};
  const std::vector<Array> masks = draw_masks(session);
  const auto pair = [&](const std::vector<Array>& parts) { return Complex{session.input(parts[0]), session.input(parts[1])}; };
  const Array measured = magnitudes(pair(truth), pair(masks)).array();
  Model model(session);
  const Array imaginary = session.normal({kPoints}), real = session.normal({kPoints});  // in this order with every compiler
  const Complex signal = complex_parameter(model / "signal", "x", real, imaginary);
  Adam adam(session, model.parameters(), {});
  Trainer trainer(model, adam,
                  [&](std::span<const Value> v) {
                    return mean_squared_error(magnitudes(signal, {v[0], v[1]}), v[2]);
                  },
                  {.compiled = options.compiled, .rate = cosine_decay(0.1, 1e-4, std::max<std::uint64_t>(1, options.steps))});
  const int status = run_training(options, trainer, [&] { return std::vector{masks[0], masks[1], measured}; });
  session.clear();
  std::printf("distance to the true signal, but for its phase: %.2g\n", distance(signal, pair(truth)));
  return status;
}
