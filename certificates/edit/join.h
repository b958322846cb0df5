// join_parts(): a certificate with open branches, and the parts that close them, become one certificate.
//
// The function moves bytes and trusts nothing, since the result is checked as any other certificate. It names the defects that
// show without the rules: a part that is missing, damaged, there twice, or of another proof.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "certificates/format/writer.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

// A branch of `root` without steps that refute all of its cases.
struct Cube {
  std::string name;            // for messages
  statement::Digest digest{};  // of the cube's file; the header of its part carries it
  std::uint64_t after = 0;     // records of the root that stand before the part's
};

struct JoinedPart {
  std::string path;
  std::uint64_t first = 0, last = 0;  // its records in the joined certificate
};

// Writes and finishes. `cubes` in ascending order of `after`. A witness in any part is the whole certificate, whatever else is
// missing. Codes join.*; those of the reader with the part in their place.
[[nodiscard]] Outcome<std::vector<JoinedPart>> join_parts(const std::string& root, const std::vector<Cube>& cubes,
                                                          const std::vector<std::string>& parts, const logic::Problem& problem,
                                                          Writer& writer);

}  // namespace assay::certificate
