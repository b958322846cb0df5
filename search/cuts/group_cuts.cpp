// close_by_cuts(): groups of ReLUs, their trees, and the joint ascent on all groups.
//
// An Ascent holds the groups of one case. In each step, every leaf of every group is minimised over the few inputs of
// the group, and the rest of the form over the whole box. The slopes s_i that a group shares with the rest move by the
// difference of the two minimisers. The slopes and multipliers in a leaf move by the minimiser of the leaf (Adam,
// Kingma and Ba 2015). Between rounds, groups are ordered by the relaxation loss of their worst leaves; the half that
// loses most is split at the ReLU that loses most.
//
// The results are cuts `sum of A_i relu(z_i) - s_i z_i >= t`, each with a small tree of splits. The kernel derives
// every cut by its tree (rules `cut` and `hull`), and refutes the case with a multiplier of 1 for each cut.
//
// Sources: kPoly (Singh et al. 2019) and PRIMA (Mueller et al. 2022) for groups of neurons; GCP-CROWN (Zhang et al.
// 2022) for cuts with multipliers in a back-substitution. How this version differs: a cut is made for one case and its
// coefficients, and proved by branch and bound over a group.

#include "search/cuts/group_cuts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "certificates/check/refutations.h"
#include "kernel/inspect/inspect.h"

namespace assay::search {
namespace {

constexpr std::size_t kMostInputs = 64;  // inputs that a group may read
constexpr std::size_t kMostLeaves = 24;  // leaves that the tree of a group may have
constexpr int kRounds = 24;              // rounds of ascent, with splits between them
constexpr int kFirstCutSteps = 60;       // steps of the first round ...
constexpr int kCutSteps = 40;            // ... and of each further round
constexpr double kRate = 0.1;            // size of the first step, in units of the scale of a slope
constexpr double kDecay = 0.96;          // factor of the step size, from step to step
constexpr double kShare = 0.2;           // largest share of the planned time, for all cases together
constexpr int kStepsBefore = 60;         // steps of the ascent that optimises the lines alone
constexpr double kMargin = 1e-3;         // least bound to aim for, in units of the bound
constexpr double kLeastLoss = 1e-7;      // least relaxation loss of a ReLU that is split, in units of the bound

// A variable of the ascent, with its moments (Adam).
struct Variable {
  double value = 0, moment = 0, square = 0;
  void climb(double gradient, double step) {
    constexpr double kFirst = 0.9, kSecond = 0.99, kTiny = 1e-12;
    moment = kFirst * moment + (1 - kFirst) * gradient;
    square = kSecond * square + (1 - kSecond) * gradient * gradient;
    value += step * moment / (std::sqrt(square) + kTiny);
  }
};

struct Relu {
  std::uint32_t neuron;
  double a, offset;         // a: the coefficient in the form of the case; z = <row, x> + offset
  std::vector<double> row;  // by input of the group
  double chord, intercept;  // of the line above the ReLU
};

enum class Side : std::uint8_t { open, at_most, at_least };

// A node of a group's tree: a leaf, or a split with two children.
struct GroupNode {
  std::vector<Side> sides;              // by ReLU
  std::vector<std::size_t> path;        // the ReLUs split on the path, outermost first
  std::vector<Variable> slopes, betas;  // by ReLU: slope of the line below, multiplier of the literal
  std::vector<double> z;                // operands of the ReLUs at the minimiser
  double value = 0;
  std::size_t split = 0;                  // the ReLU that is split, in a node with children
  std::array<std::size_t, 2> children{};  // at_most, at_least; 0 in a leaf
};

struct Group {
  std::vector<std::uint32_t> inputs;
  std::vector<double> lo, hi;
  std::vector<Relu> relus;
  std::vector<Variable> slopes;  // s_i, by ReLU
  std::vector<GroupNode> nodes;
  std::size_t leaves = 1, worst = 0;

