// Elementwise ops on operands that broadcast: runs of elements go to the lane kernels.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/buffers.h"
#include "runtime/kernels/call.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

constexpr std::size_t kGrain = 1 << 14;  // elements of a task

void one_operand(LaneKernel kernel, const Numbers& numbers, const Array& x, Array& result) {
  const std::size_t width = byte_size(x.dtype()), result_width = byte_size(result.dtype());
  parallel_ranges(x.size(), kGrain, [&](std::size_t first, std::size_t last) {
    const Source source{x.raw() + first * width, false};
    kernel(numbers, &source, result.raw() + first * result_width, last - first);
  });
}

// Runs along the innermost axis, where each operand has the stride 0 or 1 (or what it has, and is read one by one).
struct Runs {
  Loops loops;
  std::size_t length;  // of the innermost axis
  std::array<std::int64_t, 2> step;
};

Runs runs_of(const Array& a, const Array& b, const Array& result) {
  const Shape& shape = result.shape();
  Runs runs{merged(shape, {repeating_strides(a.shape(), shape), repeating_strides(b.shape(), shape), dense_strides(shape)}), 1, {0, 0}};
  if (runs.loops.extents.empty()) {
    runs.loops.extents = {1};
    for (Shape& strides : runs.loops.strides) strides = {1};
  }
  runs.length = static_cast<std::size_t>(runs.loops.extents.back());
  runs.step = {runs.loops.strides[0].back(), runs.loops.strides[1].back()};
  return runs;
}

constexpr std::size_t kShort = 32;  // elements of a run below which setting a kernel up costs more than the run

// Runs of T side by side, each of `length` elements from consecutive places or from one.
template <class T>
void spread(const Loops& loops, std::size_t operand, std::size_t length, bool single, const std::byte* from, std::byte* to,
            std::size_t first, std::size_t last) {
  const T* const source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  Odometer<3> at(loops, 1);
  at.seek(first);
  for (std::size_t run = first; run < last; ++run, at.next(), target += length) {
    const T* const start = source + at.offset(operand);
    for (std::size_t i = 0; i < length; ++i) target[i] = start[single ? 0 : i];
  }
}

// The operand's elements of runs first .. last - 1, one after the other: its own if they lie like that, else copied to `scratch`.
const void* side_by_side(const Runs& runs, std::size_t operand, const Array& array, void* scratch, std::size_t first, std::size_t last) {
  const std::size_t width = byte_size(array.dtype());
  if (runs.loops.strides[operand] == runs.loops.strides[2]) return array.raw() + first * runs.length * width;
  const bool single = runs.step[operand] == 0;
  auto* const to = static_cast<std::byte*>(scratch);
  if (width == 1) spread<std::uint8_t>(runs.loops, operand, runs.length, single, array.raw(), to, first, last);
  if (width == 2) spread<std::uint16_t>(runs.loops, operand, runs.length, single, array.raw(), to, first, last);
  if (width == 4) spread<std::uint32_t>(runs.loops, operand, runs.length, single, array.raw(), to, first, last);
  if (width == 8) spread<std::uint64_t>(runs.loops, operand, runs.length, single, array.raw(), to, first, last);
  return scratch;
}

// Short runs are first laid side by side, some thousand elements at a time.
void two_in_short_runs(LaneKernel kernel, const Numbers& numbers, const Array& a, const Array& b, Array& result, const Runs& runs) {
  constexpr std::size_t kBlock = 1 << 11;  // elements: both operands stay in the first cache
  const std::size_t block = kBlock / runs.length, lines = result.size() / runs.length, result_width = byte_size(result.dtype());
  parallel_ranges(lines, kGrain / runs.length, [&](std::size_t first, std::size_t last) {
    alignas(kAlignment) std::array<std::array<std::byte, kBlock * 8>, 2> scratch;
    for (std::size_t line = first; line < last; line += block) {
      const std::size_t end = std::min(line + block, last);
      const std::array<Source, 2> sources = {Source{side_by_side(runs, 0, a, scratch[0].data(), line, end), false},
                                             Source{side_by_side(runs, 1, b, scratch[1].data(), line, end), false}};
      kernel(numbers, sources.data(), result.raw() + line * runs.length * result_width, (end - line) * runs.length);
    }
  });
}

