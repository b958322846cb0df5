// What happens to blocks of rows beside products (linear_map.h has their form). Private to kernel/.
#pragma once

#include "kernel/rows/linear_map.h"
#include "semantics/interrupt.h"

namespace assay::rows {

[[nodiscard]] Elements elements_of(const Places& places);
[[nodiscard]] bool same_order(const Elements& a, const Elements& b);
// The elements of both, of a node of `size`.
[[nodiscard]] Elements united(const Elements& a, const Elements& b, std::size_t size);

// out = a M for a sparse M of `size` rows: row i has the entries first(i) .. last(i) - 1, each at column element(k), and
// factor(k, positive) multiplies coefficients of that sign. The memory of `out` is used again. Returns the multiply-adds of a row.
template <class Map>
std::size_t carry(std::size_t rows, const Block& a, std::size_t size, const Map& map, std::size_t columns, Block& out) {
  const std::size_t count = a.count(size);
  std::size_t work = count;
  std::vector<Run> all;  // entries of those that have any
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