  [[nodiscard]] double slope_of(const GroupNode& leaf, std::size_t i) const {
    return leaf.sides[i] == Side::at_least  ? 1
           : leaf.sides[i] == Side::at_most ? 0
           : relus[i].a > 0                 ? leaf.slopes[i].value
                                            : relus[i].chord;
  }
  void bound(GroupNode& leaf, std::vector<double>& form) const;
  void bound_all(std::vector<double>& form);
  [[nodiscard]] std::pair<double, std::size_t> greatest_loss() const;
  void split(std::size_t at, std::size_t relu);
};

void Group::bound(GroupNode& leaf, std::vector<double>& form) const {
  form.assign(inputs.size(), 0.0);
  leaf.value = 0;
  for (std::size_t i = 0; i < relus.size(); ++i) {
    const Relu& relu = relus[i];
    const bool is_open = leaf.sides[i] == Side::open;
    const double beta = is_open ? 0 : leaf.sides[i] == Side::at_most ? leaf.betas[i].value : -leaf.betas[i].value;
    const double c = relu.a * slope_of(leaf, i) - slopes[i].value + beta;
    leaf.value += c * relu.offset + (is_open && relu.a < 0 ? relu.a * relu.intercept : 0);
    for (std::size_t k = 0; k < form.size(); ++k) form[k] += c * relu.row[k];
  }
  for (std::size_t i = 0; i < relus.size(); ++i) leaf.z[i] = relus[i].offset;
  for (std::size_t k = 0; k < form.size(); ++k) {
    const double x = form[k] > 0 ? lo[k] : hi[k];
    leaf.value += form[k] * x;
    for (std::size_t i = 0; i < relus.size(); ++i) leaf.z[i] += relus[i].row[k] * x;
  }
}

void Group::bound_all(std::vector<double>& form) {
  double least = INFINITY;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (nodes[at].children[0] != 0) continue;
    bound(nodes[at], form);
    if (nodes[at].value < least) worst = at;
    least = std::min(least, nodes[at].value);
  }
}

// The greatest relaxation loss at the minimiser of the worst leaf, among the ReLUs that the leaf leaves open, and the
// index of the ReLU.
std::pair<double, std::size_t> Group::greatest_loss() const {
  const GroupNode& leaf = nodes[worst];
  std::pair<double, std::size_t> best{0, 0};
  for (std::size_t i = 0; i < relus.size(); ++i) {
    if (leaf.sides[i] != Side::open) continue;
    const double line = slope_of(leaf, i) * leaf.z[i] + (relus[i].a < 0 ? relus[i].intercept : 0);
    best = std::max(best, {relus[i].a * (std::max(leaf.z[i], 0.0) - line), i});
  }
  return best;
}

void Group::split(std::size_t at, std::size_t relu) {
  nodes[at].split = relu;
  for (const std::size_t half : {0U, 1U}) {
    GroupNode child = nodes[at];
    child.children = {};
    child.sides[relu] = half == 0 ? Side::at_most : Side::at_least;
    child.path.push_back(relu);
    nodes[at].children[half] = nodes.size();
    nodes.push_back(std::move(child));
  }
  ++leaves;
}

struct GroupCuts {
  double bound = 0;                // of the case, with these slopes and a multiplier of 1 for every cut
  std::vector<float> lower_alpha;  // by neuron
  std::size_t count = 0;           // number of cuts
  std::function<IntermediateBounds::CutByCases(std::size_t)> cut{};
};

// The ascent for one case without literals. `result` must be the result of a bound with coefficients.
class Ascent {
 public:
  Ascent(const NeuronGraph& graph, const NeuronBoxes& boxes, const BoundResult& result, const Limit& limit)
      : graph_(graph),
        boxes_(boxes),
        limit_(limit),
        rest_(result.form),
        constant_(result.constant),
        lower_alpha_(result.parameters.lower_alpha) {
    for (const NeuronGraph::Activation& activation : graph.activations()) {
      if (activation.step->op == Op::relu && reads_input(activation)) collect(activation, result.coefficients);
    }
    std::erase_if(groups_, [](const Group& group) { return group.relus.size() < 2; });
    for (Group& group : groups_) begin(group);
  }

  std::optional<GroupCuts> run(double target) {
    double bound = -INFINITY;
    for (int round = 0; round < kRounds && groups_.size() > 1; ++round) {
      if (round > 0 && !split_some()) break;
      double rate = kRate;
      for (int step = 0; step < (round == 0 ? kFirstCutSteps : kCutSteps); ++step, rate *= kDecay) {
        if (limit_.reached()) return std::nullopt;
        bound = bound_all();
        if (bound > target) return result(bound);
        climb(rate);
      }
    }
    return result(bound);
  }

 private:
  [[nodiscard]] bool reads_input(const NeuronGraph::Activation& activation) const {
    const Step& operand = graph_.network().step_of(activation.operand);
    const Graph& nodes = graph_.network().problem()->graph();
    return operand.kind == Step::Kind::affine && operand.parts.size() == 1 && nodes.node(operand.parts[0].operand).op == Op::input;
  }

