// Linear maps: entries, apply, transpose, magnitudes and integer entries against the op's denotation, entry by entry.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "kernel/rows/block.h"
#include "kernel/rows/linear_map.h"
#include "semantics/numbers/dyadic.h"
#include "semantics/numbers/wide_interval.h"
#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

namespace assay::test {
namespace {

using rows::AffineForm;
using rows::ConstantValues;
using rows::Int128;
using rows::IntegerEntries;
using rows::LinearMap;

Rational exactly(double x) { return *Rational::from_double(x); }

// The op applied to one input (operand `variable`) and constants; its node is the last one.
struct Applied {
  Graph graph;
  ConstantValues constants;
  NodeId input = 0;
};

Applied apply_to_input(const OpCase& one, std::size_t variable, std::mt19937_64& random) {
  Applied result;
  const auto values = draw_operands(one, random);
  std::vector<NodeId> operands;
  for (std::size_t i = 0; i < one.shapes.size(); ++i) {
    if (i == variable) {
      operands.push_back(result.input = result.graph.append_input(DType::float64, one.shapes[i], "x"));
      continue;
    }
    const std::vector<double> doubles(values[i].begin(), values[i].end());
    operands.push_back(result.graph.append_constant(Tensor::of_doubles(one.shapes[i], doubles)));
  }
  REQUIRE(result.graph.append(one.op, operands, one.attributes, one.name).ok());
  result.constants.is_constant.assign(result.graph.nodes.size(), false);
  result.constants.values.resize(result.graph.nodes.size());
  for (NodeId id = 0; id + 1 < result.graph.nodes.size(); ++id) {
    if (result.graph.node(id).op != Op::constant) continue;
    result.constants.is_constant[id] = true;
    result.constants.values[id] = lift<Interval>(result.graph.node(id).value);
  }
  return result;
}

// The node's value for the input x, exactly or to 256 bits.
std::vector<WideInterval> denote_at(const Applied& applied, const std::vector<double>& x) {
  const Graph& graph = applied.graph;
  std::vector<Array<WideInterval>> arrays;
  for (const NodeId id : graph.nodes.back().operands) {
    if (id != applied.input) {
      arrays.push_back(lift<WideInterval>(graph.node(id).value));
      continue;
    }
    arrays.push_back({graph.node(id).shape, {}});
    for (const double value : x) arrays.back().values.emplace_back(value);
  }
  std::vector<const Array<WideInterval>*> pointers;
  for (const auto& array : arrays) pointers.push_back(&array);
  auto result = denote<WideInterval>(graph.nodes.back(), pointers);
  REQUIRE(result.ok());
  return result.value().values;
}

std::vector<double> basis(std::size_t size, std::size_t j) {
  std::vector<double> x(size, 0.0);
  x[j] = 1;
  return x;
}

// [rows, columns], read off apply on basis vectors.
std::vector<std::vector<double>> matrix(const LinearMap& map) {
  std::vector<std::vector<double>> m(map.rows(), std::vector<double>(map.columns()));
  for (std::size_t j = 0; j < map.columns(); ++j) {
    std::vector<double> y(map.rows(), 0.0);
    map.apply(1, basis(map.columns(), j).data(), y.data());
    for (std::size_t i = 0; i < map.rows(); ++i) m[i][j] = y[i];
  }
  return m;
}

std::vector<double> integers(std::mt19937_64& random, std::size_t size) {
  std::vector<double> result(size);
  for (double& v : result) v = static_cast<double>(static_cast<std::int64_t>(random() % 9) - 4);
  return result;
}

void check_apply_and_transpose(const LinearMap& map, const std::vector<std::vector<double>>& m, std::mt19937_64& random) {
  for (const std::size_t batch : {1, 3, 4, 9}) {
    const std::vector<double> x = integers(random, batch * map.columns());
    std::vector<double> a = integers(random, batch * map.rows());
    for (std::size_t i = 0; batch % 3 == 0 && i < a.size(); ++i) a[i] *= random() % 8 == 0 ? 1 : 0;  // few, +0 and -0 elsewhere
    std::vector<double> y = integers(random, batch * map.rows()), back = integers(random, batch * map.columns());
    std::vector<double> expected_y = y, expected_back = back;  // both accumulate
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t i = 0; i < map.rows(); ++i) {
        for (std::size_t j = 0; j < map.columns(); ++j) {
          expected_y[b * map.rows() + i] += m[i][j] * x[b * map.columns() + j];
          expected_back[b * map.columns() + j] += a[b * map.rows() + i] * m[i][j];
        }
      }
    }
    map.apply(batch, x.data(), y.data());
    map.transpose(batch, a.data(), back.data());
    CHECK(y == expected_y);
    CHECK(back == expected_back);
  }
}

