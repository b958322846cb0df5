// Proto: the ONNX messages that an importer needs, decoded from the wire; field numbers as in onnx.proto (IR 3 to 14).
//
// Decoding checks form only: what values mean is decided by tensor.cpp and by the handlers. Payloads point into the
// model's bytes, which must outlive the result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/format/wire.h"

namespace assay::onnx {

// TensorProto.DataType, the codes that have a meaning here.
enum ElementType : std::int32_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
};
[[nodiscard]] std::string element_type_name(std::int64_t code);  // "float16 (10)"

struct TensorProto {
  std::string name;
  std::vector<std::int64_t> dims;
  std::int64_t element_type = 0;
  std::optional<Slice> raw;
  std::vector<std::uint32_t> floats;                  // bits
  std::vector<std::uint64_t> doubles;                 // bits
  std::vector<std::int64_t> int32s, int64s, uint64s;  // uint64s: bits
  std::string other_data;                             // name of a data field that no supported element type uses
  bool external = false;
  std::vector<std::pair<std::string, std::string>> external_keys;
  std::size_t offset = 0;
};

// AttributeProto.AttributeType, the kinds that have a meaning here.
enum class AttributeKind : std::uint8_t {
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  other = 255
};

struct GraphProto;

struct AttributeProto {
  std::string name;
  AttributeKind kind = AttributeKind::other;
  std::string kind_name;   // "graphs", "sparse tensor", ... for messages
  std::uint32_t real = 0;  // bits
  std::int64_t integer = 0;
  std::string text;
  TensorProto tensor;
  std::shared_ptr<const GraphProto> graph;  // a branch or a body
  std::vector<std::uint32_t> reals;         // bits
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
};

struct NodeProto {
  std::string name, op_type, domain, overload;
  std::vector<std::string> inputs, outputs;  // "" is an omitted optional one
  std::vector<AttributeProto> attributes;
};

struct Dimension {
  std::optional<std::int64_t> value;  // unset: symbolic or unknown
  std::string symbol;
};

struct ValueInfo {
  std::string name;
  bool is_tensor = false;  // a dense tensor type is given
  std::int64_t element_type = 0;
  bool has_shape = false;
  std::vector<Dimension> dims;
};

struct GraphProto {
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfo> inputs, outputs, value_infos;
  bool has_sparse_initializers = false;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::string producer;
  std::vector<std::pair<std::string, std::int64_t>> opsets;
  std::vector<std::string> function_domains;
  std::optional<GraphProto> graph;
};

// Throws Refused ("onnx.wire", "onnx.attribute", "onnx.limit").
[[nodiscard]] ModelProto decode_model(Bytes file);

}  // namespace assay::onnx
