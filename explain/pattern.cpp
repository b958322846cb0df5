#include "explain/pattern.h"

#include <algorithm>
#include <map>

#include "explain/box.h"

namespace assay::explain {

namespace {

std::string count_text(std::size_t part, std::size_t all) { return std::to_string(part) + " of " + std::to_string(all); }

// The indices as a progression: first, step; 0 where they are none.
std::int64_t step_of(const std::vector<std::int64_t>& indices) {
  const std::int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 0;
  for (std::size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) return 0;
  }
  return step;
}

std::string ordinal(std::int64_t n) {
  const char* ending = n % 100 / 10 == 1 ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
  return std::to_string(n) + ending;
}

// Indices along an axis of this extent, which are not all of it.
std::string run_text(std::size_t axis, const std::vector<std::int64_t>& indices, std::int64_t extent) {
  const std::string start = "axis " + std::to_string(axis) + ": ";
  const std::int64_t first = indices.front(), last = indices.back(), step = step_of(indices);
  const auto count = std::to_string(indices.size());
  if (indices.size() == 1)
    return start + "all at " + std::to_string(first) +
           (last + 1 == extent ? ", the last"
            : first == 0       ? ", the first"
                               : "") +
           " of " + std::to_string(extent);
  if (step == 1)
    return start + "all at " + std::to_string(first) + " .. " + std::to_string(last) +
           (last + 1 == extent ? ", the last " + count
            : first == 0       ? ", the first " + count
                               : "") +
           " of " + std::to_string(extent);
  const std::int64_t whole_count = step == 0 ? 0 : (extent - first % step + step - 1) / step;
  if (step > 1 && indices.size() > 2)
    return start + (static_cast<std::int64_t>(indices.size()) == whole_count ? "every " : "some of every ") + ordinal(step) + " from " +
           std::to_string(first) + ", " + count_text(indices.size(), static_cast<std::size_t>(extent)) + " places";
  return "at " + count + " of the " + std::to_string(extent) + " places along axis " + std::to_string(axis) + ", from " +
         std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

std::vector<std::string> pattern_lines(const Shape& shape, const std::vector<std::size_t>& elements) {
  const std::size_t all = element_count(shape);
  if (elements.size() == all) return {all == 1 ? "the only element" : "every element fails"};
  std::vector<std::map<std::int64_t, std::size_t>> slices(shape.size());  // failures by index
  for (const std::size_t element : elements) {
    const Shape index = index_of(shape, element);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) ++slices[axis][index[axis]];
  }
  std::vector<std::string> lines;
  std::size_t product = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    product *= slices[axis].size();
    if (extent == 1) continue;
    std::vector<std::int64_t> indices;
    for (const auto& [index, count] : slices[axis]) indices.push_back(index);
    const auto most = std::ranges::max_element(slices[axis], {}, [](const auto& one) { return one.second; });
    const auto least = std::ranges::min_element(slices[axis], {}, [](const auto& one) { return one.second; });
    std::string line = indices.size() < extent ? run_text(axis, indices, shape[axis]) : "axis " + std::to_string(axis) + ": everywhere";
    if (most->second >= 2 * least->second && elements.size() > 2)  // a smaller difference says little
      line += "; most at index " + std::to_string(most->first) + " (" + std::to_string(most->second) + " elements), fewest at index " +
              std::to_string(least->first) + " (" + std::to_string(least->second) + ")";
    lines.push_back(std::move(line));
  }
  if (elements.size() > 1)
    lines.push_back(product == elements.size() ? "every element at these indices fails"
                    : product == all
                        ? count_text(elements.size(), all) + " elements fail"
                        : std::to_string(elements.size()) + " of the " + std::to_string(product) + " elements at these indices fail");
  return lines;
}

}  // namespace assay::explain
