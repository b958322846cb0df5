#include "frontends/onnx/lowering/lowering.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {
namespace {

// Folding may not turn a small file into a large one: parts of the memory, for the list of one node's indices, and for all
// constants that are made.
constexpr std::uint64_t kPartOfOne = 32, kPartOfAll = 4;

}  // namespace

NodeId Lowering::in_graph(Value& value, const std::string& user) {
  if (value.id) return *value.id;
  if (!value.constant) refuse_unsupported("onnx.element_type", user, "a tensor", "a sequence", "join its parts (ConcatFromSequence)");
  const Tensor& tensor = *value.constant;
  for (std::size_t i = 0; is_float(tensor.dtype()) && i < tensor.size(); ++i) {
    if (std::isfinite(tensor.as_double(i))) continue;
    refuse_unsupported("onnx.nonfinite", user, "finite weights",
                       "in " + in_quotes(value.name) + " element " + std::to_string(i) + " is " + std::to_string(tensor.as_double(i)),
                       "repair the weights of the model");
  }
  value.id = graph.append_constant(tensor, printable(value.name));
  return *value.id;
}

std::string place_of(const NodeProto& node) {
  const std::string output = node.outputs.empty() ? std::string() : ", giving " + in_quotes(node.outputs.front());
  return "node " + in_quotes(node.name) + " (" + printable(node.op_type) + output + ")";
}

void Lowering::note(const std::string& text) {
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

Tensor Lowering::read(const TensorProto& proto) {
  if (proto.element_type == kFloat16 || proto.element_type == kBfloat16) {
    note("weights of type " + element_type_name(proto.element_type) + " are widened exactly to float32");
  }
  return read_tensor(proto, external);
}

void Call::real_only(bool but_onnxruntime, std::string required, std::string found) const {
  std::optional<Rejection>& why = but_onnxruntime ? lowering.real_or_onnxruntime : lowering.real_only;
  if (why) return;
  why = Rejection{Rejection::Kind::unsupported,
                  "onnx.float_execution",
                  place_of(node),
                  std::move(required),
                  std::move(found),
                  but_onnxruntime ? "state --semantics float32:onnxruntime or real arithmetic; docs/explanation/float32.md, Resize"
                                  : "state real arithmetic (--semantics real); docs/explanation/float32.md, What it does not cover"};
}

void Call::malformed(std::string code, std::string required, std::string found) const {
  refuse_malformed(std::move(code), place_of(node), std::move(required), std::move(found),
                   "check the model with onnx.checker and export it again");
}

void Call::unsupported(std::string code, std::string required, std::string found, std::string advice) const {
  refuse_unsupported(std::move(code), place_of(node), std::move(required), std::move(found), std::move(advice));
}

const Operand& Call::in(std::size_t i) const {
  if (!has(i)) malformed("onnx.arity", "input " + std::to_string(i), "an omitted one");
  return inputs[i];
}

const Tensor& Call::constant(std::size_t i, std::string_view what) const {
  const Operand& operand = in(i);
  if (!operand->constant) {
    unsupported("onnx.not_constant", std::string(what) + " that does not depend on the network's inputs",
                in_quotes(operand->name) + ", computed from them", "export with fixed shapes, or simplify the model (onnxsim)");
  }
  return *operand->constant;
}

std::vector<std::int64_t> Call::ints(std::size_t i, std::string_view what) const {
  const Tensor& tensor = constant(i, what);
  if (is_float(tensor.dtype()) || tensor.shape().size() > 1) {
    malformed("onnx.input", std::string(what) + " as integers of rank 0 or 1",
              std::string(to_string(tensor.dtype())) + to_string(tensor.shape()));
  }
  return tensor.to_ints();
}

double Call::real(std::size_t i, std::string_view what) const {
  const Tensor& tensor = constant(i, what);
  if (!is_float(tensor.dtype()) || tensor.size() != 1) {
    malformed("onnx.input", std::string(what) + " as one float", std::string(to_string(tensor.dtype())) + to_string(tensor.shape()));
  }
  return tensor.as_double(0);
}

bool Call::all_integers() const {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const Operand& operand) { return operand == nullptr || (!is_float(operand->dtype) && operand->constant); });
}

const AttributeProto* Call::find(std::string_view name, AttributeKind kind) const {
  for (const AttributeProto& attribute : node.attributes) {
    if (attribute.name != name) continue;
    if (attribute.kind != kind) malformed("onnx.attribute", "attribute " + attribute.name + " of its own type", "a " + attribute.kind_name);
    return &attribute;
  }
  return nullptr;
}

std::int64_t Call::attribute(std::string_view name, std::int64_t otherwise) const {
  const AttributeProto* found = find(name, AttributeKind::integer);
  return found != nullptr ? found->integer : otherwise;
}

float Call::attribute(std::string_view name, float otherwise) const {
  const AttributeProto* found = find(name, AttributeKind::real);
  return found != nullptr ? std::bit_cast<float>(found->real) : otherwise;
}

