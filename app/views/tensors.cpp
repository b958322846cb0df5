// Numbers: statistics of tensors, the bits of elements, files of arrays, checkpoints and logs of training.
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "app/pages/chart.h"
#include "app/queries/file_kind.h"
#include "app/views/sheet.h"
#include "app/words.h"
#include "explain/explain.h"
#include "formats/datasets/csv_rows.h"
#include "formats/datasets/dataset.h"
#include "formats/safetensors.h"
#include "frontends/files.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/printable.h"

namespace assay::views {

using pages::Json;
using pages::Table;

double TensorStatistics::largest() const { return std::fmax(std::fabs(least), std::fabs(greatest)); }

// Mean and deviation by Welford's update, so that a large mean does not swallow a small deviation.
TensorStatistics statistics_of(std::size_t elements, const std::function<double(std::size_t)>& at) {
  TensorStatistics found;
  found.elements = elements;
  std::size_t count = 0;
  double squares = 0, moment = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const double x = at(i);
    if (!std::isfinite(x)) {
      ++found.not_finite;
      continue;
    }
    found.zeros += x == 0 ? 1 : 0;
    found.least = count == 0 ? x : std::fmin(found.least, x);
    found.greatest = count == 0 ? x : std::fmax(found.greatest, x);
    ++count;
    const double off = x - found.mean;
    found.mean += off / static_cast<double>(count);
    moment += off * (x - found.mean);
    squares += x * x;
  }
  found.deviation = count == 0 ? 0 : std::sqrt(moment / static_cast<double>(count));
  found.norm = std::sqrt(squares);
  return found;
}

std::function<double(std::size_t)> numbers_of(const Tensor& tensor) {
  return [&tensor](std::size_t i) { return is_float(tensor.dtype()) ? tensor.as_double(i) : static_cast<double>(tensor.as_int(i)); };
}

TensorStatistics statistics_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::complex64) return statistics_of(tensor.size(), numbers_of(tensor));
  TensorStatistics none;
  none.elements = tensor.size();
  return none;
}

const std::vector<std::string> kStatisticsColumns{"elements", "least", "greatest", "mean", "deviation", "norm", "zeros", "not finite"};

void append_statistics(std::vector<Json>& row, const TensorStatistics& one) {
  for (const Json& cell : {Json(one.elements), pages::number(one.least), pages::number(one.greatest), pages::number(one.mean),
                           pages::number(one.deviation), pages::number(one.norm), Json(one.zeros), Json(one.not_finite)})
    row.push_back(cell);
}

namespace {

std::string hex_text(std::uint32_t value) {
  std::array<char, 16> text{};
  (void)std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

std::string bits_text(std::uint32_t value, int first, int count) {
  std::string text;
  for (int k = first; k > first - count; --k) text += (value >> k & 1) != 0 ? '1' : '0';
  return text;
}

// value, bits in hexadecimal, then sign, exponent and fraction, and the distance to the next number away from 0.
std::vector<Json> float32_cells(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const double spacing = std::isfinite(value) ? static_cast<double>(std::nextafterf(std::fabs(value), HUGE_VALF)) - std::fabs(value) : NAN;
  return {pages::number(value),   hex_text(bits),          bits_text(bits, 31, 1),
          bits_text(bits, 30, 8), bits_text(bits, 22, 23), pages::number(spacing)};
}
const std::vector<std::string> kFloat32Columns{"value", "bits", "sign", "exponent", "fraction", "spacing"};

// The part of a checkpoint that a tensor belongs to: the text before the first slash of "model/NAME", "optimiser/LIST/K" and
// "clip/norms".
std::string part_of(const std::string& name) { return name.substr(0, name.find('/')); }

Outcome<Done> add_metadata(const FileContents& file, Sheet& sheet, bool& is_checkpoint) {
  const auto content = formats::read_safetensors(file.bytes);
  if (!content) return content.rejection();
  sheet.facts.emplace_back("sha256", statement::to_hex(file.sha256));
  for (const auto& [name, text] : content.value().metadata) {
    is_checkpoint = is_checkpoint || (name == "format" && text.starts_with("assay checkpoint"));
    sheet.facts.emplace_back("metadata", printable(name) + ": " + printable(text, 400));
  }
  return Done{};
}

}  // namespace

Table element_table(const std::string& name, const Shape& shape, const std::string& dtype, const std::function<double(std::size_t)>& at,
                    std::size_t most) {
  const std::size_t count = element_count(shape);
  const bool is_float32 = dtype == "float32" || dtype == "float16" || dtype == "bfloat16";  // each a float32 exactly
  Table table{"elements", "Elements of " + name, {"index"}, {}};
  if (is_float32)
    table.columns.insert(table.columns.end(), kFloat32Columns.begin(), kFloat32Columns.end());
  else
    table.columns.emplace_back("value");
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    std::vector<Json> row{to_string(explain::index_of(shape, i))};
    const std::vector<Json> cells = is_float32 ? float32_cells(static_cast<float>(at(i))) : std::vector<Json>{pages::number(at(i))};
    row.insert(row.end(), cells.begin(), cells.end());
    table.rows.push_back(std::move(row));
  }
  table.note = "The first " + std::to_string(table.rows.size()) + " of " + std::to_string(count) + " elements of " + dtype + " " +
               to_string(shape) + ", row-major.";
  return table;
}

