// Opening a Problem: its groups, the linear maps of its network, and the nodes that depend on no input.

#include <algorithm>
#include <map>
#include <utility>

#include "kernel/floats/theorems/execution.h"
#include "kernel/logic/state.h"
#include "semantics/graph/family.h"

namespace assay::logic {
namespace {

// The values of the nodes that depend on no input, as intervals; they are points where the arithmetic is exact. In a
// floating semantics they include the rounding errors of executions.
Outcome<rows::ConstantValues> constant_values(const Graph& graph, const ExecutionModel& model) {
  rows::ConstantValues result{std::vector<bool>(graph.nodes.size(), false), std::vector<Array<Interval>>(graph.nodes.size()),
                              std::vector<double>(graph.nodes.size(), 0.0)};
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    if (!std::ranges::all_of(node.operands, [&](NodeId operand) { return bool{result.is_constant[operand]}; })) continue;
    result.is_constant[id] = true;
    if (node.op == Op::constant) {
      if (node.dtype == DType::complex64)
        return Rejection{Rejection::Kind::unsupported, "kernel.dtype", node.name, "real constants", "complex64", "remove the constant"};
      result.values[id] = lift<Interval>(node.value);
      if (auto stored = floats::round_weights(node, model, result.values[id]); !stored) return stored.rejection();
      continue;
    }
    std::vector<const Array<Interval>*> operands;
    for (const NodeId operand : node.operands) operands.push_back(&result.values[operand]);
    auto value = denote<Interval>(node, operands);
    if (!value) return value.rejection();
    if (std::ranges::any_of(value.value().values, &Interval::is_undefined))
      return declined("kernel.domain", node.name, "constants inside the op's domain",
                      std::string(op_row(node.op).name) + " of constants is undefined");
    result.values[id] = std::move(value).value();
    if (auto rounded = floats::round_constant(graph, id, model, operands, result); !rounded) return rounded.rejection();
  }
  return result;
}

// The active nodes: inputs, outputs and the nodes between them along the operands of the affine forms, in order,
// without constants.
std::vector<NodeId> nodes_on_the_way(const Graph& graph, const std::vector<std::optional<rows::AffineForm>>& affine,
                                     const std::vector<bool>& is_constant) {
  std::vector<bool> used(graph.nodes.size(), false);
  for (const NodeId id : graph.inputs) used[id] = true;
  for (const NodeId id : graph.outputs) used[id] = true;
  std::vector<NodeId> result;
  for (NodeId id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
    if (!used[id] || is_constant[id]) continue;
    result.push_back(id);
    if (affine[id]) {
      for (const rows::AffineForm::Part& part : affine[id]->parts) used[part.operand] = true;
    } else {
      for (const NodeId operand : graph.node(id).operands) used[operand] = true;
    }
  }
  std::ranges::reverse(result);
  return result;
}

// Whether the box has no point: of the reals, or in a floating semantics of the numbers of the format.
bool is_empty(const Network::State& network, const statement::InputBox& box) {
  std::size_t i = 0;
  for (const NodeId id : network.graph_.inputs) {
    const bool of_floats = network.floating() && is_float(network.graph_.node(id).dtype);
    for (const std::size_t end = i + network.graph_.size(id); i < end; ++i) {
      if (box.lo[i] > box.hi[i] || (of_floats && !floats::has_number(network.semantics_, box.lo[i], box.hi[i]))) return true;
    }
  }
  return false;
}

}  // namespace

Outcome<Done> check_environment() {
  if (floating_point_environment_is_standard()) return Done{};
  return declined("kernel.environment", "this thread", "round to nearest, no flush-to-zero, no denormals-are-zero", "other modes",
                  "a library changed the floating-point mode; start the checker without it");
}

// Stores the affine form of a node. Operands that are exact copies of other nodes are replaced by these nodes, since a
// copy does no arithmetic. Where the node is y = x + bias and x itself is affine, both become one step. The sum of the
// two biases is exact up to bias_error, and step_rounding counts the rounding errors of both. In a floating semantics an
// x that another node reads stays a step of its own, so that its rounding errors are counted once; at most two steps
// become one.
void Network::State::set_form(NodeId id, rows::AffineForm form) {
  const auto moves_only = [&](NodeId x) { return !floating() || op_row(graph_.node(x).op).op_class == OpClass::layout; };
  for (rows::AffineForm::Part& part : form.parts) {
    while (affine_[part.operand] && affine_[part.operand]->is_copy() && moves_only(part.operand))
      part.operand = affine_[part.operand]->parts[0].operand;
  }
  const NodeId x = form.parts.size() == 1 ? form.parts[0].operand : id;
  const bool folds = !floating() || (readers_[x] == 1 && !own_forms_[x] && !moves_only(id));
  auto shorter = affine_[x] && folds ? folded(form, *affine_[x]) : std::nullopt;
  if (shorter && floating()) own_forms_[id] = form;
  affine_[id] = shorter ? *std::move(shorter) : std::move(form);
}

