// Functions of one variable: an element passes if some execution that the model admits gives exactly its bits. Such an
// execution takes, for each value of a library's function, a float that the row of the mathematics table allows, and
// rounds every other step to nearest. The contract (kernel/contracts/functions.cpp, activation.cpp) is the set of all
// results of such executions. A few floats next to the exact value are tried.
//
// The set of a softmax with its maximum subtracted is all floats between two. An element passes if the set holds a
// smaller and a larger number: numerators as above over sums that Q1 and Q2 admit (quick_sums.h). exp(-inf) is 0, and
// no term of the sum.
//
// Not vacuous: a softmax of at most kMostInLine elements is a quotient of such a numerator by a sum whose set is not
// wider than 2^-10. A library's function is within kMostSteps of a normal number, and sigmoid and silu divide and
// multiply such numbers. In gelu 1 + erf may cancel: for x > -2 it is above 2^-5, and its set is not wider than 2^-17.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "kernel/contracts/contract.h"
#include "kernel/floats/math_tables.h"
#include "kernel/quick/quick_sums.h"
#include "semantics/ops/families.h"

namespace assay::quick {

namespace {

using floats::MathRow;
constexpr double kMostSteps = 4;
constexpr float kLeast = 0x1p-126F;
constexpr double kLeastGelu = -2;

bool is_normal(float value) { return std::fabs(value) >= kLeast && std::isfinite(value); }
bool is_same(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

// Some of the floats that a library's function may give.
struct Candidates {
  std::array<float, 5> values{};
  std::size_t count = 0;
  [[nodiscard]] const float* begin() const { return values.data(); }
  [[nodiscard]] const float* end() const { return values.data() + count; }
};

class LibraryFunction {
 public:
  LibraryFunction(const ExecutionModel& model, Function f, std::string_view name) : f_(f) {
    const floats::MathTable* table = floats::find_math_table(model.math_table);
    if (table == nullptr) return;
    for (const floats::MathRow& row : table->rows) {
      if (row.function == name && row.format == contracts::Format::binary32) rows_.push_back(row);
    }
  }
  [[nodiscard]] bool exists() const { return !rows_.empty(); }

  // `most`: how many of them are looked for; the first one is nearest to the exact value.
  [[nodiscard]] Candidates at(float x, std::size_t most = 5) const {
    Candidates candidates;
    const auto row = std::ranges::find_if(rows_, [x](const floats::MathRow& one) { return one.lo <= x && x <= one.hi; });
    if (row == rows_.end() || !std::isfinite(x) || !(row->bound <= kMostSteps) || row->slope != 0) return candidates;
    const Interval exact = apply(f_, Interval(static_cast<double>(x)));
    const auto nearest = static_cast<float>(exact.lo());
    if (!is_normal(nearest) || !is_same(nearest, static_cast<float>(exact.hi()))) return candidates;
    candidates.values[candidates.count++] = nearest;
    const bool is_sigmoidal = f_ == Function::tanh || f_ == Function::erf;
    if (is_sigmoidal && floats::is_saturated(floats::Format::binary32, exact)) return candidates;
    float up = nearest, down = nearest;
    for (int steps = 1; steps <= 2 && candidates.count < most; ++steps) {
      up = std::nextafterf(up, HUGE_VALF);
      down = std::nextafterf(down, -HUGE_VALF);
      for (const float value : {up, down}) {
        if (!(is_sigmoidal && std::fabs(value) > 1) && is_allowed(*row, exact, value, steps)) candidates.values[candidates.count++] = value;
      }
    }
    return candidates;
  }

 private:
  // Whether the row allows the value, which is `steps` from the nearest one.
  static bool is_allowed(const floats::MathRow& row, const Interval& exact, float value, int steps) {
    const double at = value;
    if (!is_normal(value) || (at > 0) != (exact.lo() > 0)) return false;
    if (row.unit == floats::MathRow::Unit::steps) return steps <= row.bound;
    if (row.unit != floats::MathRow::Unit::ulps) return false;
    // Units in the last place are at least those of the least magnitude.
    const double least = std::fmin(std::fabs(exact.lo()), std::fabs(exact.hi()));
    if (!(least >= static_cast<double>(kLeast))) return false;
    const Interval error = Interval(at) - exact;
    return error.magnitude() <= row.bound * std::ldexp(1.0, std::ilogb(least) - 23);
  }

  Function f_;
  std::vector<floats::MathRow> rows_;
};

// Whether one of the candidates leads to y.
template <class F>
bool leads_to(float y, const Candidates& candidates, const F& form) {
  return std::ranges::any_of(candidates, [&](float value) { return is_same(y, form(value)); });
}

template <class F>
Judged judged_by(const Problem& problem, const F& is_admitted) {
  Judged judged;
  const std::span<const float> x = floats(problem.operands[0]), y = floats(problem.result);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!is_normal(y[i]) || !is_admitted(x[i], y[i])) judged.open.push_back(i);
  }
  judged.single = [problem](std::size_t element) { return single_of(problem, element); };
  return judged;
}

}  // namespace

