// The bank of faults: what kernels get wrong, as computations of their own, beside twins that are right in another way.
//
// Faults come from reports of real kernels (`seen_in`), from experience, and by rule from the op itself (mistakes.h). They are
// what probe plans have to catch, and what a failed audit is explained with: a region whose bits a fault reproduces most likely has it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::probes {

struct Fault {
  std::string name;     // "with last pads ignored": continues "equals the reference"
  std::string seen_in;  // "onnxruntime#29631"; empty: nowhere in particular
  // The same function of real numbers: only rounding, overflow, infinities or NaN differ.
  bool numeric = false;
  std::optional<Graph> graph;  // the graph that is computed instead, on the op's inputs; none: see run
  std::function<Outcome<Tensor>(const std::vector<Tensor>&)> run;
};

// The faults of a graph that is one op on its inputs (plan.h, graph_of). Faults that cannot be told from the right op by its
// shapes are left out.
[[nodiscard]] std::vector<Fault> faults_of(const Graph& application);
[[nodiscard]] std::vector<Fault> faults_by_rule(const Graph& application);
// Right computations in another order, or in double precision.
[[nodiscard]] std::vector<Fault> twins_of(const Graph& application);

// Says why a region of one op may have failed: "equals the reference with last pads ignored (seen in onnxruntime#29631), bit for
// bit". The list has the faults that explain every element of the result. It is empty if none does, or if trying would take long.
// If the runtime's own result has these bits, the text says so instead, since no fault shows in them. A result that is NaN in
// every element shows none either. Callers may be on several threads.
[[nodiscard]] std::vector<std::string> explanations(const Trace& trace, const Region& region);

}  // namespace assay::probes
