// Layers: values, gradients and 100 steps of gradient descent from the same parameters.
#include <functional>
#include <vector>

#include "runtime/functions.h"
#include "tests/training/peer_cases.h"
#include "training/export.h"
#include "training/layers/attention.h"
#include "training/layers/basic.h"
#include "training/layers/convolution.h"
#include "training/layers/normalise.h"
#include "training/layers/recurrent.h"
#include "training/layers/sequence.h"
#include "training/optimise.h"
#include "training/trainer.h"

namespace assay::test {

using namespace runtime;
using namespace training;

namespace {

constexpr int kSteps = 100;
constexpr double kRate = 0.05;
using Forward = std::function<Value(const Value&)>;
struct Case {
  const char* name;  // of torch.nn, or of a function in peer.py
  Json arguments;    // of its constructor
  Shape input;
  std::function<Forward(const Scope&)> make;
};

// A layer as a function that owns it.
template <class Layer, class... Arguments>
std::function<Forward(const Scope&)> made(Arguments... arguments) {
  return [=](const Scope& scope) -> Forward {
    const auto layer = std::make_shared<Layer>(scope, arguments...);
    return [layer](const Value& x) { return (*layer)(x); };
  };
}
template <class Layer>
std::function<Forward(const Scope&)> recurrent(std::int64_t in, std::int64_t hidden, std::int64_t layers) {
  return [=](const Scope& scope) -> Forward {
    const auto layer = std::make_shared<Layer>(scope, in, hidden, layers);
    return [layer](const Value& x) { return (*layer)(x).outputs; };
  };
}
std::function<Forward(const Scope&)> function(Forward f) {
  return [f = std::move(f)](const Scope&) { return f; };
}

std::vector<Case> cases() {
  const auto attention = [](bool causal) {
    return [=](const Scope& scope) -> Forward {
      const auto layer = std::make_shared<MultiHeadAttention>(scope, 8, 2);
      return [=](const Value& x) { return (*layer)(x, {.causal = causal}); };
    };
  };
  const auto rotary = [](bool interleaved) {
    return [=](const Scope& scope) -> Forward {
      const auto layer = std::make_shared<MultiHeadAttention>(scope, 8, 2, Rotary{.base = 100, .interleaved = interleaved});
      return [=](const Value& x) { return (*layer)(x, {.causal = true}); };
    };
  };
  return {
      {"Linear", {{"in_features", 6}, {"out_features", 3}}, {2, 4, 6}, made<Linear>(6, 3)},
      {"Linear", {{"in_features", 6}, {"out_features", 3}, {"bias", false}}, {5, 6}, made<Linear>(6, 3, false)},
      {"RNN", {{"input_size", 3}, {"hidden_size", 4}, {"batch_first", true}}, {2, 5, 3}, recurrent<Rnn>(3, 4, 1)},
      {"GRU", {{"input_size", 3}, {"hidden_size", 4}, {"num_layers", 2}, {"batch_first", true}}, {2, 5, 3}, recurrent<Gru>(3, 4, 2)},
      {"LSTM", {{"input_size", 3}, {"hidden_size", 4}, {"num_layers", 2}, {"batch_first", true}}, {2, 5, 3}, recurrent<Lstm>(3, 4, 2)},
      {"MultiheadAttention", {{"embed_dim", 8}, {"num_heads", 2}, {"batch_first", true}}, {2, 5, 8}, attention(false)},
      {"CausalAttention", {{"embed_dim", 8}, {"num_heads", 2}, {"batch_first", true}}, {2, 5, 8}, attention(true)},
      {"RotaryAttention", {{"interleaved", false}}, {2, 5, 8}, rotary(false)},
      {"RotaryAttention", {{"interleaved", true}}, {2, 5, 8}, rotary(true)},
      {"LoraLinear", {{"rank", 2}, {"scale", 3}}, {2, 4, 6}, made<LoraLinear>(6, 5, LoraLinear::Options{2, 3})},
      {"BatchNorm1d", {{"num_features", 3}}, {6, 3}, made<BatchNorm>(3)},
      {"BatchNorm2d", {{"num_features", 3}, {"momentum", 0.25}}, {2, 3, 4, 5}, made<BatchNorm>(3, NormOptions{.momentum = 0.25})},
      {"InstanceNorm2d",
       {{"num_features", 3}, {"affine", true}, {"track_running_stats", true}},
       {2, 3, 4, 5},
       made<InstanceNorm>(3, NormOptions{})},
      {"InstanceNorm1d", {{"num_features", 3}}, {2, 3, 5}, made<InstanceNorm>(3)},
      {"GroupNorm", {{"num_groups", 2}, {"num_channels", 4}}, {2, 4, 3, 3}, made<GroupNorm>(2, 4)},
      {"LayerNorm", {{"normalized_shape", {4, 3}}}, {2, 4, 3}, made<LayerNorm>(Shape{4, 3})},
      {"RMSNorm", {{"normalized_shape", {5}}, {"eps", 1e-6}}, {2, 3, 5}, made<RmsNorm>(Shape{5})},
      {"Conv1d",
       {{"in_channels", 4}, {"out_channels", 6}, {"kernel_size", 3}, {"padding", 2}, {"dilation", 2}, {"groups", 2}},
       {2, 4, 7},
       made<Conv>(4, 6, Extents{3}, ConvOptions{.padding = {2}, .dilation = {2}, .groups = 2})},
      {"Conv2d",
       {{"in_channels", 2}, {"out_channels", 3}, {"kernel_size", {3, 2}}, {"stride", {2, 1}}, {"padding", {1, 0}}, {"bias", false}},
       {2, 2, 6, 5},
       made<Conv>(2, 3, Extents{3, 2}, ConvOptions{.stride = {2, 1}, .padding = {1, 0}, .bias = false})},
      {"Conv3d", {{"in_channels", 2}, {"out_channels", 2}, {"kernel_size", 2}}, {1, 2, 3, 4, 3}, made<Conv>(2, 2, Extents{2, 2, 2})},
      {"ConvTranspose1d",
       {{"in_channels", 2}, {"out_channels", 4}, {"kernel_size", 3}, {"groups", 2}},
       {2, 2, 5},
       made<ConvTranspose>(2, 4, Extents{3}, ConvOptions{.groups = 2})},
      {"ConvTranspose2d",
       {{"in_channels", 3}, {"out_channels", 2}, {"kernel_size", 3}, {"stride", 2}, {"padding", 1}, {"output_padding", 1}},
       {2, 3, 3, 4},
       made<ConvTranspose>(3, 2, Extents{3, 3}, ConvOptions{.stride = {2}, .padding = {1}, .output_padding = {1}})},
      {"MaxPool2d", {{"kernel_size", 3}, {"stride", 2}, {"padding", 1}}, {2, 2, 6, 5}, function([](const Value& x) {
         return max_pool(x, {3}, {.stride = {2}, .padding = {1}});
       })},
      {"MaxPool1d", {{"kernel_size", 2}, {"ceil_mode", true}}, {2, 2, 7}, function([](const Value& x) {
         return max_pool(x, {2}, {.ceil_mode = true});
       })},
      {"SmoothMaxPool2d", {{"kernel_size", {3, 2}}, {"stride", {1, 2}}, {"sharpness", 2.5}}, {2, 2, 6, 5}, function([](const Value& x) {
         return smooth_max_pool(x, {3, 2}, 2.5, {1, 2});
       })},
      {"AvgPool2d",
       {{"kernel_size", {3, 2}}, {"stride", 1}, {"padding", 1}, {"count_include_pad", false}},
       {2, 2, 6, 5},
       function([](const Value& x) {
         return avg_pool(x, {3, 2}, {.stride = {1}, .padding = {1}, .count_padding = false});
       })},
      {"AvgPool3d", {{"kernel_size", 2}}, {1, 2, 4, 4, 5}, function([](const Value& x) { return avg_pool(x, {2}); })},
      {"AdaptiveAvgPool2d", {{"output_size", {3, 2}}}, {2, 2, 7, 5}, function([](const Value& x) {
         return adaptive_avg_pool(x, {3, 2});
       })},
      {"MambaBlock", {{"width", 4}, {"state", 3}}, {2, 6, 4}, made<Mamba>(4, Mamba::Options{.state = 3})},
      {"SpectralConv1d", {{"modes", 4}}, {2, 3, 8}, made<SpectralConv>(3, 2, 4)},
      {"SpectralConv1d", {{"modes", 5}}, {2, 3, 8}, made<SpectralConv>(3, 2, 5)},
  };
}

Json entries_of(const Model& model) {
  Json result = Json::object();
  for (const Model::Entry& entry : model.entries()) result[entry.name.substr(entry.name.find('.') + 1)] = json_of(entry.value);
  return result;
}

// The layer in evaluation as an ONNX file, in hexadecimal digits.
std::string exported(Model& model, const Forward& forward, const Array& input) {
  const auto made = export_onnx(
      model, [&](std::span<const Value> v) { return forward(v[0]); }, std::vector<ExportInput>{{"x", input}});
  if (!made) return made.rejection().to_text();
  std::string digits;
  for (const char byte : made.value().file) {
    for (const int shift : {4, 0}) digits += "0123456789abcdef"[static_cast<unsigned char>(byte) >> shift & 15];
  }
  return digits;
}

Json run(const Case& one, DType dtype, bool compiled) {
  Session session({.dtype = dtype, .seed = 9});
  Model model(session);
  const Forward forward = one.make(model / "layer");
  Json result{{"name", one.name}, {"arguments", one.arguments}, {"dtype", std::string(to_string(dtype))}, {"compiled", compiled}};
  result["parameters"] = entries_of(model);
  const Array input = session.normal(one.input);
  const Value x = session.input(input), y = forward(x);
  if (session.failure()) return {{"name", one.name}, {"failed", session.failure()->to_text()}};
  const Array target = session.normal(y.shape());
  (void)model.take_updates();
  result["input"] = json_of(input);
  result["target"] = json_of(target);
  result["output"] = json_of(y);
  const auto bars = session.gradients(mean_squared_error(y, session.input(target)), {x});
  if (!bars) return {{"name", one.name}, {"failed", bars.rejection().to_text()}};
  result["input_gradient"] = json_of(bars.value()[0]);
  if (dtype == DType::float32 && !compiled) result["onnx"] = exported(model, forward, input);
  if (model.parameters().empty()) return result;
  Sgd optimiser(session, model.parameters(), {.rate = kRate});
  Trainer trainer(model, optimiser, [&](std::span<const Value> v) { return mean_squared_error(forward(v[0]), v[1]); },
                  {.compiled = compiled});
  for (int step = 0; step < kSteps; ++step) {
    const auto loss = trainer.step(std::vector{input, target});
    if (!loss) return {{"name", one.name}, {"failed", loss.rejection().to_text()}};
    result["losses"].push_back(loss.value());
  }
  result["after"] = entries_of(model);
  model.set_training(false);
  session.clear();
  result["evaluated"] = json_of(forward(session.input(input)));
  return result;
}

}  // namespace

Json layer_cases() {
  Json result = Json::array();
  for (const Case& one : cases()) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const bool compiled : {false, true}) result.push_back(run(one, dtype, compiled));
    }
  }
  return result;
}

}  // namespace assay::test
