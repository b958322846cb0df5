// Program: a graph prepared for being run many times.
//
//   Outcome<Program> program = Program::compile(graph);
//   Outcome<std::vector<Array>> outputs = program.value().replay(inputs);
//
// To save time at each replay, compiling
//   * folds nodes that depend on constants alone, and computes equal nodes once;
//   * makes chains of elementwise ops one pass over blocks that stay in the cache;
//   * computes gradients of convolutions in their weights, and of maxima over windows, without laying tensors out anew;
//   * puts parts of a tensor together that would be padded and added, and adds products up in one step;
//   * gives every intermediate value a place in one piece of memory.
// Passes read slices, and write parts that are put together, in place. The kernels of runtime/kernels compute each op. Results
// are therefore those of eager execution, bit for bit, but for sums that a convolution's weight gradient takes in another order.
// On a device the steps are the same, but for parts in place. A pass is one launch if a pass of the device holds it. The memory
// is one piece there, and folded nodes were computed on the CPU.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/array.h"
#include "runtime/compiled/region.h"
#include "runtime/device.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::runtime {

struct ProgramSummary {
  std::size_t nodes = 0;         // of the graph, leaves included
  std::size_t folded = 0;        // computed while compiling
  std::size_t shared = 0;        // equal to another node
  std::size_t steps = 0;         // of a replay
  std::size_t fused = 0;         // ops that run inside a pass over several
  std::size_t composed = 0;      // steps of several ops that are one kernel
  std::size_t memory = 0;        // bytes of intermediate values
  std::size_t memory_alone = 0;  // bytes that they would take without sharing
};

// Immutable but for the memory of intermediate values: replays of one program take turns. Copies share it.
class Program {
 public:
  // The graph is valid (semantics/graph/graph.h). A rejection is that of an op that fails while it is folded.
  static Outcome<Program> compile(const Graph& graph);

  // One array per graph output, in order, from one per graph input of its type and shape (demanded). An output that is an input,
  // or a constant, shares its buffer.
  //
  // An observer gets every step as it ran, and nothing runs differently for it. Values that a step does not keep though other
  // steps may mean them (slices in a pass, products that are added up) are computed once more, and shown before it. With a device
  // the steps run there, and outputs stay there. From the second replay without an observer on they run in one go, if the device
  // can (a CUDA graph), with the same bits.
  [[nodiscard]] Outcome<std::vector<Array>> replay(std::span<const Array> inputs, ProgramObserver* observer = nullptr,
                                                   Mirror* device = nullptr) const;
  // The program's numbers for its inputs and outputs, and for a node of the graph: none for one that nothing needs.
  [[nodiscard]] const std::vector<ProgramValue>& inputs() const;
  [[nodiscard]] const std::vector<ProgramValue>& outputs() const;
  [[nodiscard]] std::optional<ProgramValue> value_of(NodeId node) const;
  [[nodiscard]] const ProgramSummary& summary() const;

 private:
  struct State;
  Program() = default;
  std::shared_ptr<State> state_;
};

}  // namespace assay::runtime
