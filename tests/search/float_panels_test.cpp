// Products in float32: near those in double for rows and matrices of any magnitude, and of any size beside whole tiles and panels.
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "search/relax/float_panels.h"
#include "tests/catch.h"

using assay::search::FloatPanels;

TEST_CASE("float panels multiply as a matrix in double does") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  for (const auto& [batch, lines, columns] :
       {std::array<std::size_t, 3>{1, 1, 1}, {3, 40, 33}, {8, 256, 32}, {9, 257, 31}, {17, 600, 65}, {64, 100, 10}}) {
    for (const double size : {1.0, 1e-200, 1e150}) {
      CAPTURE(batch, lines, columns, size);
      std::vector<double> matrix(lines * columns), a(batch * lines), out(batch * columns, 2 * size), expected = out;
      for (double& x : matrix) x = number(random);
      // Rows of other magnitudes stand side by side, and every third line is 0 in all of them.
      for (std::size_t k = 0; k < a.size(); ++k)
        a[k] = k % lines % 3 == 1 ? 0 : number(random) * size * std::pow(10.0, static_cast<double>(k / lines % 5));
      std::vector<double> magnitude(out.size(), 2 * size);
      for (std::size_t b = 0; b < batch; ++b) {
        for (std::size_t i = 0; i < lines; ++i) {
          for (std::size_t j = 0; j < columns; ++j) {
            expected[b * columns + j] += a[b * lines + i] * matrix[i * columns + j];
            magnitude[b * columns + j] += std::abs(a[b * lines + i] * matrix[i * columns + j]);
          }
        }
      }
      FloatPanels(lines, columns, matrix).add_product(batch, a.data(), out.data());
      for (std::size_t k = 0; k < out.size(); ++k) CHECK(std::abs(out[k] - expected[k]) <= 1e-5 * magnitude[k]);
    }
  }
}

TEST_CASE("float panels hold what float32 cannot") {
  const std::vector<double> matrix{1e300, 1e299, -1e300, 5e298}, a{1e-290, 2e-290};
  std::vector<double> out(2, 0);
  FloatPanels(2, 2, matrix).add_product(1, a.data(), out.data());
  CHECK(std::abs(out[0] + 1e10) < 1e4);
  CHECK(std::abs(out[1] - 2e9) < 1e4);
  const std::vector<double> none(2, std::nan(""));
  FloatPanels(2, 2, matrix).add_product(1, none.data(), out.data());
  CHECK(std::isnan(out[0]));
}
