// The words of a rejection.

#include "semantics/outcome.h"

namespace assay {

std::string Rejection::to_text() const {
  std::string text = code;
  if (!place.empty()) {
    text += " at " + place;
  }
  const char* separator = ": ";
  const auto append = [&](const char* label, const std::string& part) {
    if (!part.empty()) {
      text += separator;
      text += label;
      text += part;
      separator = "; ";
    }
  };
  append("required ", required);
  append("found ", found);
  append("", advice);
  return text;
}

}  // namespace assay