// Rows of some elements, in any order, come back as rows over all elements do.
void check_blocks(const LinearMap& map, const std::vector<std::vector<double>>& m, std::mt19937_64& random) {
  for (const std::size_t batch : {1, 8, 11}) {
    for (const std::size_t share : {1, 2, 5}) {  // each element is there with a chance of 1 / share
      std::vector<std::uint32_t> elements;
      for (std::uint32_t i = 0; i < map.rows(); ++i) {
        if (random() % share == 0) elements.push_back(i);
      }
      if (share > 1) std::shuffle(elements.begin(), elements.end(), random);
      rows::Block a{share > 1 ? std::make_shared<const std::vector<std::uint32_t>>(elements) : nullptr, {}}, out;
      a.values = integers(random, batch * elements.size());
      out.values.assign(3, 7.0);  // the old content does not matter
      map.transpose_block(batch, a, out);
      const std::size_t count = out.count(map.columns());
      REQUIRE(out.values.size() == batch * count);
      std::vector<double> expected(batch * map.columns(), 0.0), found = expected;
      for (std::size_t b = 0; b < batch; ++b) {
        for (std::size_t k = 0; k < elements.size(); ++k) {
          for (std::size_t j = 0; j < map.columns(); ++j)
            expected[b * map.columns() + j] += a.values[b * elements.size() + k] * m[elements[k]][j];
        }
        for (std::size_t k = 0; k < count; ++k) found[b * map.columns() + out.element(k)] += out.values[b * count + k];
      }
      CHECK(found == expected);
      CHECK((!out.elements || std::set(out.elements->begin(), out.elements->end()).size() == count));  // each once
    }
  }
}

void check_magnitude_and_pattern(const LinearMap& map, const std::vector<std::vector<double>>& m) {
  std::vector<double> x(map.columns()), magnitude(map.rows(), 1.0), pattern(map.rows(), 1.0);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<double>(j % 5);
  map.apply_magnitude(x.data(), magnitude.data());
  map.apply_pattern(x.data(), pattern.data());
  std::size_t fan_in = 0, fan_out = 0;
  for (std::size_t i = 0; i < map.rows(); ++i) {
    double expected = 1, least = 1;
    std::size_t terms = 0;
    for (std::size_t j = 0; j < map.columns(); ++j) {
      expected += std::fabs(m[i][j]) * x[j];
      if (m[i][j] != 0) least += x[j];
      terms += m[i][j] != 0 ? 1 : 0;
    }
    CHECK(magnitude[i] == expected);
    CHECK(pattern[i] >= least);
    fan_in = std::max(fan_in, terms);
  }
  for (std::size_t j = 0; j < map.columns(); ++j) {
    std::size_t terms = 0;
    for (std::size_t i = 0; i < map.rows(); ++i) terms += m[i][j] != 0 ? 1 : 0;
    fan_out = std::max(fan_out, terms);
  }
  CHECK(map.fan_in() >= fan_in);
  CHECK(map.fan_out() >= fan_out);
}

