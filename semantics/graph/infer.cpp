// infer(): arity, attributes, dtypes and limits for every op, then the op's own shape rule.
#include <string>

#include "semantics/graph/family.h"
#include "semantics/graph/shape_rules.h"

namespace assay {

namespace shape_rules {

std::string describe(const Call& call) {
  std::string text(op_row(call.op).name);
  text += "(";
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Node& operand = *call.operands[i];
    if (i > 0) text += ", ";
    text.append("node ").append(std::to_string(call.ids[i]));
    if (!operand.name.empty()) text.append(" '").append(operand.name).append("'");
    text.append(" ").append(to_string(operand.dtype)).append(to_string(operand.shape));
  }
  return text + ")";
}

Rejection violated(const Call& call, int condition, std::string required, std::string found) {
  const std::string name(op_row(call.op).name);
  return {Rejection::Kind::malformed,
          name + ".S" + std::to_string(condition),
          describe(call),
          std::move(required),
          std::move(found),
          "see the side conditions of " + name + " in semantics/ops"};
}

namespace {

Rejection malformed(std::string code, std::string place, std::string required, std::string found, std::string advice) {
  return {Rejection::Kind::malformed, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)};
}

Outcome<Done> check_operand(const Graph& graph, Op op, NodeId id) {
  const std::string name(op_row(op).name);
  if (id >= graph.nodes.size()) {
    return malformed("graph.operand", name, "operands are nodes that stand before their user",
                     "operand " + std::to_string(id) + " of " + std::to_string(graph.nodes.size()) + " nodes", "append operands first");
  }
  std::size_t count = 0;
  if (!checked_element_count(graph.nodes[id].shape, kMaximumElements, count)) {
    return malformed("graph.limit", name + ", operand node " + std::to_string(id), "0 <= extents, at most 2^31 - 1 elements",
                     "shape " + to_string(graph.nodes[id].shape), "use a smaller batch or split the tensor");
  }
  return Done{};
}

Outcome<Done> check_arity(Op op, std::size_t operands, const Attributes& attributes) {
  const OpRow& row = op_row(op);
  const std::string name(row.name);
  const bool few = operands < static_cast<std::size_t>(row.arity_min);
  const bool many = row.arity_max >= 0 && operands > static_cast<std::size_t>(row.arity_max);
  if (few || many) {
    const std::string upper = row.arity_max < 0 ? " or more" : " to " + std::to_string(row.arity_max);
    return malformed("graph.arity", name, std::to_string(row.arity_min) + upper + " operands", std::to_string(operands) + " operands",
                     "see the op table");
  }
  if (attributes.index() != row.attributes) {
    return malformed("graph.attributes", name, "attributes of kind " + std::to_string(row.attributes),
                     "kind " + std::to_string(attributes.index()), "give the attribute structure that the op table names");
  }
  return Done{};
}

bool takes(Elements elements, DType dtype) {
  switch (elements) {
    case Elements::reals:
      return is_float(dtype);
    case Elements::numbers:
      return dtype != DType::boolean && dtype != DType::complex64;
    case Elements::integers:
      return is_integer(dtype);
    case Elements::booleans:
      return dtype == DType::boolean;
    case Elements::any:
      return true;
  }
  return false;
}

const char* words(Elements elements) {
  switch (elements) {
    case Elements::reals:
      return "float32 or float64 operands of one dtype";
    case Elements::numbers:
      return "float or integer operands of one dtype";
    case Elements::integers:
      return "integer operands of one dtype";
    case Elements::booleans:
      return "boolean operands";
    case Elements::any:
      return "operands of one dtype";
  }
  return "";
}

// The operand whose dtype the result has: the first one, or the second for where and take.
std::size_t leading(Op op) { return op == Op::where || op == Op::take ? 1 : 0; }

bool is_truth_operand(Op op, std::size_t i) { return (op == Op::where && i == 0) || (op == Op::masked_softmax && i == 1); }

bool is_index(Op op, std::size_t i) { return op == Op::take && i == 0; }

Outcome<Done> check_dtypes(const Call& call) {
  const Elements elements = op_row(call.op).elements;
  const DType dtype = call.operands[leading(call.op)]->dtype;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const DType found = call.operands[i]->dtype;
    if (is_index(call.op, i)) {
      if (found == DType::int64 || found == DType::int32) continue;
      return malformed("graph.dtype", describe(call), "an index of int64 or int32", to_string(found), "convert the index (cast)");
    }
    const bool is_condition = is_truth_operand(call.op, i);
    if (is_condition ? found == DType::boolean : found == dtype && takes(elements, found)) continue;
    return malformed("graph.dtype", describe(call), is_condition ? "a boolean condition or mask" : words(elements), to_string(found),
                     "convert the operands to one type (cast)");
  }
  return Done{};
}

