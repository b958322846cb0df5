// What the contracts see: the accuracy of this machine's C library against its table, the share of wrong dot products that are
// flagged, and how much of the allowance right executions use.   bench_contracts [ulps|power|room]
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#include "kernel/contracts/contract.h"
#include "kernel/floats/math_tables.h"
#include "semantics/numbers/floating.h"
#include "tests/audit/contracts/float_executions.h"

namespace {

using namespace assay;
using namespace assay::test;
using contracts::Admissible;
using contracts::Judgement;

ExecutionModel model_of(const std::string& table) {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  model.math_table = table;
  return model;
}
Tensor tensor(const Floats& values) { return Tensor::of_floats({static_cast<std::int64_t>(values.size())}, values); }
Judgement judged(const Admissible& sets, const Floats& values) {
  return contracts::judge(sets, Tensor::of_floats(sets.sets.shape, values)).value();
}

// ---- the C library ----

struct Library {
  const char* name;
  Function function;
  float (*single)(float);
  double (*wide)(double);
};
const Library kLibrary[] = {
    {"exp", Function::exp, std::exp, std::exp},         {"expm1", Function::expm1, std::expm1, std::expm1},
    {"log", Function::log, std::log, std::log},         {"log1p", Function::log1p, std::log1p, std::log1p},
    {"sin", Function::sin, std::sin, std::sin},         {"cos", Function::cos, std::cos, std::cos},
    {"tan", Function::tan, std::tan, std::tan},         {"asin", Function::asin, std::asin, std::asin},
    {"acos", Function::acos, std::acos, std::acos},     {"atan", Function::atan, std::atan, std::atan},
    {"sinh", Function::sinh, std::sinh, std::sinh},     {"cosh", Function::cosh, std::cosh, std::cosh},
    {"tanh", Function::tanh, std::tanh, std::tanh},     {"asinh", Function::asinh, std::asinh, std::asinh},
    {"acosh", Function::acosh, std::acosh, std::acosh}, {"atanh", Function::atanh, std::atanh, std::atanh},
    {"erf", Function::erf, std::erf, std::erf},         {"erfc", Function::erfc, std::erfc, std::erfc},
};

std::int64_t position(float value) {
  std::int32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? std::int64_t{INT32_MIN} - bits : bits;
}

// The nearest float: from the double function where that decides (its error is far below 2^-40), else by MPFR.
float nearest_value(const Library& one, float x) {
  const double wide = one.wide(static_cast<double>(x));
  const auto near = [](double value) { return static_cast<float>(value); };
  if (std::isnan(wide) || near(wide * (1 - 0x1p-40)) == near(wide * (1 + 0x1p-40))) return near(wide);
  return apply(one.function, x);
}

void print_ulps(std::uint32_t stride) {
  std::printf("C library, float32, one float in %u; steps from the nearest value\n", stride);
  std::printf("%-8s %8s %8s %16s %12s\n", "function", "table", "measured", "at", "share > 0");
  for (const Library& one : kLibrary) {
    std::int64_t worst = 0, off = 0, count = 0;
    float at = 0;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += stride) {
      const auto narrow = static_cast<std::uint32_t>(bits);
      float x = 0;
      std::memcpy(&x, &narrow, sizeof x);
      if (!std::isfinite(x)) continue;
      const float nearest = nearest_value(one, x), received = one.single(x);
      if (std::isnan(nearest)) continue;
      const std::int64_t steps = std::llabs(position(received) - position(nearest));
      count += 1;
      off += steps > 0 ? 1 : 0;
      if (steps <= worst) continue;
      worst = steps;
      at = x;
    }
    double row_bound = -1;
    for (const floats::MathRow& row : floats::find_math_table("glibc-2.36")->rows) {
      if (row.function == one.name && row.format == contracts::Format::binary32) row_bound = row.bound;
    }
    std::printf("%-8s %8.0f %8lld %16a %11.3f%%\n", one.name, row_bound, static_cast<long long>(worst), static_cast<double>(at),
                100.0 * static_cast<double>(off) / static_cast<double>(count));
  }
}

// ---- power ----

Floats narrowed(Floats x) {
  for (float& value : x) value = tf32(value);
  return x;
}
float half_sum(const Floats& terms) {
  float sum = 0;
  for (const float term : terms) sum = rounded_to_half(sum + term);
  return sum;
}

void print_power() {
  std::printf(
      "\nshare of wrong dot products flagged, %%: factors as TF32 / one product dropped / partial sums in binary16; right ones flagged\n");
  std::printf("%6s %28s %28s %28s %28s\n", "K", "dense, any order", "dense, tree 32 + log2(K/32)", "16 non-zeros", "integers to 4");
  std::mt19937_64 random(1);
  constexpr int kRounds = 100;
  for (const std::size_t k : {64U, 256U, 1024U, 4096U}) {
    std::printf("%6zu", k);
    for (int kind = 0; kind < 4; ++kind) {
      ExecutionModel model = model_of("");
      if (kind == 1) {
        model.accumulator = ExecutionModel::Accumulator::tree;
        model.tree_height = 32 + static_cast<std::uint32_t>(std::log2(static_cast<double>(k) / 32));
      }
      std::size_t tf = 0, dropped = 0, half = 0, wrong = 0;
      for (int round = 0; round < kRounds; ++round) {
        const Floats a = kind == 3 ? small_integers(random, k) : gaussians(random, k);
        const Floats b = kind == 3 ? small_integers(random, k) : kind == 2 ? sparse(random, k, 16) : gaussians(random, k);
        const Tensor operands[] = {tensor(a), tensor(b)};
        const Admissible sets = contracts::admissible(Op::matmul, NoAttributes{}, model, operands).value();
        Floats terms = products(a, b);
        wrong += judged(sets, {pairwise(terms)}).failed;
        half += judged(sets, {half_sum(terms)}).failed;
        tf += judged(sets, {pairwise(products(narrowed(a), narrowed(b)))}).failed;
        const auto present = std::find_if(terms.begin(), terms.end(), [](float term) { return term != 0; });
        if (present != terms.end()) *present = 0;
        dropped += judged(sets, {pairwise(terms)}).failed;
      }
      std::printf("      %5zu /%5zu /%5zu;%4zu", tf, dropped, half, wrong);
    }
    std::printf("\n");
  }
}

