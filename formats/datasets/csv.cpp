// CSV: one item per line, numbers between commas, semicolons, tabs or blanks; a header line of names is recognised.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "formats/datasets/parts.h"

namespace assay::formats::dataset {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\"");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t\r\"") - first + 1);
}

std::vector<std::string_view> fields_of(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0;;) {
    const std::size_t end = line.find(separator, at);
    fields.push_back(trimmed(line.substr(at, end == std::string_view::npos ? end : end - at)));
    if (end == std::string_view::npos) return fields;
    at = end + 1;
    if (separator == ' ') at = std::min(line.find_first_not_of(' ', at), line.size());
  }
}

bool is_number(std::string_view text, double& value) {
  if (text.starts_with("+")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

char separator_of(std::string_view line) {
  for (const char one : {',', ';', '\t'}) {
    if (line.find(one) != std::string_view::npos) return one;
  }
  return ' ';
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
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::size_t line_number = 0, width = 0, label = kNoColumn;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++line_number;
    if (line.empty() || line.starts_with("#")) continue;
    const auto fields = fields_of(line, separator_of(line));
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
      if (header) continue;
    }
    const std::string where = place + ", line " + std::to_string(line_number);
    if (fields.size() != width)
      return malformed_data("csv", where, std::to_string(width) + " numbers, as in the first line", std::to_string(fields.size()));
    for (std::size_t i = 0; i < width; ++i) {
      if (!is_number(fields[i], value))
        return malformed_data("csv", where + ", field " + std::to_string(i + 1), "a finite number",
                              "'" + std::string(fields[i].substr(0, 40)) + "'", "is it a file of another format?");
      append(i == label ? labels : items, value);
    }
    ++items.shape[0];
  }
  if (first) return malformed_data("csv", place, "lines of numbers, or NPY, NPZ, safetensors, IDX or PNG", "neither");
  items.shape[1] = static_cast<std::int64_t>(width - (label == kNoColumn ? 0 : 1));
  labels.shape[0] = items.shape[0];
  if (items.shape[1] == 1 && label == kNoColumn) items.shape.pop_back();  // a column of numbers
  std::vector<DataArray> arrays{std::move(items)};
  if (label != kNoColumn) arrays.push_back(std::move(labels));
  return arrays;
}

}  // namespace assay::formats::dataset