// The integer entries are those of the matrix, each within half a step.
void check_integer_entries(const LinearMap& map, const std::vector<std::vector<double>>& m, int bits) {
  const IntegerEntries entries = map.integer_entries(bits);
  for (const std::int64_t mantissa : entries.mantissas) CHECK(std::llabs(mantissa) <= (std::int64_t{1} << bits));
  const std::size_t batch = map.rows();  // one basis vector each
  std::vector<std::int64_t> a(batch * map.rows(), 0);
  for (std::size_t i = 0; i < batch; ++i) a[i * map.rows() + i] = static_cast<std::int64_t>(i % 3) - 1;
  std::vector<Int128> out(batch * map.columns(), 7);
  map.transpose(entries, batch, a.data(), out.data());
  const Rational step = entries.exponent >= 0 ? Rational(std::int64_t{1} << entries.exponent) : exactly(std::ldexp(1.0, entries.exponent));
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t j = 0; j < map.columns(); ++j) {
      const auto mantissa = static_cast<std::int64_t>(out[i * map.columns() + j] - 7);
      const Rational sign = Rational(static_cast<std::int64_t>(i % 3) - 1);
      const Rational error = abs(Rational(mantissa) * step - sign * exactly(m[i][j]));
      CHECK(error <= exactly(entries.half_step));
    }
  }
}

void check_map(const LinearMap& map, std::mt19937_64& random) {
  const auto m = matrix(map);
  check_apply_and_transpose(map, m, random);
  check_blocks(map, m, random);
  check_magnitude_and_pattern(map, m);
  for (const int bits : {54, 30}) check_integer_entries(map, m, bits);
}

bool is_affine_op(Op op) {
  const OpClass c = op_row(op).op_class;
  return c == OpClass::layout || c == OpClass::linear || c == OpClass::bilinear;
}

}  // namespace

TEST_CASE("affine forms: every entry and bias is the denotation's", "[kernel][linear_map]") {
  std::mt19937_64 random(1);
  std::size_t forms = 0;
  for (const OpCase& one : catalogue()) {
    if (!is_affine_op(one.op)) continue;
    for (std::size_t variable = 0; variable < one.shapes.size(); ++variable) {
      INFO(one.name << ", operand " << variable);
      const Applied applied = apply_to_input(one, variable, random);
      const auto form = rows::affine_form(applied.graph, static_cast<NodeId>(applied.graph.nodes.size() - 1), applied.constants);
      const bool linear = (one.op != Op::div || variable == 0) && (one.op != Op::batch_norm || variable != 4) &&
                          (!(one.op == Op::conv || one.op == Op::conv_transpose) || variable == 0);
      if (!linear) {
        CHECK_FALSE(form.ok());
        continue;
      }
      if (!form) FAIL_CHECK(form.rejection().to_text());
      if (!form) continue;
      ++forms;
      REQUIRE(form.value().parts.size() == 1);
      const AffineForm::Part& part = form.value().parts[0];
      check_map(*part.map, random);
      const std::size_t columns = part.map->columns();
      const std::vector<WideInterval> at_zero = denote_at(applied, std::vector<double>(columns, 0.0));
      REQUIRE(at_zero.size() == form.value().bias.size());
      for (std::size_t i = 0; i < at_zero.size(); ++i) {
        const double error = form.value().bias_error.empty() ? 0 : form.value().bias_error[i];
        const WideInterval gap = WideInterval(form.value().bias[i]) - at_zero[i];
        CHECK(certainly_less_equal(gap, WideInterval(error + 1e-60)));
        CHECK(certainly_less_equal(-gap, WideInterval(error + 1e-60)));
      }
      const auto m = matrix(*part.map);
      for (std::size_t j = 0; j < columns; ++j) {
        std::vector<double> error(part.map->rows(), 0.0);
        if (part.error) part.error->apply_magnitude(basis(columns, j).data(), error.data());
        const std::vector<WideInterval> y = denote_at(applied, basis(columns, j));
        for (std::size_t i = 0; i < y.size(); ++i) {
          const WideInterval gap = WideInterval(m[i][j]) - (y[i] - at_zero[i]);  // 256 bits: far finer than any error here
          CHECK(certainly_less_equal(gap, WideInterval(error[i] + 1e-60)));
          CHECK(certainly_less_equal(-gap, WideInterval(error[i] + 1e-60)));
        }
      }
    }
  }
  CHECK(forms >= 60);
}

