// Random numbers: the published vectors of the generator, and what is promised about what is made from it.
#include "runtime/random.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/catch.h"

namespace assay::test {

using namespace runtime;

TEST_CASE("random: known answers of Philox4x32-10", "[random]") {  // Random123, kat_vectors
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random: a number depends on key and position alone", "[random]") {
  const RandomKey key(7);
  const Array few = uniform(key, DType::float32, {5}), many = uniform(key, DType::float32, {3, 100});
  for (std::size_t i = 0; i < 5; ++i) CHECK(few.data<float>()[i] == many.data<float>()[i]);
  CHECK(few.data<float>()[0] == static_cast<float>(key.block(0)[0] >> 8) / 16777216.0F);
  CHECK(key.split(3) == RandomKey(7).split(3));
  std::set<std::uint32_t> words;
  for (std::uint64_t i = 0; i < 100; ++i) words.insert(key.split(i).block(0)[0]);
  words.insert(key.block(0)[0]);
  CHECK(words.size() == 101);
}

TEST_CASE("random: ranges and moments", "[random]") {
  constexpr std::size_t kCount = 40000;
  for (const DType dtype : {DType::float32, DType::float64}) {
    const std::vector<double> u = uniform(RandomKey(1), dtype, {kCount}).to_tensor().to_doubles();
    const std::vector<double> z = normal(RandomKey(2), dtype, {kCount}).to_tensor().to_doubles();
    CHECK(*std::ranges::min_element(u) >= 0);
    CHECK(*std::ranges::max_element(u) < 1);
    double mean_u = 0, mean_z = 0, square_z = 0, fourth_z = 0;
    for (const double x : u) mean_u += x / kCount;
    for (const double x : z) mean_z += x / kCount, square_z += x * x / kCount, fourth_z += x * x * x * x / kCount;
    CHECK(std::abs(mean_u - 0.5) < 5 * std::sqrt(1.0 / 12 / kCount));  // five standard deviations each
    CHECK(std::abs(mean_z) < 5 * std::sqrt(1.0 / kCount));
    CHECK(std::abs(square_z - 1) < 5 * std::sqrt(2.0 / kCount));
    CHECK(std::abs(fourth_z - 3) < 5 * std::sqrt(96.0 / kCount));
  }
  const std::vector<double> b = uniform(RandomKey(3), DType::float64, {1000}, -2, 5).to_tensor().to_doubles();
  CHECK(*std::ranges::min_element(b) >= -2);
  CHECK(*std::ranges::min_element(b) < -1.9);
  CHECK(*std::ranges::max_element(b) < 5);
}

TEST_CASE("random: bernoulli counts, and never or always", "[random]") {
  constexpr std::size_t kCount = 40000;
  double ones = 0;
  for (const double x : bernoulli(RandomKey(4), 0.3, DType::float32, {kCount}).to_tensor().to_doubles()) {
    CHECK((x == 0 || x == 1));
    ones += x;
  }
  CHECK(std::abs(ones / kCount - 0.3) < 5 * std::sqrt(0.21 / kCount));
  for (const std::uint8_t x : bernoulli(RandomKey(5), 0, DType::boolean, {100}).data<std::uint8_t>()) CHECK(x == 0);
  for (const double x : bernoulli(RandomKey(5), 1, DType::float64, {100}).to_tensor().to_doubles()) CHECK(x == 1);
}

TEST_CASE("random: permutations are permutations, and all of them occur", "[random]") {
  const std::vector<std::int64_t> order = permutation(RandomKey(6), 1000);
  CHECK(std::set<std::int64_t>(order.begin(), order.end()).size() == 1000);
  CHECK(*std::ranges::max_element(order) == 999);
  std::set<std::vector<std::int64_t>> seen;
  for (std::uint64_t i = 0; i < 400; ++i) seen.insert(permutation(RandomKey(6).split(i), 4));
  CHECK(seen.size() == 24);  // one is missing with probability below 24 (23/24)^400 = 1e-6, and the seed is fixed
}

TEST_CASE("random: the normal quantile", "[random]") {  // Python's statistics.NormalDist, the same algorithm with the C library's log
  const std::pair<double, double> known[] = {{5.551115123125783e-17, -8.292361075813595},
                                             {1e-12, -7.034483825301132},
                                             {0.001, -3.090232306167813},
                                             {0.07, -1.4757910281791702},
                                             {0.3, -0.5244005127080407},
                                             {0.8, 0.8416212335729144},
                                             {0.975, 1.9599639845400536}};
  for (const auto& [p, z] : known) CHECK(std::abs(normal_quantile(p) - z) <= 4e-15 * std::abs(z));
  CHECK(normal_quantile(0.5) == 0);
  CHECK(normal_quantile(0.25) == -normal_quantile(0.75));
}

}  // namespace assay::test