std::optional<Judged> judge_function(const Problem& problem) {
  const auto library = [&](Function f, std::string_view name) { return LibraryFunction(problem.model, f, name); };
  const Node& node = problem.node;
  if (contracts::family_of(node.op) == contracts::Family::function) {
    const LibraryFunction f = library(ops::function_of(node.op), op_row(node.op).name);
    if (!f.exists()) return std::nullopt;
    return judged_by(problem, [&](float x, float y) { return leads_to(y, f.at(x), [](float value) { return value; }); });
  }
  if (node.op == Op::gelu && !std::get<GeluAttributes>(node.attributes).tanh_form) {
    const LibraryFunction erf = library(Function::erf, "erf");
    if (!erf.exists()) return std::nullopt;
    return judged_by(problem, [&](float x, float y) {
      return x > kLeastGelu && leads_to(y, erf.at(x * 0x1.6a09e6p-1F), [x](float e) { return (0.5F * x) * (1.0F + e); });
    });
  }
  const bool silu = node.op == Op::silu && std::get<ActivationAttributes>(node.attributes).alpha == 1;
  if (node.op != Op::sigmoid && !silu) return std::nullopt;
  const LibraryFunction exp = library(Function::exp, "exp");
  const bool own = library(Function::sigmoid, "sigmoid").exists();
  if (!exp.exists() || own || problem.model.sigmoid != ExecutionModel::Sigmoid::exponential) return std::nullopt;
  return judged_by(problem, [&](float x, float y) {
    const float factor = silu ? x : 1.0F;
    const bool plain = leads_to(y, exp.at(-x), [&](float e) { return factor * (1.0F / (1.0F + e)); });
    if (plain || (silu && leads_to(y, exp.at(-x), [&](float e) { return x / (1.0F + e); }))) return true;
    return x <= 0 && leads_to(y, exp.at(x), [&](float e) { return factor * (e / (1.0F + e)); });
  });
}

