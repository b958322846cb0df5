// BatchBounds: bounds a case on several boxes side by side. The ranges of all operands come first, as a sweep of the
// kernel finds them (with the kernel's own slopes and middle mixes). Then the mixes of products and the weights of the
// case's rows are optimised by ascent.
//
// The bounds are non-rigorous doubles: they choose splits, and say when it is worth asking the kernel.
//
// Each box is one lane of a SIMD register, so that eight boxes take the steps of one. Source: batches of subdomains, as
// alpha-beta-CROWN has them on a GPU (Wang et al. 2021). How this version differs: it bounds only scalar graphs
// (scalar_graph.h), and lines of curves are those of the kernel's policy, so that a bound here is nearly the kernel's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernel/logic/api.h"
#include "search/bounds/batch_loops.h"
#include "search/relax/lines.h"
#include "search/relax/scalar_graph.h"

namespace assay::search {

struct BoxParameters {
  std::vector<float> mixes;    // multiples of 1/128: first of the planes below each product, then of those above
  std::vector<float> weights;  // weights of ScalarGraph::rows, summing to about 1
};

struct BoxBound {
  double bound = 0;  // above 0: no point of the box satisfies the case
  BoxParameters parameters;
  std::vector<double> x;  // the point at which the bound is attained
};

// One for each thread, since it owns buffers.
class BatchBounds {
 public:
  explicit BatchBounds(const ScalarGraph& graph);
  BatchBounds(BatchBounds&&) = default;
  // Loads at most kLanes boxes, for the calls of bound() that follow.
  void load(std::span<const InputBox> boxes);
  // Bounds one case (an index into the statement) on the boxes from number `first` on, one for each result. Starts from
  // `starts` (null: middle mixes, equal weights); the result is never worse than the start. Ends early once all cases
  // are closed.
  void bound(std::uint32_t one, std::span<const BoxParameters* const> starts, int iterations, std::size_t first,
             std::span<BoxBound> results);

 private:
  struct Curve {
    double lo = 1, hi = 0;  // the operand's box; empty until it is first set
    Line below, above;
    double least = 0, most = 0;  // range of the function's values
  };
  [[nodiscard]] const Curve& curve(std::size_t neuron, double lo, double hi);
  void find_range(std::size_t operand);
  void choose_lines(std::size_t neuron);
  void start(const ScalarForm& form, double sign);
  void walk_back(std::size_t end_neuron);
  void start_case(const std::vector<ScalarForm>& rows);
  void keep_better(std::size_t first, std::span<BoxBound> results, std::size_t rows);
  void ascend(const std::vector<ScalarForm>& rows, double rate);
  [[nodiscard]] double* lanes(std::vector<double>& array, std::size_t index) { return array.data() + index * kLanes; }

  const ScalarGraph& graph_;
  std::size_t count_ = 0;  // number of boxes
  // With pointers into the arrays that follow.
  std::vector<BatchNeuron> neurons_;
  std::vector<double> z_lo_, z_hi_;  // [atom, lane]
  std::vector<double> lo_, hi_;      // [operand, lane]
  // [4 neuron, lane]: slope and intercept below, slope and intercept above.
  std::vector<double> lines_;
  // [2 product, lane]: the mixes in use, below and above.
  std::vector<double> mixes_;
  // [atom, lane]: coefficients; values on the lines.
  std::vector<double> c_, z_;
  // [lane]: the constant of the form, then its minimum.
  std::vector<double> value_;
  std::vector<double> raw_alpha_, first_, second_, gradient_;                     // [2 product, lane]
  std::vector<double> weights_, weight_first_, weight_second_, weight_gradient_;  // [row, lane]
  std::vector<std::vector<Curve>> curves_;  // by neuron: recently used curves, by a hash of the operand's box
};

// A bound in the form that the kernel takes: multipliers of the case's rows, and the mixes as hints.
[[nodiscard]] logic::CaseMultipliers to_multipliers(const ScalarGraph& graph, std::uint32_t position, std::uint32_t one,
                                                    const BoxParameters& parameters);
[[nodiscard]] logic::Hints to_hints(const ScalarGraph& graph, const BoxParameters& parameters);

}  // namespace assay::search
