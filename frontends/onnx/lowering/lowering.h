// Lowering: one ONNX node at a time becomes nodes of the graph, or a constant.
//
// A Value is what an ONNX name stands for. Constants stay outside the graph until a node uses them, so shape chains
// leave no trace. Layout ops on constants and arithmetic on integer constants are carried out exactly here; float arithmetic on
// constants is never carried out, it becomes nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/format/proto.h"
#include "frontends/onnx/format/tensor.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::onnx {

struct Value {
  DType dtype = DType::float32;
  Shape shape;
  std::optional<Tensor> constant;
  std::optional<NodeId> id;  // set once the value stands in the graph
  std::string name;
  std::shared_ptr<Value> open = nullptr;                                       // of a masked value (masks.h): -infinity where this is false
  std::shared_ptr<const std::vector<std::shared_ptr<Value>>> parts = nullptr;  // of a sequence, which has no shape
};
using Operand = std::shared_ptr<Value>;  // null: an omitted optional input

// The data that all nodes of one model share.
struct Lowering {
  Graph graph;
  ExternalData external;
  std::vector<std::string> notes;
  bool inference_may_differ = false;  // lengths in it are not always those of shape inference, which exporters declare
  std::optional<Rejection> real_only, real_or_onnxruntime;  // Model
  MemoryRule memory;                                        // bytes that the run may hold
  std::uint64_t stored = 0;                                 // of the model's file on disk
  std::uint64_t folded_bytes = 0;                           // produced so far by folding, limited

  Lowering(const std::string& path, const MemoryRule& rule) : external(path), memory(rule) {}
  void note(const std::string& text);                      // each text once
  NodeId in_graph(Value& value, const std::string& user);  // a constant enters the graph on its first use; finite ones only
  Tensor read(const TensorProto& proto);                   // read_tensor, with a note where it widens
};

// One node with its operands: what a handler sees. Everything that goes wrong is thrown as Refused.
class Call {
 public:
  Call(Lowering& shared, const NodeProto& proto, std::int64_t version, std::vector<Operand> operands)
      : lowering(shared), node(proto), opset(version), inputs(std::move(operands)) {}

  Lowering& lowering;
  const NodeProto& node;
  std::int64_t opset;
  std::vector<Operand> inputs;

  // Input i, which must be given.
  [[nodiscard]] const Operand& in(std::size_t i) const;
  [[nodiscard]] bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return in(i)->shape; }
  // Input i, which must be a constant; `what` says its role in the message.
  [[nodiscard]] const Tensor& constant(std::size_t i, std::string_view what) const;
  [[nodiscard]] std::vector<std::int64_t> ints(std::size_t i, std::string_view what) const;  // rank 0 or 1
  [[nodiscard]] double real(std::size_t i, std::string_view what) const;                     // one float element
  // All given inputs are constants of an integer type or boolean: the operator is carried out here.
  [[nodiscard]] bool all_integers() const;

  // Attributes; an attribute of another type than asked for is malformed.
  [[nodiscard]] std::int64_t attribute(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] float attribute(std::string_view name, float otherwise) const;
  [[nodiscard]] std::string attribute(std::string_view name, const char* otherwise) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> attribute_ints(std::string_view name) const;
  [[nodiscard]] const AttributeProto* find(std::string_view name, AttributeKind kind) const;  // null when absent
  // The axis counted from the front; -rank <= axis < rank is required.
  [[nodiscard]] std::int64_t axis(std::int64_t given, std::size_t rank) const;
  [[nodiscard]] std::vector<std::int64_t> distinct_axes(const std::vector<std::int64_t>& given, std::size_t rank) const;  // sorted

  // Appends an op, or carries it out when it is a layout op on constants.
  Operand emit(Op op, const std::vector<Operand>& operands, Attributes attributes = NoAttributes{});
  Operand reshape(const Operand& operand, Shape target);
  // A constant made here; counted against the folding limit.
  Operand make(Tensor tensor);
  // Integers of this dtype; refused when one does not fit.
  Operand make_ints(DType dtype, Shape shape, const std::vector<std::int64_t>& values);
  // x as another type; nothing when it has it.
  Operand cast(const Operand& x, DType to);
  // One float of the operand's dtype.
  Operand make_real_like(const Operand& operand, double value);
  // Refuses a fold whose result, or list of indices, would need more bytes than the limits.
  void limit_fold(const Shape& shape, DType dtype, bool is_result = false) const;

  // Float executions of this node differ from the graph's: all of them, or those of programs that are not ONNX Runtime.
  void real_only(bool but_onnxruntime, std::string required, std::string found) const;

  [[noreturn]] void malformed(std::string code, std::string required, std::string found) const;
  [[noreturn]] void unsupported(std::string code, std::string required, std::string found, std::string advice) const;
};

// "node "fc_1" (Gemm, giving "y")"
[[nodiscard]] std::string place_of(const NodeProto& node);

// A layout op on constants, exactly; the result's shape is inferred already.
[[nodiscard]] Tensor fold_layout(Op op, const std::vector<const Tensor*>& operands, const Attributes& attributes, const Shape& shape);

using Handler = std::vector<Operand> (*)(Call& call);

// One version range of one operator.
struct OperatorRow {
  std::string_view op;
  std::int64_t first, last;        // opset versions
  int fewest_inputs, most_inputs;  // -1: any number
  int most_outputs;                // -1: any number
  std::string_view attributes;     // names, separated by blanks
  Handler lower;
  std::string_view notes;
};
[[nodiscard]] const std::vector<OperatorRow>& operator_rows();
[[nodiscard]] const std::vector<OperatorRow>& ml_operator_rows();         // of ai.onnx.ml, with its versions
[[nodiscard]] const std::vector<OperatorRow>& microsoft_operator_rows();  // of com.microsoft

// Refuses operands of a type or a rank that this version of the operator does not have (operand_types.cpp).
void check_operands(const NodeProto& node, std::int64_t opset, const std::vector<Operand>& operands);

inline constexpr std::int64_t kFirstOpset = 1;
inline constexpr std::int64_t kLastOpset = 28;
inline constexpr std::int64_t kLastMlOpset = 5;

}  // namespace assay::onnx
