// Checks whether one recorded product is the vector-Jacobian product of its region's meaning. Private to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/audit/opened.h"
#include "kernel/audit/point.h"
#include "kernel/audit/rows.h"
#include "kernel/audit/slice.h"
#include "kernel/audit/steps.h"
#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/trace.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"
#include "semantics/outcome.h"

namespace assay::audit {

class ProductCheck {
 public:
  // `needed` says, per tensor of the opened trace, whether the gradient needs its cotangent. A needed cotangent that
  // was not recorded counts as 0.
  ProductCheck(const Trace& recorded, const Opened& opened, const Producers& producers, const std::vector<bool>& needed, std::uint64_t seed,
               bool asks_convention);

  // Judges the recorded product (or null) of result k of region r. Every cotangent that it gives is judged, whether or
  // not it is needed. A rejection with code gradient.value or gradient.convention is about the recorded point, any
  // other about random points.
  [[nodiscard]] Outcome<gradients::Adjointness> judge(std::uint32_t r, std::uint32_t k, const Trace::Vjp* vjp, const std::string& place);
  // The number of elements of the last product that were judged at an undecided choice.
  [[nodiscard]] std::size_t corners() const { return corners_; }
  // Whether the last product is right only with functions at their limits.
  [[nodiscard]] bool is_limited() const { return is_limited_; }

 private:
  using Tensors = std::vector<TraceTensorId>;
  using Pairs = std::vector<std::pair<std::uint32_t, TraceTensorId>>;
  struct Reverse;
  // The compared functions: y, and a cotangent for each real tensor that y is computed from.
  struct Case;

  [[nodiscard]] bool is_real(TraceTensorId id) const { return is_float(trace_.tensors[id].value.dtype()); }
  [[nodiscard]] bool is_zero_at_infinities(TraceTensorId y, TraceTensorId y_bar) const;
  // Operands that are not drawn at random points: those with infinities and masks of two numbers keep their recorded
  // numbers, and detached values are computed of the other operands.
  struct Kept {
    bool fills = false, masks = false, stops = false;
  };
  [[nodiscard]] bool is_kept(const Region& region, const Trace::Vjp& vjp, TraceTensorId id, Kept kept) const;
  [[nodiscard]] Tensors composed(const Region& region, const Trace::Vjp& vjp) const;
  [[nodiscard]] Outcome<Case> case_of(std::uint32_t r, std::uint32_t k, const Trace::Vjp* vjp, const Tensors& from, Kept kept,
                                      const std::string& place) const;
  [[nodiscard]] Outcome<Reverse> reverse_of(const Case& of, const Region& region, TraceTensorId result, const Trace::Vjp* vjp,
                                            const Pairs& pairs, bool is_value) const;
  void bind_stops(Case& of) const;
  [[nodiscard]] Origin recorded_origin(const Origin& of) const;
  [[nodiscard]] std::optional<Case> at_limits(Case one, TraceTensorId y_bar);
  [[nodiscard]] Outcome<gradients::Adjointness> outcome_of(const Case& one, std::uint32_t r, const Trace::Vjp* vjp);
  [[nodiscard]] static Rejection of_closed(const Case& one, Rejection why);
  [[nodiscard]] Outcome<gradients::Adjointness> with_reads(const Case& one, std::uint32_t r, const Trace::Vjp& vjp,
                                                           Outcome<gradients::Adjointness> outcome);
  [[nodiscard]] std::optional<Rejection> at_the_point(const Case& one, std::uint32_t r, const Trace::Vjp& vjp,
                                                      RecordedProduct::Standing standing, const OneRow* row = nullptr);
  [[nodiscard]] Array<Interval> value_of(TraceTensorId id);
  [[nodiscard]] Outcome<NodeId> zero(TraceTensorId id, Graph& graph) const;
  [[nodiscard]] static Outcome<NodeId> claimed(const Region& region, const Pairs& pairs, TraceTensorId id, Slice& backward);

  const Trace& recorded_;
  const Trace& trace_;
  const Opened& opened_;
  const Producers& producers_;
  const std::vector<bool>& needed_;
  std::uint64_t seed_;
  bool asks_convention_;  // compares the products with the convention that vjps declare for their framework
  std::size_t corners_ = 0;
  bool is_limited_ = false;
  bool stores_short_;  // some tensor is stored in 16 bits
  // The values of all nodes of a region, for the last two regions: one forward, one backward.
  struct Inside {
    std::uint32_t region = UINT32_MAX;
    std::vector<Array<Interval>> nodes;
  };
  std::array<Inside, 2> inside_;
};

}  // namespace assay::audit
