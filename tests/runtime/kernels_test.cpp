// Every op of the vocabulary, run by the runtime, lies within its contract: random operands, special values, both float formats, integers.
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <set>

#include "kernel/gradients/adjointness/cases.h"
#include "tests/runtime/executed.h"
#include "tests/semantics/ops_catalogue.h"

namespace assay::test {
namespace {

using gradients::adjoint_cases;
using gradients::AdjointCase;

double number(std::mt19937_64& random, Draw from) {
  std::normal_distribution<double> normal;
  const double whole = draw(random, from);
  if (from == Draw::any) return whole + normal(random) * 0.37;
  if (from == Draw::positive || from == Draw::square) return whole + 0.61 * std::fabs(normal(random)) + 0.01;
  if (from == Draw::fraction) return std::tanh(normal(random)) * 0.9;
  return from == Draw::non_zero ? whole * (1 + 0.3 * std::tanh(normal(random))) : whole;
}

Tensor whole_numbers(DType dtype, Shape shape, const std::vector<std::int64_t>& values) {
  const auto as = [&](auto type) {
    using T = decltype(type);
    return tensor_of<T>(dtype, shape, std::vector<T>(values.begin(), values.end()));
  };
  switch (byte_size(dtype)) {
    case 1:
      return as(std::uint8_t());
    case 2:
      return as(std::uint16_t());
    case 4:
      return as(std::uint32_t());
    default:
      return as(std::uint64_t());
  }
}

// The catalogue's operands: reals get `dtype`, indices and truth values their own.
template <class F>
std::vector<Tensor> operands_of(const OpCase& one, DType dtype, std::mt19937_64& random, const F& real) {
  std::vector<Tensor> operands;
  for (std::size_t k = 0; k < one.shapes.size(); ++k) {
    const Draw from = draw_of(one, k);
    const std::size_t count = element_count(one.shapes[k]);
    if (from == Draw::truth || from == Draw::whole || from == Draw::index) {
      std::vector<std::int64_t> values;
      for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<std::int64_t>(draw(random, from)));
      operands.push_back(whole_numbers(from == Draw::truth ? DType::boolean : DType::int64, one.shapes[k], values));
      continue;
    }
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(real(from));
    operands.push_back(dtype == DType::float64 ? Tensor::of_doubles(one.shapes[k], values)
                                               : Tensor::of_floats(one.shapes[k], std::vector<float>(values.begin(), values.end())));
  }
  return operands;
}

// Vacuous elements say nothing; a handful of them is expected where steps cancel.
void report(const char* what, const Tallies& tallies) {
  std::size_t passed = 0, vacuous = 0;
  std::string listed;
  for (const auto& [name, tally] : tallies) {
    passed += tally.passed;
    vacuous += tally.vacuous;
    if (tally.vacuous > 0)
      listed += " " + name + " " + std::to_string(tally.vacuous) + " of " + std::to_string(tally.passed + tally.vacuous) + ";";
  }
  std::cout << what << ": " << passed << " elements within contract, " << vacuous << " vacuous:" << listed << "\n";
  CHECK(passed > 100 * vacuous);
}

TEST_CASE("every op of the catalogue runs within its contract", "[runtime]") {
  std::mt19937_64 random(211);
  Tallies tallies;
  std::set<Op> seen;
  for (const OpCase& one : catalogue()) {
    CAPTURE(one.name);
    seen.insert(one.op);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (int round = 0; round < 3; ++round) {
        check_within_contract(one.op, one.attributes, operands_of(one, dtype, random, [&](Draw from) { return number(random, from); }),
                              tallies);
      }
    }
  }
  for (int op = 0; op < kOpCount; ++op) {
    const bool leaf = op_row(static_cast<Op>(op)).op_class == OpClass::leaf;
    CAPTURE(op_row(static_cast<Op>(op)).name);
    CHECK(seen.count(static_cast<Op>(op)) == (leaf ? 0 : 1));
  }
  report("catalogue", tallies);
}

