#include "probes/draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay::probes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Ends ends_of(DType dtype, ExecutionModel::Storage storage) {
  using Storage = ExecutionModel::Storage;
  if (dtype == DType::float64) return {-1074, -1022, 1024, std::numeric_limits<double>::max(), 709.5, -750};
  if (storage == Storage::binary16) return {-24, -14, 16, 65504, 11, -17.5};
  if (storage == Storage::bfloat16) return {-133, -126, 128, 0x1.fep127, 88.5, -93};
  return {-149, -126, 128, static_cast<double>(std::numeric_limits<float>::max()), 88.5, -104.5};
}

double number(std::mt19937_64& random, Draw from) {
  std::normal_distribution<double> normal;
  const auto whole = static_cast<double>(draw(random, from));
  switch (from) {
    case Draw::any:
      return whole + normal(random) * 0.37;
    case Draw::non_zero:
      return whole * (1 + 0.3 * std::tanh(normal(random)));
    case Draw::positive:
    case Draw::square:
      return whole + 0.61 * std::fabs(normal(random)) + 0.01;
    case Draw::fraction:
      return std::tanh(normal(random)) * 0.9;
    case Draw::truth:
    case Draw::whole:
    case Draw::index:
      return whole;
  }
  return whole;
}

double of_any_size(std::mt19937_64& random, Draw from, const Ends& ends) {
  const bool tiny = random() % 4 == 0;  // subnormal numbers
  const int low = ends.least, high = tiny ? std::min(low + 20, ends.normal + 1) : ends.top - 1;
  const double size = std::ldexp(1 + static_cast<double>(random() % 4096) / 4096,
                                 low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low)));
  if (from == Draw::fraction) return std::ldexp(std::fmod(size, 1.0), -1);
  return from == Draw::any || from == Draw::non_zero ? (random() % 2 == 0 ? size : -size) : size;
}

double special(std::mt19937_64& random, const Ends& ends) {
  const double least = std::ldexp(1.0, ends.least), subnormal = std::ldexp(-1.5, ends.normal - 1), largest = ends.largest,
               normal = std::ldexp(1.0, ends.normal), edge = ends.edge, beyond = ends.beyond;
  const std::array values = {0.0,    -0.0, 1.0, 1.0,  -2.5,  kInfinity, -kInfinity, kNaN, least, subnormal, largest, -largest,
                             normal, 0.5,  1.5, edge, -edge, 2.5,       beyond,     -0.5, 1e30,  -1e30,     1e-4,    -9.5};
  return values[random() % values.size()];
}

}  // namespace assay::probes