  // Groups the unstable ReLUs by the inputs that they read.
  void collect(const NeuronGraph::Activation& activation, const std::vector<double>& coefficients) {
    const Step& operand = graph_.network().step_of(activation.operand);
    const std::size_t first_input = graph_.network().input_offset(operand.parts[0].operand);
    std::map<std::vector<std::uint32_t>, std::size_t> group_of;
    for (std::uint32_t element = 0; element < activation.neurons() && !limit_.reached(); ++element) {
      const std::uint32_t neuron = activation.first_neuron + element;
      const double a = coefficients[neuron], l = boxes_.lo[neuron], u = boxes_.hi[neuron], chord = u / (u - l);
      if (a == 0 || !boxes_.is_undecided(neuron)) continue;
      Relu relu{neuron, a, operand.bias[element], {}, chord, -chord * l};
      std::vector<std::uint32_t> inputs;
      for (const auto& [column, value] : operand.parts[0].map->row(element)) {
        inputs.push_back(static_cast<std::uint32_t>(first_input + column));
        relu.row.push_back(value);
      }
      if (inputs.size() > kMostInputs) continue;
      const auto [at, is_new] = group_of.emplace(inputs, groups_.size());
      if (is_new) groups_.emplace_back().inputs = std::move(inputs);
      groups_[at->second].relus.push_back(std::move(relu));
    }
  }

  // Takes the ReLUs of the group out of the form; s starts as the slopes of their lines.
  void begin(Group& group) {
    GroupNode root;
    root.sides.assign(group.relus.size(), Side::open);
    root.betas.resize(group.relus.size());
    root.z.resize(group.relus.size());
    for (const Relu& relu : group.relus) {
      const double slope = relu.a > 0 ? static_cast<double>(lower_alpha_[relu.neuron]) : relu.chord;
      root.slopes.push_back({slope});
      group.slopes.push_back({relu.a * slope});
      for (std::size_t k = 0; k < group.inputs.size(); ++k) rest_[group.inputs[k]] -= relu.a * slope * relu.row[k];
      constant_ -= relu.a * (slope * relu.offset + (relu.a > 0 ? 0 : relu.intercept));
    }
    for (const std::uint32_t input : group.inputs) {
      group.lo.push_back(boxes_.x_lo[input]);
      group.hi.push_back(boxes_.x_hi[input]);
    }
    group.nodes.push_back(std::move(root));
  }

  double bound_all() {
    form_ = rest_;
    double bound = constant_;
    for (Group& group : groups_) {
      group.bound_all(of_group_);
      bound += group.nodes[group.worst].value;
      for (std::size_t i = 0; i < group.relus.size(); ++i) {
        const double s = group.slopes[i].value;
        bound += s * group.relus[i].offset;
        for (std::size_t k = 0; k < group.inputs.size(); ++k) form_[group.inputs[k]] += s * group.relus[i].row[k];
      }
    }
    x_.resize(form_.size());
    for (std::size_t i = 0; i < form_.size(); ++i) {
      x_[i] = form_[i] > 0 ? boxes_.x_lo[i] : boxes_.x_hi[i];
      bound += form_[i] * x_[i];
    }
    return bound;
  }

  void climb(double rate) {
    for (Group& group : groups_) {
      const GroupNode& worst = group.nodes[group.worst];
      for (std::size_t i = 0; i < group.relus.size(); ++i) {
        const Relu& relu = group.relus[i];
        double z = relu.offset;
        for (std::size_t k = 0; k < group.inputs.size(); ++k) z += relu.row[k] * x_[group.inputs[k]];
        group.slopes[i].climb(z - worst.z[i], rate * std::fabs(relu.a));
      }
      for (GroupNode& leaf : group.nodes) {
        for (std::size_t i = 0; i < group.relus.size() && leaf.children[0] == 0; ++i) {
          const double a = group.relus[i].a;
          if (leaf.sides[i] == Side::open) {
            if (a > 0) leaf.slopes[i].climb(a * leaf.z[i], rate);
            leaf.slopes[i].value = std::clamp(leaf.slopes[i].value, 0.0, 1.0);
          } else {
            leaf.betas[i].climb(leaf.sides[i] == Side::at_most ? leaf.z[i] : -leaf.z[i], rate * std::fabs(a));
            leaf.betas[i].value = std::max(leaf.betas[i].value, 0.0);
          }
        }
      }
    }
  }

  // Splits the half of the groups whose worst leaves lose most. Returns false if no leaf loses anything.
  bool split_some() {
    std::vector<std::pair<double, Group*>> order;
    for (Group& group : groups_) {
      const double loss = group.greatest_loss().first;
      if (group.leaves < kMostLeaves && loss > kLeastLoss) order.emplace_back(loss, &group);
    }
    std::ranges::sort(order, std::greater());
    order.resize((order.size() + 1) / 2);
    for (const auto& [loss, group] : order) group->split(group->worst, group->greatest_loss().second);
    return !order.empty();
  }

