// Costs of a network, estimated from its shapes before the kernel allocates anything. No verdict rests on an estimate. One that
// is too high declines. One that is too low lets the work begin, and the limit on the process's memory then ends it.
#pragma once

#include "api/check/load.h"
#include "certificates/check/replay.h"

namespace assay::check {

// The bytes that a run may hold: --memory, else 256 MiB and 256 for each byte of the files on disk, at most 8 GiB.
[[nodiscard]] MemoryRule memory_rule(const Limits& limits);

// The multiply-adds of one evaluation of the graph, and the pairs of elements that it compares.
[[nodiscard]] double work_of(const Graph& graph);
// The elements of all of its nodes.
[[nodiscard]] double elements_of(const Graph& graph);

// The bytes that the network is expected to need, where `stored` bytes of the model are on disk. Declined (codes
// "statement.memory" and "statement.work") where that is more than the memory, or one pass takes more than --budget, else 10^8
// multiply-adds and 1000 for each byte.
[[nodiscard]] Outcome<std::uint64_t> check_size(const Graph& graph, const Limits& limits, std::uint64_t stored);
// The same of a run of the network in floating point, which holds values alone; no limit on its work. `kept` copies of each value
// are in memory at one time, at most.
[[nodiscard]] Outcome<std::uint64_t> check_run_size(const Graph& graph, const Limits& limits, double kept);

// The multiply-adds that the steps of a certificate may take. With --budget W they are W. Else they follow from
//   F, the bytes of model and property on disk;
//   C, the bytes of the certificate read so far;
//   P = min(multiply-adds of one row through the network, 10 F);
//   S, the multiply-adds of one complete sweep:
//
//   10^8 + min(10 S, F P) + C min(500 P, S / 2 + 20 P, 200 F),  at most 10^12.
//
// The boxes of open branches may take the memory that remains beside the network, the files and the whole certificate.
[[nodiscard]] certificate::ReplayLimits replay_limits(const Loaded& loaded, const Limits& limits, std::uint64_t certificate_bytes);

}  // namespace assay::check
