// Dead cotangents: finds the products of a trace that read or gave zeros only.

#include "kernel/audit/dead.h"

#include <algorithm>
#include <optional>

#include "kernel/audit/opened.h"
#include "kernel/audit/point.h"
#include "kernel/audit/work.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

namespace {

// False for tensors without elements.
bool is_zero(const Tensor& tensor) {
  if (tensor.size() == 0 || !is_float(tensor.dtype())) return false;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    if (tensor.as_double(i) != 0) return false;
  }
  return true;
}

bool is_zero(const Array<Interval>& values) {
  return !values.values.empty() && std::ranges::all_of(values.values, [](const Interval& one) { return one == Interval(); });
}

// The range of every tensor of the run over the domain; nullopt if that costs too much or is not defined.
std::optional<std::vector<Array<Interval>>> on(const TraceDomain& domain, const Trace& trace) {
  double work = 0;
  for (const Region& region : trace.regions) work += work_of(region.graph);
  if (!(work <= kMostDeadWork)) return std::nullopt;
  std::vector<Array<Interval>> values(trace.tensors.size());
  for (std::size_t id = 0; id < trace.tensors.size(); ++id) {
    if (trace.tensors[id].origin != Trace::Origin::result) values[id] = enclosed(trace.tensors[id].value);
  }
  for (const auto& [id, range] : domain) std::ranges::fill(values[id].values, range);
  for (const Region& region : trace.regions) {
    std::vector<Array<Interval>> operands;
    for (const TraceTensorId id : region.operands) operands.push_back(values[id]);
    const auto nodes = evaluate<Interval>(region.graph, operands);
    if (!nodes) return std::nullopt;
    for (std::size_t i = 0; i < region.results.size(); ++i) values[region.results[i]] = nodes.value()[region.graph.outputs[i]];
  }
  return values;
}

// The cotangents of a product that are 0: the one that it reads, or otherwise those that it gives.
std::vector<TraceTensorId> dead_cotangents(const Trace& trace, const Trace::Vjp& vjp) {
  if (is_zero(trace.tensors[vjp.cotangent].value)) return {vjp.cotangent};
  std::vector<TraceTensorId> dead;
  for (const auto& [operand, id] : vjp.cotangents) {
    if (is_zero(trace.tensors[id].value)) dead.push_back(id);
  }
  return dead;
}

}  // namespace

Liveness liveness(const Trace& recorded, const TraceDomain& domain) {
  const Opened view = opened(recorded);
  Liveness life;
  std::vector<std::vector<TraceTensorId>> cotangents;
  for (const Trace::Vjp& vjp : view.trace.vjps) {
    ++life.products;
    const auto ids = dead_cotangents(view.trace, vjp);
    if (ids.empty()) continue;
    const Trace::Entry& entry = view.trace.tensors[ids[0]];
    life.dead.push_back({view.origin[vjp.of], entry.name, entry.value.size(), ids[0] == vjp.cotangent, false});
    cotangents.push_back(ids);
  }
  if (domain.empty() || life.dead.empty()) return life;
  const auto values = on(domain, view.trace);
  const auto is_always = [&](TraceTensorId id) { return is_zero((*values)[id]); };
  for (std::size_t i = 0; values && i < cotangents.size(); ++i) life.dead[i].is_always = std::ranges::all_of(cotangents[i], is_always);
  return life;
}

}  // namespace assay::audit