TEST_CASE("the representative applications of every op run within their contracts", "[runtime]") {
  std::mt19937_64 random(212);
  Tallies tallies;
  for (int op = 0; op < kOpCount; ++op) {
    for (const AdjointCase& one : adjoint_cases(static_cast<Op>(op))) {
      CAPTURE(one.name);
      const Node& node = one.graph.node(one.graph.outputs[0]);
      for (const DType dtype : {DType::float32, DType::float64}) {
        std::vector<Tensor> operands;
        for (std::size_t k = 0; k < node.operands.size(); ++k) {
          const Node& input = one.graph.node(node.operands[k]);
          const auto& [lo, hi] = one.domains[k];
          std::vector<double> values(element_count(input.shape));
          std::uniform_real_distribution<double> real(lo, hi);
          std::uniform_int_distribution<std::int64_t> whole(static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi));
          for (double& value : values) value = is_float(input.dtype) ? real(random) : static_cast<double>(whole(random));
          if (is_float(input.dtype)) {
            const bool fixed = node.op == Op::cast;
            operands.push_back(converted(Tensor::of_doubles(input.shape, values), fixed ? input.dtype : dtype));
          } else {
            operands.push_back(whole_numbers(input.dtype, input.shape, std::vector<std::int64_t>(values.begin(), values.end())));
          }
        }
        check_within_contract(node.op, node.attributes, operands, tallies);
      }
    }
  }
  report("representative set", tallies);
}

TEST_CASE("special values: zeros of both signs, subnormals, infinities, NaN, ties", "[runtime]") {
  std::mt19937_64 random(213);
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::array kFloats = {
      0.0,      -0.0, 1.0, 1.0,  -2.5,  kInfinity, -kInfinity, kNaN,  0x1p-149, -0x1.8p-127, 0x1.fffffep127, -0x1.fffffep127,
      0x1p-126, 0.5,  1.5, 88.5, -88.5, -104.5,    1e-30,      -1e30, 1e-4,     -9.5};
  const std::array kDoubles = {0.0,
                               -0.0,
                               1.0,
                               1.0,
                               -2.5,
                               kInfinity,
                               -kInfinity,
                               kNaN,
                               0x1p-1074,
                               -0x1.8p-1023,
                               0x1.fffffffffffffp1023,
                               -0x1.fffffffffffffp1023,
                               0x1p-1022,
                               0.5,
                               1.5,
                               709.5,
                               -709.5,
                               -750.0,
                               1e-300,
                               -1e300,
                               1e-4,
                               -9.5};
  Tallies tallies;
  for (const OpCase& one : catalogue()) {
    CAPTURE(one.name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (int round = 0; round < 12; ++round) {
        // Rounds with few special values among ordinary ones, and rounds of nothing else.
        const auto real = [&](Draw from) {
          if (round < 8 && random() % 8 != 0) return number(random, from);
          return dtype == DType::float32 ? kFloats[random() % kFloats.size()] : kDoubles[random() % kDoubles.size()];
        };
        if (one.op == Op::max_weight || one.op == Op::cast) continue;  // NaN is outside their domains; casts have a test of their own
        check_within_contract(one.op, one.attributes, operands_of(one, dtype, random, real), tallies);
      }
    }
  }
}

TEST_CASE("ops on integers and truth values", "[runtime]") {
  std::mt19937_64 random(214);
  Tallies tallies;
  constexpr std::array kTypes = {DType::int64,  DType::int32,  DType::int16, DType::int8,   DType::uint64,
                                 DType::uint32, DType::uint16, DType::uint8, DType::boolean};
  std::set<Op> seen;
  for (const OpCase& one : catalogue()) {
    CAPTURE(one.name);
    for (const DType dtype : kTypes) {
      std::vector<Tensor> operands;
      for (std::size_t k = 0; k < one.shapes.size(); ++k) {
        const Draw from = draw_of(one, k);
        const bool own_type = from == Draw::truth || from == Draw::index;
        std::vector<std::int64_t> values;
        for (std::size_t i = 0; i < element_count(one.shapes[k]); ++i) {
          auto value = static_cast<std::int64_t>(draw(random, from));
          if (!own_type && dtype == DType::boolean) value = value > 0 ? 1 : 0;
          if (!own_type && (is_unsigned(dtype) || one.op == Op::power)) value = std::abs(value);
          values.push_back(value);
        }
        operands.push_back(whole_numbers(from == Draw::truth   ? DType::boolean
                                         : from == Draw::index ? DType::int64
                                                               : dtype,
                                         one.shapes[k], values));
      }
      Graph graph;
      std::vector<NodeId> ids;
      for (const Tensor& operand : operands) ids.push_back(graph.append_input(operand.dtype(), operand.shape(), "x"));
      if (!infer(graph, one.op, ids, one.attributes)) continue;                            // takes no such elements
      if (one.op == Op::pad && (is_unsigned(dtype) || dtype == DType::boolean)) continue;  // the cases pad with -1 and 7
      seen.insert(one.op);
      check_within_contract(one.op, one.attributes, operands, tallies);
    }
  }
  CHECK(seen.size() > 40);
  report("integers", tallies);
}

