#include "formats/onnx_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/onnx_form.h"

namespace assay::formats {

namespace {

using Ints = std::vector<std::int64_t>;

constexpr int kOpset = 20, kRmsOpset = 23;  // the latter where there is an RMS norm
constexpr int kIrVersion = 9, kRmsIrVersion = 11;

Rejection no_form(const Graph& graph, NodeId id, std::string found) {
  return {Rejection::Kind::unsupported,
          "onnx.op",
          "node " + std::to_string(id) + " (" + std::string(op_row(graph.node(id).op).name) + ")",
          "an op with an ONNX operator in docs/reference/training.md",
          std::move(found),
          "write the model in ops that have one"};
}

// Protocol buffers (protobuf.dev, encoding): fields of numbers, and of bytes with their length.
class Message {
 public:
  Message& number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  Message& bytes(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  Message& real(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value > 127; value >>= 7) text_ += static_cast<char>(static_cast<unsigned char>((value & 127) | 128));
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

std::uint64_t element_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 1;
    case DType::uint8:
      return 2;
    case DType::int8:
      return 3;
    case DType::uint16:
      return 4;
    case DType::int16:
      return 5;
    case DType::int32:
      return 6;
    case DType::int64:
      return 7;
    case DType::boolean:
      return 9;
    case DType::float64:
      return 11;
    case DType::uint32:
      return 12;
    case DType::uint64:
      return 13;
    case DType::complex64:
      return 14;
  }
  return 0;
}

std::string tensor_proto(const std::string& name, const Tensor& value) {
  Message message;
  for (const std::int64_t extent : value.shape()) message.number(1, static_cast<std::uint64_t>(extent));
  message.number(2, element_type(value.dtype())).bytes(8, name);
  message.bytes(9, {reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size()});
  return message.text();
}

std::string value_info(const std::string& name, const Node& node) {
  Message shape, tensor, type, info;
  for (const std::int64_t extent : node.shape) shape.bytes(1, Message().number(1, static_cast<std::uint64_t>(extent)).text());
  tensor.number(1, element_type(node.dtype)).bytes(2, shape.text());
  type.bytes(1, tensor.text());
  return info.bytes(1, name).bytes(2, type.text()).text();
}

// Kinds of attributes (onnx.proto, AttributeProto.AttributeType).
enum : std::uint64_t { kReal = 1, kInt = 2, kText = 3, kInts = 7 };

// One operator in the making.
class Operator {
 public:
  explicit Operator(std::string_view type) : type_(type) {}
  Operator& in(const std::string& name) {
    inputs_.push_back(name);
    return *this;
  }
  Operator& set(std::string_view name, std::int64_t value) {
    return add(Message().bytes(1, name).number(3, static_cast<std::uint64_t>(value)).number(20, kInt));
  }
  Operator& set(std::string_view name, float value) { return add(Message().bytes(1, name).real(2, value).number(20, kReal)); }
  Operator& set(std::string_view name, std::string_view value) { return add(Message().bytes(1, name).bytes(4, value).number(20, kText)); }
  Operator& set(std::string_view name, const Ints& values) {
    Message message;
    message.bytes(1, name);
    for (const std::int64_t value : values) message.number(8, static_cast<std::uint64_t>(value));
    return add(message.number(20, kInts));
  }
  [[nodiscard]] std::string with_output(const std::string& name) const {
    Message message;
    for (const std::string& input : inputs_) message.bytes(1, input);
    message.bytes(2, name).bytes(3, name).bytes(4, type_);
    for (const std::string& attribute : attributes_) message.bytes(5, attribute);
    return message.text();
  }

 private:
  Operator& add(const Message& attribute) {
    attributes_.push_back(attribute.text());
    return *this;
  }
  std::string type_;
  std::vector<std::string> inputs_, attributes_;
};

// The operator that is the op, up to kOpset, with the names of its numbers.
struct OwnOperator {
  Op op;
  std::string_view name;
  int version = 1;
  std::string_view one = {}, two = {};
};
const OwnOperator* own_operator(Op op) {
  static constexpr OwnOperator kOperators[] = {
#define ASSAY_ONNX(op, name, version, ...) {Op::op, name, version},
#define ASSAY_ONNX_NAME(op, name) {Op::op, name},
#define ASSAY_ONNX_NUMBERS(op, name, version, one, one_default, two, ...) {Op::op, name, version, one, two},
#include "semantics/graph/ops.def"
  };
  const auto* const found = std::ranges::find(kOperators, op, &OwnOperator::op);
  return found != std::end(kOperators) && found->version <= kOpset ? found : nullptr;
}

// The numbers of an op that has one or two.
std::pair<double, double> numbers_of(const Attributes& attributes) {
  if (const auto* leaky = std::get_if<LeakyReluAttributes>(&attributes)) return {leaky->slope, 0};
  const auto* const two = std::get_if<ActivationAttributes>(&attributes);
  return two == nullptr ? std::pair(0.0, 0.0) : std::pair(two->alpha, two->beta);
}

template <class Attributes>
const Attributes& of(const Node& node) {
  return std::get<Attributes>(node.attributes);
}

Ints joined(Ints first, const Ints& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph), names_(graph.nodes.size()) {}

