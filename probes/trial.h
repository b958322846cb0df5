// Trials of the bank of faults: which of them a probe plan catches, and whether it lets the twins pass.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "probes/faults.h"
#include "probes/plan.h"

namespace assay::probes {

struct Trial {
  std::string application;
  Fault fault;
  enum class Source : std::uint8_t { bank, rule, twin } source = Source::bank;
  bool caught = false;
  std::string caught_by;        // the first probe's kind
  bool differs = false;         // some element's bits are not those of the right kernel, where the contract says something
  bool differs_freely = false;  // ... where its set is too wide to mean anything
  std::size_t ran = 0;          // probes on which the fault gave a result
  Graph application_graph;      // the op on inputs of the plan's first probe of this application
};

// Sees every result of a fault: the probe, what the right kernel gave, what the fault gave.
using Watch = std::function<void(const Trial&, const Probe&, const Tensor& right, const Tensor& wrong)>;

// Each fault and twin of every application of the op on the probes of that application, until it is caught, or with `watch` on all.
[[nodiscard]] std::vector<Trial> try_bank(Op op, const PlanOptions& options = {}, const Watch& watch = {});

}  // namespace assay::probes
