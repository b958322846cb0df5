// Operators that ONNX Runtime fuses from several: what they were fused from.
#include <algorithm>
#include <bit>
#include <map>

#include "frontends/onnx/lowering/microsoft/microsoft.h"

namespace assay::onnx {
namespace {

Operand plus(Call& call, const Operand& a, const Operand& b) { return call.emit(Op::add, {a, b}); }

// x, or x with its last two axes exchanged.
Operand turned(Call& call, const Operand& x, const char* attribute) {
  if (call.attribute(attribute, std::int64_t{0}) == 0) return x;
  Ints axes(x->shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permute(call, x, std::move(axes));
}

// What the attribute `activation` names, with the numbers that it takes.
Operand activated(Call& call, const Operand& x, std::vector<double> numbers) {
  struct Activation {
    Op op;
    std::size_t numbers;
  };
  static const std::map<std::string, Activation> kActivations = {
      {"Clip", {Op::clip, 2}}, {"HardSigmoid", {Op::hard_sigmoid, 2}}, {"LeakyRelu", {Op::leaky_relu, 1}},
      {"Relu", {Op::relu, 0}}, {"Sigmoid", {Op::sigmoid, 0}},          {"Tanh", {Op::tanh, 0}}};
  const std::string name = call.attribute("activation", "");
  if (name.empty()) return x;
  const auto found = kActivations.find(name);
  if (found == kActivations.end())
    call.unsupported("onnx.attribute", "activation Clip, HardSigmoid, LeakyRelu, Relu, Sigmoid or Tanh", printable(name), kUnfused);
  const auto& [op, wanted] = found->second;
  if (numbers.size() < wanted)
    call.malformed("onnx.attribute", "as many numbers as " + name + " takes, " + std::to_string(wanted), std::to_string(numbers.size()));
  numbers.resize(2);
  return call.emit(op, {x}, op == Op::clip ? Attributes{ClipAttributes{numbers[0], numbers[1]}} : numbers_of(op, numbers[0], numbers[1]));
}

// (x - mean) / sqrt(variance + epsilon) along the last axis, or x / sqrt(mean of squares + epsilon).
Operand normalised(Call& call, const Operand& x, bool is_rms, const Operand& scale, const Operand& bias) {
  const auto last = static_cast<std::int64_t>(x->shape.size()) - 1;
  const auto epsilon = static_cast<double>(call.attribute("epsilon", 1e-12F));
  using Form = NormaliseAttributes::Form;
  const Operand core = call.emit(Op::normalise, {x}, NormaliseAttributes{{last}, epsilon, is_rms ? Form::root_mean : Form::centered});
  const Operand y = call.emit(Op::mul, {core, scale});
  return bias ? plus(call, y, bias) : y;
}

}  // namespace

Results lower_fused_gelu(Call& call) {
  const std::string& type = call.node.op_type;
  const Operand x = call.has(1) ? plus(call, call.in(0), call.in(1)) : call.in(0);
  if (type != "QuickGelu") return {call.emit(Op::gelu, {x}, GeluAttributes{type == "FastGelu"})};
  const Operand inner = scaled(call, x, static_cast<double>(call.attribute("alpha", 1.702F)));
  return {call.emit(Op::mul, {x, call.emit(Op::sigmoid, {inner})})};
}

// input + skip + bias, normalised; the sum is the fourth result.
Results lower_skip_norm(Call& call) {
  const bool is_rms = call.node.op_type == "SkipSimplifiedLayerNormalization";
  const std::size_t bias = is_rms ? 3 : 4;
  Operand x = plus(call, call.in(0), call.in(1));
  if (x->shape != call.shape(0))
    call.malformed("onnx.shape", "a skip that broadcasts to " + to_string(call.shape(0)), to_string(call.shape(1)));
  if (call.has(bias)) x = plus(call, x, call.in(bias));
  for (std::size_t i = 1; i < 3 && i < call.node.outputs.size(); ++i) {
    if (!call.node.outputs[i].empty())
      call.unsupported("onnx.training", "a normalisation without its mean and deviation", "output " + std::to_string(i),
                       "save the model for inference");
  }
  return {normalised(call, x, is_rms, call.in(2), !is_rms && call.has(3) ? call.in(3) : nullptr), nullptr, nullptr, x};
}

// Embeddings of words, positions and, if given, segments, added and normalised. Without segments of the words, all are segment 0.
Results lower_embedding_norm(Call& call) {
  const Operand& ids = call.in(0);
  if (ids->shape.size() != 2) call.malformed("onnx.shape", "words as [batch, length]", to_string(ids->shape));
  const std::int64_t length = ids->shape[1];
  if (call.has(7)) call.unsupported("onnx.input", "no mask, which attention reads", "one", kUnfused);
  const auto rows_of = [&](std::size_t table, const Operand& places) {
    Call gather(call.lowering, call.node, kFusedOpset, {call.in(table), places});
    return lower_gather(gather).front();
  };
  Operand sum = rows_of(2, ids);
  const Operand positions = call.has(8) ? rows_of(3, call.in(8)) : slice_axis(call, call.in(3), 0, 0, length);
  sum = plus(call, sum, positions);
  if (call.has(4)) sum = plus(call, sum, call.has(1) ? rows_of(4, call.in(1)) : slice_axis(call, call.in(4), 0, 0, 1));
  const Operand no_mask = call.make_ints(DType::int32, {ids->shape[0]}, Ints(static_cast<std::size_t>(ids->shape[0]), 0));
  return {normalised(call, sum, false, call.in(5), call.in(6)), no_mask, sum};
}

Results lower_fused_matmul(Call& call) {
  const auto is_set = [&](const char* name) { return call.attribute(name, std::int64_t{0}) != 0; };
  if (is_set("transBatchA") || is_set("transBatchB")) call.unsupported("onnx.attribute", "transBatchA and transBatchB = 0", "1", kUnfused);
  if ((is_set("transA") || is_set("transB")) && std::min(call.shape(0).size(), call.shape(1).size()) < 2)
    call.unsupported("onnx.shape", "matrices beside transA or transB", "a vector, which ONNX Runtime reads otherwise", "reshape it");
  const Operand y = call.emit(Op::matmul, {turned(call, call.in(0), "transA"), turned(call, call.in(1), "transB")});
  const auto alpha = static_cast<double>(call.attribute("alpha", 1.0F));
  return {alpha == 1 ? y : scaled(call, y, alpha)};
}

Results lower_fused_gemm(Call& call) {
  std::vector<double> numbers;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (call.find(name, AttributeKind::real) != nullptr) numbers.push_back(static_cast<double>(call.attribute(name, 0.0F)));
  }
  return {activated(call, lower_gemm(call).front(), numbers)};
}

// The convolution, a further summand, then the activation.
Results lower_fused_conv(Call& call) {
  std::vector<double> numbers;
  if (const AttributeProto* given = call.find("activation_params", AttributeKind::reals)) {
    for (const std::uint32_t bits : given->reals) numbers.push_back(static_cast<double>(std::bit_cast<float>(bits)));
  }
  std::vector<Operand> operands = call.inputs;
  operands.resize(std::min<std::size_t>(operands.size(), 3));
  Call conv(call.lowering, call.node, kFusedOpset, std::move(operands));
  Operand y = lower_conv(conv).front();
  if (call.has(3)) y = plus(call, y, call.in(3));
  return {activated(call, y, numbers)};
}

}  // namespace assay::onnx
