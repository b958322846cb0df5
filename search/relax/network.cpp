// Network: folding of affine chains, forward and backward passes.
//
// make_step() turns a node of the graph into a step: its kind, and its map or its index lists. fold() joins two affine
// steps if one of their maps is an identity, so that no maps are multiplied. remove_dead_steps() then drops the steps
// that nothing reads any more.
//
// evaluate() runs a batch of points forward through the steps; vjp() runs cotangents backward. Both ask their limit
// between steps and return false once it is reached. Rows of the property become sparse forms over outputs and inputs,
// each with a scale, so that bounds of different rows can be compared.
//
// Source: none; an interpreter of a folded graph. How it differs from the kernel's: plain doubles, batches, and no
// error terms.

#include "search/relax/network.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernel/inspect/inspect.h"
#include "search/relax/elementwise.h"
#include "search/relax/lines.h"
#include "semantics/interrupt.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/element_lists.h"
#include "semantics/ops/indexing.h"

namespace assay::search {
namespace {

// For each element of the broadcast result, the element of the operand of shape `from` that it reads; empty if that is
// always the same index.
std::vector<std::uint32_t> broadcast_elements(const Shape& from, const Shape& to) {
  return from == to ? std::vector<std::uint32_t>() : ops::broadcast_elements(from, to);
}

// Lists the operand elements of every pooling window, without padding.
void list_windows(const WindowAttributes& attributes, const Shape& operand, const Shape& result, Step& step) {
  ops::Window window(attributes, operand, result);
  for (std::size_t i = 0; i < element_count(result); ++i) {
    step.window_start.push_back(static_cast<std::uint32_t>(step.window.size()));
    const std::size_t map = i / window.result_size() * window.operand_size();
    for (const ops::Tap& tap : window.taps(i % window.result_size())) step.window.push_back(static_cast<std::uint32_t>(map + tap.operand));
  }
  step.window_start.push_back(static_cast<std::uint32_t>(step.window.size()));
}

// For a product of matrices: lists where the factors of each result element begin.
void list_factors(const Shape& first, const Shape& second, const Shape& result, Step& step) {
  const bool row = first.size() > 1, column = second.size() > 1;  // whether the result has that axis
  const std::size_t from = result.size() - (row ? 1 : 0) - (column ? 1 : 0);
  const Shape outer(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(from));
  const std::size_t rows = row ? static_cast<std::size_t>(first[first.size() - 2]) : 1,
                    columns = column ? static_cast<std::size_t>(second.back()) : 1;
  step.extent = static_cast<std::size_t>(first.back());
  step.inner = columns;
  const auto matrices = [&](const Shape& shape, std::size_t axes) {
    return broadcast_elements({shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(std::min(axes, shape.size()))}, outer);
  };
  const std::vector<std::uint32_t> of_first = matrices(first, 2), of_second = matrices(second, 2);
  step.broadcast.assign(2, std::vector<std::uint32_t>(step.size));
  for (std::size_t j = 0; j < step.size; ++j) {
    const std::size_t matrix = j / (rows * columns);
    const std::size_t p = of_first.empty() ? matrix : of_first[matrix], q = of_second.empty() ? matrix : of_second[matrix];
    step.broadcast[0][j] = static_cast<std::uint32_t>((p * rows + j / columns % rows) * step.extent);
    step.broadcast[1][j] = static_cast<std::uint32_t>(q * step.extent * columns + j % columns);
  }
}

// multiply-adds per element of a denotation's operands and result, roughly.
constexpr std::size_t kDenotationWork = 100;

double nearest_double(const Rational& value) { return 0.5 * value.double_down() + 0.5 * value.double_up(); }

}  // namespace

double slack(const RowView& row, const double* outputs, const double* inputs) {
  double sum = row.bound;
  for (const auto& [element, coefficient] : row.outputs) sum -= coefficient * outputs[element];
  for (const auto& [element, coefficient] : row.inputs) sum -= coefficient * inputs[element];
  return sum;
}

InputBox input_box(const logic::Problem& problem, const logic::Scope& scope) {
  InputBox result;
  for (const NodeId input : problem.graph().inputs) {
    const relax::Box& box = scope.box(input);
    result.lo.insert(result.lo.end(), box.lo.begin(), box.lo.end());
    result.hi.insert(result.hi.end(), box.hi.begin(), box.hi.end());
  }
  return result;
}

// Makes the steps in graph order, then folds them; turns the rows of the property into sparse forms over outputs
// and inputs.
Network::Network(std::shared_ptr<const logic::Problem> problem) : problem_(std::move(problem)) {
  const Graph& graph = problem_->graph();
  input_offset_.assign(graph.nodes.size(), 0);
  for (const NodeId id : graph.inputs) {
    input_offset_[id] = input_size_;
    input_size_ += graph.size(id);
  }
  for (const NodeId id : graph.outputs) output_size_ += graph.size(id);
  make_constants();
  for (NodeId id = 0; id < graph.nodes.size(); ++id) steps_.push_back(make_step(id));
  fold();
  remove_dead_steps();
  for (const Step& step : steps_) {
    has_gradient_ = has_gradient_ && step.kind != Step::Kind::denotation;
    work_ += step.size;
    for (const Step::Part& part : step.parts) work_ += part.map->work();
    if (step.kind == Step::Kind::matmul) work_ += step.size * step.extent;
    if (step.kind != Step::Kind::denotation && (step.kind != Step::Kind::unary || formula_of(step.op) != nullptr)) continue;
    work_ += kDenotationWork * step.size;
    for (const NodeId operand : step.operands) work_ += kDenotationWork * problem_->graph().size(operand);
  }
  make_rows();
}

// Keeps only constants that a non-linear op reads or that are outputs. The maps hold their own weights.
void Network::make_constants() {
  const Graph& graph = problem_->graph();
  std::vector<bool> wanted(graph.nodes.size(), false);
  for (const NodeId id : graph.outputs) wanted[id] = true;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (problem_->is_constant(id) || inspect::affine(*problem_, id) != nullptr) continue;
    for (const NodeId operand : graph.node(id).operands) wanted[operand] = true;
  }
  std::vector<bool> kept = wanted;
  for (std::size_t id = graph.nodes.size(); id-- > 0;) {
    if (!wanted[id] || !problem_->is_constant(static_cast<NodeId>(id))) continue;
    for (const NodeId operand : graph.nodes[id].operands) wanted[operand] = true;
  }
  std::vector<std::optional<Array<double>>> values(graph.nodes.size());
  constants_.resize(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (!wanted[id] || !problem_->is_constant(id)) continue;
    if (node.op == Op::constant) {
      values[id] = lift<double>(node.value);
    } else {
      std::vector<const Array<double>*> operands;
      for (const NodeId operand : node.operands) operands.push_back(&*values[operand]);
      Outcome<Array<double>> value = denote<double>(node, operands);
      values[id] = value.ok() ? std::move(value).value() : Array<double>{node.shape, std::vector<double>(graph.size(id), std::nan(""))};
    }
    if (kept[id]) constants_[id] = values[id]->values;
  }
}

