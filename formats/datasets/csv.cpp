// CSV: one item per line, numbers between commas, semicolons, tabs or blanks; a header line of names is recognised.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "formats/datasets/csv_rows.h"
#include "formats/datasets/parts.h"

namespace assay::formats::dataset {
namespace {

bool is_number(std::string_view text, double& value) {
  if (text.starts_with("+")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

bool is_label_name(std::string_view name) {
  return name == "label" || name == "labels" || name == "y" || name == "class" || name == "target";
}

void append(DataArray& array, double value) {
  const std::size_t at = array.bytes.size();
  array.bytes.resize(at + sizeof value);
  std::memcpy(array.bytes.data() + at, &value, sizeof value);
}

constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

}  // namespace

Outcome<std::vector<DataArray>> read_csv(std::string_view text, const std::string& place, bool labels_inside,
                                         std::vector<std::string>& notes) {
  DataArray items{"items", ElementType::float64, {0, 0}, {}}, labels{"labels", ElementType::float64, {0}, {}};
  std::size_t width = 0, label = kNoColumn;
  bool first = true;
  const auto take = [&](std::size_t line, std::span<const std::string> fields) -> Outcome<Done> {
    double value = 0;
    if (first) {
      first = false;
      width = fields.size();
      const bool header = std::ranges::none_of(fields, [&value](std::string_view field) { return is_number(field, value); });
      for (std::size_t i = 0; header && i < width; ++i) label = label == kNoColumn && is_label_name(fields[i]) ? i : label;
      if (!header && labels_inside && width > 1) {
        label = 0;
        notes.push_back("the first column has the labels");
      }
      if (header) return Done{};
    }
    const std::string where = place + ", line " + std::to_string(line);
    if (fields.size() != width)
      return malformed_data("csv", where, std::to_string(width) + " numbers, as in the first line", std::to_string(fields.size()));
    for (std::size_t i = 0; i < width; ++i) {
      if (!is_number(fields[i], value))
        return malformed_data("csv", where + ", field " + std::to_string(i + 1), "a finite number", "'" + fields[i].substr(0, 40) + "'",
                              "is it a file of another format?");
      append(i == label ? labels : items, value);
    }
    ++items.shape[0];
    return Done{};
  };
  if (auto read = for_each_row(text, std::nullopt, take); !read) {
    const Rejection& why = read.rejection();
    return why.code.starts_with("csv.") ? malformed_data("csv", place + ", " + why.place, why.required, why.found, why.advice) : why;
  }
  if (items.shape[0] == 0)
    return malformed_data("csv", place, "lines of numbers, or NPY, NPZ, safetensors, IDX or PNG", "a file of none of these formats");
  items.shape[1] = static_cast<std::int64_t>(width - (label == kNoColumn ? 0 : 1));
  labels.shape[0] = items.shape[0];
  if (items.shape[1] == 1 && label == kNoColumn) items.shape.pop_back();  // a column of numbers
  std::vector<DataArray> arrays{std::move(items)};
  if (label != kNoColumn) arrays.push_back(std::move(labels));
  return arrays;
}

}  // namespace assay::formats::dataset
