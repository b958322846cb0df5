// canonical_bytes(), in the order of docs/reference/canonical-graph.md.
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "semantics/graph/attribute_fields.h"
#include "semantics/graph/graph.h"

namespace assay {

namespace {

class Bytes {
 public:
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) out_.push_back(static_cast<std::byte>(value >> shift & 0xff));
  }
  void number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void number(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void number(bool value) { out_.push_back(static_cast<std::byte>(value ? 1 : 0)); }
  void number(DType value) { out_.push_back(static_cast<std::byte>(code_of(value))); }
  void text(std::string_view value) {
    number(std::uint64_t{value.size()});
    for (const char c : value) out_.push_back(static_cast<std::byte>(c));
  }
  void list(const std::vector<std::int64_t>& values) {
    number(std::uint64_t{values.size()});
    for (const std::int64_t value : values) number(value);
  }
  void list(const std::vector<NodeId>& values) {
    number(std::uint64_t{values.size()});
    for (const NodeId value : values) number(std::uint64_t{value});
  }
  void field(std::int64_t value) { number(value); }
  void field(double value) { number(value); }
  void field(bool value) { number(value); }
  void field(NormaliseAttributes::Form value) { number(std::uint64_t{static_cast<std::uint8_t>(value)}); }
  void field(const Rational& value) { text(value.to_string()); }
  void field(const std::vector<std::int64_t>& values) { list(values); }
  void field(const std::vector<Rational>& values) {
    number(std::uint64_t{values.size()});
    for (const Rational& value : values) field(value);
  }
  void raw(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(out_); }

 private:
  static std::uint8_t code_of(DType dtype) {
    switch (dtype) {
      case DType::float32:
        return 0;
      case DType::float64:
        return 1;
      case DType::int64:
        return 2;
      case DType::int32:
        return 3;
      case DType::uint8:
        return 4;
      case DType::int8:
        return 5;
      case DType::boolean:
        return 6;
      case DType::complex64:
        return 7;
      case DType::int16:
        return 8;
      case DType::uint16:
        return 9;
      case DType::uint32:
        return 10;
      case DType::uint64:
        return 11;
    }
    return 255;
  }

  std::vector<std::byte> out_;
};

// The attributes' fields, in the order of docs/reference/canonical-graph.md, which is the order of declaration. The op
// determines the kind, so no tag is needed; a cast's type is that of its result.
void write_attributes(Bytes& out, const Attributes& attributes) {
  const auto write = [&](const auto& kind) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(kind)>, CastAttributes>) {
      visit_fields(kind, [&](const char*, const auto& field) { out.field(field); });
    }
  };
  std::visit(write, attributes);
}

void write_node(Bytes& out, const Node& node) {
  out.text(op_row(node.op).name);
  out.list(node.operands);
  write_attributes(out, node.attributes);
  out.number(node.dtype);
  out.list(node.shape);
  if (node.op == Op::constant) out.raw(node.value.bytes());
}

}  // namespace

std::vector<std::byte> canonical_bytes(const Graph& graph) {
  Bytes out;
  out.text("assay graph 1");
  out.number(std::uint64_t{graph.nodes.size()});
  for (const Node& node : graph.nodes) write_node(out, node);
  out.list(graph.inputs);
  out.list(graph.outputs);
  return out.take();
}

}  // namespace assay
