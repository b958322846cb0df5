// Dead cotangents: products that read, or gave, zeros only. A product is linear in its cotangent, so 0 becomes 0 whatever the product is
// elsewhere: where that is all that a run shows, its recorded numbers are no evidence for the kernels that computed them.
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
  std::uint32_t region = 0;  // whose product it is
  std::string cotangent;     // the tensor that is 0, or the first of several
  std::size_t elements = 0;  // of it
  bool is_read = false;      // by the product, else given by it, from a cotangent that is not 0
  bool is_always = false;    // 0 for all inputs of the domain
};

struct Liveness {
  std::size_t products = 0;
  std::vector<DeadProduct> dead;  // at most one entry per product
};

// The range that an input's elements may have.
using TraceDomain = std::vector<std::pair<TraceTensorId, Interval>>;

// Of all recorded products of a continuous trace. With a domain, whether dead ones are dead on all of it: the run's regions over
// Interval, in real arithmetic, from the domain and the recorded values of all other inputs and parameters. Nothing is said of that where
// that costs more than kMostDeadWork (kernel/audit/work.h).
inline constexpr double kMostDeadWork = 0x1p26;
[[nodiscard]] Liveness liveness(const Trace& trace, const TraceDomain& domain = {});

}  // namespace assay::audit
