// Refusal: how the parts of the ONNX front end give up, each with one Rejection.
//
// Inside this folder a problem is thrown as Refused and caught in import.cpp only, per node for lint() and at the
// entry points otherwise; no caller outside ever sees it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "frontends/files.h"
#include "semantics/outcome.h"

namespace assay::onnx {

struct Refused {
  Rejection why;
};

[[noreturn]] inline void refuse_malformed(std::string code, std::string place, std::string required, std::string found,
                                          std::string advice) {
  throw Refused{{Rejection::Kind::malformed, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)}};
}

[[noreturn]] inline void refuse_unsupported(std::string code, std::string place, std::string required, std::string found,
                                            std::string advice) {
  throw Refused{
      {Rejection::Kind::unsupported, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)}};
}

// A name from the file, printable and in quotes.
[[nodiscard]] inline std::string in_quotes(std::string_view name) {
  std::string text(1, '"');
  text += printable(name);
  text += '"';
  return text;
}

}  // namespace assay::onnx