// ---- head-room ----

using Run = std::function<float(float)>;
void print_room(const char* name, Op op, const Attributes& attributes, const Run& run, float scale) {
  std::mt19937_64 random(2);
  const Floats x = gaussians(random, 4000, scale);
  Floats y;
  for (const float value : x) y.push_back(run(value));
  const Tensor operands[] = {tensor(x)};
  const Judgement result = judged(contracts::admissible(op, attributes, model_of("glibc-2.36"), operands).value(), y);
  std::printf("%-28s %8zu %8zu %8zu %10.3f\n", name, result.passed, result.failed, result.vacuous, result.head_room_used);
}
void print_room(const char* name, Op op, const Attributes& attributes, std::size_t n, float shift,
                const std::function<Floats(const Floats&)>& run) {
  std::mt19937_64 random(3);
  Judgement total;
  for (int round = 0; round < 40; ++round) {
    const Floats x = gaussians(random, n, 1, shift);
    const Tensor operands[] = {tensor(x)};
    const Judgement one = judged(contracts::admissible(op, attributes, model_of("glibc-2.36"), operands).value(), run(x));
    total.passed += one.passed;
    total.failed += one.failed;
    total.vacuous += one.vacuous;
    total.head_room_used = std::max(total.head_room_used, one.head_room_used);
  }
  std::printf("%-28s %8zu %8zu %8zu %10.3f\n", name, total.passed, total.failed, total.vacuous, total.head_room_used);
}

Floats softmax(const Floats& x) {
  const float greatest = *std::max_element(x.begin(), x.end());
  Floats y;
  for (const float value : x) y.push_back(std::exp(value - greatest));
  const float sum = in_order(y);
  for (float& value : y) value /= sum;
  return y;
}
Floats layer_norm(const Floats& x) {
  const float n = static_cast<float>(x.size()), mean = in_order(x) / n;
  Floats squares, y;
  for (const float value : x) squares.push_back((value - mean) * (value - mean));
  const float root = std::sqrt(in_order(squares) / n + 1e-5F);
  for (const float value : x) y.push_back((value - mean) / root);
  return y;
}

void print_rooms() {
  std::printf("\nhead-room: largest |error| / allowance of executions by float32 and this C library\n");
  std::printf("%-28s %8s %8s %8s %10s\n", "op", "passed", "failed", "vacuous", "used");
  const ReduceAttributes all{{0}, false};
  for (const std::size_t n : {16U, 256U, 4096U}) {
    const std::string size = " of " + std::to_string(n);
    print_room(("reduce_sum in order" + size).c_str(), Op::reduce_sum, all, n, 0, [](const Floats& x) { return Floats{in_order(x)}; });
    print_room(("reduce_sum pairwise" + size).c_str(), Op::reduce_sum, all, n, 0, [](const Floats& x) { return Floats{pairwise(x)}; });
    print_room(("softmax" + size).c_str(), Op::softmax, SoftmaxAttributes{0}, n, 0, softmax);
    const NormaliseAttributes norm{{0}, static_cast<double>(1e-5F), NormaliseAttributes::Form::centered};
    print_room(("layer norm" + size).c_str(), Op::normalise, norm, n, 0, layer_norm);
    print_room(("layer norm, mean 10," + size).c_str(), Op::normalise, norm, n, 10, layer_norm);
  }
  print_room(
      "exp", Op::exp, NoAttributes{}, [](float x) { return std::exp(x); }, 4);
  print_room(
      "tanh", Op::tanh, NoAttributes{}, [](float x) { return std::tanh(x); }, 2);
  print_room(
      "sigmoid", Op::sigmoid, NoAttributes{}, [](float x) { return 1.0F / (1.0F + std::exp(-x)); }, 4);
  print_room(
      "silu", Op::silu, ActivationAttributes{1, 0}, [](float x) { return x / (1.0F + std::exp(-x)); }, 4);
  print_room(
      "gelu", Op::gelu, GeluAttributes{false}, [](float x) { return 0.5F * x * (1.0F + std::erf(x * 0.70710678F)); }, 2);
  print_room(
      "softplus", Op::softplus, NoAttributes{}, [](float x) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::fabs(x))); }, 4);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  constexpr std::uint32_t kStride = 61;
  if (what == "all" || what == "power") print_power();
  if (what == "all" || what == "room") print_rooms();
  if (what == "all" || what == "ulps") print_ulps(kStride);
  return what == "all" || what == "power" || what == "room" || what == "ulps" ? 0 : 2;
}
