// Sequences: lists of tensors whose length and places constants decide. They leave no trace in the graph.
#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

constexpr std::int64_t kMostParts = 100'000;

Results made(DType dtype, std::vector<Operand> parts) {
  Value sequence{dtype, {}, std::nullopt, std::nullopt, "a sequence"};
  sequence.parts = std::make_shared<const std::vector<Operand>>(std::move(parts));
  return {std::make_shared<Value>(std::move(sequence))};
}

const std::vector<Operand>& parts_of(const Call& call) {
  if (!call.in(0)->parts) call.malformed("onnx.operand", "a sequence", "a tensor");
  return *call.in(0)->parts;
}

}  // namespace

Results lower_sequence(Call& call) {
  const std::string& type = call.node.op_type;
  if (type == "SequenceConstruct") {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) (void)call.in(i);
    return made(call.in(0)->dtype, call.inputs);
  }
  if (type == "SequenceEmpty") {
    const std::int64_t code = call.attribute("dtype", std::int64_t{kFloat});
    DType dtype = DType::float32;
    if (!dtype_of(code, dtype) || code == kFloat16 || code == kBfloat16)
      call.unsupported("onnx.element_type", "a sequence of float, double, integers, or bool", element_type_name(code), "export in float32");
    return made(dtype, {});
  }
  std::vector<Operand> parts = parts_of(call);
  const auto count = static_cast<std::int64_t>(parts.size());
  if (type == "SequenceLength") return {call.make_ints(DType::int64, {}, {count})};
  const bool inserts = type == "SequenceInsert";
  const std::size_t where = inserts ? 2 : 1;
  const std::int64_t given = call.has(where) ? call.ints(where, "a place in a sequence").front() : inserts ? count : -1;
  const std::int64_t place = resolved_index(call, given, count + (inserts && given >= 0 ? 1 : 0));
  if (type == "SequenceAt") return {parts[static_cast<std::size_t>(place)]};
  if (inserts)
    parts.insert(parts.begin() + place, call.in(1));
  else
    parts.erase(parts.begin() + place);
  return made(call.in(0)->dtype, std::move(parts));
}

// Parts of given sizes, of one size with a shorter one at the end, or of one element each.
Results lower_split_to_sequence(Call& call) {
  const Operand& x = call.in(0);
  const auto axis = static_cast<std::size_t>(call.axis(call.attribute("axis", std::int64_t{0}), x->shape.size()));
  const bool keeps = call.attribute("keepdims", std::int64_t{1}) != 0;
  if (!keeps && call.has(1))
    call.unsupported("onnx.attribute", "keepdims 1 beside sizes", "0, which the standard passes over and ONNX Runtime does not",
                     "remove it");
  Ints sizes = call.has(1) ? call.ints(1, "sizes of the parts") : Ints{1};
  if (!call.has(1) || call.shape(1).empty()) {
    const std::int64_t size = sizes[0], extent = x->shape[axis];
    if (size < 1 || extent / size > kMostParts)
      call.unsupported("onnx.limit", "parts of at least one element, at most " + std::to_string(kMostParts), to_string(sizes),
                       "split less");
    sizes.clear();
    for (std::int64_t first = 0; first < extent; first += size) sizes.push_back(std::min(size, extent - first));
  }
  NodeProto node = call.node;
  node.outputs.resize(sizes.size(), node.outputs[0]);
  Call split(call.lowering, node, 13, {x, call.make_ints(DType::int64, {static_cast<std::int64_t>(sizes.size())}, sizes)});
  Results parts = lower_split(split);
  for (Operand& part : parts) {
    Shape shape = part->shape;
    if (!keeps) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    part = call.reshape(part, shape);
  }
  return made(x->dtype, std::move(parts));
}

Results lower_concat_from_sequence(Call& call) {
  std::vector<Operand> parts = parts_of(call);
  if (parts.empty()) call.malformed("onnx.input", "a sequence with elements", "an empty one");
  if (call.find("axis", AttributeKind::integer) == nullptr) call.malformed("onnx.attribute", "axis", "none");
  const bool is_new = call.attribute("new_axis", std::int64_t{0}) != 0;
  const std::size_t rank = parts[0]->shape.size();
  const std::int64_t axis = call.axis(call.attribute("axis", std::int64_t{0}), rank + (is_new ? 1 : 0));
  for (Operand& part : parts) {
    Shape shape = part->shape;
    if (shape.size() != rank) call.malformed("onnx.shape", "elements of one rank", to_string(shape));
    if (is_new) shape.insert(shape.begin() + axis, 1);
    part = call.reshape(part, shape);
  }
  return {concat(call, parts, static_cast<std::size_t>(axis))};
}

}  // namespace assay::onnx
