// RelaxationLp: the linear program of the triangle relaxation of a ReLU network, solved by a simplex library.
//
// Variables: the inputs x in their box; for each unstable neuron z = y - p with y, p >= 0 (the positive and the
// negative part) and y / u + p / -l <= 1; and t. Minimise t subject to (terms_r - bound_r) / scale_r <= t for every row
// r of a case. A literal z >= 0 fixes p, a literal z <= 0 fixes y, and an input's literal moves its bound. So the
// program of a node is the program of another node with other bounds of variables, and starts from that node's basis.
//
// Let mu be the dual variable of z = y - p, and A the coefficient of y in the rows and the layers above. The dual
// solution is a back-substitution: its lower slope is mu / A if A > 0, its multiplier of a literal z >= 0 is A - mu,
// that of z <= 0 is mu, and the duals of the rows are the weights. Non-rigorous: AlphaBetaCrown computes the bound of
// these parameters, and the kernel decides.
//
// Source: the triangle relaxation of Planet (Ehlers 2017). How this version differs: it is used only if all ReLUs read
// the inputs. There a program has one row for each neuron, and it decides cases that ascent leaves open for long
// (record 0008). Its optimum is only a start for bounds that the kernel repeats.
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

// The part that the programs of all nodes, cases and threads share. Immutable.
class RelaxationRows {
 public:
  // A linear form: coefficients of the inputs, then of the neurons' values.
  struct Form {
    std::vector<std::uint32_t> columns;
    std::vector<double> values;
    double constant = 0;
  };

  // Whether the network has only ReLUs, all with finite boxes, and is small enough for a program to be worth solving.
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
  double bound = 0;       // t, in units of the rows' scales; unused for a contradiction between literals
  AlphaBeta parameters;   // for the literals as given
  std::vector<double> x;  // an optimal point; empty for a contradiction
};

// What some optimal points have in common.
struct OptimalFace {
  std::vector<double> x_lo, x_hi;  // the range of every input over the points
  // By neuron: the least distance, over the points, of its value from relu of its operand.
  std::vector<float> gaps;
};

// The program of one case. One for each thread.
class RelaxationLp {
 public:
  RelaxationLp(const RelaxationRows& shared, const std::vector<RowView>& rows, Deadline deadline, const std::stop_token& stop);
  ~RelaxationLp();
  RelaxationLp(const RelaxationLp&) = delete;
  RelaxationLp& operator=(const RelaxationLp&) = delete;

  // `boxes`: the root's, cut by the literals. Starts from the basis that the last call left.
  [[nodiscard]] LpResult solve(const NeuronBoxes& boxes, std::span<const logic::Literal> literals);
  // After solve() found a bound: optimal points that lie far apart, from a few further programs.
  [[nodiscard]] OptimalFace sample_face(const NeuronBoxes& boxes);

 private:
  class Solver;
  std::unique_ptr<Solver> solver_;
};

}  // namespace assay::search
