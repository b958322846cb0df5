// Replay turns a certificate into a theorem of the kernel. serial.cpp contains the loop, and says which part
// checks what.
//
// Decoding is untrusted. Whatever the file says, only the kernel's rules make the theorem, and the theorem is about the
// statement of `problem`. Memory grows with the number of open branches, not with the length of the proof.
//
// With several threads, parts of the certificate are held in memory, too, and the branches of their splits are replayed
// at the same time. The answer is identical, and so are the statistics except for the last two. If the threads do not
// accept a part, one thread replays it again.
//
// Rejections by the reader have codes certificate.*. Those by the kernel keep their code, and their place starts with
// the step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "certificates/format/reader.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

struct ReplayStatistics {
  std::uint64_t steps = 0, splits = 0, conclusions = 0;
  std::size_t depth = 0;      // the largest depth
  double work = 0;            // multiply-adds of all steps
  double budget = 0;          // multiply-adds that the steps were allowed
  std::uint64_t memory = 0;   // upper bound on the bytes of the boxes of open branches
  double helper_seconds = 0;  // CPU time of all threads but the calling one
  // The number of parts of the certificate that the threads did not accept together, so that one thread replayed
  // them again.
  std::uint64_t again = 0;
  // If the replay ended at the root of a group: the group, and the position of a case that was not refuted there.
  std::optional<std::pair<std::size_t, std::size_t>> open_case = std::nullopt;

  // Adds the counts of another part of the certificate.
  void add(const ReplayStatistics& part) {
    steps += part.steps;
    splits += part.splits;
    conclusions += part.conclusions;
    depth = std::max(depth, part.depth);
  }
};

// The work that the steps may take. It grows with the number of bytes read, which is known before the steps run.
struct ReplayLimits {
  // Multiply-adds: work + work_per_byte * bytes, but at most most_work.
  double work = 1e13, work_per_byte = 0, most_work = 1e13;
  std::uint64_t memory = std::uint64_t{8} << 30;  // bytes for the boxes of open branches
  // Limits for several threads. Each thread may use `memory` bytes. A batch of records that are replayed at once holds
  // at most `shared_bytes`, and as many bytes are read ahead. A thread gives the right branch of a split away if its
  // estimated work is at least `shared_work` multiply-adds.
  std::size_t threads = 1;
  std::uint64_t shared_bytes = std::uint64_t{8} << 20;
  double shared_work = 2e4;
};

[[nodiscard]] Outcome<logic::Theorem> replay(Reader& reader, std::shared_ptr<const logic::Problem> problem,
                                             ReplayStatistics* statistics = nullptr, const ReplayLimits& limits = {});

}  // namespace assay::certificate
