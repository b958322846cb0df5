// Dead cotangents: products that read, or gave, zeros only. A product is linear in its cotangent, so every product maps
// 0 to 0. If the run shows nothing else, its recorded numbers are no evidence for the kernels that computed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "semantics/graph/trace.h"
#include "semantics/numbers/interval.h"

namespace assay::audit {

struct DeadProduct {
  std::uint32_t region = 0;  // the region of the product
  std::string cotangent;     // the tensor that is 0, or the first of several
  std::size_t elements = 0;  // number of elements of that tensor
  // True: the product reads the tensor; false: it gives the tensor, from a cotangent that is not 0.
  bool is_read = false;
  bool is_always = false;  // the tensor is 0 for all inputs of the domain
};

struct Liveness {
  std::size_t products = 0;
  std::vector<DeadProduct> dead;  // at most one entry per product
};

// The range of an input's elements.
using TraceDomain = std::vector<std::pair<TraceTensorId, Interval>>;

// Finds the dead products among all recorded products of a continuous trace. With a domain, it also finds
// whether they are dead on all of it: the run's regions are evaluated over Interval, in real arithmetic, from
// the domain and the recorded values of all other inputs and parameters. This is skipped if it costs more than
// kMostDeadWork (kernel/audit/work.h).
inline constexpr double kMostDeadWork = 0x1p26;
[[nodiscard]] Liveness liveness(const Trace& trace, const TraceDomain& domain = {});

}  // namespace assay::audit
