// Files of numbers in every format that a data set may have, or rows of separated values, chosen by the first byte. Arrays that
// are read are written as NPY, rows with quotes, and read again as the same.
#include "formats/datasets/csv_rows.h"
#include "formats/datasets/dataset.h"
#include "tests/fuzz/targets/target.h"

using namespace assay;

namespace {

void arrays(std::span<const std::byte> file, const std::string& path) {
  const auto read = formats::read_arrays(file, path);
  if (!read) return;
  for (const formats::DataArray& array : read.value()) {
    const std::string npy = formats::npy_bytes(array);
    const auto read_again = formats::read_arrays(fuzz::bytes_of(npy), "again");
    const auto& again = fuzz::expect_ok(read_again, "what was written can be read");
    fuzz::expect(again.size() == 1 && again[0].shape == array.shape && again[0].bytes == array.bytes,
                 "one array was read twice as the same");
    if (array.size() > 0) (void)array.number(array.size() - 1);
  }
}

using Rows = std::vector<std::vector<std::string>>;

Outcome<Rows> rows_of(std::string_view text) {
  Rows rows;
  auto read = formats::for_each_row(text, ',', [&](std::size_t, std::span<const std::string> fields) -> Outcome<Done> {
    rows.emplace_back(fields.begin(), fields.end());
    return Done{};
  });
  if (!read) return read.rejection();
  return rows;
}

void rows(std::string_view text) {
  const auto read = rows_of(text);
  if (!read) return;
  std::string again;
  for (const auto& row : read.value()) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      again += k == 0 ? "\"" : ",\"";
      for (const char c : row[k]) again.append(c == '"' ? 2 : 1, c);
      again += '"';
    }
    again += '\n';
  }
  fuzz::expect(fuzz::expect_ok(rows_of(again), "what was written can be read") == read.value(), "rows stay");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bounded bounded;
  if (size == 0) return 0;
  const std::string_view rest = fuzz::text_of(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      arrays(fuzz::bytes_of(rest), "file");
      break;
    case 1:
      arrays(fuzz::bytes_of(rest), "file.bin");
      break;
    default:
      rows(rest);
      break;
  }
  return 0;
}
