// Time per training step (forward, backward, SGD) of a compiled program. benchmarks/session/compare.py sets PyTorch beside it:
//
//   cmake --build --preset release --target bench_compiled
//   python benchmarks/session/compare.py build/release/bin/bench_compiled --tasks small mlp conv
//
//   bench_compiled small|mlp|conv SECONDS [THREADS]       prints microseconds of wall and of CPU per step
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <string_view>
#include <vector>

#include "runtime/autodiff/transform.h"
#include "runtime/compiled/program.h"
#include "runtime/threads.h"

using namespace assay;
using namespace assay::runtime;

namespace {

// A graph under construction; the first refusal ends the program, for the graphs are fixed.
struct Builder {
  Graph graph;
  NodeId add(Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
    Outcome<NodeId> id = graph.append(op, std::move(operands), std::move(attributes));
    demand(id.ok(), "Builder: the graph is well-formed");
    return id.value();
  }
};

struct Task {
  Graph graph;  // inputs: the parameters, then the data; output: the loss
  std::size_t parameters = 0;
};

Task perceptron(std::int64_t batch, const std::vector<std::int64_t>& widths) {
  Builder b;
  std::vector<NodeId> p;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    p.push_back(b.graph.append_input(DType::float32, {widths[i + 1], widths[i]}, "w"));
    p.push_back(b.graph.append_input(DType::float32, {widths[i + 1]}, "b"));
  }
  NodeId x = b.graph.append_input(DType::float32, {batch, widths[0]}, "x");
  const NodeId target = b.graph.append_input(DType::int64, {batch, 1}, "target");
  for (std::size_t i = 0; i < p.size(); i += 2) {
    x = b.add(Op::gemm, {x, p[i], p[i + 1]}, GemmAttributes{1, 1, false, true});
    if (i + 2 < p.size()) x = b.add(Op::relu, {x});
  }
  const NodeId taken = b.add(Op::take, {target, b.add(Op::log_softmax, {x}, SoftmaxAttributes{1})}, ConcatAttributes{1});
  b.graph.mark_output(b.add(Op::neg, {b.add(Op::reduce_mean, {taken}, ReduceAttributes{{0, 1}, false})}), "loss");
  return {b.graph, p.size()};
}

WindowAttributes same_padding() {
  WindowAttributes w;
  w.kernel = {3, 3};
  w.strides = w.dilations = w.pads_begin = w.pads_end = {1, 1};
  return w;
}

// Two 3x3 convolutions of 64 channels around a shortcut, the mean of squares for a loss.
Task residual() {
  Builder b;
  std::vector<NodeId> p;
  for (int i = 0; i < 2; ++i) {
    p.push_back(b.graph.append_input(DType::float32, {64, 64, 3, 3}, "w"));
    p.push_back(b.graph.append_input(DType::float32, {64}, "b"));
  }
  const NodeId x = b.graph.append_input(DType::float32, {16, 64, 32, 32}, "x");
  const NodeId hidden = b.add(Op::relu, {b.add(Op::conv, {x, p[0], p[1]}, same_padding())});
  const NodeId y = b.add(Op::relu, {b.add(Op::add, {x, b.add(Op::conv, {hidden, p[2], p[3]}, same_padding())})});
  b.graph.mark_output(b.add(Op::reduce_mean, {b.add(Op::mul, {y, y})}, ReduceAttributes{{0, 1, 2, 3}, false}), "loss");
  return {b.graph, p.size()};
}

// One step as a graph: the parameters less 0.01 times their gradients.
Graph step_of(const Task& task) {
  std::vector<std::size_t> all(task.parameters);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  Outcome<Graph> gradients = vjp(task.graph, 0, all);
  demand(gradients.ok(), "step_of: the loss has gradients");
  Builder b{std::move(gradients).value()};
  const NodeId rate = b.graph.append_constant(Tensor::of_floats({}, std::vector<float>{0.01F}));
  const std::vector<NodeId> bars = b.graph.outputs;
  b.graph.outputs.clear();
  b.graph.output_names.clear();
  for (std::size_t i = 0; i < bars.size(); ++i) {
    b.graph.mark_output(b.add(Op::sub, {b.graph.inputs[i], b.add(Op::mul, {bars[i], rate})}), "updated");
  }
  return b.graph;
}

std::vector<Array> inputs_of(const Graph& graph) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> real(-0.05F, 0.05F);
  std::vector<Array> inputs;
  for (const NodeId id : graph.inputs) {
    const Node& node = graph.node(id);
    inputs.push_back(Array::empty(node.dtype, node.shape));
    if (node.dtype == DType::int64) {
      for (std::int64_t& value : inputs.back().data<std::int64_t>()) value = 3;
    } else {
      for (float& value : inputs.back().data<float>()) value = real(random);
    }
  }
  inputs.back().data<float>()[0] = 1;  // the loss's cotangent
  return inputs;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::cerr << "usage: bench_compiled small|mlp|conv SECONDS [THREADS]\n";
    return 2;
  }
  if (argc == 4) set_thread_count(std::strtoul(argv[3], nullptr, 10));
  const std::string_view what = argv[1];
  const Task task = what == "small" ? perceptron(1, {16, 32, 10}) : what == "mlp" ? perceptron(128, {784, 512, 512, 10}) : residual();
  const Graph graph = step_of(task);
  const Outcome<Program> program = Program::compile(graph);
  if (!program) return 1;
  std::vector<Array> values = inputs_of(graph);
  const auto step = [&] {
    Outcome<std::vector<Array>> updated = program.value().replay(values);
    if (!updated) return false;
    for (std::size_t i = 0; i < task.parameters; ++i) values[i] = updated.value()[i];
    return true;
  };
  for (int i = 0; i < 3; ++i) {
    if (!step()) return 1;
  }
  const double seconds = std::strtod(argv[2], nullptr), cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  std::size_t steps = 0;
  double wall = 0;
  while (wall < seconds) {
    if (!step()) return 1;
    ++steps;
    wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::cout << wall * 1e6 / static_cast<double>(steps) << " " << (cpu_seconds() - cpu) * 1e6 / static_cast<double>(steps) << "\n";
  return 0;
}
