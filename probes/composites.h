// Regions of several ops that kernels compute at once: attention, and the products of normalisations, softmax and attention.
#pragma once

#include <string>
#include <vector>

#include "probes/plan.h"

namespace assay::probes {

struct RegionProbe {
  std::string region;  // "attention"
  std::string name;    // "attention, causal: dense float32"
  Graph graph;
  std::vector<Tensor> operands;
  Layout layout = Layout::dense;
};

// The names of the composite regions.
[[nodiscard]] std::vector<std::string> composite_regions();
// The one that is meant, whatever the case and whatever stands between the words: "rms norm" for "rms_norm". Empty: none.
[[nodiscard]] std::string composite_named(const std::string& name);
// The probes of one of them, by any spelling; empty for another name. Of the options dtype is float32.
[[nodiscard]] std::vector<RegionProbe> region_plan(const std::string& region, const PlanOptions& options = {});

}  // namespace assay::probes