// Decides how an op is run: by a formula, by a map, or by its denotation if nothing faster is known.
Step Network::make_step(NodeId id) const {
  const Graph& graph = problem_->graph();
  const Node& node = graph.node(id);
  Step step;
  step.node = id;
  step.op = node.op;
  step.size = graph.size(id);
  if (node.op == Op::input) {
    step.kind = Step::Kind::input;
  } else if (problem_->is_constant(id)) {
    step.kind = Step::Kind::constant;
  } else if (const rows::AffineForm* form = inspect::affine(*problem_, id)) {
    step.kind = Step::Kind::affine;
    for (const auto& part : form->parts) step.parts.push_back({part.operand, std::make_shared<const FastMap>(part.map)});
    step.bias = form->bias;
  } else {
    step.operands = node.operands;
    if (is_unary(node)) {
      step.kind = Step::Kind::unary;
      if (!has_closed_lines(node.op)) step.function = std::make_shared<const UnaryFunction>(node);
      if (const auto* leaky = std::get_if<LeakyReluAttributes>(&node.attributes)) step.constants.first = leaky->slope;
      if (const auto* power = std::get_if<PowAttributes>(&node.attributes)) step.constants.first = nearest_double(power->exponent);
      if (const auto* clip = std::get_if<ClipAttributes>(&node.attributes)) step.constants = {clip->lo, clip->hi};
    } else if (is_binary(node.op) && node.operands.size() == 2) {
      step.kind = Step::Kind::binary;
      for (const NodeId operand : node.operands) step.broadcast.push_back(broadcast_elements(graph.node(operand).shape, node.shape));
    } else if (node.op == Op::matmul) {
      step.kind = Step::Kind::matmul;
      list_factors(graph.node(node.operands[0]).shape, graph.node(node.operands[1]).shape, node.shape, step);
    } else if (node.op == Op::max_pool) {
      step.kind = Step::Kind::max_pool;
      list_windows(std::get<WindowAttributes>(node.attributes), graph.node(node.operands[0]).shape, node.shape, step);
    } else if (node.op == Op::softmax) {
      step.kind = Step::Kind::softmax;
      const auto axis = static_cast<std::size_t>(std::get<SoftmaxAttributes>(node.attributes).axis);
      step.inner = static_cast<std::size_t>(ops::row_major_strides(node.shape)[axis]);
      step.extent = static_cast<std::size_t>(node.shape[axis]);
    }
  }
  return step;
}