TEST_CASE("larger shapes: more than one tile, panel, piece and task", "[runtime]") {
  std::mt19937_64 random(215);
  Tallies tallies;
  const auto check = [&](Op op, const Attributes& attributes, const std::vector<Shape>& shapes) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      std::vector<Tensor> operands;
      for (const Shape& shape : shapes) operands.push_back(gaussians(random, dtype, shape));
      CAPTURE(op_row(op).name, to_string(shapes[0]));
      check_within_contract(op, attributes, operands, tallies);
    }
  };
  for (const std::int64_t m : {1, 2, 13, 14, 15, 37, 130}) {
    check(Op::gemm, GemmAttributes{1, 1, false, false}, {{m, 300}, {300, 67}, {67}});
    check(Op::gemm, GemmAttributes{1, 1, false, true}, {{m, 61}, {35, 61}, {35}});
    check(Op::gemm, GemmAttributes{1, 1, true, false}, {{61, m}, {61, 33}});
    check(Op::gemm, GemmAttributes{0.5, 2, true, true}, {{61, m}, {40, 61}, {m, 1}});
    check(Op::matmul, NoAttributes{}, {{m, 520}, {520}});
    check(Op::matmul, NoAttributes{}, {{520}, {520, m}});
  }
  check(Op::matmul, NoAttributes{}, {{6, 1, 20, 17}, {5, 17, 19}});
  check(Op::matmul, NoAttributes{}, {{3, 20, 40}, {40, 50}});
  check(Op::conv, window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}), {{5, 6, 17, 19}, {20, 6, 3, 3}, {20}});
  check(Op::conv, window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}), {{2, 16, 33, 18}, {17, 16, 3, 3}});
  check(Op::conv, window({1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}), {{3, 32, 9, 9}, {40, 32, 1, 1}, {40}});
  check(Op::conv, window({5, 3}, {1, 2}, {2, 3}, {4, 0}, {1, 3}, 2), {{4, 6, 20, 21}, {8, 3, 5, 3}, {8}});
  check(Op::conv, window({16, 15}, {1, 1}, {1, 1}, {1, 1}, {1, 1}), {{12, 4, 16, 15}, {10, 4, 16, 15}});  // a gradient in the weights
  check(Op::conv_transpose, window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}), {{5, 20, 17, 19}, {20, 6, 3, 3}, {6}});
  check(Op::conv_transpose, with_output_padding(window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}), {1, 0}), {{2, 16, 9, 18}, {16, 7, 3, 3}});
  check(Op::max_pool, window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}), {{4, 7, 33, 40}});
  check(Op::avg_pool, window({2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}), {{4, 7, 32, 40}});
  for (const std::int64_t n : {1, 31, 32, 33, 1000, 20000}) {
    check(Op::reduce_sum, ReduceAttributes{{1}, false}, {{3, n}});
    check(Op::reduce_max, ReduceAttributes{{0}, false}, {{n, 3}});
    if (n > 1000) continue;  // contracts of long sums are vacuous
    check(Op::reduce_mean, ReduceAttributes{{0, 2}, true}, {{2, 7, n}});
    check(Op::softmax, SoftmaxAttributes{1}, {{5, n}});
    check(Op::softmax, SoftmaxAttributes{0}, {{n, 5}});
    check(Op::log_softmax, SoftmaxAttributes{1}, {{5, n}});
    check(Op::log_sum_exp, ReduceAttributes{{0, 2}, false}, {{2, 3, n}});
    check(Op::normalise, NormaliseAttributes{{1}, 1e-5, NormaliseAttributes::Form::centered}, {{4, n}});
  }
  check(Op::permute, PermuteAttributes{{2, 0, 1}}, {{33, 47, 20}});
  check(Op::permute, PermuteAttributes{{1, 0}}, {{130, 257}});
  check(Op::permute, PermuteAttributes{{0, 2, 1, 3}}, {{3, 40, 5, 64}});
  check(Op::permute, PermuteAttributes{{3, 2, 1, 0}}, {{8, 9, 10, 11}});
  check(Op::add, NoAttributes{}, {{3, 5, 700}, {5, 1}});
  check(Op::add, NoAttributes{}, {{40000}, {}});
  check(Op::mul, NoAttributes{}, {{64, 1, 30}, {50, 1}});
  check(Op::max, NoAttributes{}, {{20, 30}, {30}, {20, 1}, {}});
  check(Op::exp, NoAttributes{}, {{100, 333}});
}

