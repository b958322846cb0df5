// Random numbers, norms and sums of gradients on a device: the bits of the host, without a copy.
#include <cmath>
#include <cstring>

#include "gpu/kernels/random.h"
#include "gpu/kernels/squares.h"
#include "mutants/key_of_round_one.h"
#include "mutants/last_numbers_missing.h"
#include "mutants/last_threads_missing.h"
#include "mutants/random_twin.h"
#include "mutants/squares_twin.h"
#include "mutants/tree_without_barrier.h"
#include "runtime/functions.h"
#include "tests/gpu/devices.h"
#include "training/clip.h"
#include "training/optimise.h"

namespace assay::test {
namespace {

using gpu::EmulatedQueue;
using runtime::Array;
using runtime::Drawing;
using runtime::RandomKey;
using runtime::Session;
using runtime::Value;
using Kind = Drawing::Kind;

std::vector<Drawing> drawings() {
  std::vector<Drawing> all;
  for (const std::int64_t count : {0, 1, 2, 3, 4, 5, 127, 129, 1000}) {
    all.push_back({Kind::uniform, DType::float32, {count}, 0, 1});
    all.push_back({Kind::uniform, DType::float32, {count}, -0.3, 7.7});
    all.push_back({Kind::normal, DType::float32, {count}});
    all.push_back({Kind::bernoulli, DType::float32, {count}, 0.3});
    all.push_back({Kind::bernoulli, DType::boolean, {count}, 0.7});
  }
  all.push_back({Kind::bernoulli, DType::float32, {3, 5}, 1});
  all.push_back({Kind::bernoulli, DType::float32, {3, 5}, 0});
  return all;
}

using RunRandom = Outcome<Done> (*)(EmulatedQueue&, const RandomKey&, const Drawing&, void*, std::size_t);

// Drawings whose bits are not those of the host; NaN and 255 where nothing is written.
std::size_t wrong_drawings(RunRandom run, const Schedule& schedule) {
  std::size_t wrong = 0;
  for (const Drawing& drawing : drawings()) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x123456789abcdef0}}) {
      const RandomKey key = RandomKey(seed).split(3);
      const Array expected = runtime::drawn(key, drawing);
      std::vector<std::byte> bytes(expected.bytes(), std::byte{0xff});
      EmulatedQueue queue(schedule);
      const auto done = run(queue, key, drawing, bytes.data(), expected.size());
      if (!done || (!bytes.empty() && std::memcmp(bytes.data(), expected.raw(), bytes.size()) != 0)) ++wrong;
    }
  }
  return wrong;
}

TEST_CASE("gpu random: the numbers of the host, bit by bit", "[gpu]") {
  namespace g = assay::gpu;
  for (const Schedule& schedule : schedules()) CHECK(wrong_drawings(g::run_random<EmulatedQueue>, schedule) == 0);
  CHECK(wrong_drawings(g::random_twin::run_random<EmulatedQueue>, schedules()[0]) == 0);
  CHECK(wrong_drawings(g::key_of_round_one::run_random<EmulatedQueue>, schedules()[0]) > 0);
  CHECK(wrong_drawings(g::last_numbers_missing::run_random<EmulatedQueue>, schedules()[0]) > 0);
}

TEST_CASE("gpu random: quantiles are those of the host in the middle, in the tails and at their ends", "[gpu]") {
  std::vector<double> at = {0x1p-54, 0x1.8p-53, 1 - 0x1p-53, 1e-12, 1 - 1e-12, 0.075, 0.925, 0.5, 0x1.999999999999ap-4, 1.4e-11, 1.3e-11};
  for (const double edge : {0.075, 0.925, 1.388794386496402e-11, 1 - 1.388794386496402e-11}) {
    at.push_back(std::nextafter(edge, 0.0));
    at.push_back(std::nextafter(edge, 1.0));
  }
  std::mt19937_64 random(77);
  for (int k = 0; k < 40000; ++k)
    at.push_back(std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random), -static_cast<int>(random() % 53)));
  std::size_t wrong = 0;
  for (const double p : at) wrong += p < 1 && gpu::rounded_quantile(p) != runtime::normal_quantile(p) ? 1 : 0;
  CHECK(wrong == 0);
}

