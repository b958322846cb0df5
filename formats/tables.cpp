#include "formats/tables.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>

namespace assay::formats {

namespace {

constexpr std::size_t kMostIdx = std::size_t{1} << 48;  // elements, so that their bytes can be counted

Rejection table_fault(const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, code, std::move(place), std::move(required), std::move(found), "correct the file there"};
}

std::string line_text(std::size_t line) { return "line " + std::to_string(line); }

// One field from `at` on; `at` stands behind it, on a separator, a line end or the end. False: a quote that nothing closes, or text behind.
bool read_field(std::string_view text, std::size_t& at, char separator, std::string& field) {
  if (at >= text.size() || text[at] != '"') {
    const std::size_t end = std::min(text.find_first_of(std::string{separator, '\n'}, at), text.size());
    field = text.substr(at, end - at);
    at = end;
    if (field.ends_with('\r') && (end == text.size() || text[end] == '\n')) field.pop_back();
    return true;
  }
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') {
      field += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '"') {
      field += text[++at];
    } else {
      ++at;
      if (at + 1 < text.size() && text[at] == '\r' && text[at + 1] == '\n') ++at;
      return at == text.size() || text[at] == separator || text[at] == '\n';
    }
  }
  return false;
}

}  // namespace

Outcome<Csv> read_csv(std::string_view text, bool has_names, char separator) {
  Csv csv;
  std::size_t at = 0, line = 1, columns = 0;
  for (bool first = true; at < text.size(); ++at, ++line) {
    std::vector<std::string> row;
    for (;; ++at) {
      row.emplace_back();
      if (!read_field(text, at, separator, row.back()))
        return table_fault("csv.quote", line_text(line), "a quoted field that ends", "none");
      line += static_cast<std::size_t>(std::ranges::count(row.back(), '\n'));
      if (at >= text.size() || text[at] == '\n') break;
    }
    if (row.size() == 1 && row[0].empty()) continue;
    if (first) columns = row.size();
    if (row.size() != columns)
      return table_fault("csv.columns", line_text(line), std::to_string(columns) + " fields", std::to_string(row.size()));
    if (first && has_names) {
      csv.names = std::move(row);
    } else {
      csv.rows.push_back(std::move(row));
    }
    first = false;
  }
  return csv;
}

Outcome<Tensor> numbers_of(const Csv& csv, std::span<const std::size_t> columns) {
  std::vector<double> values;
  for (std::size_t r = 0; r < csv.rows.size(); ++r) {
    for (const std::size_t c : columns) {
      const auto place = [&] { return "row " + std::to_string(r) + ", column " + std::to_string(c); };
      if (c >= csv.rows[r].size())
        return table_fault("csv.number", place(), "a column of the table", std::to_string(csv.rows[r].size()) + " columns");
      std::string_view text = csv.rows[r][c];
      while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
      while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
      double value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return table_fault("csv.number", place(), "a number", "\"" + std::string(text) + "\"");
      values.push_back(value);
    }
  }
  return Tensor::of_doubles({static_cast<std::int64_t>(csv.rows.size()), static_cast<std::int64_t>(columns.size())}, values);
}

std::string write_csv(const Csv& csv, char separator) {
  std::string text;
  const auto write = [&](const std::vector<std::string>& row) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (k > 0) text += separator;
      // A line of one empty field would be left out when it is read, and so would a carriage return at its end.
      const bool quoted =
          row[k].find_first_of(std::string{separator, '"', '\n', '\r'}) != std::string::npos || (row.size() == 1 && row[k].empty());
      if (!quoted) {
        text += row[k];
        continue;
      }
      text += '"';
      for (const char c : row[k]) text.append(c == '"' ? 2 : 1, c);
      text += '"';
    }
    text += '\n';
  };
  if (!csv.names.empty()) write(csv.names);
  for (const std::vector<std::string>& row : csv.rows) write(row);
  return text;
}

Outcome<Tensor> read_idx(std::span<const std::byte> file) {
  struct IdxType {
    unsigned code;
    DType dtype;
  };
  constexpr IdxType kIdxTypes[] = {{0x08, DType::uint8}, {0x09, DType::int8},    {0x0B, DType::int16},
                                   {0x0C, DType::int32}, {0x0D, DType::float32}, {0x0E, DType::float64}};
  constexpr std::size_t kMagic = 4, kExtent = 4;
  const auto at = [&](std::size_t k) { return static_cast<unsigned>(file[k]); };
  if (file.size() < kMagic || at(0) != 0 || at(1) != 0)
    return table_fault("idx.header", "byte 0", "two zeros, a type and a number of axes", "others");
  const auto type = std::ranges::find(kIdxTypes, at(2), &IdxType::code);
  const std::size_t axes = at(3), start = kMagic + kExtent * axes;
  if (type == std::end(kIdxTypes)) return table_fault("idx.header", "byte 2", "one of the six types", std::to_string(at(2)));
  if (file.size() < start) return table_fault("idx.header", "byte 4", std::to_string(axes) + " extents", "the end of the file");
  Shape shape;
  for (std::size_t k = 0; k < axes; ++k) {
    std::int64_t extent = 0;
    for (std::size_t i = 0; i < kExtent; ++i) extent = extent * 256 + at(kMagic + k * kExtent + i);
    shape.push_back(extent);
  }
  const std::size_t element = byte_size(type->dtype), room = file.size() - start;
  std::size_t count = 0;
  if (!checked_element_count(shape, kMostIdx, count) || count * element != room)
    return table_fault("idx.size", "data", "the bytes of " + std::string(to_string(type->dtype)) + to_string(shape),
                       std::to_string(room) + " bytes");
  std::vector<std::byte> bytes(file.begin() + static_cast<std::ptrdiff_t>(start), file.end());
  for (std::size_t k = 0; k + element <= bytes.size(); k += element) std::reverse(bytes.begin() + k, bytes.begin() + k + element);
  return Tensor(type->dtype, std::move(shape), std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
}

}  // namespace assay::formats
