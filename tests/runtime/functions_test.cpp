// The runtime's functions of floats against the C library's of doubles; and that results depend neither on the number of threads nor on
// where in an array an element stands.
#include <bit>
#include <cmath>
#include <limits>

#include <hwy/targets.h>
#include "runtime/buffers.h"
#include "runtime/threads.h"
#include "tests/runtime/executed.h"

namespace assay::test {
namespace {

// Numbers of the format between two floats; zeros are one number.
std::int64_t steps_between(float a, float b) {
  const auto position = [](float x) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffU);
    return std::signbit(x) ? -bits : bits;
  };
  return std::abs(position(a) - position(b));
}

// Floats of all binades and both signs, `apart` from each other.
std::vector<float> magnitudes(std::uint64_t first, std::uint64_t end, std::uint64_t apart) {
  std::vector<float> values;
  for (std::uint64_t bits = first; bits < end; bits += apart) values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return values;
}
constexpr std::uint64_t kFloats = std::uint64_t{1} << 32;

void check_function(Op op, double (*exact)(double), std::int64_t most, const std::vector<float>& x = magnitudes(0, kFloats, 509)) {
  const Tensor y = executed(op, NoAttributes{}, {Tensor::of_floats({static_cast<std::int64_t>(x.size())}, x)}).value();
  std::int64_t worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto computed = static_cast<float>(y.as_double(i));
    const auto nearest = static_cast<float>(exact(static_cast<double>(x[i])));
    const bool both_nan = std::isnan(computed) && std::isnan(nearest);
    if (both_nan || computed == nearest) continue;
    const std::int64_t steps =
        std::isnan(computed) || std::isnan(nearest) ? std::numeric_limits<std::int64_t>::max() : steps_between(computed, nearest);
    if (steps > worst) {
      worst = steps;
      at = i;
    }
  }
  CAPTURE(op_row(op).name, x[at], y.as_double(at), exact(static_cast<double>(x[at])));
  CHECK(worst <= most);
}

TEST_CASE("functions of floats are as near as the table glibc-2.36 says", "[runtime]") {
  check_function(
      Op::exp, [](double x) { return std::exp(x); }, 1);
  check_function(
      Op::log, [](double x) { return std::log(x); }, 1);
  check_function(
      Op::tanh, [](double x) { return std::tanh(x); }, 2);
  check_function(
      Op::erf, [](double x) { return std::erf(x); }, 1);
  check_function(
      Op::sin, [](double x) { return std::sin(x); }, 1);
  check_function(
      Op::sqrt, [](double x) { return std::sqrt(x); }, 0);
}

// Kernels as on a processor that has no more than one of the instruction sets.
class OnlyTargets {
 public:
  explicit OnlyTargets(std::int64_t targets) { set(targets); }
  OnlyTargets(const OnlyTargets&) = delete;
  OnlyTargets& operator=(const OnlyTargets&) = delete;
  ~OnlyTargets() { set(0); }

