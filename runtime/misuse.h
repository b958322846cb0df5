// The rejection of a call that a session cannot answer. Private to the session.
#pragma once

#include <string>
#include <utility>

#include "semantics/outcome.h"

namespace assay::runtime {

inline Rejection misuse(std::string code, std::string place, std::string required, std::string found, std::string advice) {
  return {Rejection::Kind::malformed, "session." + std::move(code), std::move(place), std::move(required), std::move(found),
          std::move(advice)};
}

}  // namespace assay::runtime