TEST_CASE("gpu random: a session draws on its device what one on the CPU draws, and copies nothing", "[gpu]") {
  const auto device = gpu::emulated_device();
  Session here({.seed = 8}), there({.seed = 8, .device = device});
  const Array a[] = {here.uniform({5, 7}, -2, 3), here.normal({9}), here.bernoulli(0.4, {11}), here.bernoulli(0.4, {11}, DType::boolean)};
  const Array b[] = {there.uniform({5, 7}, -2, 3), there.normal({9}), there.bernoulli(0.4, {11}),
                     there.bernoulli(0.4, {11}, DType::boolean)};
  CHECK(device->traffic().copies_in == 0);
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(b[k].distant() != nullptr);
    CHECK(std::memcmp(a[k].raw(), b[k].raw(), a[k].bytes()) == 0);
  }
  // Types that the device does not hold are drawn here.
  const Array integers = there.bernoulli(0.4, {11}, DType::float64);
  CHECK(integers.distant() == nullptr);
  // And so is everything once it is lost.
  const auto lost = gpu::emulated_device_with({.failure = {gpu::Failure::At::launch, 0}});
  Session unlucky({.seed = 8, .device = lost});
  const Array c = unlucky.uniform({5, 7}, -2, 3);
  CHECK(std::memcmp(a[0].raw(), c.raw(), c.bytes()) == 0);
}

double squares_by(Outcome<double> (*run)(EmulatedQueue&, std::span<const gpu::View<const float>>),
                  const std::vector<std::vector<float>>& arrays, const Schedule& schedule) {
  std::vector<gpu::View<const float>> views;
  for (const auto& array : arrays) views.push_back({array.data(), array.size()});
  EmulatedQueue queue(schedule);
  const auto sum = run(queue, views);
  return sum ? sum.value() : std::nan("");
}

TEST_CASE("gpu random: the sum of squares of whole numbers is exact, whatever their number", "[gpu]") {
  namespace g = assay::gpu;
  const auto numbers = [](std::size_t count) {
    std::vector<float> x(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 7) - 2;
    return x;
  };
  std::size_t caught[2] = {};
  for (const auto& counts : std::vector<std::vector<std::size_t>>{{}, {0}, {1}, {127, 1, 0, 129}, {40000, 3}}) {
    std::vector<std::vector<float>> arrays;
    double expected = 0;
    for (const std::size_t count : counts) {
      arrays.push_back(numbers(count));
      for (const float x : arrays.back()) expected += static_cast<double>(x) * static_cast<double>(x);
    }
    for (const Schedule& schedule : schedules()) CHECK(squares_by(g::run_squares<EmulatedQueue>, arrays, schedule) == expected);
    CHECK(squares_by(g::squares_twin::run_squares<EmulatedQueue>, arrays, schedules()[0]) == expected);
    caught[0] += squares_by(g::tree_without_barrier::run_squares<EmulatedQueue>, arrays, schedules()[0]) == expected ? 0 : 1;
    caught[1] += squares_by(g::last_threads_missing::run_squares<EmulatedQueue>, arrays, schedules()[0]) == expected ? 0 : 1;
  }
  CHECK(caught[0] > 0);
  CHECK(caught[1] > 0);
}

TEST_CASE("gpu random: norms, clipping and sums of gradients stay on the device", "[gpu]") {
  const auto device = gpu::emulated_device();
  std::vector<std::vector<double>> sums, clipped;
  std::vector<double> norms;
  for (const auto& on : {std::shared_ptr<runtime::Device>(), device}) {
    Session session({.seed = 2, .device = on});
    std::vector<Value> gradients{session.input(session.normal({40, 9})), session.input(session.normal({3}))};
    const auto before = device->traffic();
    training::GradientSum sum;
    for (int k = 0; k < 3; ++k) REQUIRE(sum.add(gradients).ok());
    norms.push_back(training::norm_of(gradients));
    CHECK(training::clip_by_norm(gradients, 1) == norms.back());
    CHECK(device->traffic().copies_out == before.copies_out);
    for (const Array& one : sum.sums()) sums.push_back(one.to_tensor().to_doubles());
    for (const Value& one : gradients) clipped.push_back(one.to_doubles());
  }
  CHECK(sums[0] == sums[2]);
  CHECK(sums[1] == sums[3]);
  CHECK(std::fabs(norms[0] - norms[1]) <= 0x1p-44 * norms[0]);  // 363 terms in double, in two orders
  for (std::size_t i = 0; i < clipped[0].size(); ++i) CHECK(std::fabs(clipped[0][i] - clipped[2][i]) <= 0x1p-22 * std::fabs(clipped[0][i]));
}

TEST_CASE("gpu random: the norm of a device that fails is NaN, and the session says why", "[gpu]") {
  Session session({.seed = 2, .device = gpu::emulated_device_with({.failure = {gpu::Failure::At::copy_out, 0}})});
  std::vector<Value> gradients{session.input(session.normal({4}))};
  CHECK(std::isnan(training::norm_of(gradients)));
  REQUIRE(session.failure());
  CHECK(session.failure()->code == "gpu.launch");
}

}  // namespace
}  // namespace assay::test
