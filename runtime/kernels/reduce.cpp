// Reductions: reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_prod, and max_weight.
//
// The reduced axes are merged into groups that lie side by side in memory. The last group is reduced first: along rows if it is innermost,
// else column by column; what remains is a smaller tensor with one group less. Sums are cut at fixed places, so that they are the same on
// any number of threads.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "runtime/kernels/call.h"
#include "runtime/kernels/reduce.h"
#include "runtime/kernels/rows.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

struct Sum {
  static constexpr Reduction kind = Reduction::sum;
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};
struct Product {
  static constexpr Reduction kind = Reduction::product;
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};
struct Greatest {
  static constexpr Reduction kind = Reduction::greatest;
  template <class T>
  static T of(T a, T b) {
    return std::max(a, b);
  }
};
struct Least {
  static constexpr Reduction kind = Reduction::least;
  template <class T>
  static T of(T a, T b) {
    return std::min(a, b);
  }
};

// The result of a reduction of no elements.
template <class R, class T>
T start_of() {
  using Limits = std::numeric_limits<T>;
  if (R::kind == Reduction::sum) return 0;
  if (R::kind == Reduction::product) return 1;
  const bool least = R::kind == Reduction::least;
  if (Limits::has_infinity) return least ? Limits::infinity() : -Limits::infinity();
  return least ? Limits::max() : Limits::lowest();
}

constexpr std::size_t kPiece = 1 << 13;  // elements of a row that one chain of partial results takes

// Floats by the vector kernels, integers (whose sums wrap around) one after the other.
template <class R, class T>
T reduce_piece(const T* x, std::size_t count) {
  if constexpr (std::is_floating_point_v<T>) {
    return reduction_kernels<T>(R::kind).row(x, count, start_of<R, T>());
  } else {
    T result = start_of<R, T>();
    for (std::size_t i = 0; i < count; ++i) result = R::of(result, x[i]);
    return result;
  }
}
template <class R, class T>
void reduce_into(T* to, const T* from, std::size_t width) {
  if constexpr (std::is_floating_point_v<T>) {
    reduction_kernels<T>(R::kind).into(to, from, width);
  } else {
    for (std::size_t j = 0; j < width; ++j) to[j] = R::of(to[j], from[j]);
  }
}

// y[r] = reduction of x[r, 0 .. count)
template <class R, class T>
void reduce_rows(const T* x, std::size_t rows, std::size_t count, T* y) {
  const std::size_t parts = std::max<std::size_t>((count + kPiece - 1) / kPiece, 1);
  if (parts == 1) {
    const std::size_t grain = std::max<std::size_t>((1 << 15) / std::max<std::size_t>(count, 1), 1);
    return parallel_ranges(rows, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t r = first; r < last; ++r) y[r] = reduce_piece<R>(x + r * count, count);
    });
  }
  std::vector<T> partial(rows * parts);
  parallel_ranges(rows * parts, 4, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t begin = i % parts * kPiece;
      partial[i] = reduce_piece<R>(x + i / parts * count + begin, std::min(kPiece, count - begin));
    }
  });
  reduce_rows<R>(partial.data(), rows, parts, y);
}

