// AlphaBetaCrown: lower bounds of linear functionals by back-substitution, with optimised lines (alpha), multipliers of
// literals (beta) and multipliers of a case's rows (spec weights). Non-rigorous doubles; the parameters become hints
// for the kernel.
//
// For any parameters, min over the box of the back-substituted form bounds
//     sum_r w_r (terms_r - bound_r)
//
// from below on the points that satisfy the literals; a value > 0 refutes the case. Supergradients need no tape: with
// x* the minimiser of the concretised form, run forward through the chosen lines,
//     d/d slope_j = A_j^+- (z_j(x*) - p_j)      p_j where the line touches (0 for relu),
//     d/d beta_k  = -s_k (z_k(x*) - t_k)        s_k = +1 for z >= t, -1 for z <= t,
//     d/d w_r     = terms_r(x*) - bound_r.
//
// Products have McCormick's planes as lines, with mixes in place of slopes; softmax has the same planes
// as in the kernel (mccormick.cpp). share_alphas() looks for one set of slopes for the ranges of many
// elements (shared_alphas.cpp).
//
// Source: Wang et al. 2021 (beta-CROWN), sections 3.1-3.3; the gradient by the relaxed forward run is
// Danskin's theorem.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernel/inspect/inspect.h"
#include "search/relax/network.h"

namespace assay::search {

struct NeuronBoxes;

// Numbers the neurons of a network in graph order: the elements of all elementwise non-linear steps, and of products of
// two operands, matrix products included. Softmax has no neurons.
class NeuronGraph {
 public:
  struct Activation {
    const Step* step;
    NodeId operand;
    std::uint32_t first_neuron;
    // The index in NeuronBoxes' factor boxes of the first of the elements of whole_boxes(), one node after the other.
    std::uint32_t first_factor = 0;
    [[nodiscard]] bool is_product() const { return step->kind == Step::Kind::binary || step->kind == Step::Kind::matmul; }
    [[nodiscard]] bool is_softmax() const { return step->kind == Step::Kind::softmax; }
    [[nodiscard]] bool is_elementwise() const { return step->kind == Step::Kind::unary; }
    [[nodiscard]] std::size_t neurons() const { return is_softmax() ? 0 : step->size; }
    // The nodes whose boxes the planes need: the operands of a product; the operand and the result of a softmax.
    [[nodiscard]] std::vector<NodeId> whole_boxes() const;
  };
  // The k-th pair of factors of a product's element j, out of step->extent pairs: the elements of the factors, and the
  // widths of their boxes.
  struct Factors {
    std::size_t p, q;
    double p_width, q_width;
  };
  [[nodiscard]] Factors factors(const Activation& product, std::size_t j, std::size_t k, const NeuronBoxes& boxes) const;
  [[nodiscard]] std::size_t factor_count() const { return factor_count_; }

  enum class InputRows : std::uint8_t { now, later };
  explicit NeuronGraph(const Network& network, InputRows rows = InputRows::now);
  // With InputRows::later, finds the input rows afterwards. Only branching needs them, and this can take longer than an
  // easy proof.
  void find_input_rows();

  // AlphaBetaCrown knows lines or planes for every non-linear op.
  [[nodiscard]] bool has_planes() const { return has_planes_; }
  [[nodiscard]] bool supported() const { return supported_; }  // and all these ops are elementwise functions
  // Whether neurons can be split: in supported networks, and in networks with products and softmax if some ops are
  // linear on either side of 0.
  [[nodiscard]] bool can_split() const { return supported_ || (has_planes_ && has_kinks_); }
  [[nodiscard]] bool relu_only() const { return relu_only_; }
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const std::vector<Activation>& activations() const { return activations_; }
  [[nodiscard]] std::size_t neuron_count() const { return neuron_count_; }
  [[nodiscard]] const Activation& activation_of(std::uint32_t neuron) const { return activations_[activation_of_neuron_[neuron]]; }
  // The split point of the neuron's operand, which lies in [lo, hi]: 0 for a function that is linear on either side of
  // 0 or turns there, a jump for a function with jumps, otherwise the middle. It is also the middle if a jump is an end
  // of the range, since both halves of a split contain it. None if a split does not help.
  [[nodiscard]] std::optional<double> split_point(std::uint32_t neuron, double lo, double hi) const;
  // The neurons whose operand is this element.
  [[nodiscard]] std::vector<std::uint32_t> neurons_of(NodeId operand, std::uint32_t element) const;

