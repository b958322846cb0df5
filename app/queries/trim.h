// A certificate that is cheaper to check, from one that is accepted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/check/load.h"
#include "certificates/edit/trim/trim.h"
#include "search/answer.h"
#include "search/strategy/deadline.h"
#include "semantics/outcome.h"

namespace assay::queries {

struct TrimReport {
  search::Answer answer = search::Answer::unsatisfiable;  // that both certificates prove
  bool trimmed = false;
  std::string reason;  // why the certificate was copied as it is; empty: it was not
  certificate::TrimStatistics statistics;
  std::uint64_t bytes_before = 0, bytes_after = 0;
  std::optional<double> work_before;  // multiply-adds of a check; nothing where there was none
  double work_after = 0;
};

// Reads `from` and writes `to`, another file. The kernel checks what was written as assay-check does: what it does not accept, or what is
// larger or more work than before, is not kept, and `to` is a copy of `from`. Rejections are those of a check of `from`, and "trim.write".
[[nodiscard]] Outcome<TrimReport> trim(const check::Loaded& loaded, const check::Limits& limits, const std::string& from,
                                       const std::string& to, const search::Limit& limit);

// The same for a proof of unsat that a search has just written, which is not checked before. The trials take at most `seconds` of
// CPU time. `limit` ends them and the check of the result. Where `trimmed` is false, `to` is no certificate, and the caller keeps
// `from`.
[[nodiscard]] TrimReport trim_proof(const check::Loaded& loaded, const check::Limits& limits, const std::string& from,
                                    const std::string& to, double seconds, const search::Limit& limit);

// trim_proof in the certificate's own place, which makes room where the shorter one is accepted as well.
struct TrimmedProof {
  TrimReport report;
  double seconds = 0;  // of CPU time
};
[[nodiscard]] TrimmedProof trim_in_place(const check::Loaded& loaded, const check::Limits& limits, const std::string& proof, double seconds,
                                         const search::Limit& limit);

}  // namespace assay::queries