// y[o, j] = reduction of x[o, 0 .. count, j], j < columns; long columns in pieces
template <class R, class T>
void reduce_columns(const T* x, std::size_t outer, std::size_t count, std::size_t columns, T* y) {
  constexpr std::size_t kMostRows = 1024;                    // that one chain takes, as the recorder declares
  constexpr std::size_t kGrain = 1 << 15;                    // elements of a task, where its columns allow it
  constexpr std::size_t kLeastWidth = 64, kMostWidth = 512;  // columns of a task: some cache lines; a few kilobytes of partial results
  const std::size_t parts = std::max<std::size_t>((count + kMostRows - 1) / kMostRows, 1);
  const std::size_t units = kGrain / kLeastWidth / std::clamp<std::size_t>(count, 1, kMostRows);
  const std::size_t stripe = std::clamp(units * kLeastWidth, kLeastWidth, kMostWidth), stripes = (columns + stripe - 1) / stripe;
  std::vector<T> partial(parts > 1 ? outer * parts * columns : 0);
  T* const results = parts > 1 ? partial.data() : y;
  parallel_for(outer * parts * stripes, [&](std::size_t task) {
    const std::size_t block = task / stripes, o = block / parts, first = block % parts * kMostRows;
    const std::size_t begin = task % stripes * stripe, width = std::min(stripe, columns - begin);
    T* const to = results + block * columns + begin;
    std::fill(to, to + width, start_of<R, T>());
    for (std::size_t i = first; i < std::min(first + kMostRows, count); ++i)
      reduce_into<R>(to, x + (o * count + i) * columns + begin, width);
  });
  if (parts > 1) reduce_columns<R>(partial.data(), outer, parts, columns, y);
}

struct Group {
  bool reduced;
  std::size_t extent;
};

std::vector<Group> groups_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<Group> groups;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
    const auto extent = static_cast<std::size_t>(shape[axis]);
    if (groups.empty() || groups.back().reduced != reduced) {
      groups.push_back({reduced, extent});
    } else {
      groups.back().extent *= extent;
    }
  }
  return groups;
}

template <class R, class T>
void reduce_groups(const T* x, std::vector<Group> groups, T* y) {
  std::size_t last = groups.size();
  while (last > 0 && !groups[last - 1].reduced) --last;
  std::size_t size = 1;
  for (const Group& group : groups) size *= group.extent;
  if (last == 0) {
    std::copy(x, x + size, y);
    return;
  }
  std::size_t outer = 1, columns = 1;
  bool more = false;
  for (std::size_t g = 0; g + 1 < last; ++g) {
    outer *= groups[g].extent;
    more = more || groups[g].reduced;
  }
  for (std::size_t g = last; g < groups.size(); ++g) columns *= groups[g].extent;
  const std::size_t count = groups[last - 1].extent;
  std::vector<T> rest(more ? outer * columns : 0);
  T* const to = more ? rest.data() : y;
  if (columns == 1) {
    reduce_rows<R>(x, outer, count, to);
  } else {
    reduce_columns<R>(x, outer, count, columns, to);
  }
  if (!more) return;
  groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(last) - 1);
  reduce_groups<R>(rest.data(), groups, y);
}

template <class T>
void reduce(Op op, const Array& x, const std::vector<std::int64_t>& axes, Array& result) {
  const T* const from = x.data<T>().data();
  T* const to = result.data<T>().data();
  const std::vector<Group> groups = groups_of(x.shape(), axes);
  if (op == Op::reduce_max) return reduce_groups<Greatest>(from, groups, to);
  if (op == Op::reduce_min) return reduce_groups<Least>(from, groups, to);
  if (op == Op::reduce_prod) return reduce_groups<Product>(from, groups, to);
  reduce_groups<Sum>(from, groups, to);
  if constexpr (std::is_floating_point_v<T>) {
    if (op != Op::reduce_mean || result.size() == 0) return;
    // Exact: the kept axes divide the elements.
    const auto count = static_cast<T>(x.size() / result.size());  // NOLINT(bugprone-integer-division)
    for (T& value : result.data<T>()) value /= count;
  }
}

// 1/k for the k greatest of all `size` elements, 0 for the others; NaN where one is.
template <class T>
void weigh_line(const T* x, std::size_t size, T* y) {
  T most = -std::numeric_limits<T>::infinity();
  bool undefined = false;
  for (std::size_t i = 0; i < size; ++i) {
    most = x[i] > most ? x[i] : most;
    undefined = undefined || x[i] != x[i];
  }
  std::size_t winners = 0;
  for (std::size_t i = 0; i < size; ++i) winners += x[i] == most ? 1 : 0;
  const T rest = undefined ? std::numeric_limits<T>::quiet_NaN() : T(0), share = undefined ? rest : 1 / static_cast<T>(winners);
  for (std::size_t i = 0; i < size; ++i) y[i] = x[i] == most ? share : rest;
}