// Integers of 64 bits as they are: a double rounds some of them.
static void show_integers(const formats::DataArray& array, Table& table) {
  const bool is_signed = array.type == formats::ElementType::int64;
  if (!is_signed && array.type != formats::ElementType::uint64) return;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, array.bytes.data() + i * sizeof bits, sizeof bits);
    table.rows[i].back() = is_signed ? Json(static_cast<std::int64_t>(bits)) : Json(bits);
  }
}

Outcome<Sheet> sheet_of_arrays(const InspectRequest& options) {
  Sheet sheet;
  sheet.title = "Arrays of " + options.file;
  sheet.facts = {{"file", options.file}, {"kind", "arrays"}};
  bool is_checkpoint = false;
  const auto file = read_file(options.file);
  if (!file) return file.rejection();
  if (queries::kind_of_file(options.file) == queries::FileKind::safetensors) {
    if (auto done = add_metadata(file.value(), sheet, is_checkpoint); !done) return check::in_file(done.rejection(), options.file);
  }
  if (is_checkpoint) {
    sheet.title = "Checkpoint " + options.file;
    sheet.facts[1].second = "checkpoint";
  }
  const auto arrays = formats::read_arrays(file.value().bytes, options.file);
  if (!arrays) return check::in_file(arrays.rejection(), options.file);
  Table table{"tensor_list", "Tensors", {"dtype", "shape"}, {}};
  if (is_checkpoint) table.columns.insert(table.columns.begin(), "part");
  table.columns.insert(table.columns.end(), kStatisticsColumns.begin(), kStatisticsColumns.end());
  table.columns.emplace_back("name");
  std::map<std::string, std::size_t> elements;
  bool is_found = options.tensor.empty();
  for (const formats::DataArray& array : arrays.value()) {
    const auto at = [&array](std::size_t i) { return array.number(i); };
    std::vector<Json> row{formats::name_of(array.type), to_string(array.shape)};
    if (is_checkpoint) row.insert(row.begin(), printable(part_of(array.name)));
    append_statistics(row, statistics_of(array.size(), at));
    row.emplace_back(printable(array.name));
    table.rows.push_back(std::move(row));
    elements[is_checkpoint ? printable(part_of(array.name)) : "arrays"] += array.size();
    if (!options.tensor.empty() && array.name == options.tensor) {
      is_found = true;
      sheet.tables.push_back(element_table(printable(array.name), array.shape, formats::name_of(array.type), at, options.elements));
      show_integers(array, sheet.tables.back());
    }
  }
  if (!is_found)
    return Rejection{Rejection::Kind::malformed, "inspect.tensor",    options.tensor,
                     "a tensor of the file",     "none of that name", "assay inspect " + options.file + " lists the names"};
  for (const auto& [part, count] : elements) sheet.facts.emplace_back("part", part + ": " + counted(count, "element"));
  sheet.tables.insert(sheet.tables.begin(), std::move(table));
  return sheet;
}

