#include "semantics/ops/indexing.h"

#include "tests/catch.h"

namespace assay::ops {

TEST_CASE("a walk over an operand reads the element that each index of the result names", "[semantics][ops]") {
  const auto [from, to] = GENERATE(table<Shape, Shape>({{{}, {}},
                                                        {{1}, {1}},
                                                        {{2, 3, 2}, {2, 3, 2}},
                                                        {{1, 1}, {1, 1}},
                                                        {{}, {2, 3}},
                                                        {{3}, {2, 3}},
                                                        {{2, 1}, {2, 3}},
                                                        {{1, 3, 1}, {2, 3, 2}},
                                                        {{0, 2}, {0, 2}}}));
  INFO("rank " << from.size() << " to " << to.size());
  const Shape own = row_major_strides(from), result = row_major_strides(to);
  Walk at = Walk::over(from, to);
  for (std::size_t i = 0; i < element_count(to); ++i, at.next()) {
    std::int64_t expected = 0;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      const std::size_t in_result = axis + to.size() - from.size();
      const std::int64_t index = static_cast<std::int64_t>(i) / result[in_result] % to[in_result];
      expected += from[axis] == 1 ? 0 : index * own[axis];
    }
    CHECK(at.offset() == static_cast<std::size_t>(expected));
  }
}

}  // namespace assay::ops
