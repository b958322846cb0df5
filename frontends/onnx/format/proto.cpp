#include "frontends/onnx/format/proto.h"

#include <array>
#include <string_view>

#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {
namespace {

// Counts beyond these mean a damaged or hostile file; they bound memory to a small multiple of the file's size.
constexpr std::size_t kMostNodes = 1'000'000;
constexpr std::size_t kMostTensors = 1'000'000;
constexpr int kMostNested = 32;             // graphs in graphs
constexpr std::size_t kMostParts = 65'536;  // inputs, outputs, attributes of one node; dimensions; opsets; functions

template <class T>
T& grow(std::vector<T>& list, std::size_t limit, const char* what, std::size_t offset) {
  if (list.size() >= limit) {
    refuse_malformed("onnx.limit", "byte " + std::to_string(offset), "at most " + std::to_string(limit) + " " + what, "one more",
                     "the file is damaged");
  }
  return list.emplace_back();
}

std::pair<std::string, std::string> decode_string_pair(Slice slice) {
  Message message(slice, "StringStringEntryProto");
  std::pair<std::string, std::string> entry;
  for (Field field; message.next(field);) {
    if (field.number == 1) entry.first = message.single_string(field);
    if (field.number == 2) entry.second = message.single_string(field);
  }
  return entry;
}

TensorProto decode_tensor(Slice slice) {
  Message message(slice, "TensorProto");
  TensorProto tensor;
  tensor.offset = slice.offset;
  for (Field field; message.next(field);) {
    switch (field.number) {
      case 1:
        message.append_ints(field, tensor.dims);
        break;
      case 2:
        tensor.element_type = message.single_int(field);
        break;
      case 3:
        tensor.other_data = "segment";
        break;
      case 4:
        message.append_fixed32(field, tensor.floats);
        break;
      case 5:
        message.append_ints(field, tensor.int32s);
        break;
      case 6:
        tensor.other_data = "string_data";
        break;
      case 7:
        message.append_ints(field, tensor.int64s);
        break;
      case 8:
        tensor.name = message.single_string(field);
        break;
      case 9:
        tensor.raw = message.single_bytes(field);
        break;
      case 10:
        message.append_fixed64(field, tensor.doubles);
        break;
      case 11:
        message.append_ints(field, tensor.uint64s);
        break;
      case 13:
        grow(tensor.external_keys, kMostParts, "keys of external data", field.offset) = decode_string_pair(message.repeated_bytes(field));
        break;
      case 14:
        tensor.external = message.single_int(field) != 0;
        break;
      default:
        break;  // doc_string, metadata and fields of later versions
    }
  }
  return tensor;
}

// Field number that carries the value of each AttributeType, from 1 on, and its name.
struct KindRow {
  std::uint32_t field;
  const char* name;
};
constexpr std::array<KindRow, 14> kKinds = {{{2, "float"},
                                             {3, "int"},
                                             {4, "string"},
                                             {5, "tensor"},
                                             {6, "graph"},
                                             {7, "floats"},
                                             {8, "ints"},
                                             {9, "strings"},
                                             {10, "tensors"},
                                             {11, "graphs"},
                                             {22, "sparse tensor"},
                                             {23, "sparse tensors"},
                                             {14, "type"},
                                             {15, "types"}}};

void set_kind(AttributeProto& attribute, std::int64_t type, std::uint64_t given, std::size_t offset) {
  if (type < 1 || type > static_cast<std::int64_t>(kKinds.size())) {
    refuse_malformed("onnx.attribute", "attribute " + in_quotes(attribute.name) + " at byte " + std::to_string(offset),
                     "a type from 1 to 14", std::to_string(type), "export the model again with a current exporter");
  }
  const KindRow& row = kKinds[static_cast<std::size_t>(type - 1)];
  if ((given & ~(std::uint64_t{1} << row.field)) != 0) {
    refuse_malformed("onnx.attribute", "attribute " + in_quotes(attribute.name) + " at byte " + std::to_string(offset),
                     std::string("only a value of its type ") + row.name, "values of several types", "export the model again");
  }
  attribute.kind_name = row.name;
  const bool plain = type >= 1 && type <= 8;
  attribute.kind = plain ? static_cast<AttributeKind>(type) : AttributeKind::other;
}

std::shared_ptr<const GraphProto> decode_subgraph(Slice slice, int depth);

AttributeProto decode_attribute(Slice slice, int depth) {
  Message message(slice, "AttributeProto");
  AttributeProto attribute;
  std::int64_t type = 0;
  std::uint64_t given = 0;    // bit per value field present
  bool is_reference = false;  // to an attribute of an enclosing function
  for (Field field; message.next(field);) {
    const bool is_value =
        (field.number >= 2 && field.number <= 11) || field.number == 14 || field.number == 15 || field.number == 22 || field.number == 23;
    if (is_value) given |= std::uint64_t{1} << field.number;
    switch (field.number) {
      case 1:
        attribute.name = message.single_string(field);
        break;
      case 2:
        attribute.real = message.single_fixed32(field);
        break;
      case 3:
        attribute.integer = message.single_int(field);
        break;
      case 4:
        attribute.text = message.single_string(field);
        break;
      case 5:
        attribute.tensor = decode_tensor(message.single_bytes(field));
        break;
      case 6:
        attribute.graph = decode_subgraph(message.single_bytes(field), depth);
        break;
      case 7:
        message.append_fixed32(field, attribute.reals);
        break;
      case 8:
        message.append_ints(field, attribute.integers);
        break;
      case 9:
        grow(attribute.texts, kMostParts, "strings of an attribute", field.offset) = message.repeated_string(field);
        break;
      case 20:
        type = message.single_int(field);
        break;
      case 21:
        is_reference = true;
        break;
      default:
        break;
    }
  }
  set_kind(attribute, type, given, slice.offset);
  if (is_reference) attribute.kind = AttributeKind::other, attribute.kind_name = "reference";
  return attribute;
}

NodeProto decode_node(Slice slice, int depth) {
  Message message(slice, "NodeProto");
  NodeProto node;
  for (Field field; message.next(field);) {
    switch (field.number) {
      case 1:
        grow(node.inputs, kMostParts, "inputs of a node", field.offset) = message.repeated_string(field);
        break;
      case 2:
        grow(node.outputs, kMostParts, "outputs of a node", field.offset) = message.repeated_string(field);
        break;
      case 3:
        node.name = message.single_string(field);
        break;
      case 4:
        node.op_type = message.single_string(field);
        break;
      case 5:
        grow(node.attributes, kMostParts, "attributes of a node", field.offset) = decode_attribute(message.repeated_bytes(field), depth);
        break;
      case 7:
        node.domain = message.single_string(field);
        break;
      case 8:
        node.overload = message.single_string(field);
        break;
      default:
        break;  // doc_string, metadata, device configurations
    }
  }
  return node;
}

Dimension decode_dimension(Slice slice) {
  Message message(slice, "TensorShapeProto.Dimension");
  Dimension dimension;
  for (Field field; message.next(field);) {
    if (field.number == 1) dimension.value = message.single_int(field);
    if (field.number == 2) dimension.symbol = message.single_string(field);
  }
  return dimension;
}

void decode_tensor_type(Slice slice, ValueInfo& info) {
  Message message(slice, "TypeProto.Tensor");
  info.is_tensor = true;
  for (Field field; message.next(field);) {
    if (field.number == 1) info.element_type = message.single_int(field);
    if (field.number != 2) continue;
    info.has_shape = true;
    Message shape(message.single_bytes(field), "TensorShapeProto");
    for (Field dim; shape.next(dim);) {
      if (dim.number == 1) grow(info.dims, kMostParts, "dimensions", dim.offset) = decode_dimension(shape.repeated_bytes(dim));
    }
  }
}

ValueInfo decode_value_info(Slice slice) {
  Message message(slice, "ValueInfoProto");
  ValueInfo info;
  for (Field field; message.next(field);) {
    if (field.number == 1) info.name = message.single_string(field);
    if (field.number != 2) continue;
    Message type(message.single_bytes(field), "TypeProto");
    for (Field part; type.next(part);) {
      if (part.number == 1) decode_tensor_type(type.single_bytes(part), info);
    }
  }
  return info;
}

GraphProto decode_graph(Slice slice, int depth) {
  Message message(slice, "GraphProto");
  GraphProto graph;
  for (Field field; message.next(field);) {
    switch (field.number) {
      case 1:
        grow(graph.nodes, kMostNodes, "nodes", field.offset) = decode_node(message.repeated_bytes(field), depth);
        break;
      case 5:
        grow(graph.initializers, kMostTensors, "initializers", field.offset) = decode_tensor(message.repeated_bytes(field));
        break;
      case 11:
        grow(graph.inputs, kMostTensors, "inputs", field.offset) = decode_value_info(message.repeated_bytes(field));
        break;
      case 12:
        grow(graph.outputs, kMostTensors, "outputs", field.offset) = decode_value_info(message.repeated_bytes(field));
        break;
      case 13:
        grow(graph.value_infos, kMostTensors, "value descriptions", field.offset) = decode_value_info(message.repeated_bytes(field));
        break;
      case 15:
        graph.has_sparse_initializers = true;
        break;
      default:
        break;  // name, doc_string, quantization annotation, metadata
    }
  }
  return graph;
}

std::shared_ptr<const GraphProto> decode_subgraph(Slice slice, int depth) {
  if (depth >= kMostNested)
    refuse_malformed("onnx.limit", "byte " + std::to_string(slice.offset),
                     "at most " + std::to_string(kMostNested) + " graphs in each other", "one more", "the file is damaged");
  return std::make_shared<const GraphProto>(decode_graph(slice, depth + 1));
}

std::pair<std::string, std::int64_t> decode_opset(Slice slice) {
  Message message(slice, "OperatorSetIdProto");
  std::pair<std::string, std::int64_t> opset;
  for (Field field; message.next(field);) {
    if (field.number == 1) opset.first = message.single_string(field);
    if (field.number == 2) opset.second = message.single_int(field);
  }
  return opset;
}

std::string decode_function_domain(Slice slice) {
  Message message(slice, "FunctionProto");
  std::string domain;
  for (Field field; message.next(field);) {
    if (field.number == 10) domain = message.single_string(field);
  }
  return domain;
}

}  // namespace

