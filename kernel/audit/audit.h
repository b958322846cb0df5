// Audit of a recorded run: the trace is one unbroken run, and every recorded value is one that its contract admits.
//
// What a passed audit says: each region's results are admissible given its recorded operands, under its declared execution model, and
// each operand is an input, a parameter or the result of an earlier region, so the regions form one program. It says nothing about
// another run, and nothing about a program that was meant but not recorded.
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

// The trace is one run. Rejections, each naming region and tensor:
//   audit.operand   an operand that is no input or parameter and that no earlier region gave
//   audit.result    a result that another region gave before, or an input or parameter
//   audit.origin    a tensor that nothing gave, of the file's or of the outputs
//   audit.shape     a result whose type or shape is not that of the region's graph
//   audit.region    a region that reads or gives another number of tensors than its graph, or whose graph is not valid
//   audit.storage   a tensor that is stored in 16 bits and is no float32, or holds what is no number of its format
//   audit.vjp       a product that refers to a missing region, result or operand, or whose cotangent has another type or shape
//   audit.gradient  a gradient of another type or shape than its tensor, or a seed of another type or shape than the output
[[nodiscard]] Outcome<Done> check_continuity(const Trace& trace);

// How the run computes a model's outputs.
struct ModelRun {
  std::vector<TraceTensorId> inputs, outputs;  // the model's, as recorded
  std::size_t nodes = 0;                       // of the model that compute something, each found in the run
};

// The trace, which is continuous, is a run of the model: its regions, composed, compute every output of the model by the model's ops,
// with its attributes and, bit for bit, its constants, from tensors that have the names of its inputs. Declined: model.input, model.node
// (the first one that the run has not), model.output. The model is valid.
[[nodiscard]] Outcome<ModelRun> check_model(const Trace& trace, const Graph& model);

// One element outside its set.
struct Violation {
  std::size_t result = 0, element = 0;  // position among the region's results; row-major
  std::string text;                     // place, received bits, admitted set, exact value
  double steps = 0;            // numbers of the format between the received one and the nearest admitted, at most 2^53; inf for NaN
  double allowance_units = 0;  // |received - exact| over the error from which on the element fails; inf where that is 0
  double received = 0;
  contracts::FloatSet admitted;
  Interval exact;  // undefined where there is none
};

struct RegionAudit {
  struct Counts {
    std::size_t passed = 0, failed = 0, vacuous = 0, unsupported = 0;
    std::size_t unsampled = 0;  // that nobody looked at, as asked or because thousands had failed
    Counts& operator+=(const Counts& other);
  };
  std::vector<Counts> results;                      // one per result
  std::optional<Violation> first, worst;            // worst: by allowance_units, then by steps
  std::vector<std::vector<std::size_t>> failed_at;  // one per result: its failed elements, ascending
  std::optional<Rejection> unsupported;             // why all elements are
  double head_room_used = 0;                        // the largest share of its allowance that a passed element uses

  [[nodiscard]] Counts total() const;
};

// Large runs: of a result whose elements are long sums of products, only some are judged. They are the first and the last element, the ends
// of the first and the last row, and others that the seed draws; the same seed draws the same.
struct Sampling {
  std::size_t elements = 0;  // of each such result; 0: all
  std::uint64_t seed = 0;
};

// Judges the results of one region of a trace that is continuous (demanded only as far as indices go).
// A region without a contract is not rejected: its elements count as unsupported.
[[nodiscard]] Outcome<RegionAudit> audit_region(const Trace& trace, std::size_t region, const Sampling& sampling = {});

}  // namespace assay::audit