TEST_CASE("dense maps of every layout, across tiles and panels", "[kernel][linear_map]") {
  struct Size {
    std::size_t outer, rows, columns, inner;
  };
  std::mt19937_64 random(2);
  for (const Size s : {Size{1, 1, 1, 1}, Size{2, 3, 5, 1}, Size{1, 4, 3, 6}, Size{3, 2, 4, 5}, Size{1, 37, 19, 1}, Size{2, 1, 40, 2},
                       Size{1, 0, 3, 1}, Size{1, 3, 0, 1}, Size{0, 3, 2, 1}}) {
    INFO(s.outer << " x [" << s.rows << ", " << s.columns << "] x " << s.inner);
    const std::vector<double> w = integers(random, s.rows * s.columns);
    const auto map = rows::dense_map(s.outer, s.rows, s.columns, s.inner, w);
    REQUIRE(map->rows() == s.outer * s.rows * s.inner);
    REQUIRE(map->columns() == s.outer * s.columns * s.inner);
    const auto m = matrix(*map);
    for (std::size_t i = 0; i < map->rows(); ++i) {
      for (std::size_t j = 0; j < map->columns(); ++j) {
        const std::size_t o = i / (s.rows * s.inner), r = i / s.inner % s.rows, k = i % s.inner;
        const bool meets = j / (s.columns * s.inner) == o && j % s.inner == k;
        CHECK(m[i][j] == (meets ? w[r * s.columns + j / s.inner % s.columns] : 0.0));
      }
    }
    check_map(*map, random);
  }
}

TEST_CASE("dense maps wider than one panel: the adjoint identity on integers", "[kernel][linear_map]") {
  std::mt19937_64 random(3);
  constexpr std::size_t kRows = 300, kColumns = 530, kBatch = 6;
  const std::vector<double> w = integers(random, kRows * kColumns);
  const auto map = rows::dense_map(1, kRows, kColumns, 1, w);
  const std::vector<double> x = integers(random, kBatch * kColumns), a = integers(random, kBatch * kRows);
  std::vector<double> y(kBatch * kRows, 0.0), back(kBatch * kColumns, 0.0);
  map->apply(kBatch, x.data(), y.data());
  map->transpose(kBatch, a.data(), back.data());
  const IntegerEntries entries = map->integer_entries(54);
  REQUIRE(entries.half_step == 0);
  const std::vector<std::int64_t> a_integers(a.begin(), a.end());
  std::vector<Int128> exact_back(kBatch * kColumns, 0);
  map->transpose(entries, kBatch, a_integers.data(), exact_back.data());
  for (std::size_t b = 0; b < kBatch; ++b) {
    double left = 0, right = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < kColumns; ++j) sum += w[i * kColumns + j] * x[b * kColumns + j];
      CHECK(y[b * kRows + i] == sum);
      left += a[b * kRows + i] * y[b * kRows + i];
    }
    for (std::size_t j = 0; j < kColumns; ++j) right += back[b * kColumns + j] * x[b * kColumns + j];
    CHECK(left == right);
  }
  for (std::size_t j = 0; j < back.size(); ++j) CHECK(std::ldexp(static_cast<double>(exact_back[j]), entries.exponent) == back[j]);
}

