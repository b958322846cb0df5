// RelaxationLp: the linear program of the triangle relaxation of a relu network, solved by a
// simplex library.
//
// Variables: the inputs x in their box, per undecided neuron z = y - p with y, p >= 0 (the positive
// and the negative part) and y / u + p / -l <= 1, and t. Minimise t subject to (terms_r - bound_r)
// / scale_r <= t for every row r of a case. A literal z >= 0 fixes p, z <= 0 fixes y, an input's
// literal moves its bound, so that a node is another node's program with other bounds of variables
// and starts from its basis.
//
// With mu the dual variable of z = y - p and A the coefficient that the rows and the layers above
// have on y, the dual solution is a back-substitution: lower slope mu / A where A > 0, multiplier A
// - mu of a literal z >= 0, mu of z <= 0, and the rows' duals as weights. Non-rigorous:
// AlphaBetaCrown computes the bound of the parameters, the kernel decides.
//
// Source: the triangle relaxation of Planet (Ehlers 2017). How this version differs: it is kept for
// relus that all read the inputs, where a program has one row for each neuron, and where it decides
// what ascent leaves open for long (record 0008); its optimum is only a start for bounds that the
// kernel repeats.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "kernel/logic/api.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/relax/network.h"
#include "search/strategy/deadline.h"

namespace assay::search {

// What the programs of all nodes, cases and threads share. Immutable.
class RelaxationRows {
 public:
  // Coefficients of a linear form over the inputs, then the neurons' values.
  struct Form {
    std::vector<std::uint32_t> columns;
    std::vector<double> values;
    double constant = 0;
  };

  // Relu networks whose neurons all have finite boxes, up to a size that a program is worth solving
  // for.
  static bool supports(const NeuronGraph& graph, const NeuronBoxes& root);
  RelaxationRows(const NeuronGraph& graph, const NeuronBoxes& root);

  [[nodiscard]] const NeuronGraph& graph() const { return *graph_; }
  [[nodiscard]] const NeuronBoxes& root() const { return root_; }
  [[nodiscard]] const std::vector<Form>& operands() const { return operands_; }  // by neuron
  [[nodiscard]] Form output(std::uint32_t element) const;                        // of the flattened outputs

 private:
  [[nodiscard]] Form form(NodeId node, std::uint32_t element) const;
  const NeuronGraph* graph_;
  NeuronBoxes root_;
  std::vector<Form> operands_;
};

struct LpResult {
  enum class Status : std::uint8_t { solved, contradiction, stopped } status = Status::stopped;
  double bound = 0;          // t, in units of the rows' scales; nothing for a contradiction between literals
  AlphaBeta parameters;      // for literals as given
  std::vector<double> x;     // of an optimal point; empty for a contradiction
  std::vector<bool> needed;  // by literal: false where the dual solution does without it
};

// What some optimal points have in common.
struct OptimalFace {
  std::vector<double> x_lo, x_hi;  // the range of every input over the points
  std::vector<float> gaps;         // by neuron: how far its value is from relu of its operand, at the point where it is least
};

// One case's program. One per thread.
class RelaxationLp {
 public:
  RelaxationLp(const RelaxationRows& shared, const std::vector<RowView>& rows, Deadline deadline, const std::stop_token& stop);
  ~RelaxationLp();
  RelaxationLp(const RelaxationLp&) = delete;
  RelaxationLp& operator=(const RelaxationLp&) = delete;

  // `boxes`: the root's, met with the literals. Starts from the basis that the last call left.
  [[nodiscard]] LpResult solve(const NeuronBoxes& boxes, std::span<const logic::Literal> literals);
  // After solve() found a bound: optimal points that lie far apart, by a few further programs.
  [[nodiscard]] OptimalFace sample_face(const NeuronBoxes& boxes);

 private:
  class Solver;
  const RelaxationRows& shared_;
  std::unique_ptr<Solver> solver_;
};

}  // namespace assay::search