Outcome<std::shared_ptr<const Network>> Network::open(Graph owned, ExecutionModel semantics, KernelOptions options) {
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  if (const auto problems = statement::validate_graph(owned); !problems.empty()) return problems.front();
  if (const auto why = floats::execution_obstacle(owned, semantics)) return *why;

  const auto network = std::make_shared<State>();
  network->graph_ = std::move(owned);
  network->semantics_ = std::move(semantics);
  network->options_ = options;
  const Graph& graph = network->graph_;
  network->digest_ = statement::graph_digest(graph);
  auto constants = constant_values(graph, network->semantics_);
  if (!constants) return constants.rejection();
  network->constants_ = std::move(constants).value();

  network->mark_rewritten();
  network->affine_.resize(graph.nodes.size());
  network->own_forms_.resize(graph.nodes.size());
  network->grids_.resize(graph.nodes.size());
  network->formulas_.resize(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (network->constants_.is_constant[id] || graph.node(id).op == Op::input) continue;
    if (network->floating() && floats::sums_constants(graph.node(id), network->constants_.is_constant)) continue;
    auto form = affine_form(graph, id, network->constants_);
    if (!form && form.rejection().code != "linear_map.not_linear") return form.rejection();
    if (form) network->set_form(id, std::move(form).value());
    if (options.exact && network->affine_[id]) network->grids_[id] = exact::grid_form(*network->affine_[id]);
  }
  network->active_nodes_ = nodes_on_the_way(graph, network->affine_, network->constants_.is_constant);
  std::size_t terms = 0;
  for (const NodeId id : network->active_nodes_)
    if (!network->affine_[id]) network->formulas_[id] = relax::kept_formula(graph, id, terms);
  std::vector<bool> bends;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) bends.push_back(!network->affine_[id] && !network->constants_.is_constant[id]);
  network->worth_refining_ = policy::pre_activations(graph, network->active_nodes_, bends);
  return std::shared_ptr<const Network>(new Network(network));
}

Outcome<std::shared_ptr<const Problem>> Problem::open(statement::Statement statement, KernelOptions options) {
  auto network = Network::open(std::move(statement.graph), std::move(statement.semantics), options);
  if (!network) return network.rejection();
  return open(std::move(network).value(), std::move(statement.property), std::move(statement.sources));
}

Outcome<std::shared_ptr<const Problem>> Problem::open(std::shared_ptr<const Network> network, statement::Property property,
                                                      std::vector<statement::Source> sources) {
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  const Network::State& of = network->state();
  if (const auto problems = validate_property(of.graph_, property); !problems.empty()) return problems.front();

  const auto problem = std::make_shared<State>();
  problem->digest_ = statement_digest(of.digest_, property, of.semantics_);
  problem->statement_ = {of.graph_, std::move(property), of.semantics_, std::move(sources)};
  problem->network_ = network;
  std::map<const statement::InputBox*, std::size_t> group_of_box;
  const auto& cases = problem->statement_.property.cases;
  for (std::uint32_t index = 0; index < cases.size(); ++index) {
    const auto [at, is_new] = group_of_box.emplace(cases[index].box.get(), problem->groups_.size());
    if (is_new) {
      problem->groups_.emplace_back();
      problem->group_boxes_.push_back(values_in(of.graph_, cases[index].box));
      problem->group_is_empty_.push_back(is_empty(of, *problem->group_boxes_.back()));
    }
    problem->groups_[at->second].push_back(index);
    problem->group_of_case_.push_back(static_cast<std::uint32_t>(at->second));
  }
  const bool has_balls = of.options_.balls && !of.floating();
  for (const auto& group : problem->groups_)
    problem->group_balls_.push_back(has_balls ? statement::shared_balls(problem->statement_, group) : std::vector<statement::Ball>());
  return std::shared_ptr<const Problem>(new Problem(problem));
}

std::size_t Network::State::positions(NodeId node) const {
  const Shape& shape = graph_.node(node).shape;
  return shape.size() >= 4 && shape[0] == 1 && !options_.exact ? element_count({shape.begin() + 2, shape.end()}) : 1;
}

std::vector<std::string> Problem::assumptions() const {
  std::vector<std::string> result{"the compiler and processor compute IEEE 754 double operations and integers as written"};
  if (!floating()) result.emplace_back("real arithmetic is meant: a float execution of the network may differ by its rounding errors");
  if (floating()) result.emplace_back("executions compute the graph node by node as the execution model says");
  if (floating() && !statement().semantics.math_table.empty())
    result.emplace_back("the mathematics library keeps the error table that the execution model names");
  // Constants count, too: their values were computed in the same way.
  if (std::ranges::any_of(graph().nodes, [](const Node& node) { return rests_on_mpfr(node.op); }))
    result.emplace_back("MPFR rounds its functions in the stated direction");
  return result;
}

// Rule root: the group's box in doubles, rounded outward; integer elements have integer ends. Constants keep
// their values.
rows::Boxes Network::State::root_boxes(const statement::InputBox& exact) const {
  rows::Boxes boxes(graph_.nodes.size());
  std::size_t at = 0;
  for (const NodeId id : graph_.inputs) {
    auto box = std::make_shared<relax::Box>();
    for (std::size_t i = 0; i < graph_.size(id); ++i, ++at) {
      box->lo.push_back(exact.lo[at].double_down());
      box->hi.push_back(exact.hi[at].double_up());
    }
    boxes[id] = std::move(box);
  }
  const auto add_constant = [&](NodeId id) {
    if (constants_.is_constant[id] && !boxes[id]) boxes[id] = std::make_shared<relax::Box>(box_of(constants_.values[id]));
  };
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    if (constants_.is_constant[id] || affine_[id]) continue;
    for (const NodeId operand : graph_.node(id).operands) add_constant(operand);
  }
  for (const NodeId id : graph_.outputs) add_constant(id);
  return boxes;
}

}  // namespace assay::logic
