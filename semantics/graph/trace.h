// Trace: the recording of a program's run, as regions over tensors. docs/reference/trace-format.md describes the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"

namespace assay {

// An index into Trace::tensors; in products also a value inside a region, from kFirstInner on.
using TraceTensorId = std::uint32_t;
inline constexpr TraceTensorId kFirstInner = TraceTensorId{1} << 31;

// A small graph that ran as one unit: an op, a fused chain, a layer with several results.
struct Region {
  std::string name;  // the recorder's name, for messages
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
    // The format in which the program keeps the tensor, if shorter: its elements are float32 here, and numbers of
    // that format.
    ExecutionModel::Storage storage = ExecutionModel::Storage::same;
  };
  // A value that a node of a region computed and that was not recorded. Its id is kFirstInner + its index.
  struct Inner {
    std::string name;
    std::uint32_t region = 0;
    NodeId node = 0;
  };
  // A vector-Jacobian product: given the cotangent of one result of a region, the cotangents of operands. Any regions
  // in between may have computed them; kernel/audit composes these.
  struct Vjp {
    std::uint32_t of = 0;                                             // index into regions
    std::uint32_t result = 0;                                         // position among that region's results
    TraceTensorId cotangent = 0;                                      // of that result
    std::vector<std::pair<std::uint32_t, TraceTensorId>> cotangents;  // operand's position, cotangent
    // If set, the product is that of this node, and positions are those of its operands.
    std::optional<NodeId> node = std::nullopt;
    // The function whose product this is meant to be, in place of the region's (or node's); on the same operands, with
    // a result of the same type.
    std::optional<Graph> surrogate = std::nullopt;
    // The cotangents that the writer's framework gives for the same operands and cotangent: its convention at kinks.
    std::vector<std::pair<std::uint32_t, TraceTensorId>> convention = {};
  };
  // The recorded gradient of `output`, from the cotangent `seed`, with respect to each tensor `of`.
  struct Gradient {
    TraceTensorId output = 0, seed = 0;
    std::vector<std::pair<TraceTensorId, TraceTensorId>> of;  // tensor, its gradient
  };
  // Forward mode. If the tensors `from` move by their tangents, those of `to` move by theirs.
  struct Tangents {
    std::vector<std::pair<TraceTensorId, TraceTensorId>> from, to;  // tensor, its tangent
    std::vector<TraceTensorId> detached;                            // tensors that do not move
  };
  // Code that ran and has no meaning here: the tensors that it gave, values or cotangents. The file marks each of them
  // as given.
  struct Opaque {
    std::string name;
    std::vector<TraceTensorId> results;
  };
  std::string writer;  // program and version, for the report
  std::vector<Entry> tensors;
  std::vector<Region> regions;         // in the order of execution
  std::vector<TraceTensorId> outputs;  // the returned tensors
  std::vector<Vjp> vjps;
  std::vector<Gradient> gradients;
  std::vector<TraceTensorId> detached;  // no gradient is meant to flow through these
  std::vector<Inner> inner = {};
  std::vector<Opaque> opaque = {};
  std::vector<Tangents> tangents = {};
};

}  // namespace assay
