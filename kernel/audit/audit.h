// Audit of a recorded run: checks that the trace is one unbroken run, and that its contract admits every
// recorded value.
//
// A passed audit means: each region's results are admissible given its recorded operands, under its declared execution
// model. Each operand is an input, a parameter or the result of an earlier region, so the regions form one program. A
// passed audit says nothing about another run, or about a program that was meant but not recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/contracts/contract.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::audit {

// Checks that the trace is one run. Each rejection names region and tensor:
//   audit.operand   an operand that is no input, no parameter and no result of an earlier region
//   audit.result    a result that another region gave before, or that is an input or parameter
//   audit.origin    a tensor of the file or of the outputs that nothing gave
//   audit.shape     a result whose type or shape is not that of the region's graph
//   audit.region    a region that reads or gives another number of tensors than its graph, or whose graph is not valid
//   audit.storage   a tensor stored in 16 bits that is no float32, or holds a value that is no number of its format
//   audit.vjp       a product that refers to a missing region, result or operand, or whose cotangent has another type
//                   or shape
//   audit.gradient  a gradient of another type or shape than its tensor, or a seed of another type or shape than
//                   the output
[[nodiscard]] Outcome<Done> check_continuity(const Trace& trace);

// The correspondence between a run and a model.
struct ModelRun {
  std::vector<TraceTensorId> inputs, outputs;  // the tensors recorded as the model's inputs and outputs
  // The number of nodes of the model that compute something; each was found in the run.
  std::size_t nodes = 0;
};

// Checks that the continuous trace is a run of the model. Its regions, composed, must compute every output of the model
// by the model's ops, with its attributes and, bit for bit, its constants, from tensors with the names of its inputs.
// Declined with model.input, model.node (the first one that the run lacks) or model.output. The model is valid.
[[nodiscard]] Outcome<ModelRun> check_model(const Trace& trace, const Graph& model);

// One element outside its set.
struct Violation {
  std::size_t result = 0, element = 0;  // position among the region's results; element in row-major order
  std::string text;                     // place, received bits, admitted set, exact value
  // The number of steps of the format from the received number to the nearest admitted one, at most 2^53; inf for NaN.
  double steps = 0;
  // |received - exact| over the error from which on the element fails; inf if that is 0.
  double allowance_units = 0;
  double received = 0;
  contracts::FloatSet admitted;
  Interval exact;  // undefined if there is none
};

struct RegionAudit {
  struct Counts {
    std::size_t passed = 0, failed = 0, vacuous = 0, unsupported = 0;
    std::size_t unsampled = 0;  // not looked at, as asked for or because thousands had failed
    Counts& operator+=(const Counts& other);
  };
  std::vector<Counts> results;            // one per result
  std::optional<Violation> first, worst;  // worst: the largest allowance_units, then the most steps
  // One list per result: its failed elements, ascending.
  std::vector<std::vector<std::size_t>> failed_at;
  std::optional<Rejection> unsupported;  // why all elements are unsupported
  double head_room_used = 0;             // the largest fraction of its allowance that a passed element uses

  [[nodiscard]] Counts total() const;
};

// For large runs: which elements to judge of a result whose elements are long sums of products. The sample has the
// first and the last element, the ends of the first and the last row, and others drawn by the seed; the same seed draws
// the same ones.
struct Sampling {
  std::size_t elements = 0;  // of each such result; 0: all
  std::uint64_t seed = 0;
};

// Judges the results of one region of a continuous trace (demanded only as far as indices go). A region without a
// contract is not rejected: its elements count as unsupported.
[[nodiscard]] Outcome<RegionAudit> audit_region(const Trace& trace, std::size_t region, const Sampling& sampling = {});

}  // namespace assay::audit