namespace {

constexpr std::size_t kMostInLine = 1 << 12, kFewOpen = 64;

// The least and the largest known number of a set of floats; lo > hi: none is known.
struct Known {
  float lo = 1, hi = -1;
};

// Some values that a sum of non-negative numbers may have.
Known sums_of(const Sum& sum, double height) {
  const double k = std::fmin(sum.m - 1, height), room = k * kU * sum.size * (1 - 0x1p-8);
  const auto passes = [&](float s) { return s > 0 && within(static_cast<double>(s), sum.c, sum.size, k, sum.q); };
  const auto nearest = static_cast<float>(sum.c);
  if (!passes(nearest)) return {};
  const auto lo = std::nextafterf(static_cast<float>(sum.c - room), HUGE_VALF),
             hi = std::nextafterf(static_cast<float>(sum.c + room), 0.0F);
  return {passes(lo) && lo < nearest ? lo : nearest, passes(hi) && hi > nearest ? hi : nearest};
}

// Judges one line; y(k) is the received value of element k. `open` is called for open elements.
template <class Y, class Open>
void judge_line(const LibraryFunction& exp, const std::vector<float>& x, double height, std::vector<float>& nearest, const Y& y,
                const Open& open) {
  const float greatest = *std::ranges::max_element(x);
  Sum sum;
  bool is_known = std::ranges::none_of(x, [](float value) { return std::isnan(value); }) && std::isfinite(greatest);
  for (std::size_t k = 0; is_known && k < x.size(); ++k) {
    nearest[k] = 0;
    if (x[k] == -HUGE_VALF) continue;
    const Candidates candidates = exp.at(x[k] - greatest, 1);
    is_known = candidates.count > 0;
    if (!is_known) break;
    nearest[k] = candidates.values[0];
    sum.add(nearest[k]);
  }
  const Known sums = is_known ? sums_of(sum, height) : Known{};
  for (std::size_t k = 0; k < x.size(); ++k) {
    const float received = y(k);
    const auto lies = [&](float lo, float hi) { return received >= lo / sums.hi && received <= hi / sums.lo; };
    // The sums leave room for most nearest numerators, so that few others are looked for.
    const auto leads = [&](const Candidates& all) { return lies(*std::ranges::min_element(all), *std::ranges::max_element(all)); };
    const auto is_led_to = [&] { return is_normal(received) && (lies(nearest[k], nearest[k]) || leads(exp.at(x[k] - greatest))); };
    if (sums.lo > sums.hi || !(x[k] == -HUGE_VALF ? is_same(received, 0.0F) : is_led_to())) open(k);
  }
}

}  // namespace

std::optional<Judged> judge_softmax(const Problem& problem) {
  if (problem.node.op != Op::softmax || problem.model.softmax != ExecutionModel::Softmax::max_subtracted) return std::nullopt;
  const LibraryFunction exp(problem.model, Function::exp, "exp");
  const Shape& shape = problem.result.shape();
  const auto axis = static_cast<std::size_t>(std::get<SoftmaxAttributes>(problem.node.attributes).axis);
  const auto count = static_cast<std::size_t>(shape[axis]);
  const std::size_t inner = element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
  if (!exp.exists() || problem.result.size() == 0 || count < 2 || count > kMostInLine) return std::nullopt;
  const std::span<const float> x = floats(problem.operands[0]), y = floats(problem.result);
  // The line of elements that begins at `first`.
  const auto line_of = [=](std::size_t first) {
    std::vector<float> line(count);
    for (std::size_t k = 0; k < count; ++k) line[k] = x[first + k * inner];
    return line;
  };
  Judged judged;
  std::vector<float> nearest(count);
  for (std::size_t line = 0; line < y.size() / count; ++line) {
    const std::size_t first = line / inner * count * inner + line % inner;
    judge_line(
        exp, line_of(first), height_of(problem.model), nearest, [&](std::size_t k) { return y[first + k * inner]; },
        [&](std::size_t k) { judged.open.push_back(first + k * inner); });
  }
  // One line per open element would cost more than all lines at once.
  if (judged.open.size() > std::max(kFewOpen, y.size() / count)) return std::nullopt;
  judged.terms = count;
  judged.single = [=](std::size_t element) {
    Single single;
    const auto length = static_cast<std::int64_t>(count), at = static_cast<std::int64_t>(element / inner % count);
    single.operands = {Tensor::of_floats({length}, line_of(element - static_cast<std::size_t>(at) * inner))};
    single.graph = graph_of(Op::softmax, SoftmaxAttributes{0}, single.operands);
    const auto part = single.graph.append(Op::slice, {single.graph.outputs[0]}, SliceAttributes{{at}, {1}, {1}});
    single.graph.outputs[0] = part.value();
    return single;
  };
  return judged;
}

}  // namespace assay::quick