bool gives_truth(Op op) { return op == Op::equal || op == Op::less || op == Op::less_equal || op == Op::is_nan || op == Op::is_inf; }

Outcome<DType> result_dtype(const Call& call) {
  if (gives_truth(call.op)) return DType::boolean;
  if (call.op == Op::arg_max || call.op == Op::arg_min || call.op == Op::arg_sort) return DType::int64;
  if (call.op != Op::cast) return call.operands[leading(call.op)]->dtype;
  const std::uint8_t to = call.get<CastAttributes>().to;
  if (to > static_cast<std::uint8_t>(DType::uint64) || static_cast<DType>(to) == DType::complex64)
    return violated(call, 1, "a dtype of real numbers", std::to_string(to));
  return static_cast<DType>(to);
}

Outcome<Shape> shape_of(const Call& call) {
  switch (shapes_of(call.op)) {
    case Shapes::none:
      break;  // refused by infer()
    case Shapes::layout:
      return layout_shape(call);
    case Shapes::broadcast:
      return broadcast_shape(call);
    case Shapes::product:
      return product_shape(call);
    case Shapes::window:
      return window_shape(call);
    case Shapes::batch_norm:
      return normalise_shape(call);
    case Shapes::reduce:
      return reduce_shape(call);
    case Shapes::position:
      return position_shape(call);
    case Shapes::selection:
      return selection_shape(call);
    case Shapes::operand:
      return elementwise_shape(call);
    case Shapes::normalise:
      return normalise_axes_shape(call);
    case Shapes::masked:
      return masked_shape(call);
  }
  return violated(call, 0, "an op with operands", "a leaf");
}

}  // namespace

}  // namespace shape_rules

Outcome<ResultType> infer(const Graph& graph, Op op, const std::vector<NodeId>& operands, const Attributes& attributes) {
  using namespace shape_rules;
  const std::string name(op_row(op).name);
  if (op_row(op).op_class == OpClass::leaf) {
    return malformed("graph.leaf", name, "an op with operands", "a leaf", "use append_input or append_constant");
  }
  if (Outcome<Done> done = check_arity(op, operands.size(), attributes); !done) return done.rejection();
  Call call{op, attributes, operands, {}};
  for (const NodeId id : operands) {
    if (Outcome<Done> done = check_operand(graph, op, id); !done) return done.rejection();
    call.operands.push_back(&graph.nodes[id]);
  }
  if (Outcome<Done> done = check_dtypes(call); !done) return done.rejection();
  Outcome<Shape> shape = shape_of(call);
  if (!shape) return shape.rejection();
  std::size_t count = 0;
  if (!checked_element_count(shape.value(), kMaximumElements, count)) {
    return malformed("graph.limit", describe(call), "0 <= extents, at most 2^31 - 1 elements", "result shape " + to_string(shape.value()),
                     "use a smaller batch or split the tensor");
  }
  const Outcome<DType> dtype = result_dtype(call);
  if (!dtype) return dtype.rejection();
  return ResultType{dtype.value(), std::move(shape).value()};
}

}  // namespace assay
