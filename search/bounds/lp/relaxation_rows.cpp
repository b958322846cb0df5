// The part of relaxation_lp.h that does not depend on the solver: pre-activations and outputs as linear forms over the
// program's variables.
//
// An output or a pre-activation is walked back until it meets inputs or ReLUs, whose values are variables of the
// program. So every neuron of a deep network has a sparse form.
//
// Source: Planet (Ehlers 2017), where each ReLU has one variable for its value.

#include <algorithm>
#include <cmath>

#include "search/bounds/lp/relaxation_lp.h"

namespace assay::search {
namespace {

constexpr std::size_t kMostNeurons = 4000;         // of a program
constexpr std::size_t kMostProducts = 50'000'000;  // multiply-adds to write down all forms

}  // namespace

bool RelaxationRows::supports(const NeuronGraph& graph, const NeuronBoxes& root) {
  if (!graph.supported() || !graph.relu_only() || graph.neuron_count() > kMostNeurons) return false;
  if (graph.neuron_count() * graph.network().work() > kMostProducts) return false;
  const auto finite = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  };
  return finite(root.lo) && finite(root.hi) && finite(root.x_lo) && finite(root.x_hi);
}

RelaxationRows::RelaxationRows(const NeuronGraph& graph, const NeuronBoxes& root) : graph_(&graph), root_(root) {
  for (const NeuronGraph::Activation& activation : graph.activations()) {
    for (std::uint32_t i = 0; i < activation.step->size; ++i) operands_.push_back(form(activation.operand, i));
  }
}

// Walks the unit form on one element back to the inputs and the ReLUs.
RelaxationRows::Form RelaxationRows::form(NodeId node, std::uint32_t element) const {
  const Network& network = graph_->network();
  const std::vector<Step>& steps = network.steps();
  std::vector<std::vector<double>> a(network.problem()->graph().nodes.size());
  a[node].assign(network.step_of(node).size, 0.0);
  a[node][element] = 1;
  Form result;
  const auto add_columns = [&](const std::vector<double>& values, std::size_t first) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0) continue;
      result.columns.push_back(static_cast<std::uint32_t>(first + i));
      result.values.push_back(values[i]);
    }
  };
  std::size_t activation = graph_->activations().size();
  for (std::size_t k = steps.size(); k-- > 0;) {
    const Step& step = steps[k];
    const bool is_relu = step.kind == Step::Kind::unary;
    if (is_relu) --activation;
    const std::vector<double>& here = a[step.node];
    if (here.empty()) continue;
    if (step.kind == Step::Kind::input) {
      add_columns(here, network.input_offset(step.node));
    } else if (is_relu) {
      add_columns(here, network.input_size() + graph_->activations()[activation].first_neuron);
    } else if (step.kind == Step::Kind::constant) {
      for (std::size_t i = 0; i < here.size(); ++i) result.constant += here[i] == 0 ? 0 : here[i] * network.constant(step.node)[i];
    } else {
      for (std::size_t i = 0; i < here.size(); ++i) result.constant += here[i] * step.bias[i];
      for (const Step::Part& part : step.parts) {
        a[part.operand].resize(part.map->columns(), 0.0);
        part.map->transpose(1, here.data(), a[part.operand].data());
      }
    }
  }
  return result;
}

RelaxationRows::Form RelaxationRows::output(std::uint32_t element) const {
  const Graph& graph = graph_->network().problem()->graph();
  std::size_t k = 0;
  for (; element >= graph.size(graph.outputs[k]); ++k) element -= static_cast<std::uint32_t>(graph.size(graph.outputs[k]));
  return form(graph.outputs[k], element);
}

}  // namespace assay::search