// Replaces a part that is an identity: by the parts of an affine step that nothing else reads, or, if the step is a
// plain copy without bias, by the operand of the copy.
void Network::fold() {
  const Graph& graph = problem_->graph();
  std::vector<std::uint32_t> readers(graph.nodes.size(), 0);
  for (const Step& step : steps_) {
    for (const Step::Part& part : step.parts) ++readers[part.operand];
    // An operand of a non-linear op is never folded away.
    for (const NodeId operand : step.operands) readers[operand] += 2;
  }
  for (const NodeId id : graph.outputs) readers[id] += 2;
  for (Step& step : steps_) {
    std::vector<Step::Part> parts;
    for (const Step::Part& part : step.parts) {
      const Step& operand = steps_[part.operand];
      bool copy = operand.kind == Step::Kind::affine && operand.parts.size() == 1 && operand.parts[0].map->is_identity();
      for (std::size_t k = 0; copy && k < operand.bias.size(); ++k) copy = operand.bias[k] == 0;
      if (part.map->is_identity() && operand.kind == Step::Kind::affine && readers[part.operand] == 1) {
        parts.insert(parts.end(), operand.parts.begin(), operand.parts.end());
        for (std::size_t k = 0; k < step.size; ++k) step.bias[k] += operand.bias[k];
      } else if (copy) {
        parts.push_back({operand.parts[0].operand, part.map});
        ++readers[operand.parts[0].operand];
      } else {
        parts.push_back(part);
      }
    }
    step.parts = std::move(parts);
  }
}

// Drops the steps that no output and no non-linear step reads after folding.
void Network::remove_dead_steps() {
  const Graph& graph = problem_->graph();
  std::vector<bool> live(graph.nodes.size(), false);
  for (const NodeId id : graph.inputs) live[id] = true;
  for (const NodeId id : graph.outputs) live[id] = true;
  for (std::size_t k = steps_.size(); k-- > 0;) {
    if (!live[k]) continue;
    for (const Step::Part& part : steps_[k].parts) live[part.operand] = true;
    for (const NodeId operand : steps_[k].operands) live[operand] = true;
  }
  step_of_.assign(graph.nodes.size(), kNone);
  std::vector<Step> kept;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    if (!live[k]) continue;
    step_of_[k] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(steps_[k]));
  }
  steps_ = std::move(kept);
}

void Network::make_rows() {
  const Graph& graph = problem_->graph();
  std::vector<std::size_t> output_offset(graph.nodes.size(), 0);
  std::size_t total = 0;
  for (const NodeId id : graph.outputs) {
    output_offset[id] = total;
    total += graph.size(id);
  }
  for (const statement::Case& one : problem_->statement().property.cases) {
    std::vector<RowView>& views = rows_.emplace_back();
    for (const statement::Row& row : one.rows) {
      RowView view;
      view.bound = nearest_double(row.bound);
      view.strict = row.strict;
      double squares = 0;
      for (const statement::Term& term : row.terms) {
        const bool input = term.variable.side == statement::Variable::Side::input;
        const std::size_t offset = (input ? input_offset_ : output_offset)[problem_->node_of(term.variable)] + term.variable.element;
        const double coefficient = nearest_double(term.coefficient);
        (input ? view.inputs : view.outputs).emplace_back(static_cast<std::uint32_t>(offset), coefficient);
        squares += coefficient * coefficient;
      }
      view.scale = squares > 0 ? std::sqrt(squares) : 1;
      views.push_back(std::move(view));
    }
  }
}

