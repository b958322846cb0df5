// Numbers and places as text. Private to this folder.
#pragma once

#include <string>

#include "kernel/contracts/float_set.h"
#include "semantics/graph/tensor.h"

namespace assay::explain {

[[nodiscard]] std::string decimal(double value, contracts::Format format = contracts::Format::binary64);  // the shortest that reads back
[[nodiscard]] std::string rough(double value);                                                            // three digits
[[nodiscard]] std::string hex(double value);
// A text whose fractions are decimals: "in [0, 1.541]" for "in [0, 3231703/2097152]".
[[nodiscard]] std::string in_decimals(std::string text);
// A received element: "2.5 = 0x1.4p+1 (bits 40200000)".
[[nodiscard]] std::string received_text(const Tensor& tensor, std::size_t element);

}  // namespace assay::explain