void two_operands(LaneKernel kernel, const Numbers& numbers, const Array& a, const Array& b, Array& result) {
  if (result.size() == 0) return;
  const std::size_t width = byte_size(a.dtype()), result_width = byte_size(result.dtype());
  if (a.shape() == b.shape()) {
    return parallel_ranges(result.size(), kGrain, [&](std::size_t first, std::size_t last) {
      const std::array<Source, 2> sources = {Source{a.raw() + first * width, false}, Source{b.raw() + first * width, false}};
      kernel(numbers, sources.data(), result.raw() + first * result_width, last - first);
    });
  }
  const Runs runs = runs_of(a, b, result);
  if (runs.length < kShort && runs.length < result.size()) return two_in_short_runs(kernel, numbers, a, b, result, runs);
  const Odometer<3> start(runs.loops, 1);
  const std::size_t pieces = (runs.length + kGrain - 1) / kGrain, piece = (runs.length + pieces - 1) / pieces;
  const std::size_t lines = start.count();
  parallel_ranges(lines * pieces, std::max<std::size_t>(kGrain / runs.length, 1), [&](std::size_t first, std::size_t last) {
    Odometer<3> at = start;
    at.seek(first / pieces);
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t begin = i % pieces * piece, end = std::min(begin + piece, runs.length);
      const auto from = [&](std::size_t operand, const Array& array) {
        const std::int64_t offset = at.offset(operand) + static_cast<std::int64_t>(begin) * runs.step[operand];
        return Source{array.raw() + static_cast<std::size_t>(offset) * width, runs.step[operand] == 0};
      };
      const std::array<Source, 2> sources = {from(0, a), from(1, b)};
      if (begin < end)
        kernel(numbers, sources.data(), result.raw() + (static_cast<std::size_t>(at.offset(2)) + begin) * result_width, end - begin);
      if ((i + 1) % pieces == 0) at.next();
    }
  });
}

// The first place in a tensor whose integer is not accepted, or its size.
template <class F>
std::size_t first_not(const Array& array, const F& accepted) {
  return with_integer(array.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const auto elements = array.data<T>();
    return static_cast<std::size_t>(std::find_if_not(elements.begin(), elements.end(), [&](T x) { return accepted(x); }) -
                                    elements.begin());
  });
}

Outcome<Done> check_integers(const Call& call) {
  if (call.op == Op::div || call.op == Op::mod) {
    const std::size_t at = first_not(call.operand(1), [](auto y) { return y != 0; });
    if (at < call.operand(1).size())
      return failure(call, "divisor", "divisor, element " + std::to_string(at), "an integer other than 0", "0");
  }
  if (call.op == Op::power) {
    const std::size_t at = first_not(call.operand(1), [](auto y) { return y >= decltype(y)(0); });
    if (at < call.operand(1).size())
      return failure(call, "exponent", "exponent, element " + std::to_string(at), "an exponent >= 0 between integers", "a negative one");
  }
  return Done{};
}

}  // namespace

void run_lanes(LaneKernel kernel, const Numbers& numbers, std::span<const Array* const> operands, Array& result) {
  if (operands.size() == 1) return one_operand(kernel, numbers, *operands[0], result);
  two_operands(kernel, numbers, *operands[0], *operands[1], result);
}

namespace {

// min and max of one operand (with itself) or of three and more: each combined with what there is.
void run_fold(LaneKernel kernel, const Call& call) {
  const std::size_t count = call.operands.size();
  Array so_far = call.operand(0);
  for (std::size_t k = std::min<std::size_t>(1, count - 1); k < count; ++k) {
    Shape shape;
    demand(broadcast(so_far.shape(), call.operand(k).shape(), shape), "run_fold: shapes that broadcast");
    Array next = k + 1 == count ? call.result : Array::empty(so_far.dtype(), shape);
    const std::array<const Array*, 2> pair = {&so_far, &call.operand(k)};
    run_lanes(kernel, {}, pair, next);
    so_far = next;
  }
}

}  // namespace

Outcome<Done> run_elementwise(const Call& call) {
  const DType dtype = call.operand(0).dtype();
  if (dtype == DType::complex64) return not_real(call);
  const LaneKernel kernel = is_float(dtype) ? float_lanes(call.op, dtype, call.attributes) : integer_lanes(call.op, dtype);
  demand(kernel != nullptr, "run_elementwise: an elementwise op on elements that it takes");
  if (!is_float(dtype)) {
    if (Outcome<Done> done = check_integers(call); !done) return done;
  }
  const Numbers numbers = numbers_of(call.op, call.attributes);
  const bool extremum = call.op == Op::min || call.op == Op::max;
  if (!extremum || call.operands.size() == 2) {
    run_lanes(kernel, numbers, call.operands, call.result);
    return Done{};
  }
  run_fold(kernel, call);
  return Done{};
}

}  // namespace assay::runtime
