// ScalarGraph: multiplies out affine steps.
//
// Every affine node becomes dense forms over inputs and neurons. Only the forms that a neuron or a row reads are kept,
// as sparse lists. Equal operands are kept once.
//
// Source: none; the layout serves batches of boxes in SIMD lanes (batch_boxes.h).

#include "search/relax/scalar_graph.h"

#include <algorithm>
#include <map>

#include "kernel/inspect/inspect.h"

namespace assay::search {
namespace {

constexpr std::size_t kMostAtoms = 256, kMostEntries = 20'000;
constexpr std::size_t kMostElements = 1024;  // of all steps together

bool is_small_and_real(const NeuronGraph& graph) {
  const logic::Problem& problem = *graph.network().problem();
  if (graph.network().input_size() + graph.neuron_count() > kMostAtoms) return false;
  std::size_t elements = 0;
  for (const Step& step : graph.network().steps()) elements += step.size;
  const auto is_real = [&](NodeId id) { return is_float(problem.graph().node(id).dtype); };
  return elements <= kMostElements && std::ranges::all_of(inspect::active_nodes(problem), is_real);
}

}  // namespace

// Returns a graph only if strong branching of inputs is worthwhile: for small networks with products, over the reals.
std::optional<ScalarGraph> ScalarGraph::of(const NeuronGraph& graph, std::size_t group) {
  const auto is_product = [](const NeuronGraph::Activation& one) { return one.step->kind == Step::Kind::binary; };
  const auto is_scalar = [&](const NeuronGraph::Activation& one) { return one.is_elementwise() || is_product(one); };
  if (!graph.has_planes() || std::ranges::none_of(graph.activations(), is_product) ||
      !std::ranges::all_of(graph.activations(), is_scalar) || !is_small_and_real(graph) ||
      !inspect::group_balls(*graph.network().problem(), group).empty())
    return std::nullopt;
  ScalarGraph result(graph.network());
  if (!result.add_neurons(graph) || !result.add_rows()) return std::nullopt;
  result.dense_ = {};
  return result;
}

ScalarForm ScalarGraph::add_form(const std::vector<double>& dense, double constant) {
  ScalarForm form{static_cast<std::uint32_t>(entries_.size()), 0, constant, 0};
  for (std::uint32_t atom = 0; atom < dense.size(); ++atom) {
    if (dense[atom] == 0) continue;
    entries_.push_back({atom, dense[atom]});
    if (atom >= inputs()) form.end_neuron = atom + 1 - static_cast<std::uint32_t>(inputs());
  }
  form.last = static_cast<std::uint32_t>(entries_.size());
  return form;
}

bool ScalarGraph::add_neurons(const NeuronGraph& graph) {
  const std::size_t width = 1 + inputs() + graph.neuron_count();
  dense_.resize(network_->problem()->graph().nodes.size());
  std::map<std::pair<NodeId, std::size_t>, std::uint32_t> known;
  const auto operand = [&](NodeId node, std::size_t element) {
    const auto [at, is_new] = known.try_emplace({node, element}, static_cast<std::uint32_t>(operands_.size()));
    if (is_new) {
      const auto row = dense_[node].begin() + static_cast<std::ptrdiff_t>(element * width);
      operands_.push_back(add_form({row + 1, row + static_cast<std::ptrdiff_t>(width)}, *row));
    }
    return at->second;
  };
  for (const Step& step : network_->steps()) {
    std::vector<double>& dense = dense_[step.node];
    dense.assign(step.size * width, 0.0);
    if (step.kind == Step::Kind::input) {
      for (std::size_t i = 0; i < step.size; ++i) dense[i * width + 1 + network_->input_offset(step.node) + i] = 1;
    } else if (step.kind == Step::Kind::constant) {
      for (std::size_t i = 0; i < step.size; ++i) dense[i * width] = network_->constant(step.node)[i];
    } else if (step.kind == Step::Kind::affine) {
      std::vector<double> unit(step.size, 0.0), row;
      for (std::size_t i = 0; i < step.size; ++i) {
        unit[i] = 1;
        dense[i * width] = step.bias[i];
        for (const Step::Part& part : step.parts) {
          row.assign(part.map->columns(), 0.0);
          part.map->transpose(1, unit.data(), row.data());
          for (std::size_t j = 0; j < row.size(); ++j) {
            for (std::size_t k = 0; k < width && row[j] != 0; ++k) dense[i * width + k] += row[j] * dense_[part.operand][j * width + k];
          }
        }
        unit[i] = 0;
      }
    } else {
      for (std::uint32_t i = 0; i < step.size; ++i) {
        const auto element = [&](std::size_t k) { return step.broadcast.empty() || step.broadcast[k].empty() ? i : step.broadcast[k][i]; };
        const bool product = step.kind == Step::Kind::binary;
        dense[i * width + 1 + atoms()] = 1;
        const std::uint32_t p = operand(step.operands[0], element(0)), q = product ? operand(step.operands[1], element(1)) : p;
        neurons_.push_back({&step, i, p, q, product ? static_cast<std::uint32_t>(products_++) : kNone});
      }
    }
    if (entries_.size() > kMostEntries) return false;
  }
  return true;
}

bool ScalarGraph::add_rows() {
  const Graph& graph = network_->problem()->graph();
  std::vector<std::pair<NodeId, std::size_t>> outputs;
  for (const NodeId id : graph.outputs) {
    if (dense_[id].empty()) return false;
    for (std::size_t i = 0; i < graph.size(id); ++i) outputs.emplace_back(id, i);
  }
  const std::size_t width = 1 + atoms();
  for (std::uint32_t one = 0; one < network_->problem()->statement().property.cases.size(); ++one) {
    std::vector<ScalarForm>& forms = rows_.emplace_back();
    for (const RowView& row : network_->rows(one)) {
      std::vector<double> sum(width, 0.0);
      sum[0] = -row.bound / row.scale;
      for (const auto& [element, coefficient] : row.outputs) {
        const auto& [node, i] = outputs[element];
        for (std::size_t k = 0; k < width; ++k) sum[k] += coefficient / row.scale * dense_[node][i * width + k];
      }
      for (const auto& [element, coefficient] : row.inputs) sum[1 + element] += coefficient / row.scale;
      forms.push_back(add_form({sum.begin() + 1, sum.end()}, sum[0]));
    }
  }
  return true;
}

}  // namespace assay::search
