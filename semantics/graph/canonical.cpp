// canonical_bytes(): docs/canonical-graph.md, line by line.
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

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

// The attributes' fields, in the order of docs/canonical-graph.md. The op determines the kind, so no tag is needed.
struct WriteAttributes {
  Bytes& out;

  void operator()(const NoAttributes&) const {}
  void operator()(const ShapeAttributes& a) const { out.list(a.shape); }
  void operator()(const PermuteAttributes& a) const { out.list(a.axes); }
  void operator()(const SliceAttributes& a) const {
    out.list(a.starts);
    out.list(a.steps);
    out.list(a.extents);
  }
  void operator()(const ConcatAttributes& a) const { out.number(a.axis); }
  void operator()(const PadAttributes& a) const {
    out.list(a.before);
    out.list(a.after);
    out.number(a.value);
  }
  void operator()(const GatherAttributes& a) const {
    out.number(a.axis);
    out.list(a.indices);
    out.list(a.index_shape);
  }
  void operator()(const ScaleAttributes& a) const { out.number(a.factor); }
  void operator()(const GemmAttributes& a) const {
    out.number(a.alpha);
    out.number(a.beta);
    out.number(a.transpose_a);
    out.number(a.transpose_b);
  }
  void operator()(const WindowAttributes& a) const {
    for (const auto* entries : {&a.kernel, &a.strides, &a.dilations, &a.pads_begin, &a.pads_end, &a.output_padding}) out.list(*entries);
    out.number(a.groups);
    out.number(a.count_include_pad);
    out.number(a.ceil_mode);
  }
  void operator()(const BatchNormAttributes& a) const { out.number(a.epsilon); }
  void operator()(const ReduceAttributes& a) const {
    out.list(a.axes);
    out.number(a.keep_dims);
  }
  void operator()(const LeakyReluAttributes& a) const { out.number(a.slope); }
  void operator()(const ClipAttributes& a) const {
    out.number(a.lo);
    out.number(a.hi);
  }
  void operator()(const PowAttributes& a) const { out.text(a.exponent.to_string()); }
  void operator()(const SoftmaxAttributes& a) const { out.number(a.axis); }
  void operator()(const ActivationAttributes& a) const {
    out.number(a.alpha);
    out.number(a.beta);
  }
  void operator()(const GeluAttributes& a) const { out.number(a.tanh_form); }
  void operator()(const ModAttributes& a) const { out.number(a.truncated); }
  void operator()(const IsInfAttributes& a) const {
    out.number(a.positive);
    out.number(a.negative);
  }
  void operator()(const CastAttributes&) const {}  // the result's dtype says it
  void operator()(const WeightedGatherAttributes& a) const {
    out.number(a.axis);
    out.list(a.starts);
    out.list(a.indices);
    out.number(std::uint64_t{a.weights.size()});
    for (const Rational& weight : a.weights) out.text(weight.to_string());
  }
  void operator()(const SortAttributes& a) const {
    out.number(a.axis);
    out.number(a.count);
    out.number(a.descending);
  }
  void operator()(const CumulativeAttributes& a) const {
    out.number(a.axis);
    out.number(a.exclusive);
    out.number(a.reverse);
  }
  void operator()(const ArgAttributes& a) const {
    out.number(a.axis);
    out.number(a.keep_dims);
    out.number(a.last);
  }
  void operator()(const PlaceAttributes& a) const {
    out.list(a.indices);
    out.list(a.shape);
  }
  void operator()(const NormaliseAttributes& a) const {
    out.list(a.axes);
    out.number(a.epsilon);
    out.number(std::uint64_t{static_cast<std::uint8_t>(a.form)});
  }
  void operator()(const LocalResponseAttributes& a) const {
    out.number(a.size);
    for (const double number : {a.alpha, a.beta, a.bias}) out.number(number);
  }
  void operator()(const MaskedSoftmaxAttributes& a) const {
    out.number(a.axis);
    out.number(a.empty_is_zero);
  }
};

void write_node(Bytes& out, const Node& node) {
  out.text(op_row(node.op).name);
  out.list(node.operands);
  std::visit(WriteAttributes{out}, node.attributes);
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
