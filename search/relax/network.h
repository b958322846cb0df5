// Network: a fast, non-rigorous copy of a logic::Problem in double, for the search.
//
// Chains of affine nodes are folded if one of them is an identity map (reshape, bias additions, residual sums), so
// there are fewer steps than nodes in the graph. Every operand of a non-linear op and every output keeps its own step.
// The network does not change after construction, except for the nearest point, and threads share it; each thread owns
// its Workspace.
//
// Every value is a double with ordinary rounding. Nothing here is a bound: the search uses the values for points,
// gradients and proposals, and asks the kernel about every conclusion.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/logic/api.h"
#include "search/relax/fast_map.h"
#include "search/strategy/deadline.h"
#include "semantics/functions/unary_function.h"

namespace assay::search {

// bound - <terms, (outputs, inputs)>: the slack of a row. The row holds if and only if the slack is >= 0 (> 0
// if strict).
struct RowView {
  std::vector<std::pair<std::uint32_t, double>> outputs, inputs;  // (flattened element, coefficient)
  double bound = 0;
  bool strict = false;
  double scale = 1;  // Euclidean norm of the coefficients, for comparing rows
};

// Constants of a function of one variable: the slope, the limits of a clip, or the exponent of a power.
struct Constants {
  double first = 0, second = 0;
};

struct Step {
  enum class Kind : std::uint8_t { input, constant, affine, unary, binary, matmul, max_pool, softmax, denotation };
  struct Part {
    NodeId operand;
    std::shared_ptr<const FastMap> map;
  };
  Kind kind = Kind::denotation;
  NodeId node = 0;
  Op op = Op::input;
  std::size_t size = 0;
  // For affine steps:
  std::vector<Part> parts;
  std::vector<double> bias;
  // For all other steps:
  std::vector<NodeId> operands;
  // binary: the element of operand k that each result element reads; empty: the same index. matmul: the first of
  // `extent` elements, which are 1 apart in operand 0 and `inner` apart in operand 1.
  std::vector<std::vector<std::uint32_t>> broadcast;
  // Unary: the record; null for ops whose lines are spelled out in lines.h.
  std::shared_ptr<const UnaryFunction> function;
  Constants constants;
  std::vector<std::uint32_t> window_start, window;  // max_pool: operand elements of each result element
  std::size_t inner = 1, extent = 1;                // softmax: stride and length of the axis; matmul: see above
};

// A box of the concatenated inputs.
struct InputBox {
  std::vector<double> lo, hi;
};
[[nodiscard]] InputBox input_box(const logic::Problem& problem, const logic::Scope& scope);

struct Workspace {
  std::vector<std::vector<double>> values, bars;  // by node id, [batch, size]
  Limit limit;                                    // an evaluation ends early when it is reached
};

class Network {
 public:
  explicit Network(std::shared_ptr<const logic::Problem> problem);

  [[nodiscard]] const std::shared_ptr<const logic::Problem>& problem() const { return problem_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }  // in graph order, without dead steps
  [[nodiscard]] const Step& step_of(NodeId node) const { return steps_[step_of_[node]]; }
  [[nodiscard]] std::size_t input_size() const { return input_size_; }
  // In the concatenated inputs.
  [[nodiscard]] std::size_t input_offset(NodeId input) const { return input_offset_[input]; }
  [[nodiscard]] std::size_t output_size() const { return output_size_; }
  [[nodiscard]] const std::vector<double>& constant(NodeId node) const { return constants_[node]; }
  [[nodiscard]] bool has_gradient() const { return has_gradient_; }
  // Of one forward pass of one point, in multiply-adds, roughly.
  [[nodiscard]] std::size_t work() const { return work_; }

  [[nodiscard]] const std::vector<RowView>& rows(std::uint32_t case_index) const { return rows_[case_index]; }

  // In a floating semantics: the point nearest to the unsafe set among all points that any thread tried, measured by
  // its least slack. A point at which only some executions violate the property, or may do so, ranks above all others.
  struct NearestPoint {
    logic::Witness point;
    double slack = -std::numeric_limits<double>::infinity();  // +infinity: some executions violate it, or may
  };
  void saw(const logic::Witness& point, double slack) const;
  [[nodiscard]] std::optional<NearestPoint> nearest_point() const;

  // The values of every step at the points x, [batch, input_size]. Returns false if the workspace's limit was reached;
  // the values are then not usable.
  bool evaluate(std::size_t batch, const double* x, Workspace& workspace) const;
  // After evaluate: the outputs, [batch, output_size].
  void outputs(std::size_t batch, const Workspace& workspace, double* y) const;
  // After evaluate: x_bar[b] = gradient of <y_bar[b], outputs> with respect to the inputs. Needs has_gradient().
  // Returns false as above.
  bool vjp(std::size_t batch, Workspace& workspace, const double* y_bar, double* x_bar) const;

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  void make_constants();
  Step make_step(NodeId node) const;
  void fold();
  void remove_dead_steps();
  void make_rows();
  bool evaluate_denotation(const Step& step, std::size_t batch, Workspace& workspace) const;

  std::shared_ptr<const logic::Problem> problem_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> step_of_;
  std::vector<std::size_t> input_offset_;
  std::vector<std::vector<double>> constants_;  // by node id; empty for non-constant nodes
  std::vector<std::vector<RowView>> rows_;      // by case
  std::size_t input_size_ = 0, output_size_ = 0, work_ = 0;
  bool has_gradient_ = true;
  mutable std::mutex nearest_access_;
  mutable std::optional<NearestPoint> nearest_;
};

// A row's slack at given outputs and inputs.
[[nodiscard]] double slack(const RowView& row, const double* outputs, const double* inputs);

}  // namespace assay::search