std::string element_type_name(std::int64_t code) {
  static constexpr std::array<const char*, 17> kNames = {"undefined", "float",  "uint8",     "int8",       "uint16",  "int16",
                                                         "int32",     "int64",  "string",    "bool",       "float16", "double",
                                                         "uint32",    "uint64", "complex64", "complex128", "bfloat16"};
  const bool known = code >= 0 && code < static_cast<std::int64_t>(kNames.size());
  return std::string(known ? kNames[static_cast<std::size_t>(code)] : "element type") + " (" + std::to_string(code) + ")";
}

ModelProto decode_model(Bytes file) {
  Message message({file, 0}, "ModelProto");
  ModelProto model;
  for (Field field; message.next(field);) {
    switch (field.number) {
      case 1:
        model.ir_version = message.single_int(field);
        break;
      case 2:
        model.producer = message.single_string(field);
        break;
      case 7:
        model.graph = decode_graph(message.single_bytes(field), 0);
        break;
      case 8:
        grow(model.opsets, kMostParts, "opset imports", field.offset) = decode_opset(message.repeated_bytes(field));
        break;
      case 25:
        grow(model.function_domains, kMostParts, "functions", field.offset) = decode_function_domain(message.repeated_bytes(field));
        break;
      default:
        break;  // versions, documentation, metadata, training information: no effect on inference
    }
  }
  return model;
}

}  // namespace assay::onnx
