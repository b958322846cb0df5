// Element lists of broadcasting and reduction.

#include "semantics/ops/element_lists.h"

#include "semantics/ops/indexing.h"

namespace assay::ops {

std::vector<std::vector<std::uint32_t>> reduction_groups(const Shape& x, const std::vector<std::int64_t>& axes) {
  std::vector<std::vector<std::uint32_t>> groups;
  Walk to(x, reduction_strides(x, axes));
  for (std::uint32_t i = 0; i < element_count(x); ++i, to.next()) {
    if (groups.size() <= to.offset()) groups.resize(to.offset() + 1);
    groups[to.offset()].push_back(i);
  }
  return groups;
}

std::vector<std::uint32_t> broadcast_elements(const Shape& from, const Shape& to) {
  std::vector<std::uint32_t> elements(element_count(to));
  Walk at = Walk::over(from, to);
  for (std::uint32_t& element : elements) {
    element = static_cast<std::uint32_t>(at.offset());
    at.next();
  }
  return elements;
}

}  // namespace assay::ops
