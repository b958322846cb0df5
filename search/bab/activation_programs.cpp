// ActivationBounder with linear programs, for networks in which every ReLU is affine in the inputs.
//
// A program is solved if a split asked for it, or if the ascent saw no split that gains. If the optimum is flat, some
// optimal points are sampled, and a neuron on which every sampled point violates its function is split.
//
// Source: the triangle relaxation of Planet (Ehlers 2017). How this version differs: the dual solution becomes slopes
// and multipliers of alpha-beta-CROWN, and only the bound that these give counts.

#include <algorithm>
#include <cmath>

#include "search/bab/activation_bab.h"

namespace assay::search {
namespace {

// Least weight of a row relative to the others when an open node is scored, so that every row counts.
constexpr double kLeastShare = 1e-4;

// Takes the root's own literals back out of the boxes: a program has rows for the neurons that are unstable at its
// root, and treats a literal as a bound of such a row. `above`: the scope without the literals; null: there are none.
NeuronBoxes without_literals(const NeuronGraph& graph, NeuronBoxes boxes, const std::vector<logic::Literal>& literals,
                             const logic::Scope* above) {
  if (above == nullptr) return boxes;
  const NeuronBoxes wide = NeuronBoxes::of(graph, *above);
  for (const logic::Literal& literal : literals) {
    for (const std::uint32_t neuron : graph.neurons_of(literal.node, literal.element)) {
      boxes.lo[neuron] = wide.lo[neuron];
      boxes.hi[neuron] = wide.hi[neuron];
    }
  }
  return boxes;
}

std::unique_ptr<const RelaxationRows> make_relaxation(const NeuronGraph& graph, const NeuronBoxes& root) {
  if (!graph.every_neuron_has_input_row() || !RelaxationRows::supports(graph, root)) return nullptr;
  return std::make_unique<const RelaxationRows>(graph, root);
}

}  // namespace

ActivationRoot::ActivationRoot(const NeuronGraph& of, const logic::Scope& scope, const logic::Scope* above)
    : graph(of),
      group(scope.group()),
      candidates(of.network(), scope.group()),
      boxes(NeuronBoxes::of(of, scope)),
      literals(scope.literals()),
      relaxation(make_relaxation(of, without_literals(of, boxes, literals, above))) {}

RelaxationLp& ActivationBounder::program(std::uint32_t position) {
  std::unique_ptr<RelaxationLp>& program = programs_[position];
  if (!program) {
    const auto& rows = root_.graph.network().rows(root_.case_of(position));
    program = std::make_unique<RelaxationLp>(*root_.relaxation, rows, engine_.limit().deadline, engine_.limit().stop);
  }
  return *program;
}

// Evaluates the program's dual solution like any other parameters: only a bound that the kernel can repeat counts.
// Returns false if the program did not come to an end.
bool ActivationBounder::bound_by_program(const Target& target) {
  const Treated& treated = *target.treated;
  LpResult solved = program(target.open().position).solve(treated.boxes, treated.literals);
  if (solved.status == LpResult::Status::stopped) return false;
  BoundTask task = task_of(target);
  task.start = &solved.parameters;
  AlphaBetaOptions options{.iterations = 1, .scores = true, .quantize = false};
  BoundResult result;
  ascent_.run({&task, 1}, options, {&result, 1});
  if (result.bound > 0) {
    BoundResult shorter;  // of the parameters in the short form of the certificate
    options.scores = false;
    options.quantize = true;
    ascent_.run({&task, 1}, options, {&shorter, 1});
    if (shorter.bound > options.target) result = std::move(shorter);
  }
  target.result() = std::move(result);
  if (!solved.x.empty()) target.result().x = solved.x;
  if (!(target.result().bound > 0) && target.result().strong_split.neuron == StrongSplit::kNone) weigh_flat_node(target, solved);
  return true;
}

// No split gains at once, and the dual solution may have dropped whole rows. So the influence of neurons is judged with
// all rows, over the inputs that are not settled yet.
void ActivationBounder::weigh_flat_node(const Target& target, LpResult& solved) {
  constexpr double kSettled = 1e-4;  // share of an input's width
  if (solved.status != LpResult::Status::solved) return;
  NeuronBoxes boxes = target.treated->boxes;
  const OptimalFace face = program(target.open().position).sample_face(boxes);
  for (std::size_t i = 0; i < boxes.x_lo.size(); ++i) {
    if (face.x_hi[i] - face.x_lo[i] > kSettled * (boxes.x_hi[i] - boxes.x_lo[i])) continue;
    boxes.x_lo[i] = boxes.x_hi[i] = std::clamp(0.5 * (face.x_lo[i] + face.x_hi[i]), boxes.x_lo[i], boxes.x_hi[i]);
  }
  BoundTask task = task_of(target);
  for (std::size_t r = 0; r < task.rows->size(); ++r) {
    float& weight = solved.parameters.weights[r];
    weight = std::max(weight, static_cast<float>(kLeastShare / (*task.rows)[r].scale));
  }
  task.start = &solved.parameters;
  task.boxes = &boxes;
  BoundResult weighed;
  ascent_.run({&task, 1}, {.iterations = 1, .target = INFINITY, .scores = true, .strong_splits = false, .quantize = false}, {&weighed, 1});
  target.result().influence = std::move(weighed.influence);
  target.result().scores = std::move(weighed.scores);
  find_closing_split(target, face);
}

// Proposes a neuron on which every sampled optimal point violates its function. If the split cuts all these points off,
// the programs of both children have greater bounds than the node's, and may close.
void ActivationBounder::find_closing_split(const Target& target, const OptimalFace& face) {
  constexpr float kLeastGap = 1e-3F;
  const auto widest = std::max_element(face.gaps.begin(), face.gaps.end());
  if (widest == face.gaps.end() || !(*widest > kLeastGap)) return;
  StrongSplit split;
  split.neuron = static_cast<std::uint32_t>(widest - face.gaps.begin());
  split.by_program = true;
  for (const bool at_least : {false, true}) {
    NeuronBoxes boxes = target.treated->boxes;
    std::vector<logic::Literal> literals = target.treated->literals;
    literals.push_back(root_.literal_at(boxes, split.neuron));
    literals.back().at_least = at_least;
    boxes.meet(root_.graph, literals.back());
    const LpResult child = program(target.open().position).solve(boxes, literals);
    if (child.status != LpResult::Status::contradiction && !(child.bound > AlphaBetaOptions().target)) return;
    (at_least ? split.at_least : split.at_most) = child.bound;
  }
  target.result().strong_split = split;
}

}  // namespace assay::search