  Outcome<std::string> write() {
    name_nodes();
    join_masks();
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (joined_.count(id) != 0) continue;
      if (auto done = write_node(id); !done) return done.rejection();
    }
    nodes_.insert(nodes_.end(), late_.begin(), late_.end());
    Message body;
    for (const std::string& node : nodes_) body.bytes(1, node);
    body.bytes(2, "graph");
    for (const std::string& tensor : initializers_) body.bytes(5, tensor);
    for (std::size_t k = 0; k < graph_.inputs.size(); ++k)
      body.bytes(11, value_info(names_[graph_.inputs[k]], graph_.node(graph_.inputs[k])));
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k)
      body.bytes(12, value_info(graph_.output_names[k], graph_.node(graph_.outputs[k])));
    if (body.text().size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      return Rejection{
          Rejection::Kind::unsupported,       "onnx.size", "model", "at most 2 GiB", std::to_string(body.text().size()) + " bytes",
          "write fewer weights into one file"};
    }
    const bool has_rms = std::ranges::any_of(graph_.nodes, [](const Node& node) {
      return node.op == Op::normalise && of<NormaliseAttributes>(node).form == NormaliseAttributes::Form::root_mean;
    });
    const std::string opset = Message().bytes(1, "").number(2, has_rms ? kRmsOpset : kOpset).text();
    return Message().number(1, has_rms ? kRmsIrVersion : kIrVersion).bytes(2, "assay").bytes(7, body.text()).bytes(8, opset).text();
  }

 private:
  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int k = 1; !taken_.insert(name).second; ++k) name = wanted + "." + std::to_string(k);
    return name;
  }

  void name_nodes() {
    for (const std::string& name : graph_.output_names) taken_.insert(name);
    for (std::size_t k = 0; k < graph_.inputs.size(); ++k) names_[graph_.inputs[k]] = fresh(graph_.input_names[k]);
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
      const NodeId id = graph_.outputs[k];
      const bool computed = op_row(graph_.node(id).op).op_class != OpClass::leaf;
      if (computed && names_[id].empty()) {
        names_[id] = graph_.output_names[k];
      } else {
        copies_.emplace_back(id, graph_.output_names[k]);
      }
    }
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (names_[id].empty()) names_[id] = fresh(graph_.node(id).name.empty() ? "v" + std::to_string(id) : graph_.node(id).name);
    }
    for (const auto& [id, name] : copies_) late_.push_back(Operator("Identity").in(names_[id]).with_output(name));
  }

  static Tensor reals(const std::vector<double>& values, DType dtype, const Shape& shape) {
    if (dtype != DType::float32) return Tensor::of_doubles(shape, values);
    return Tensor::of_floats(shape, std::vector<float>(values.begin(), values.end()));
  }
  std::string constant(const Tensor& value, const std::string& wanted) {
    const std::string name = fresh(wanted);
    initializers_.push_back(tensor_proto(name, value));
    return name;
  }
  std::string ints(const Ints& values, const std::string& wanted) {
    return constant(Tensor::of_ints({static_cast<std::int64_t>(values.size())}, values), wanted);
  }
  std::string real(double value, DType dtype, const std::string& wanted) { return constant(reals({value}, dtype, {}), wanted); }

  Outcome<Done> write_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == Op::constant) {
      initializers_.push_back(tensor_proto(names_[id], node.value));
    } else if (node.op != Op::input) {
      auto made = operator_of(id);
      if (!made) return made.rejection();
      nodes_.push_back(std::move(made).value());
    }
    return Done{};
  }

  Operator with_operands(std::string_view type, const Node& node) const {
    Operator made(type);
    for (const NodeId operand : node.operands) made.in(names_[operand]);
    return made;
  }

  Outcome<std::string> operator_of(NodeId id) {
    const Node& node = graph_.node(id);
    if (const OwnOperator* own = own_operator(node.op)) return with_numbers(*own, id);
    if (node.op == Op::normalise) return layer_norm(id);
    if (node.op == Op::masked_softmax) return masked_softmax(id);
    std::optional<Operator> made = layout(node);
    if (!made) made = windowed(node);
    if (!made) made = other(node);
    if (!made) return no_form(graph_, id, "none of this form");
    return made->with_output(names_[id]);
  }

  Outcome<std::string> with_numbers(const OwnOperator& own, NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == Op::celu && node.dtype != DType::float32) return no_form(graph_, id, "a type that the operator does not take");
    Operator made = with_operands(own.name, node);
    const auto [one, two] = numbers_of(node.attributes);
    if (!own.one.empty()) made.set(own.one, static_cast<float>(one));
    if (!own.two.empty()) made.set(own.two, static_cast<float>(two));
    return made.with_output(names_[id]);
  }

  std::optional<Operator> layout(const Node& node) {
    switch (node.op) {
      case Op::reshape: {
        const Ints& shape = of<ShapeAttributes>(node).shape;
        Operator made = with_operands("Reshape", node).in(ints(shape, "shape"));
        return std::ranges::count(shape, 0) == 0 ? made : made.set("allowzero", std::int64_t{1});
      }
      case Op::expand:
        return with_operands("Expand", node).in(ints(of<ShapeAttributes>(node).shape, "shape"));
      case Op::permute:
        return with_operands("Transpose", node).set("perm", of<PermuteAttributes>(node).axes);
      case Op::concat:
        return with_operands("Concat", node).set("axis", of<ConcatAttributes>(node).axis);
      case Op::slice:
        return slice(node);
      case Op::pad: {
        const auto& pad = of<PadAttributes>(node);
        if (!is_float(node.dtype)) return std::nullopt;
        return with_operands("Pad", node).in(ints(joined(pad.before, pad.after), "pads")).in(real(pad.value, node.dtype, "value"));
      }
      case Op::gather: {
        const auto& gather = of<GatherAttributes>(node);
        return with_operands("Gather", node)
            .in(constant(Tensor::of_ints(gather.index_shape, gather.indices), "indices"))
            .set("axis", gather.axis);
      }
      default:
        return std::nullopt;
    }
  }

  // Ends are exclusive; before the first element, backwards, is the smallest integer.
  Operator slice(const Node& node) {
    const auto& how = of<SliceAttributes>(node);
    Ints ends, axes(how.starts.size());
    std::iota(axes.begin(), axes.end(), 0);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const std::int64_t last = how.starts[k] + (how.extents[k] - 1) * how.steps[k], end = last + (how.steps[k] > 0 ? 1 : -1);
      ends.push_back(how.extents[k] == 0 ? how.starts[k] : end < 0 ? std::numeric_limits<std::int64_t>::min() : end);
    }
    return with_operands("Slice", node)
        .in(ints(how.starts, "starts"))
        .in(ints(ends, "ends"))
        .in(ints(axes, "axes"))
        .in(ints(how.steps, "steps"));
  }

  std::optional<Operator> windowed(const Node& node) {
    if (node.op != Op::conv && node.op != Op::conv_transpose && node.op != Op::max_pool && node.op != Op::avg_pool) return std::nullopt;
    const auto& window = of<WindowAttributes>(node);
    const bool is_pool = node.op == Op::max_pool || node.op == Op::avg_pool;
    const char* type = node.op == Op::conv             ? "Conv"
                       : node.op == Op::conv_transpose ? "ConvTranspose"
                       : node.op == Op::max_pool       ? "MaxPool"
                                                       : "AveragePool";
    Operator made = with_operands(type, node);
    made.set("kernel_shape", window.kernel).set("strides", window.strides).set("dilations", window.dilations);
    made.set("pads", joined(window.pads_begin, window.pads_end));
    if (!is_pool) made.set("group", window.groups);
    if (is_pool) made.set("ceil_mode", std::int64_t{window.ceil_mode});
    if (node.op == Op::avg_pool) made.set("count_include_pad", std::int64_t{window.count_include_pad});
    if (node.op == Op::conv_transpose && !window.output_padding.empty()) made.set("output_padding", window.output_padding);
    return made;
  }

  std::optional<Operator> reduction(const char* type, const Node& node) {
    const auto& how = of<ReduceAttributes>(node);
    return with_operands(type, node).in(ints(how.axes, "axes")).set("keepdims", std::int64_t{how.keep_dims});
  }

  std::optional<Operator> other(const Node& node) {
    switch (node.op) {
      case Op::gemm: {
        const auto& how = of<GemmAttributes>(node);
        Operator made = with_operands("Gemm", node);
        made.set("alpha", static_cast<float>(how.alpha)).set("beta", static_cast<float>(how.beta));
        return made.set("transA", std::int64_t{how.transpose_a}).set("transB", std::int64_t{how.transpose_b});
      }
      case Op::batch_norm:
        return with_operands("BatchNormalization", node).set("epsilon", static_cast<float>(of<BatchNormAttributes>(node).epsilon));
      case Op::reduce_sum:
        return reduction("ReduceSum", node);
      case Op::reduce_mean:
        return reduction("ReduceMean", node);
      case Op::reduce_max:
        return reduction("ReduceMax", node);
      case Op::reduce_min:
        return reduction("ReduceMin", node);
      case Op::log_sum_exp:
        return reduction("ReduceLogSumExp", node);
      case Op::softmax:
        return with_operands("Softmax", node).set("axis", of<SoftmaxAttributes>(node).axis);
      case Op::log_softmax:
        return with_operands("LogSoftmax", node).set("axis", of<SoftmaxAttributes>(node).axis);
      case Op::gelu:
        return with_operands("Gelu", node).set("approximate", std::string_view(of<GeluAttributes>(node).tanh_form ? "tanh" : "none"));
      case Op::cast:
        return with_operands("Cast", node).set("to", static_cast<std::int64_t>(element_type(node.dtype)));
      case Op::clip: {
        const auto& how = of<ClipAttributes>(node);
        Operator made = with_operands("Clip", node);
        made.in(std::isinf(how.lo) ? "" : real(how.lo, node.dtype, "least"));
        return std::isinf(how.hi) ? made : made.in(real(how.hi, node.dtype, "most"));
      }
      default:
        return std::nullopt;
    }
  }

  // LayerNormalization is the op, a product and, if there is one, a sum; the three are one operator. RMSNormalization has no sum.
  Outcome<std::string> layer_norm(NodeId id) {
    const Node& node = graph_.node(id);
    const auto product = layer_scale(graph_, id);
    if (!has_layer_form(node) || !product) return no_form(graph_, id, "no product with a scale behind it, or a form that has no operator");
    const auto& how = of<NormaliseAttributes>(node);
    const std::size_t first = node.shape.size() - how.axes.size();
    const bool is_rms = how.form == NormaliseAttributes::Form::root_mean;
    auto total = is_rms ? std::nullopt : only_user(graph_, *product, Op::add);
    if (total && !is_weight(graph_, other_operand(graph_, *total, *product), node.shape, first)) total.reset();
    Operator made = Operator(is_rms ? "RMSNormalization" : "LayerNormalization").in(names_[node.operands[0]]);
    made.in(names_[other_operand(graph_, *product, id)]);
    if (total) made.in(names_[other_operand(graph_, *total, *product)]);
    joined_.insert(*product);
    if (total) joined_.insert(*total);
    made.set("axis", static_cast<std::int64_t>(first)).set("epsilon", static_cast<float>(how.epsilon));
    return made.with_output(names_[total.value_or(*product)]);
  }

  void join_masks() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (graph_.node(id).op != Op::masked_softmax) continue;
      auto form = mask_form(graph_, id);
      if (!form) continue;
      joined_.insert(form->parts.begin(), form->parts.end());
      masks_.emplace(id, std::move(*form));
    }
  }

  Outcome<std::string> masked_softmax(NodeId id) {
    constexpr double kShut = -std::numeric_limits<double>::infinity();
    const auto found = masks_.find(id);
    if (found == masks_.end()) return no_form(graph_, id, "none of this form");
    const MaskForm& form = found->second;
    const DType dtype = graph_.node(id).dtype;
    const std::string scores = fresh(names_[id] + ".scores");
    Operator masked(form.condition ? "Where" : "Add");
    if (form.condition) {
      masked.in(names_[*form.condition]).in(names_[form.scores]).in(real(kShut, dtype, "shut"));
    } else {
      std::vector<double> mask;
      for (const bool shut : form.shut) mask.push_back(shut ? kShut : 0);
      masked.in(names_[form.scores]).in(constant(reals(mask, dtype, form.shape), "mask"));
    }
    nodes_.push_back(masked.with_output(scores));
    return Operator("Softmax").in(scores).set("axis", of<MaskedSoftmaxAttributes>(graph_.node(id)).axis).with_output(names_[id]);
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  std::set<NodeId> joined_;  // written with another node
  std::map<NodeId, MaskForm> masks_;
  std::set<std::string> taken_;
  std::vector<std::pair<NodeId, std::string>> copies_;
  std::vector<std::string> nodes_, late_, initializers_;
};

}  // namespace

Outcome<std::string> write_onnx(const Graph& graph) { return Writer(graph).write(); }

}  // namespace assay::formats