TEST_CASE("convolutions with any taps, over no channels and to none", "[kernel][linear_map]") {
  std::mt19937_64 random(5);
  for (int k = 0; k < 120; ++k) {
    const std::size_t groups = 1 + random() % 2, in = random() % 4, out = random() % 5, kernels = 1 + random() % 4;
    rows::ConvShape s{1 + random() % 2, groups, groups * out, groups * in, 1 + random() % 5, 1 + random() % 6, kernels, {}};
    INFO(k << ": " << groups << " groups of " << in << " to " << out << " channels");
    const std::vector<double> w = integers(random, kernels * groups * in * out);
    for (std::size_t t = random() % 12; t > 0; --t) {  // in no order; some follow each other, some are there twice
      const rows::ConvTap tap{static_cast<std::uint32_t>(random() % s.result_positions),
                              static_cast<std::uint32_t>(random() % s.operand_positions), static_cast<std::uint32_t>(random() % kernels)};
      s.taps.push_back(tap);
      if (tap.operand + 1 < s.operand_positions && tap.kernel + 1 < kernels)
        s.taps.push_back({tap.result, tap.operand + 1, tap.kernel + 1});
    }
    const auto map = rows::conv_map(s, w);
    std::vector<std::vector<double>> expected(map->rows(), std::vector<double>(map->columns(), 0.0));
    for (std::size_t b = 0; b < s.tensor_batch; ++b) {
      for (const rows::ConvTap& tap : s.taps) {
        for (std::size_t c = 0; c < groups * in * out; ++c) {
          const std::size_t g = c / (in * out), i = c / out % in, o = c % out;
          const std::size_t row = (b * groups * out + g * out + o) * s.result_positions + tap.result;
          expected[row][(b * groups * in + g * in + i) * s.operand_positions + tap.operand] += w[tap.kernel * groups * in * out + c];
        }
      }
    }
    CHECK(matrix(*map) == expected);
    const auto m = matrix(*map);
    check_apply_and_transpose(*map, m, random);
    check_blocks(*map, m, random);
    check_integer_entries(*map, m, 54);
  }
}

TEST_CASE("affine forms: products with weights that are mostly 0 go by their entries", "[kernel][linear_map]") {
  std::mt19937_64 random(6);
  struct Layout {
    Op op;
    Attributes attributes;
    Shape input, weights;
    std::size_t variable;  // which operand the input is
  };
  GemmAttributes transposed;
  transposed.transpose_b = true;
  const Layout layouts[] = {{Op::matmul, NoAttributes{}, {1, 48}, {48, 40}, 0}, {Op::matmul, NoAttributes{}, {48}, {40, 48}, 1},
                            {Op::gemm, GemmAttributes{}, {1, 48}, {48, 40}, 0}, {Op::gemm, transposed, {1, 48}, {40, 48}, 0},
                            {Op::gemm, GemmAttributes{}, {48, 1}, {40, 48}, 1}, {Op::matmul, NoAttributes{}, {3, 48}, {48, 40}, 0}};
  for (const Layout& layout : layouts) {
    for (const std::size_t used : {std::size_t{0}, std::size_t{7}, std::size_t{120}, std::size_t{121}}) {  // 120 is a sixteenth
      INFO(op_row(layout.op).name << ", " << used << " weights");
      std::vector<double> w(48 * 40, 0.0);
      while (static_cast<std::size_t>(std::ranges::count_if(w, [](double v) { return v != 0; })) < used)
        w[random() % w.size()] = static_cast<double>(static_cast<std::int64_t>(random() % 9) - 4);
      Applied applied;
      Graph& graph = applied.graph;
      applied.input = graph.append_input(DType::float64, layout.input, "x");
      const NodeId weights = graph.append_constant(Tensor::of_doubles(layout.weights, w));
      const std::vector<NodeId> operands = layout.variable == 0 ? std::vector{applied.input, weights} : std::vector{weights, applied.input};
      REQUIRE(graph.append(layout.op, operands, layout.attributes, "y").ok());
      applied.constants.is_constant = {false, true, false};
      applied.constants.values = {{}, lift<Interval>(graph.node(weights).value), {}};
      const auto form = rows::affine_form(graph, 2, applied.constants);
      REQUIRE(form.ok());
      const LinearMap& map = *form.value().parts.at(0).map;
      const bool is_single = layout.input != Shape{3, 48};
      CHECK(map.cost() == (is_single && used > 0 && used <= 120 ? used + (48 + 40) / 8 : map.rows() * 48));
      check_map(map, random);
      const auto m = matrix(map);
      for (std::size_t j = 0; j < map.columns(); ++j) {
        const std::vector<WideInterval> y = denote_at(applied, basis(map.columns(), j));
        for (std::size_t i = 0; i < y.size(); ++i) CHECK((y[i].contains(exactly(m[i][j])) && y[i].is_point()));
      }
    }
  }
}

