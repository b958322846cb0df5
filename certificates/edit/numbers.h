// The numbers of a record, as a checker reads them: multipliers, slopes, claims, masks, terms and coordinates.
#pragma once

#include <string>
#include <vector>

#include "certificates/format/record.h"

namespace assay::certificate {

struct Numbers {
  std::string name;  // "beta", "lower slopes of node 4", "leaf 0: beta"
  std::vector<double> values;
  std::vector<std::string> texts;  // of a witness, in place of values
};
[[nodiscard]] std::vector<Numbers> numbers_of(const Record& record);
// "beta: 0.5, 0.25". Each number has the digits that name its float32.
[[nodiscard]] std::string numbers_text(const Numbers& numbers);

}  // namespace assay::certificate
