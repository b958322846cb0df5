// Blocks of rows with other lists of elements.

#include "kernel/rows/block.h"

namespace assay::rows {

Elements elements_of(const Places& places) { return std::make_shared<const std::vector<std::uint32_t>>(places.met()); }

bool same_order(const Elements& a, const Elements& b) { return a == b || (a && b && *a == *b); }

Elements united(const Elements& a, const Elements& b, std::size_t size) {
  if (!a || !b || same_order(a, b)) return a ? b : nullptr;
  Places all(size);
  for (const Elements& elements : {a, b}) {
    for (const std::uint32_t i : *elements) all.meet(i);
  }
  return elements_of(all);
}

Block spread(std::size_t rows, const Block& block, const Elements& elements, std::size_t size) {
  Block result{elements, {}};
  const std::size_t from = block.count(size), to = result.count(size);
  std::vector<std::uint32_t> place(size);
  for (std::uint32_t k = 0; k < to; ++k) place[result.element(k)] = k;
  result.values.assign(rows * to, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < from; ++k) result.values[row * to + place[block.element(k)]] = block.values[row * from + k];
  }
  return result;
}

}  // namespace assay::rows