std::string Call::attribute(std::string_view name, const char* otherwise) const {
  const AttributeProto* found = find(name, AttributeKind::text);
  return found != nullptr ? found->text : otherwise;
}

std::optional<std::vector<std::int64_t>> Call::attribute_ints(std::string_view name) const {
  const AttributeProto* found = find(name, AttributeKind::integers);
  if (found == nullptr) return std::nullopt;
  return found->integers;
}

std::int64_t Call::axis(std::int64_t given, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (given < -signed_rank || given >= signed_rank) {
    malformed("onnx.axis", "an axis from -" + std::to_string(rank) + " to " + std::to_string(signed_rank - 1), std::to_string(given));
  }
  return given < 0 ? given + signed_rank : given;
}

std::vector<std::int64_t> Call::distinct_axes(const std::vector<std::int64_t>& given, std::size_t rank) const {
  std::vector<std::int64_t> axes;
  axes.reserve(given.size());
  for (const std::int64_t one : given) axes.push_back(axis(one, rank));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) malformed("onnx.axis", "distinct axes", to_string(given));
  return axes;
}

Operand Call::emit(Op op, const std::vector<Operand>& operands, Attributes attributes) {
  const auto is_constant = [](const Operand& operand) { return operand->constant.has_value(); };
  const bool fold = op_row(op).op_class == OpClass::layout && std::all_of(operands.begin(), operands.end(), is_constant);
  Graph scratch;  // holds the constants of a fold for shape inference
  std::vector<NodeId> ids;
  for (const Operand& operand : operands) {
    ids.push_back(fold ? scratch.append_constant(*operand->constant) : lowering.in_graph(*operand, place_of(node)));
  }
  Graph& graph = fold ? scratch : lowering.graph;
  const Outcome<NodeId> id = graph.append(op, ids, attributes, node.outputs.empty() ? std::string() : printable(node.outputs.front()));
  if (!id) {
    const Rejection& why = id.rejection();
    if (why.code == "graph.dtype")
      unsupported("onnx.element_type", why.required, why.found + " at " + why.place, "convert the operands (Cast)");
    malformed("onnx.shape", why.required, why.found + " at " + why.place + " (" + why.code + ")");
  }
  const Node& result = graph.node(id.value());
  if (fold) {
    std::vector<const Tensor*> tensors;
    for (const Operand& operand : operands) tensors.push_back(&*operand->constant);
    limit_fold(result.shape, result.dtype, true);
    return make(fold_layout(op, tensors, attributes, result.shape));
  }
  return std::make_shared<Value>(Value{result.dtype, result.shape, std::nullopt, id.value(), result.name});
}

Operand Call::reshape(const Operand& operand, Shape target) {
  if (operand->shape == target) return operand;
  return emit(Op::reshape, {operand}, ShapeAttributes{std::move(target)});
}

Operand Call::cast(const Operand& x, DType to) {
  return x->dtype == to ? x : emit(Op::cast, {x}, CastAttributes{static_cast<std::uint8_t>(to)});
}

void Call::limit_fold(const Shape& shape, DType dtype, bool is_result) const {
  const std::uint64_t memory = lowering.memory.of(lowering.stored + lowering.external.stored());
  const std::uint64_t all = memory / kPartOfAll, one = is_result ? all : memory / kPartOfOne;
  std::size_t count = 0;
  const bool counted = checked_element_count(shape, all, count);
  const std::uint64_t bytes = count * byte_size(dtype);
  if (counted && bytes <= one && lowering.folded_bytes + bytes <= all) return;
  throw Refused{{Rejection::Kind::declined, "onnx.limit", place_of(node),
                 "a constant of at most " + std::to_string(one) + " bytes, all together at most " + std::to_string(all),
                 "shape " + to_string(shape) + " of " + to_string(dtype), "export a smaller constant, or allow more with --memory"}};
}

Operand Call::make(Tensor tensor) {
  lowering.folded_bytes += tensor.size() * byte_size(tensor.dtype());
  const std::string name = node.outputs.empty() ? std::string() : node.outputs.front();
  const DType dtype = tensor.dtype();
  Shape shape = tensor.shape();
  return std::make_shared<Value>(Value{dtype, std::move(shape), std::move(tensor), std::nullopt, name});
}

Operand Call::make_ints(DType dtype, Shape shape, const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values) {
    if (!fits(dtype, value)) malformed("onnx.integer_overflow", std::string("values of ") + to_string(dtype), std::to_string(value));
  }
  return make(tensor_of_ints(dtype, std::move(shape), values));
}

Operand Call::make_real_like(const Operand& operand, double value) {
  if (operand->dtype == DType::float64) return make(Tensor::of_doubles({}, std::vector<double>{value}));
  return make(Tensor::of_floats({}, std::vector<float>{static_cast<float>(value)}));
}

}  // namespace assay::onnx
