// Operations on blocks of rows other than products; Block is in linear_map.h. Private to kernel/.
#pragma once

#include "kernel/rows/linear_map.h"
#include "semantics/interrupt.h"

namespace assay::rows {

[[nodiscard]] Elements elements_of(const Places& places);
[[nodiscard]] bool same_order(const Elements& a, const Elements& b);
// The union of both lists, for a node of `size` elements.
[[nodiscard]] Elements united(const Elements& a, const Elements& b, std::size_t size);

// out = a M for a sparse M of `size` rows. Row i has the entries first(i) .. last(i) - 1; entry k is in column
// element(k), and multiplies a coefficient by factor(k, positive), given the coefficient's sign. The memory of `out` is
// reused. Returns the multiply-adds per row.
template <class Map>
std::size_t carry(std::size_t rows, const Block& a, std::size_t size, const Map& map, std::size_t columns, Block& out) {
  const std::size_t count = a.count(size);
  std::size_t work = count;
  std::vector<Run> all;  // the entries of each row that has any
  Places to(a.elements ? columns : 0);
  for (std::size_t j = 0; j < count; ++j) {
    const Run run{map.first(a.element(j)), map.last(a.element(j)) - map.first(a.element(j)), j};
    if (run.count > 0) all.push_back(run);
    work += run.count;
    for (std::size_t k = run.first; a.elements && k < run.first + run.count; ++k) to.meet(static_cast<std::uint32_t>(map.element(k)));
  }
  const std::size_t to_count = a.elements ? to.met().size() : columns;
  out.elements = a.elements ? elements_of(to) : nullptr;
  out.values.assign(rows * to_count, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    poll(work);
    double* sums = out.values.data() + row * to_count;
    for (const Run& run : all) {
      const double c = a.values[row * count + run.to];
      const bool positive = c > 0;
      for (std::size_t k = run.first; c != 0 && k < run.first + run.count; ++k) {
        const auto element = static_cast<std::uint32_t>(map.element(k));
        sums[a.elements ? to[element] : element] += c * map.factor(k, positive);
      }
    }
  }
  return work + to_count;
}

}  // namespace assay::rows
