// Tables: separated values, and the IDX files of MNIST.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay::formats {

// Cells as text, rows of equal length. Fields may be quoted ("" is a quote); lines end in LF or CRLF; empty lines are left out.
struct Csv {
  std::vector<std::string> names;  // of the columns, if there is a header
  std::vector<std::vector<std::string>> rows;
};
// Rejections csv.quote, csv.columns, with the line.
[[nodiscard]] Outcome<Csv> read_csv(std::string_view text, bool has_names, char separator = ',');
// Columns [rows, columns] as float64. Rejection csv.number, with row and column.
[[nodiscard]] Outcome<Tensor> numbers_of(const Csv& csv, std::span<const std::size_t> columns);
[[nodiscard]] std::string write_csv(const Csv& csv, char separator = ',');

// Big endian numbers of one of six types; any number of axes. Rejections idx.header, idx.size.
[[nodiscard]] Outcome<Tensor> read_idx(std::span<const std::byte> file);

}  // namespace assay::formats