  // A neuron whose operand is affine in the inputs alone: z = <row, x> + offset.
  struct InputRow {
    std::uint32_t neuron;
    double offset;
    std::uint32_t first, last;  // range of the entries
  };
  [[nodiscard]] const std::vector<InputRow>& input_rows() const { return input_rows_; }
  [[nodiscard]] bool every_neuron_has_input_row() const { return input_rows_.size() == neuron_count_; }
  [[nodiscard]] bool has_input_row(std::uint32_t neuron) const { return has_input_row_[neuron]; }
  [[nodiscard]] const std::vector<std::uint32_t>& row_indices() const { return row_indices_; }
  [[nodiscard]] const std::vector<double>& row_values() const { return row_values_; }

 private:
  void add_input_rows(const Activation& activation);
  void add(const Step& step);
  const Network* network_;
  std::vector<InputRow> input_rows_;
  std::vector<bool> has_input_row_;  // by neuron
  std::vector<std::uint32_t> row_indices_;
  std::vector<double> row_values_;
  std::vector<Activation> activations_;
  std::vector<std::uint32_t> activation_of_neuron_;
  std::size_t neuron_count_ = 0;
  std::size_t factor_count_ = 0;
  bool has_planes_ = true, supported_ = true, relu_only_ = true, has_kinks_ = false;
};

// The boxes of a subdomain: those of pre-activations by neuron (not used for products), those of factors and softmax,
// and the input box.
struct NeuronBoxes {
  std::vector<double> lo, hi, x_lo, x_hi;
  std::vector<double> factor_lo, factor_hi;
  const statement::Ball* ball = nullptr;  // the first ball of the scope's group; null: none
  // The boxes of a scope; a neuron without a box gets the whole line.
  static NeuronBoxes of(const NeuronGraph& graph, const logic::Scope& scope);
  void meet(const NeuronGraph& graph, const logic::Literal& literal);
  [[nodiscard]] bool is_empty() const;
  // Whether a split of the neuron at 0 can help: its sign is open by more than rounding.
  [[nodiscard]] bool is_undecided(std::size_t neuron) const { return has_both_signs(lo[neuron], hi[neuron]); }
  [[nodiscard]] static bool has_both_signs(double lo, double hi) {
    constexpr double kShare = 1e-9;  // relative to the wider side; boxes are rounded outward by less
    return lo < -kShare * hi && hi > -kShare * lo;
  }
};

// The parameters of a bound, named as in alpha-beta-CROWN.
struct AlphaBeta {
  // By neuron, the alphas of the line below and of the line above: slopes, or for a product the mixes of McCormick's
  // planes. The upper alphas are empty if every op is a relu, whose upper line is the chord. Lower alphas of relus and
  // all mixes are k/128 unless AlphaBetaOptions::quantize is off.
  std::vector<float> lower_alpha, upper_alpha;
  std::vector<float> beta;     // multipliers of the literals of splits
  std::vector<float> weights;  // spec weights, by row of the case
};

// The parameters as hints, for rows that start at node `from`: only nodes before it.
[[nodiscard]] logic::Hints to_hints(const NeuronGraph& graph, const AlphaBeta& parameters,
                                    NodeId from = std::numeric_limits<NodeId>::max());

// One end of an element's range, as a lower bound of sign z.
struct NeuronEnd {
  NodeId node = 0;
  std::uint32_t element = 0;
  double sign = 1;
};

struct BoundTask {
  const std::vector<RowView>* rows = nullptr;  // null: bound `target` instead
  const NeuronBoxes* boxes = nullptr;
  std::span<const logic::Literal> literals = {};
  const AlphaBeta* start = nullptr;  // may lack trailing betas; null: the policy's slopes, equal weights
  float last_beta = 0;               // the last literal's beta, if `start` lacks it
  NeuronEnd target = {};
};

// Strong branching of one neuron: the split of a first-layer ReLU at 0, with the bounds of its two halves when all
// other parameters stay.
struct StrongSplit {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t neuron = kNone;
  double at_most = 0, at_least = 0;           // bounds of the halves
  float beta_at_most = 0, beta_at_least = 0;  // multipliers of the new literal that give these bounds
  bool by_program = false;                    // whether linear programs give the bounds instead
};

// The value of a split: both halves should gain, and a gain counts only up to closing the half.
[[nodiscard]] double split_value(double parent, double at_most, double at_least);

struct BoundResult {
  double bound = 0;  // of the best parameters, in units of the rows' scales
  AlphaBeta parameters;
  std::vector<double> x;  // minimiser x* of the best parameters
  // If asked for: by neuron, how much an exact neuron would raise the bound; then by input.
  std::vector<float> scores;
  StrongSplit strong_split;  // if scores were asked for: the best split of a first-layer neuron
  // By neuron, if no such split gains or none was asked for: how much the unstable neurons depend on it.
  std::vector<float> influence;
  // If asked for, with scores, for a task that stays open: the coefficients of the neurons' results; and the
  // coefficients of the concretised form, by input, with its constant.
  std::vector<double> coefficients, form;
  double constant = 0;
};

struct AlphaBetaOptions {
  int iterations = 20;   // 1: only evaluates
  double target = 1e-7;  // a task stops once its bound exceeds this
  double slope_rate = 0.2, beta_rate = 0.3, weight_rate = 0.3, decay = 0.95;
  bool scores = false, strong_splits = true, coefficients = false;
  // Round lower slopes of relu and mixes of products to k/128, which a certificate holds in a byte.
  bool quantize = true;
};

struct SharedAlphaOptions {
  int iterations = 60;
  std::size_t ends = 32;  // ends of ranges in one step, roughly: many small steps gain more than few exact ones
  double rate = 0.3, decay = 0.95;
};

// One for each thread, since it owns buffers.
class AlphaBetaCrown {
 public:
  explicit AlphaBetaCrown(const NeuronGraph& graph, Limit limit = {});
  [[nodiscard]] std::size_t capacity() const { return capacity_; }  // tasks that run side by side
  // results.size() == tasks.size(). Once the limit is reached, tasks end without a bound (-inf).
  void run(std::span<const BoundTask> tasks, const AlphaBetaOptions& options, std::span<BoundResult> results);
  // run() for tasks that all have targets at this node; the steps after the node do not run.
  void bound_ranges(NodeId node, std::span<const BoundTask> tasks, const AlphaBetaOptions& options, std::span<BoundResult> results);
  // Finds one set of slopes for all these elements of a node, which minimises the sum of the widths of their ranges;
  // each step looks at a sample of the ends. `start` as in BoundTask. Every neuron before the node must have finite
  // bounds. Slopes of later neurons stay. Nullopt once the limit is reached.
  [[nodiscard]] std::optional<AlphaBeta> share_alphas(NodeId node, std::span<const std::uint32_t> elements, const NeuronBoxes& boxes,
                                                      const AlphaBeta* start, const SharedAlphaOptions& options);

