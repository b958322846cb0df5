#include "probes/sketch.h"

namespace assay::probes {

Sketch::Sketch(const Graph& application) : node_(application.node(application.outputs[0])) {
  for (std::size_t k = 0; k < application.inputs.size(); ++k) {
    const Node& input = application.node(application.inputs[k]);
    inputs_.push_back(graph_.append_input(input.dtype, input.shape, application.input_names[k]));
  }
}

NodeId Sketch::put(Op op, std::vector<NodeId> of, Attributes attributes) {
  if (refused_) return 0;
  const auto made = graph_.append(op, std::move(of), std::move(attributes));
  refused_ = !made;
  return made ? made.value() : 0;
}

NodeId Sketch::number(double value) {
  const auto small = static_cast<float>(value);
  return graph_.append_constant(node_.dtype == DType::float64 ? Tensor::of_doubles({}, std::vector<double>{value})
                                                              : Tensor::of_floats({}, std::vector<float>{small}));
}

std::vector<NodeId> Sketch::with(std::size_t k, NodeId other) const {
  std::vector<NodeId> of = inputs_;
  of[k] = other;
  return of;
}

NodeId Sketch::part(NodeId y, std::size_t axis, std::int64_t from, std::int64_t count) {
  const Shape shape = graph_.node(y).shape;
  if (refused_ || axis >= shape.size() || from < 0 || count < 0 || from + count > shape[axis]) {
    refused_ = true;
    return 0;
  }
  SliceAttributes slice{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
  slice.starts[axis] = from;
  slice.extents[axis] = count;
  return put(Op::slice, {y}, slice);
}

NodeId Sketch::reversed(NodeId y, std::size_t axis) {
  const Shape shape = graph_.node(y).shape;
  if (refused_ || axis >= shape.size() || shape[axis] == 0) {
    refused_ = true;
    return 0;
  }
  SliceAttributes slice{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
  slice.starts[axis] = shape[axis] - 1;
  slice.steps[axis] = -1;
  return put(Op::slice, {y}, slice);
}

NodeId Sketch::zeros_after(NodeId y, std::size_t axis, std::int64_t count) {
  const std::size_t rank = graph_.node(y).shape.size();
  PadAttributes pad{Shape(rank, 0), Shape(rank, 0), 0};
  pad.after[axis] = count;
  return put(Op::pad, {y}, pad);
}

NodeId Sketch::cleared_from(NodeId y, std::size_t axis, std::int64_t count) {
  const std::int64_t all = axis < shape(y).size() ? shape(y)[axis] : 0;
  if (refused_ || count <= 0 || count >= all) {
    refused_ = true;
    return 0;
  }
  return zeros_after(part(y, axis, 0, count), axis, all - count);
}

NodeId Sketch::fitted(NodeId y, const Shape& shape) {
  const Shape own = graph_.node(y).shape;
  if (refused_ || own.size() != shape.size()) {
    refused_ = true;
    return 0;
  }
  PadAttributes pad{Shape(own.size(), 0), Shape(own.size(), 0), 0};
  for (std::size_t k = 0; k < own.size(); ++k) pad.after[k] = shape[k] - own[k];
  return put(Op::pad, {y}, pad);
}

NodeId Sketch::flat(NodeId y) {
  return put(Op::reshape, {y}, ShapeAttributes{{static_cast<std::int64_t>(element_count(graph_.node(y).shape))}});
}

std::optional<Graph> Sketch::done(NodeId y) {
  if (refused_ || graph_.node(y).shape != node_.shape || graph_.node(y).dtype != node_.dtype) return std::nullopt;
  Graph graph = graph_;
  graph.mark_output(y, "y");
  return graph;
}

Outcome<Tensor> Evaluation::operator()(const std::vector<Tensor>& operands) const {
  if (!state_->program) state_->program = runtime::Program::compile(state_->graph);
  const auto& program = *state_->program;
  if (!program) return program.rejection();
  std::vector<runtime::Array> arrays;
  for (const Tensor& operand : operands) arrays.push_back(runtime::Array::from(operand));
  const auto results = program.value().replay(arrays);
  if (!results) return results.rejection();
  return results.value()[0].to_tensor();
}

}  // namespace assay::probes
