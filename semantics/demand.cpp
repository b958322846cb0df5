// demand: the message, and the end.

#include "semantics/demand.h"

#include <cstdio>
#include <cstdlib>

namespace assay {

void demand_failed(const char* message) {
  std::fputs("assay: internal error: ", stderr);
  std::fputs(message, stderr);
  std::fputs("\n", stderr);
  std::abort();
}

}  // namespace assay
