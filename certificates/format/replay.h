// Replay: a certificate in, a theorem of the kernel out.
//
// Decoding is untrusted: whatever the file says, only the kernel's rules make the theorem, and the theorem speaks about
// the statement of `problem`. Memory is the stack of open branches, not the length of the proof.
//
// Rejections of the reader have codes certificate.*; those of the kernel keep their code, with the step in front of
// their place.
#pragma once

#include <cstdint>
#include <memory>

#include "certificates/format/reader.h"
#include "kernel/kernel.h"
#include "semantics/outcome.h"

namespace assay::certificate {

struct ReplayStatistics {
  std::uint64_t steps = 0, splits = 0, conclusions = 0;
  std::size_t depth = 0;  // the deepest
};

[[nodiscard]] Outcome<kernel::Theorem> replay(Reader& reader, std::shared_ptr<const kernel::Problem> problem,
                                              ReplayStatistics* statistics = nullptr);

}  // namespace assay::certificate