// The same for each of several groups; group[i] is that of element i.
template <class T>
class Groups {
 public:
  explicit Groups(std::size_t count) : most_(count), share_(count), rest_(count), winners_(count) {}
  void weigh(const T* x, const std::vector<std::uint32_t>& group, T* y) {
    std::fill(most_.begin(), most_.end(), -std::numeric_limits<T>::infinity());
    std::fill(rest_.begin(), rest_.end(), T(0));
    std::fill(winners_.begin(), winners_.end(), 0);
    for (std::size_t i = 0; i < group.size(); ++i) {
      T& most = most_[group[i]];
      most = x[i] > most ? x[i] : most;
      if (x[i] != x[i]) rest_[group[i]] = x[i];
    }
    for (std::size_t i = 0; i < group.size(); ++i) winners_[group[i]] += x[i] == most_[group[i]] ? 1 : 0;
    for (std::size_t k = 0; k < most_.size(); ++k) share_[k] = rest_[k] != rest_[k] ? rest_[k] : 1 / static_cast<T>(winners_[k]);
    for (std::size_t i = 0; i < group.size(); ++i) y[i] = x[i] == most_[group[i]] ? share_[group[i]] : rest_[group[i]];
  }

 private:
  std::vector<T> most_, share_, rest_;
  std::vector<std::uint32_t> winners_;
};

// 1/k for the k greatest elements of each group; NaN in a group with a NaN. Leading axes that stay cut x into slabs, in which elements
// have the same groups.
template <class T>
void weigh(const Call& call) {
  const Array& x = call.operand(0);
  const std::vector<std::int64_t>& axes = call.get<ReduceAttributes>().axes;
  if (x.size() == 0) return;
  const auto first_axis = axes.empty() ? static_cast<std::ptrdiff_t>(x.shape().size()) : *std::min_element(axes.begin(), axes.end());
  const Shape slab(x.shape().begin() + first_axis, x.shape().end());
  Shape kept = slab;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis - first_axis)] = 1;
  const std::size_t size = element_count(slab), groups = element_count(kept);
  std::vector<std::uint32_t> group(size);
  const Loops loops{slab, {repeating_strides(kept, slab)}};
  Odometer<1> at(loops, 0);
  at.seek(0);
  for (std::size_t i = 0; i < size; ++i, at.next()) group[i] = static_cast<std::uint32_t>(at.offset(0));
  const T* const from = x.data<T>().data();
  T* const to = call.result.data<T>().data();
  parallel_ranges(x.size() / size, std::max<std::size_t>((1 << 13) / size, 1), [&](std::size_t first, std::size_t last) {
    Groups<T> several(groups);
    for (std::size_t o = first * size; o < last * size; o += size) {
      if (groups == 1) {
        weigh_line(from + o, size, to + o);
      } else {
        several.weigh(from + o, group, to + o);
      }
    }
  });
}

}  // namespace

void reduce_array(Op op, const Array& x, const std::vector<std::int64_t>& axes, Array& result) {
  with_real(x.dtype(), [&](auto type) { reduce<typename decltype(type)::type>(op, x, axes, result); });
}

Outcome<Done> run_reduction(const Call& call) {
  if (call.operand(0).dtype() == DType::complex64) return not_real(call);
  if (call.op == Op::max_weight) {
    with_float(call.operand(0).dtype(), [&](auto type) { weigh<typename decltype(type)::type>(call); });
  } else {
    reduce_array(call.op, call.operand(0), call.get<ReduceAttributes>().axes, call.result);
  }
  return Done{};
}

}  // namespace assay::runtime