TEST_CASE("casts: rounding, truncation, saturation", "[runtime]") {
  const auto cast = [](const Tensor& x, DType to) {
    return executed(Op::cast, CastAttributes{static_cast<std::uint8_t>(to)}, {x}).value();
  };
  const Tensor x = Tensor::of_doubles({9}, std::vector<double>{0, -0.9, 2.7, -2.7, 127.5, -129, 300, NAN, INFINITY});
  CHECK(cast(x, DType::int8).to_ints() == std::vector<std::int64_t>{0, 0, 2, -2, 127, -128, 127, 0, 127});
  CHECK(cast(x, DType::uint8).to_ints() == std::vector<std::int64_t>{0, 0, 2, 0, 127, 0, 255, 0, 255});
  CHECK(cast(x, DType::boolean).to_ints() == std::vector<std::int64_t>{0, 1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor big = Tensor::of_doubles({4}, std::vector<double>{1e30, -1e30, 0x1p62, -0x1p63});
  CHECK(cast(big, DType::int64).to_ints() == std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                                                       std::numeric_limits<std::int64_t>::min(), std::int64_t{1} << 62,
                                                                       std::numeric_limits<std::int64_t>::min()});
  CHECK(cast(Tensor::of_ints({3}, std::vector<std::int64_t>{-1, 256, 129}), DType::int8).to_ints() ==
        std::vector<std::int64_t>{-1, 0, -127});
  CHECK(cast(Tensor::of_doubles({2}, std::vector<double>{0.1, 1e300}), DType::float32).to_doubles() ==
        std::vector<double>{static_cast<double>(0.1F), INFINITY});
}

TEST_CASE("what only values can break is a rejection that says where", "[runtime]") {
  const Tensor ones = Tensor::of_ints({3}, std::vector<std::int64_t>{1, 1, 1});
  const auto code = [](const Outcome<Tensor>& y) { return y.ok() ? std::string("none") : y.rejection().code; };
  const Tensor divisors = Tensor::of_ints({3}, std::vector<std::int64_t>{1, 0, 2});
  CHECK(code(executed(Op::div, NoAttributes{}, {ones, divisors})) == "runtime.divisor");
  CHECK(code(executed(Op::mod, ModAttributes{}, {ones, divisors})) == "runtime.divisor");
  CHECK(executed(Op::div, NoAttributes{}, {ones, divisors}).rejection().place == "div, divisor, element 1");
  const Tensor negative = Tensor::of_ints({3}, std::vector<std::int64_t>{0, 1, -1});
  CHECK(code(executed(Op::power, NoAttributes{}, {ones, negative})) == "runtime.exponent");
  const Tensor x = Tensor::of_ints({2}, std::vector<std::int64_t>{5, 6});
  CHECK(code(executed(Op::take, ConcatAttributes{0}, {negative, x})) == "none");
  CHECK(code(executed(Op::take, ConcatAttributes{0}, {Tensor::of_ints({1}, std::vector<std::int64_t>{2}), x})) == "runtime.index");
  CHECK(code(executed(Op::take, ConcatAttributes{0}, {Tensor::of_ints({1}, std::vector<std::int64_t>{-3}), x})) == "runtime.index");
  const Tensor least = Tensor::of_ints({1}, std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
  const Tensor minus_one = Tensor::of_ints({1}, std::vector<std::int64_t>{-1});
  CHECK(executed(Op::div, NoAttributes{}, {least, minus_one}).value().to_ints() == least.to_ints());  // wraps around
  CHECK(executed(Op::mod, ModAttributes{}, {least, minus_one}).value().to_ints() == std::vector<std::int64_t>{0});
}

TEST_CASE("complex elements are moved, compared and chosen, and refused elsewhere", "[runtime]") {
  using Complex = std::complex<float>;
  const Tensor x = tensor_of<Complex>(DType::complex64, {2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  const Tensor y = executed(Op::permute, PermuteAttributes{{1, 0}}, {x}).value();
  const Tensor expected = tensor_of<Complex>(DType::complex64, {2, 2}, {{1, 2}, {5, 6}, {3, 4}, {7, 8}});
  CHECK(std::equal(y.bytes().begin(), y.bytes().end(), expected.bytes().begin()));
  CHECK(executed(Op::equal, NoAttributes{}, {x, expected}).value().to_ints() == std::vector<std::int64_t>{1, 0, 0, 1});
  const Tensor padded = executed(Op::pad, PadAttributes{{0, 1}, {0, 0}, 9}, {x}).value();
  const Tensor wide = tensor_of<Complex>(DType::complex64, {2, 3}, {{9, 0}, {1, 2}, {3, 4}, {9, 0}, {5, 6}, {7, 8}});
  CHECK(std::equal(padded.bytes().begin(), padded.bytes().end(), wide.bytes().begin()));
  CHECK(executed(Op::reduce_max, ReduceAttributes{{0}, false}, {x}).rejection().code == "runtime.dtype");
}

}  // namespace
}  // namespace assay::test