bool Network::evaluate(std::size_t batch, const double* x, Workspace& workspace) const try {
  const std::function<bool()> question = workspace.limit.question();
  const StopScope watch(question);
  if (workspace.limit.reached()) return false;
  workspace.values.resize(problem_->graph().nodes.size());
  if (batch == 0) {  // for example, for a box without free inputs
    for (const Step& step : steps_) workspace.values[step.node].clear();
    return true;
  }
  for (const Step& step : steps_) {
    poll(batch * step.size);
    std::vector<double>& value = workspace.values[step.node];
    value.resize(batch * step.size);
    switch (step.kind) {
      case Step::Kind::input: {
        const std::size_t offset = input_offset(step.node);
        for (std::size_t b = 0; b < batch; ++b) std::copy_n(x + b * input_size_ + offset, step.size, value.data() + b * step.size);
        break;
      }
      case Step::Kind::constant:
        for (std::size_t b = 0; b < batch; ++b) std::copy_n(constants_[step.node].data(), step.size, value.data() + b * step.size);
        break;
      case Step::Kind::affine:
        for (std::size_t b = 0; b < batch; ++b) std::copy_n(step.bias.data(), step.size, value.data() + b * step.size);
        for (const Step::Part& part : step.parts) {
          poll(batch * part.map->work() / 8);
          part.map->apply(batch, workspace.values[part.operand].data(), value.data());
        }
        break;
      case Step::Kind::denotation:
        if (!evaluate_denotation(step, batch, workspace)) return false;
        break;
      default:
        apply(step, batch, workspace);
        break;
    }
  }
  return true;
} catch (const Stopped&) {
  return false;
}

// Slow, but right for every op: computes values in double by the semantics itself.
bool Network::evaluate_denotation(const Step& step, std::size_t batch, Workspace& workspace) const {
  const Graph& graph = problem_->graph();
  std::vector<Array<double>> operands(step.operands.size());
  const auto pointers = pointers_to(operands);
  std::vector<double>& value = workspace.values[step.node];
  for (std::size_t b = 0; b < batch; ++b) {
    if (workspace.limit.reached()) return false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const std::size_t size = graph.size(step.operands[k]);
      const double* from = workspace.values[step.operands[k]].data() + b * size;
      operands[k] = {graph.node(step.operands[k]).shape, std::vector<double>(from, from + size)};
    }
    const Outcome<Array<double>> result = denote<double>(graph.node(step.node), pointers);
    for (std::size_t i = 0; i < step.size; ++i) value[b * step.size + i] = result.ok() ? result.value().values[i] : std::nan("");
  }
  return true;
}

void Network::outputs(std::size_t batch, const Workspace& workspace, double* y) const {
  std::size_t offset = 0;
  for (const NodeId id : problem_->graph().outputs) {
    const std::size_t size = problem_->graph().size(id);
    for (std::size_t b = 0; b < batch; ++b) std::copy_n(workspace.values[id].data() + b * size, size, y + b * output_size_ + offset);
    offset += size;
  }
}

bool Network::vjp(std::size_t batch, Workspace& workspace, const double* y_bar, double* x_bar) const try {
  const std::function<bool()> question = workspace.limit.question();
  const StopScope watch(question);
  if (workspace.limit.reached()) return false;
  const Graph& graph = problem_->graph();
  workspace.bars.resize(graph.nodes.size());
  for (const Step& step : steps_) workspace.bars[step.node].assign(batch * step.size, 0);
  if (batch == 0) return true;
  std::size_t offset = 0;
  for (const NodeId id : graph.outputs) {
    const std::size_t size = graph.size(id);
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t i = 0; i < size; ++i) workspace.bars[id][b * size + i] += y_bar[b * output_size_ + offset + i];
    }
    offset += size;
  }
  for (std::size_t k = steps_.size(); k-- > 0;) {
    const Step& step = steps_[k];
    poll(batch * step.size);
    const double* bar = workspace.bars[step.node].data();
    switch (step.kind) {
      case Step::Kind::input: {
        const std::size_t at = input_offset(step.node);
        for (std::size_t b = 0; b < batch; ++b) std::copy_n(bar + b * step.size, step.size, x_bar + b * input_size_ + at);
        break;
      }
      case Step::Kind::affine:
        for (const Step::Part& part : step.parts) {
          poll(batch * part.map->work() / 8);
          part.map->transpose(batch, bar, workspace.bars[part.operand].data());
        }
        break;
      case Step::Kind::constant:
      case Step::Kind::denotation:
        break;
      default:
        pull(step, batch, workspace);
        break;
    }
  }
  return true;
} catch (const Stopped&) {
  return false;
}

// Threads report the points that came nearest to the unsafe set; the nearest one is kept.
void Network::saw(const logic::Witness& point, double slack) const {
  const std::lock_guard lock(nearest_access_);
  if (!nearest_ || slack > nearest_->slack) nearest_ = NearestPoint{point, slack};
}

std::optional<Network::NearestPoint> Network::nearest_point() const {
  const std::lock_guard lock(nearest_access_);
  return nearest_;
}

}  // namespace assay::search