 private:
  static void set(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

TEST_CASE("tanh, erf and gelu are as near with every instruction set", "[runtime]") {
  const std::vector<float> x = magnitudes(0, kFloats, 8179);
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const OnlyTargets scope(left & -left);
    CAPTURE(hwy::TargetName(left & -left));
    check_function(
        Op::tanh, [](double v) { return std::tanh(v); }, 2, x);
    check_function(
        Op::erf, [](double v) { return std::erf(v); }, 1, x);
    check_function(
        Op::exp, [](double v) { return std::exp(v); }, 1, x);
  }
}

// Minutes: test_runtime "[.every_float]".
TEST_CASE("exp, tanh and erf of every float", "[.every_float]") {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 24;
  for (std::uint64_t first = 0; first < kFloats; first += kPiece) {
    const std::vector<float> x = magnitudes(first, first + kPiece, 1);
    check_function(
        Op::exp, [](double v) { return std::exp(v); }, 1, x);
    check_function(
        Op::tanh, [](double v) { return std::tanh(v); }, 2, x);
    check_function(
        Op::erf, [](double v) { return std::erf(v); }, 1, x);
  }
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

WindowAttributes square_window(std::int64_t kernel, std::int64_t pad) {
  WindowAttributes w;
  w.kernel = {kernel, kernel};
  w.strides = w.dilations = {1, 1};
  w.pads_begin = w.pads_end = {pad, pad};
  return w;
}

TEST_CASE("results are the same on any number of threads", "[runtime]") {
  std::mt19937_64 random(221);
  struct Run {
    Op op;
    Attributes attributes;
    std::vector<Shape> shapes;
  };
  const std::vector<Run> runs = {
      {Op::gemm, GemmAttributes{1, 1, false, true}, {{300, 784}, {512, 784}, {512}}},
      {Op::matmul, NoAttributes{}, {{6, 100, 65}, {65, 130}}},
      {Op::conv, square_window(3, 1), {{6, 16, 20, 20}, {24, 16, 3, 3}, {24}}},
      {Op::conv, square_window(20, 1), {{16, 6, 20, 20}, {24, 6, 20, 20}}},
      {Op::conv_transpose, square_window(3, 1), {{6, 16, 20, 20}, {16, 24, 3, 3}}},
      {Op::reduce_sum, ReduceAttributes{{0, 1}, false}, {{300, 1000}}},
      {Op::reduce_sum, ReduceAttributes{{0}, false}, {{1000, 300}}},
      {Op::softmax, SoftmaxAttributes{1}, {{300, 1000}}},
      {Op::normalise, NormaliseAttributes{{1}, 1e-5, NormaliseAttributes::Form::centered}, {{300, 1000}}},
      {Op::gelu, GeluAttributes{}, {{300, 1001}}},
      {Op::tanh, NoAttributes{}, {{300, 1001}}},
  };
  for (const Run& one : runs) {
    CAPTURE(op_row(one.op).name);
    for (const DType dtype : {DType::float32, DType::float64}) {
      std::vector<Tensor> operands;
      for (const Shape& shape : one.shapes) operands.push_back(gaussians(random, dtype, shape));
      runtime::set_thread_count(1);
      const Tensor alone = executed(one.op, one.attributes, operands).value();
      for (const std::size_t threads : {2U, 3U, 8U}) {
        runtime::set_thread_count(threads);
        CHECK(same_bits(alone, executed(one.op, one.attributes, operands).value()));
      }
    }
  }
  runtime::set_thread_count(0);
}

TEST_CASE("tasks run once each, nested ones and those of several callers too", "[runtime]") {
  runtime::set_thread_count(3);
  std::vector<std::size_t> counts(1000, 0);
  runtime::parallel_for(counts.size(), [&](std::size_t i) { ++counts[i]; });
  CHECK(std::all_of(counts.begin(), counts.end(), [](std::size_t count) { return count == 1; }));
  std::vector<std::size_t> nested(64 * 8, 0);
  runtime::parallel_for(64, [&](std::size_t i) { runtime::parallel_for(8, [&](std::size_t k) { ++nested[i * 8 + k]; }); });
  CHECK(std::all_of(nested.begin(), nested.end(), [](std::size_t count) { return count == 1; }));
  std::vector<std::size_t> pieces(1001, 0);
  runtime::parallel_ranges(pieces.size(), 10, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) ++pieces[i];
  });
  CHECK(std::all_of(pieces.begin(), pieces.end(), [](std::size_t count) { return count == 1; }));
  // Calls one after the other, for which workers come too late.
  std::vector<std::size_t> called(5, 0);
  for (int call = 0; call < 20000; ++call) runtime::parallel_for(called.size(), [&](std::size_t i) { ++called[i]; });
  CHECK(std::all_of(called.begin(), called.end(), [](std::size_t count) { return count == 20000; }));
  runtime::set_thread_count(0);
}

TEST_CASE("arrays: aligned, shared where said, back in the pool afterwards", "[runtime]") {
  using runtime::Array;
  const Tensor x = Tensor::of_floats({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Array array = Array::from(x);
  CHECK(same_bits(array.to_tensor(), x));
  CHECK(reinterpret_cast<std::uintptr_t>(array.raw()) % runtime::kAlignment == 0);
  const Array other = array.reshaped({3, 2});
  CHECK(other.shares_buffer_with(array));
  CHECK(other.shape() == Shape{3, 2});
  auto whole = std::make_unique<Array>(Array::from(Tensor::of_floats({32}, std::vector<float>(32, 7))));
  const Array part = whole->part(16, {4, 2});
  CHECK(part.raw() == whole->raw() + 64);
  CHECK((part.buffer().owner_before(whole->buffer()) || whole->buffer().owner_before(part.buffer())));  // a device copies it on its own
  whole.reset();
  CHECK(same_bits(part.to_tensor(), Tensor::of_floats({4, 2}, std::vector<float>(8, 7))));
  for (const std::size_t bytes : {1UL, 63UL, 64UL, 65UL, 512UL, 513UL, 4097UL, 1000000UL}) {
    const void* first = nullptr;
    {
      const std::shared_ptr<void> buffer = runtime::acquire_buffer(bytes);
      std::memset(buffer.get(), 1, bytes);
      first = buffer.get();
    }
    CHECK(runtime::acquire_buffer(bytes).get() == first);
  }
  runtime::release_unused_buffers();
}

}  // namespace
}  // namespace assay::test