Outcome<Sheet> sheet_of_log(const InspectRequest& options) {
  const auto file = read_file(options.file);
  if (!file) return file.rejection();
  const auto& bytes = file.value().bytes;
  Table table{"log", "Lines", {}, {}};
  std::vector<std::vector<pages::Point>> points;
  const auto take = [&](std::size_t line, std::span<const std::string> fields) -> Outcome<Done> {
    if (table.columns.empty()) {
      for (const std::string& name : fields) table.columns.push_back(printable(name));
      points.resize(fields.size());
      return Done{};
    }
    if (fields.size() != table.columns.size())
      return Rejection{Rejection::Kind::malformed,
                       "csv.columns",
                       options.file + ", line " + std::to_string(line),
                       counted(table.columns.size(), "field"),
                       std::to_string(fields.size()),
                       ""};
    std::vector<Json> row;
    for (const std::string& cell : fields) {
      double value = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      const bool is_number = error == std::errc() && end == cell.data() + cell.size();
      row.push_back(is_number ? pages::number(value) : Json(printable(cell)));
      if (is_number && row[0].is_number()) points[row.size() - 1].push_back({row[0].get<double>(), value});
    }
    table.rows.push_back(std::move(row));
    return Done{};
  };
  const auto done = formats::for_each_row({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, std::nullopt, take);
  if (!done) return check::in_file(done.rejection(), options.file);
  Sheet sheet;
  sheet.title = "Log " + options.file;
  sheet.facts = {{"file", options.file}, {"kind", "log"}, {"lines", std::to_string(table.rows.size())}};
  for (std::size_t k = 1; k < points.size(); ++k) {
    if (points[k].empty()) continue;
    const auto [first, last] = std::pair(points[k].front().y, points[k].back().y);
    sheet.facts.emplace_back("column", table.columns[k] + " from " + pages::shown(first, "%.6g") + " to " + pages::shown(last, "%.6g"));
    sheet.charts.push_back(pages::line_chart(table.columns[k] + " by " + table.columns[0], points[k], table.columns[0], table.columns[k]));
  }
  sheet.tables.push_back(std::move(table));
  return sheet;
}

// Nearest, ties to even, as IEEE 754 rounds: between the neighbours of a double that is near, compared exactly.
Outcome<Sheet> sheet_of_numbers(const std::vector<std::string>& numbers) {
  Sheet sheet;
  sheet.title = "Numbers in float32";
  sheet.facts = {{"kind", "numbers"}};
  Table table{"numbers", "What float32 makes of them", {"number"}, {}};
  table.columns.insert(table.columns.end(), kFloat32Columns.begin(), kFloat32Columns.end());
  table.columns.insert(table.columns.end(), {"exactly", "error", "error in spacings", "steps from the last"});
  std::optional<float> last;
  for (const std::string& text : numbers) {
    const auto exact = Rational::parse(text);
    if (!exact)
      return Rejection{Rejection::Kind::malformed,           "inspect.number",           text,
                       "a number such as 0.1, 1e-40 or 1/3", "a text that is no number", "--number 0.1,1/3"};
    const float nearest = ScalarTraits<float>::from_rational(*exact);
    std::vector<Json> row{text};
    for (const Json& cell : float32_cells(nearest)) row.push_back(cell);
    const auto rounded = Rational::from_double(nearest);
    if (rounded) {
      const Rational error = *rounded - *exact;
      const double spacing = row[6].get<double>();
      row.insert(row.end(), {rounded->to_decimal(), pages::number(error.double_down()), pages::number(error.double_down() / spacing)});
    } else {
      row.insert(row.end(), {row[1], Json(), Json()});
    }
    // Numbers of the format are counted along the line: those below 0 have the sign bit and count backwards.
    const auto place = [](float x) {
      const auto bits = std::bit_cast<std::int32_t>(x);
      return bits < 0 ? std::int64_t{INT32_MIN} - bits : std::int64_t{bits};
    };
    row.push_back(last ? Json(place(nearest) - place(*last)) : Json());
    last = nearest;
    table.rows.push_back(std::move(row));
  }
  sheet.tables.push_back(std::move(table));
  return sheet;
}

}  // namespace assay::views
