// Trace: what a run of a program recorded, as regions over tensors. docs/reference/trace-format.md describes the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"

namespace assay {

using TraceTensorId = std::uint32_t;  // index into Trace::tensors; in products also a value inside a region, from kFirstInner on
inline constexpr TraceTensorId kFirstInner = TraceTensorId{1} << 31;

// A small graph that ran as one: an op, a fused chain, a layer with several results.
struct Region {
  std::string name;  // the recorder's, for messages
  Graph graph;
  ExecutionModel model;
  std::vector<TraceTensorId> operands;  // one per input of the graph
  std::vector<TraceTensorId> results;   // one per output of the graph
};

struct Trace {
  enum class Origin : std::uint8_t { input, parameter, result };
  struct Entry {
    std::string name;
    Origin origin = Origin::result;
    Tensor value;
    // What the program keeps the tensor in, where that is shorter: its elements are float32 here, and numbers of that format.
    ExecutionModel::Storage storage = ExecutionModel::Storage::same;
  };
  // A value that a node of a region computed and nobody recorded. kFirstInner + its index stands for it.
  struct Inner {
    std::string name;
    std::uint32_t region = 0;
    NodeId node = 0;
  };
  // A vector-Jacobian product: given the cotangent of one result of a region, the cotangents of operands. Any regions in between
  // computed them; kernel/audit composes these.
  struct Vjp {
    std::uint32_t of = 0;                                             // index into regions
    std::uint32_t result = 0;                                         // position among that region's results
    TraceTensorId cotangent = 0;                                      // of that result
    std::vector<std::pair<std::uint32_t, TraceTensorId>> cotangents;  // position among that region's operands, its cotangent
    std::optional<NodeId> node = std::nullopt;                        // else: of what this node computes, by its operands' positions
    // The function whose product this is meant to be, in place of the region's (or node's): on its operands, with a result of its type.
    std::optional<Graph> surrogate = std::nullopt;
    // What the writer's framework gives by itself for the same operands and cotangent: its convention at kinks.
    std::vector<std::pair<std::uint32_t, TraceTensorId>> convention = {};
  };
  // The recorded gradient of `output`, from the cotangent `seed`, with respect to each tensor `of`.
  struct Gradient {
    TraceTensorId output = 0, seed = 0;
    std::vector<std::pair<TraceTensorId, TraceTensorId>> of;  // tensor, its gradient
  };
  // Forward mode. When the tensors `from` move by their tangents, those of `to` move by theirs.
  struct Tangents {
    std::vector<std::pair<TraceTensorId, TraceTensorId>> from, to;  // tensor, its tangent
    std::vector<TraceTensorId> detached;                            // which do not move
  };
  // What ran and has no meaning here: tensors that it gave, values or cotangents. The file says of each of them that it was given.
  struct Opaque {
    std::string name;
    std::vector<TraceTensorId> results;
  };
  std::string writer;  // program and version, for the report
  std::vector<Entry> tensors;
  std::vector<Region> regions;         // in the order in which they ran
  std::vector<TraceTensorId> outputs;  // what the run returned
  std::vector<Vjp> vjps;
  std::vector<Gradient> gradients;
  std::vector<TraceTensorId> detached;  // through which no gradient is meant to flow
  std::vector<Inner> inner = {};
  std::vector<Opaque> opaque = {};
  std::vector<Tangents> tangents = {};
};

}  // namespace assay
