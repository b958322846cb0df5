// The words of a rejection.

#include "semantics/outcome.h"

namespace assay {

std::string Rejection::to_text() const {
  std::string text = place;
  const auto append = [&](const char* separator, const std::string& label, const std::string& part) {
    if (!part.empty()) {
      text += (text.empty() ? "" : separator) + label + part;
    }
  };
  append(": ", "expected ", required);
  append(required.empty() ? ": " : ", ", "found ", found);
  append("; ", advice.find(' ') == std::string::npos ? "see " : "", advice);
  append(" ", "", code.empty() ? code : "[" + code + "]");
  return text;
}

}  // namespace assay
