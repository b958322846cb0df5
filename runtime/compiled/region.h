// The record of a program's work: every step as a graph of ops, for each way of computing it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/array.h"
#include "semantics/graph/graph.h"

namespace assay::runtime {

using ProgramValue = std::size_t;  // a program's number for what one of its nodes computes

// A step of a replay: what it computed from what it read, whatever was fused, left out or reordered on the way.
struct ProgramRegion {
  std::string name;
  Graph graph;
  std::vector<ProgramValue> operands;  // one per input of the graph
  std::vector<ProgramValue> results;   // one per output
  std::vector<ProgramValue> values;    // one per node
  bool is_folded = false;              // computed on the CPU when the program was compiled
};

class ProgramObserver {
 public:
  ProgramObserver() = default;
  ProgramObserver(const ProgramObserver&) = delete;
  ProgramObserver& operator=(const ProgramObserver&) = delete;
  virtual ~ProgramObserver() = default;

  // A constant that the graph was compiled with; before the first region that reads it.
  virtual void held(ProgramValue value, const Array& content) = 0;
  // A step that ran, or an op that was folded when the program was compiled; after what gave its operands, which are inputs of the program,
  // constants and earlier results. The contents, one per result, hold during the call: their memory is used again.
  virtual void ran(const ProgramRegion& region, std::span<const Array> results) = 0;
};

}  // namespace assay::runtime
