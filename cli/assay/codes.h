// The entries of docs/reference/codes, which are part of the program: what the code of a refusal or finding means, and what to do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/load.h"

namespace assay::cli {

struct CodeEntry {
  std::string code;         // of the entry, such as OP.S1 for gemm.S2
  std::string cause, cure;  // in sentences, on one line each
};

// The entry of a code, or of the pattern that it follows; none of a code that nothing gives.
[[nodiscard]] std::optional<CodeEntry> entry_of(const std::string& code);
[[nodiscard]] std::vector<std::string> all_codes();
// The cause in words, or nothing.
[[nodiscard]] std::string meaning_of(const Rejection& why);
// A rejection on stderr, with its cause in words, and with what to do where the rejection has no advice.
void print_explained(const Rejection& why);

}  // namespace assay::cli