  // Groups that were not split contribute lines instead of cuts.
  GroupCuts result(double bound) {
    GroupCuts found{bound, lower_alpha_};
    for (const Group& group : groups_) {
      for (std::size_t i = 0; i < group.relus.size(); ++i)
        found.lower_alpha[group.relus[i].neuron] = static_cast<float>(group.nodes[0].slopes[i].value);
    }
    std::erase_if(groups_, [](const Group& group) { return group.leaves == 1; });
    found.count = groups_.size();
    found.cut = [groups = std::make_shared<const std::vector<Group>>(std::move(groups_)), &graph = graph_](std::size_t k) {
      const Group& group = (*groups)[k];
      IntermediateBounds::CutByCases cut;
      for (std::size_t i = 0; i < group.relus.size(); ++i) {
        const auto [activation, element] = place_of(graph, group.relus[i]);
        cut.terms.push_back({activation->step->node, element, static_cast<float>(group.relus[i].a)});
        cut.terms.push_back({activation->operand, element, -static_cast<float>(group.slopes[i].value)});
      }
      list(graph, group, 0, cut.tree);
      return cut;
    };
    return found;
  }

  static std::pair<const NeuronGraph::Activation*, std::uint32_t> place_of(const NeuronGraph& graph, const Relu& relu) {
    const NeuronGraph::Activation& activation = graph.activation_of(relu.neuron);
    return {&activation, relu.neuron - activation.first_neuron};
  }

  // Lists the steps of the tree in preorder.
  static void list(const NeuronGraph& graph, const Group& group, std::size_t at, std::vector<certificate::CaseStep>& steps) {
    const GroupNode& node = group.nodes[at];
    if (node.children[0] != 0) {
      const auto [activation, element] = place_of(graph, group.relus[node.split]);
      steps.push_back({logic::Literal{activation->operand, element, false, 0}, {}});
      for (const std::size_t child : node.children) list(graph, group, child, steps);
      return;
    }
    logic::Hints hints;
    for (std::size_t i = 0; i < group.relus.size(); ++i) {
      if (node.sides[i] != Side::open || !(group.relus[i].a > 0)) continue;
      const auto [activation, element] = place_of(graph, group.relus[i]);
      std::vector<float>& slopes = hints.lower[activation->step->node];
      slopes.resize(activation->step->size);
      slopes[element] = static_cast<float>(node.slopes[i].value);
    }
    for (const std::size_t relu : node.path) hints.beta.push_back(static_cast<float>(node.betas[relu].value));
    steps.push_back({std::nullopt, std::move(hints)});
  }

  const NeuronGraph& graph_;
  const NeuronBoxes& boxes_;
  const Limit& limit_;
  std::vector<double> rest_;  // the form of the case without the ReLUs of the groups, by input
  double constant_;
  std::vector<float> lower_alpha_;
  std::vector<Group> groups_;
  std::vector<double> form_, of_group_, x_;
};

// Lets the kernel derive the cuts and refute the case by them.
bool close(IntermediateBounds& root, const NeuronGraph& graph, std::uint32_t position, AlphaBeta parameters, const GroupCuts& found,
           std::optional<logic::Refutation>& refutation) {
  const std::size_t before = root.scope().cuts().size();
  if (!root.add_cuts(found.count, found.cut)) return false;
  parameters.lower_alpha = found.lower_alpha;
  const std::vector<logic::CaseMultipliers> one{{position, parameters.weights}};
  logic::Hints hints = to_hints(graph, parameters);
  hints.cuts.assign(before, 0.0F);
  hints.cuts.resize(root.scope().cuts().size(), 1.0F);
  if (!certificate::merge_into(refutation, root.scope().conclude(one, hints))) return false;
  root.steps().conclude(one, hints);
  return true;
}

}  // namespace

void close_by_cuts(IntermediateBounds& root, const NeuronGraph& graph, std::vector<std::uint32_t>& open,
                   std::optional<logic::Refutation>& refutation, const Limit& limit) {
  const std::size_t group = root.scope().group();
  const logic::Problem& problem = *graph.network().problem();
  const bool is_simple = root.complete() && root.scope().literals().empty() && inspect::group_balls(problem, group).empty();
  if (!is_simple || !graph.relu_only() || graph.activations().size() != 1) return;
  const Limit share{std::min(limit.deadline, Deadline::in(kShare * limit.planned())), limit.stop};
  const NeuronBoxes boxes = NeuronBoxes::of(graph, root.scope());
  AlphaBetaCrown ascent(graph, share);
  AlphaBetaOptions options;
  options.iterations = kStepsBefore;
  options.scores = options.coefficients = true;
  options.strong_splits = options.quantize = false;
  root.stop_at(share);
  std::erase_if(open, [&](std::uint32_t position) {
    BoundTask task;
    task.rows = &graph.network().rows(problem.group_cases(group)[position]);
    task.boxes = &boxes;
    BoundResult bound;
    ascent.run({&task, 1}, options, {&bound, 1});
    if (share.reached() || bound.coefficients.empty()) return false;
    const auto found = Ascent(graph, boxes, bound, share).run(kMargin);
    return found && found->bound > 0 && close(root, graph, position, std::move(bound.parameters), *found, refutation);
  });
  root.stop_at(limit);
}

}  // namespace assay::search
