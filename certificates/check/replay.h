// Replay: a certificate in, a theorem of the kernel out. serial.cpp is the loop, and says what is checked by whom.
//
// Decoding is untrusted: whatever the file says, only the kernel's rules make the theorem, and the theorem speaks about
// the statement of `problem`. Memory is the stack of open branches, not the length of the proof. With several threads parts of the
// certificate are held as well, the branches of whose splits are replayed at once. The answer is the same to the letter, and so are the
// statistics but for the last two: what the threads do not accept together, one of them replays again.
//
// Rejections of the reader have codes certificate.*; those of the kernel keep their code, with the step in front of
// their place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "certificates/format/reader.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

struct ReplayStatistics {
  std::uint64_t steps = 0, splits = 0, conclusions = 0;
  std::size_t depth = 0;      // the deepest
  double work = 0;            // multiply-adds of the steps
  double budget = 0;          // of what they may have taken
  std::uint64_t memory = 0;   // bytes that the boxes of open branches could have come to
  double helper_seconds = 0;  // CPU time of other threads than the calling one
  std::uint64_t again = 0;    // parts of the certificate that the threads did not accept together: one replayed them once more

  // Of another part of the certificate.
  void add(const ReplayStatistics& part) {
    steps += part.steps;
    splits += part.splits;
    conclusions += part.conclusions;
    depth = std::max(depth, part.depth);
  }
};

// The work that the steps may take. It grows with the bytes read of the certificate, which are known before the steps run.
struct ReplayLimits {
  double work = 1e13, work_per_byte = 0, most_work = 1e13;  // multiply-adds: work + work_per_byte * bytes, at most most_work
  std::uint64_t memory = std::uint64_t{8} << 30;            // bytes of the boxes of open branches
  // Limits for several threads. Each may hold as much memory, and the records that are replayed at once may begin with as much
  // together, while as many bytes are read ahead. The right branch of a split among them is given away if its estimated work is
  // at least this many multiply-adds.
  std::size_t threads = 1;
  std::uint64_t shared_bytes = std::uint64_t{8} << 20;
  double shared_work = 2e4;
};

[[nodiscard]] Outcome<logic::Theorem> replay(Reader& reader, std::shared_ptr<const logic::Problem> problem,
                                             ReplayStatistics* statistics = nullptr, const ReplayLimits& limits = {});

}  // namespace assay::certificate
