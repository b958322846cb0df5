// Network: a fast, non-rigorous double view of a logic::Problem for the search.
//
// Chains of affine nodes are folded where one of them is an identity map (reshape, bias additions,
// residual sums), so the steps are fewer than the graph's nodes; every operand of a non-linear op
// and every output keeps its own step. Immutable after construction, but for one remark, and shared
// by threads; each thread owns its Workspace.
//
// Every value is a double with ordinary rounding. Nothing here is a bound: the search uses it for
// points, gradients and proposals, and whatever it concludes is asked of the kernel.
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

// bound - <terms, (outputs, inputs)>, the slack of a row: the row holds iff it is >= 0 (> 0 when
// strict).
struct RowView {
  std::vector<std::pair<std::uint32_t, double>> outputs, inputs;  // (flattened element, coefficient)
  double bound = 0;
  bool strict = false;
  double scale = 1;  // Euclidean norm of the coefficients, for comparing rows
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
  // affine
  std::vector<Part> parts;
  std::vector<double> bias;
  // the rest
  std::vector<NodeId> operands;
  // binary: element of operand k per result element; empty = same. matmul: the first of `extent`
  // ones, which are 1 apart in operand 0 and `inner` apart in operand 1.
  std::vector<std::vector<std::uint32_t>> broadcast;
  std::shared_ptr<const UnaryFunction> function;    // unary: the record; null for ops whose lines lines.h spells out
  double first = 0, second = 0;                     // slope, or the limits of a clip, or the exponent of a power
  std::vector<std::uint32_t> window_start, window;  // max_pool: operand elements of each result element
  std::size_t inner = 1, extent = 1;                // softmax: stride and length of the axis; matmul: see above
};

struct Workspace {
  std::vector<std::vector<double>> values, bars;  // by node id, [batch, size]
  Limit limit;                                    // a run ends early when it is reached
};

class Network {
 public:
  explicit Network(std::shared_ptr<const logic::Problem> problem);

  [[nodiscard]] const std::shared_ptr<const logic::Problem>& problem() const { return problem_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }  // in graph order, dead ones removed
  [[nodiscard]] const Step& step_of(NodeId node) const { return steps_[step_of_[node]]; }
  [[nodiscard]] std::size_t input_size() const { return input_size_; }
  [[nodiscard]] std::size_t input_offset(NodeId input) const { return input_offset_[input]; }  // in the concatenated inputs
  [[nodiscard]] std::size_t output_size() const { return output_size_; }
  [[nodiscard]] const std::vector<double>& constant(NodeId node) const { return constants_[node]; }
  [[nodiscard]] bool has_gradient() const { return has_gradient_; }
  [[nodiscard]] std::size_t work() const { return work_; }  // of one forward pass of one point, about its multiply-adds

  [[nodiscard]] const std::vector<RowView>& rows(std::uint32_t case_index) const { return rows_[case_index]; }

  // In a floating semantics: of the points that any thread tried, the one nearest to the unsafe
  // set, by its least slack; above all others, one at which only some executions violate, or
  // perhaps only some.
  struct NearestPoint {
    logic::Witness point;
    double slack = -std::numeric_limits<double>::infinity();  // +infinity: of some executions
  };
  void saw(const logic::Witness& point, double slack) const;
  [[nodiscard]] std::optional<NearestPoint> nearest_point() const;

  // Values of every step at the points x, [batch, input_size]. False where the workspace's limit
  // was reached: the values are then of no use.
  bool evaluate(std::size_t batch, const double* x, Workspace& workspace) const;
  // After evaluate: the outputs, [batch, output_size].
  void outputs(std::size_t batch, const Workspace& workspace, double* y) const;
  // After evaluate: x_bar[b] = gradient of <y_bar[b], outputs> with respect to the inputs. Needs
  // has_gradient(). False as above.
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