TEST_CASE("affine forms: a matrix with weights that are 0 but for their errors counts all their terms", "[kernel][linear_map]") {
  // alpha w = -2^-1120 lies between -2^-1074 and 0: executions may add any number of that interval, each by an addition that rounds.
  std::vector<double> w(16 * 64, 0.0);
  std::fill_n(w.begin(), 64, -0x1p-1000);
  w[0] = 1.5;
  GemmAttributes attributes;
  attributes.transpose_b = true;
  attributes.alpha = 0x1p-120;
  Applied applied;
  Graph& graph = applied.graph;
  const NodeId x = graph.append_input(DType::float64, {1, 64}, "x"), weights = graph.append_constant(Tensor::of_doubles({16, 64}, w));
  REQUIRE(graph.append(Op::gemm, {x, weights}, attributes, "y").ok());
  applied.constants.is_constant = {false, true, false};
  applied.constants.values = {{}, lift<Interval>(graph.node(weights).value), {}};
  const auto form = rows::affine_form(graph, 2, applied.constants);
  REQUIRE(form.ok());
  CHECK(form.value().parts.at(0).map->fan_in() >= 64);
  std::vector<double> pattern(16, 0.0), error(16, 0.0);
  form.value().parts[0].map->apply_pattern(std::vector<double>(64, 1.0).data(), pattern.data());
  CHECK(pattern[0] == 64);
  REQUIRE(form.value().parts[0].error != nullptr);
  form.value().parts[0].error->apply_magnitude(std::vector<double>(64, 1.0).data(), error.data());
  CHECK(error[0] >= 63 * 0x1p-1074);
}

TEST_CASE("sparse maps add up repeated entries", "[kernel][linear_map]") {
  std::mt19937_64 random(4);
  const auto map = rows::sparse_map(3, 4, {{2, 1, 3.0}, {0, 0, 1.0}, {2, 1, -1.0}, {1, 3, 0.0}, {2, 0, 5.0}});
  const auto m = matrix(*map);
  CHECK(m == std::vector<std::vector<double>>{{1, 0, 0, 0}, {0, 0, 0, 0}, {5, 2, 0, 0}});
  check_apply_and_transpose(*map, m, random);
  CHECK(map->fan_in() == 3);
  CHECK(map->fan_out() == 2);
}

// Side condition of the exact path: the half step covers every entry, subnormal and huge ones included.
TEST_CASE("integer entries of extreme weights", "[kernel][linear_map]") {
  const std::vector<std::vector<double>> rows{{0x1p-1074, 0x1p-1073},
                                              {0x1p-1074, 1},
                                              {0x1p1023, 0x1p-1074},
                                              {0.1, 1.0 / 3},
                                              {0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023},
                                              {0, 0},
                                              {-0.0, 1},
                                              {0x1.fffffffffffffp0, 0x1.fffffffffffffp-54}};
  for (const auto& w : rows) {
    const auto map = rows::dense_map(1, 1, w.size(), 1, w);
    for (const int bits : {54, 40, 2}) {
      const IntegerEntries entries = map->integer_entries(bits);
      for (std::size_t j = 0; j < w.size(); ++j) {
        const Dyadic value(static_cast<Int128>(entries.mantissas[j]), entries.exponent);
        CHECK(abs(value.to_rational() - exactly(w[j])) <= exactly(entries.half_step));
        CHECK(std::llabs(entries.mantissas[j]) <= (std::int64_t{1} << bits));
      }
    }
  }
}

}  // namespace assay::test