 private:
  struct Row;
  struct Softmax;
  void run_batch(std::span<const BoundTask> tasks, const AlphaBetaOptions& options, std::span<BoundResult> results);
  void load(std::size_t b, const BoundTask& task);
  void choose_lines(std::size_t b, bool quantize);
  void prepare_lines(std::size_t b);
  void choose_curved_lines(std::size_t b, std::size_t activation);
  void back_through_products(std::size_t b, const NeuronGraph::Activation& product);
  void forward_through_products(std::size_t b, const NeuronGraph::Activation& product);
  // Calls visit(line, its first element, the first factors p and q in the operands).
  template <class Visit>
  void each_line(std::size_t b, const NeuronGraph::Activation& product, Visit visit) const;
  // The derivatives of the bound by the mixes in use.
  [[nodiscard]] std::vector<double> mix_gradients(std::size_t b, const NeuronGraph::Activation& product) const;
  [[nodiscard]] float score_of_product(std::size_t b, const NeuronGraph::Activation& product, std::size_t j) const;
  void prepare_softmax(std::size_t b, std::size_t activation);
  void seed();
  bool reverse();  // false, as from forward(): the limit was reached
  void concretize();
  double ball_gain(std::size_t b);
  bool forward();
  [[nodiscard]] bool iterate(bool quantize, bool with_forward);
  void ascend(std::size_t b, const AlphaBetaOptions& options, double rate);
  void save_best(std::size_t b);
  void restore_best(std::size_t b);
  void score(std::size_t b, BoundResult& result) const;
  [[nodiscard]] float score_of(const NeuronGraph::Activation& activation, std::size_t b, std::size_t j) const;
  void find_strong_split(std::size_t b, BoundResult& result) const;
  void find_influence(std::size_t b, BoundResult& result) const;
  void show_form(std::size_t b, BoundResult& result) const;
  void finish(std::size_t b);
  void move_slope(std::size_t b, std::size_t activation, std::size_t j, bool low, double gradient, double rate);
  void run_up_to(NodeId node);
  void add_slope_gradients(std::vector<double>& low, std::vector<double>& up) const;
  void ascend_together(const std::vector<double>& low, const std::vector<double>& up, double rate);
  bool choose_shared_lines();
  void move_row(std::size_t from, std::size_t to);
  [[nodiscard]] double* neurons(std::vector<double>& array, std::size_t b) { return array.data() + b * r_; }
  [[nodiscard]] const double* neurons(const std::vector<double>& array, std::size_t b) const { return array.data() + b * r_; }
  // A node's elements in a batch row of a_ or z_.
  [[nodiscard]] double* row_of(std::vector<std::vector<double>>& by_node, std::size_t b, NodeId node) const {
    return by_node[node].data() + b * network_.step_of(node).size;
  }
  [[nodiscard]] const double* row_of(const std::vector<std::vector<double>>& by_node, std::size_t b, NodeId node) const {
    return by_node[node].data() + b * network_.step_of(node).size;
  }

  // The coefficient of a neuron's result in the form of batch row b.
  [[nodiscard]] double coefficient(std::size_t b, std::uint32_t neuron) const {
    const NeuronGraph::Activation& activation = graph_.activation_of(neuron);
    return row_of(a_, b, activation.step->node)[neuron - activation.first_neuron];
  }

  const NeuronGraph& graph_;
  const Network& network_;
  const Limit limit_;
  std::size_t r_ = 0, n_ = 0, capacity_ = 1, active_ = 0;
  std::size_t last_step_, last_activation_;  // one past those that run
  // [row, neuron]: the lines in use; raw alphas with their moments; best slopes
  std::vector<double> low_slope_, low_icpt_, up_slope_, up_icpt_, low_point_, up_point_, trainable_;
  std::vector<double> raw_alpha_, moment_, square_, best_;
  std::vector<double> up_raw_alpha_, up_moment_, up_square_, up_best_;
  std::vector<double> x_, form_;            // [row, input]: x*, coefficients of the concretised form
  std::vector<std::vector<double>> a_, z_;  // by node id: coefficients, relaxed values
  std::vector<double> constant_;
  std::vector<Row> rows_;

 public:
  ~AlphaBetaCrown();
};

}  // namespace assay::search
