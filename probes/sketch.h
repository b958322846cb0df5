// A wrong or differently ordered computation in the making: the inputs of an application of one op, and nodes put on them. Private to
// this folder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/faults.h"
#include "runtime/compiled/program.h"
#include "semantics/graph/graph.h"

namespace assay::probes {

class Sketch {
 public:
  explicit Sketch(const Graph& application);

  [[nodiscard]] const Node& node() const { return node_; }  // the op
  [[nodiscard]] Op op() const { return node_.op; }
  [[nodiscard]] std::size_t arity() const { return inputs_.size(); }
  [[nodiscard]] NodeId x(std::size_t k) const { return inputs_[k]; }
  [[nodiscard]] const Shape& shape(NodeId id) const { return graph_.node(id).shape; }
  template <class A>
  [[nodiscard]] A get() const {
    return std::get<A>(node_.attributes);
  }

  // An op that shape inference refuses makes the whole sketch nothing.
  NodeId put(Op op, std::vector<NodeId> of, Attributes attributes = NoAttributes{});
  NodeId number(double value);  // of the result's type
  // The op itself, other operands or other attributes.
  NodeId again(std::vector<NodeId> of) { return put(node_.op, std::move(of), node_.attributes); }
  NodeId again(Attributes attributes) { return put(node_.op, inputs_, std::move(attributes)); }
  NodeId again() { return again(inputs_); }
  std::vector<NodeId> with(std::size_t k, NodeId other) const;  // the inputs, one exchanged

  NodeId part(NodeId y, std::size_t axis, std::int64_t from, std::int64_t count);
  NodeId reversed(NodeId y, std::size_t axis);
  NodeId zeros_after(NodeId y, std::size_t axis, std::int64_t count);
  // Its elements from `count` on along the axis are 0.
  NodeId cleared_from(NodeId y, std::size_t axis, std::int64_t count);
  NodeId fitted(NodeId y, const Shape& shape);  // cropped or filled with 0 at the ends
  NodeId flat(NodeId y);

  // Returns nothing unless it has the type and shape of the op's result, or if an op was refused.
  [[nodiscard]] std::optional<Graph> done(NodeId y);

 private:
  Graph graph_;
  Node node_;
  std::vector<NodeId> inputs_;
  bool refused_ = false;
};

using Faults = std::vector<Fault>;

// The one fault that NaN alone may tell: masked softmax gives it, or 0, in rows with nothing open. mistakes.h has the same words.
inline constexpr const char* kOtherConvention = "with the other convention for rows with nothing open";

// Collects what can be sketched.
class Collector {
 public:
  explicit Collector(const Graph& application) : application_(application), sketch_(application) {}
  [[nodiscard]] const Node& node() const { return sketch_.node(); }
  [[nodiscard]] const Graph& application() const { return application_; }
  template <class F>
  void add(std::string name, const F& f, std::string seen_in = {}, bool numeric = false) {
    Sketch sketch(application_);
    if (auto graph = sketch.done(f(sketch))) faults_.push_back({std::move(name), std::move(seen_in), numeric, std::move(graph), {}});
  }
  template <class F>
  void add_numeric(std::string name, const F& f, std::string seen_in = {}) {
    add(std::move(name), f, std::move(seen_in), true);
  }
  void add_run(std::string name, std::function<Outcome<Tensor>(const std::vector<Tensor>&)> run, std::string seen_in = {}) {
    faults_.push_back({std::move(name), std::move(seen_in), true, std::nullopt, std::move(run)});
  }
  // Elements of the first operand along these axes.
  [[nodiscard]] double count_along(const std::vector<std::int64_t>& axes) const {
    double count = 1;
    for (const std::int64_t axis : axes)
      count *= static_cast<double>(application_.node(application_.inputs[0]).shape[static_cast<std::size_t>(axis)]);
    return count;
  }
  [[nodiscard]] Faults take() { return std::move(faults_); }

 private:
  const Graph& application_;
  Sketch sketch_;
  Faults faults_;
};

// Families, each in a file of its own.
void add_common_faults(Collector& c);
void add_window_faults(Collector& c);
void add_product_faults(Collector& c);
void add_reduction_faults(Collector& c);
void add_function_faults(Collector& c);
void add_choice_faults(Collector& c);

// A graph run by the runtime: compiled at the first call.
class Evaluation {
 public:
  explicit Evaluation(Graph graph) : state_(std::make_shared<State>(State{std::move(graph), {}})) {}
  Outcome<Tensor> operator()(const std::vector<Tensor>& operands) const;

 private:
  struct State {
    Graph graph;
    std::optional<Outcome<runtime::Program>> program;
  };
  std::shared_ptr<State> state_;
};

}  // namespace assay::probes
