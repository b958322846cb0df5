// The ops that a training toolkit's session is expected to offer, by their usual names: each runs on the emulated device, forward and
// backward, none is refused, and contracts and gradient rules hold.
#include <set>

#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/gpu/audited.h"

namespace assay::test {
namespace {

using runtime::Session;
using runtime::Value;

struct SessionOp {
  const char* name;
  Shape shape;  // of the operand x, whose elements lie between 0.2 and 1.2
  std::function<Value(const Value& x)> apply;
};

Value op(Op op, const Value& x, Attributes attributes = NoAttributes{}) { return apply(op, x, std::move(attributes)); }
Value input(const Value& x, const Shape& shape) { return x.session().input(x.session().normal(shape)); }
Value ints(const Value& x, const Shape& shape, const std::vector<std::int64_t>& values) {
  return x.session().input(Tensor::of_ints(shape, values));
}
Value mask(const Value& x, const Shape& shape) {
  auto bytes = std::make_shared<std::vector<std::byte>>(element_count(shape), std::byte{1});
  for (std::size_t i = 0; i < bytes->size(); i += 3) (*bytes)[i] = std::byte{0};
  return x.session().input(Tensor(DType::boolean, shape, std::move(bytes)));
}
WindowAttributes window(const Shape& kernel, std::int64_t stride, std::int64_t pad) {
  WindowAttributes w;
  w.kernel = kernel;
  w.strides = Shape(kernel.size(), stride);
  w.dilations = Shape(kernel.size(), 1);
  w.pads_begin = w.pads_end = Shape(kernel.size(), pad);
  return w;
}
Value normalised(const Value& x, std::vector<std::int64_t> axes, NormaliseAttributes::Form form = NormaliseAttributes::Form::centered) {
  return op(Op::normalise, x, NormaliseAttributes{std::move(axes), 1e-5, form});
}
Value row(const Value& x, std::int64_t at) { return op(Op::slice, x, SliceAttributes{{at, 0}, {1, 1}, {1, x.shape()[1]}}); }

std::vector<SessionOp> elementwise_ops() {
  const auto plain = [](Op which) { return [which](const Value& x) { return op(which, x); }; };
  const auto with = [](Op which) { return [which](const Value& x) { return apply(which, x, input(x, {4})); }; };
  return {{"detach", {3, 4}, [](const Value& x) { return x * x.session().detach(x); }},
          {"uniform",
           {3, 4},
           [](const Value& x) {
             return x * x.session().input(x.session().uniform({3, 4}));
           }},
          {"Bernoulli mask",
           {3, 4},
           [](const Value& x) {
             return x * x.session().input(x.session().bernoulli(0.5, {3, 4}));
           }},
          {"add", {3, 4}, with(Op::add)},
          {"sub", {3, 4}, with(Op::sub)},
          {"mul", {3, 4}, with(Op::mul)},
          {"div", {3, 4}, with(Op::div)},
          {"scale", {3, 4}, [](const Value& x) { return x * 0.7; }},
          {"shift", {3, 4}, [](const Value& x) { return x + 0.3; }},
          {"affine", {3, 4}, [](const Value& x) { return x * 0.7 + 0.3; }},
          {"inv", {3, 4}, plain(Op::reciprocal)},
          {"sqrt", {3, 4}, plain(Op::sqrt)},
          {"abs", {3, 4}, plain(Op::abs)},
          {"max", {3, 4}, with(Op::max)},
          {"min", {3, 4}, with(Op::min)},
          {"clamp",
           {3, 4},
           [](const Value& x) {
             return op(Op::clip, x, ClipAttributes{0.4, 0.9});
           }},
          {"relu", {3, 4}, [](const Value& x) { return relu(x - 0.7); }},
          {"gelu", {3, 4}, [](const Value& x) { return op(Op::gelu, x, GeluAttributes{true}); }},
          {"silu", {3, 4}, [](const Value& x) { return silu(x); }},
          {"sigmoid", {3, 4}, plain(Op::sigmoid)},
          {"tanh", {3, 4}, plain(Op::tanh)},
          {"softplus", {3, 4}, plain(Op::softplus)},
          {"safe log",
           {3, 4},
           [](const Value& x) {
             return log(op(Op::clip, x, ClipAttributes{0.5, 1e30}));
           }},
          {"exp", {3, 4}, plain(Op::exp)},
          {"log", {3, 4}, plain(Op::log)},
          {"sinh", {3, 4}, plain(Op::sinh)},
          {"cosh", {3, 4}, plain(Op::cosh)},
          {"square", {3, 4}, [](const Value& x) { return square(x); }},
          {"smooth abs", {3, 4}, [](const Value& x) { return op(Op::sqrt, square(x - 0.7) + 0.01); }},
          {"sin", {3, 4}, plain(Op::sin)},
          {"cos", {3, 4}, plain(Op::cos)},
          {"leaky relu", {3, 4}, [](const Value& x) { return op(Op::leaky_relu, x - 0.7, LeakyReluAttributes{0.1}); }},
          {"elu", {3, 4}, [](const Value& x) {
             return op(Op::elu, x - 0.7, ActivationAttributes{1, 0});
           }}};
}

std::vector<SessionOp> group_ops() {
  using Form = NormaliseAttributes::Form;
  return {
      {"softmax", {3, 4}, [](const Value& x) { return softmax(x, 1); }},
      {"log softmax", {3, 4}, [](const Value& x) { return log_softmax(x, 0); }},
      {"hard-masked softmax",
       {3, 4},
       [](const Value& x) {
         return apply(Op::masked_softmax, x, mask(x, {3, 4}), MaskedSoftmaxAttributes{1, true});
       }},
      {"layer norm", {3, 4}, [](const Value& x) { return layer_norm(x, input(x, {4}), input(x, {4})); }},
      {"batch norm of a batch",
       {4, 2, 3},
       [](const Value& x) {
         return normalised(x, {0, 2});
       }},
      {"batch norm of given moments",
       {2, 3, 4},
       [](const Value& x) {
         const Value variance = square(input(x, {3})) + 0.5;
         return x.session().apply(Op::batch_norm, {x, input(x, {3}), input(x, {3}), input(x, {3}), variance}, BatchNormAttributes{1e-5});
       }},
      {"root mean square norm", {3, 4}, [](const Value& x) { return normalised(x, {1}, Form::root_mean); }},
      {"instance norm", {2, 3, 4}, [](const Value& x) { return normalised(x, {2}); }},
      {"group norm",
       {2, 4, 3},
       [](const Value& x) {
         return reshape(normalised(reshape(x, {2, 2, 2, 3}), {2, 3}), {2, 4, 3});
       }},
      {"sum", {3, 4}, [](const Value& x) { return sum(x); }},
      {"reduce sum", {3, 4}, [](const Value& x) { return sum(x, {0}); }},
      {"reduce mean", {3, 4}, [](const Value& x) { return mean(x, {1}, true); }},
      {"broadcast to",
       {3, 1},
       [](const Value& x) {
         return expand(x, {2, 3, 4});
       }},
      {"mean squared error",
       {3, 4},
       [](const Value& x) {
         return mean_squared_error(x, input(x, {3, 4}));
       }},
      {"cross entropy",
       {3, 4},
       [](const Value& x) {
         return cross_entropy(x, ints(x, {3}, {2, 0, 3}));
       }},
      {"cross entropy with logits of one bit",
       {3, 4},
       [](const Value& x) {
         return mean(softplus(x) - x * x.session().input(x.session().bernoulli(0.5, {3, 4})));
       }},
      {"dropout", {3, 4}, [](const Value& x) { return dropout(x, 0.25); }}};
}

std::vector<SessionOp> product_ops() {
  return {{"matmul",
           {3, 4},
           [](const Value& x) {
             return matmul(x, input(x, {4, 5}));
           }},
          {"batched matmul",
           {2, 3, 4},
           [](const Value& x) {
             return matmul(x, input(x, {2, 4, 5}));
           }},
          {"linear",
           {3, 4},
           [](const Value& x) {
             return linear(x, input(x, {2, 4}), input(x, {2}));
           }},
          {"conv of two axes",
           {1, 2, 5, 4},
           [](const Value& x) {
             return conv2d(x, input(x, {4, 1, 3, 2}), input(x, {4}), {.stride = 2, .padding = 1, .dilation = 1, .groups = 2});
           }},
          {"conv of one axis",
           {2, 2, 7},
           [](const Value& x) {
             return apply(Op::conv, x, input(x, {3, 2, 3}), window({3}, 2, 1));
           }},
          {"conv of three axes",
           {1, 1, 3, 4, 3},
           [](const Value& x) {
             return apply(Op::conv, x, input(x, {2, 1, 2, 2, 2}), window({2, 2, 2}, 1, 0));
           }},
          {"transposed conv",
           {1, 2, 3, 3},
           [](const Value& x) {
             WindowAttributes w = window({2, 3}, 2, 1);
             w.output_padding = {0, 1};
             return apply(Op::conv_transpose, x, input(x, {2, 3, 2, 3}), w);
           }},
          {"transposed conv of one axis",
           {2, 2, 4},
           [](const Value& x) {
             WindowAttributes w = window({3}, 2, 1);
             w.output_padding = {0};
             return apply(Op::conv_transpose, x, input(x, {2, 3, 3}), w);
           }},
          {"max pool of one axis", {1, 2, 7}, [](const Value& x) { return op(Op::max_pool, x, window({3}, 2, 1)); }},
          {"max pool", {1, 2, 5, 5}, [](const Value& x) { return max_pool2d(x, 3, 2, 1); }},
          {"average pool",
           {1, 2, 5, 5},
           [](const Value& x) {
             return op(Op::avg_pool, x, window({3, 2}, 2, 1));
           }},
          {"smooth max pool",
           {4, 4},
           [](const Value& x) {
             return op(Op::log_sum_exp, reshape(x * 3, {2, 2, 2, 2}), ReduceAttributes{{1, 3}, false}) * (1.0 / 3);
           }},
          {"attention of several heads",
           {2, 3, 4},
           [](const Value& x) {
             const Value scores = matmul(x, permute(input(x, {2, 3, 4}), {0, 2, 1})) * 0.5;
             return matmul(apply(Op::masked_softmax, scores, mask(x, {3, 3}), MaskedSoftmaxAttributes{2, false}), input(x, {2, 3, 4}));
           }},
          {"selective scan",
           {3, 4},
           [](const Value& x) {
             const Value b = input(x, {3, 4});
             Value state = row(b, 0);
             for (std::int64_t t = 1; t < 3; ++t) state = row(x, t) * state + row(b, t);
             return state;
           }},
          {"discrete Fourier transform",
           {3, 4},
           [](const Value& x) {
             const std::vector<float> real = {1, 1, 1, 1, 1, 0, -1, 0, 1, -1, 1, -1, 1, 0, -1, 0},
                                      imaginary = {0, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, 0, 0, 1, 0, -1};
             const Value re = matmul(x, x.session().input(Tensor::of_floats({4, 4}, real))),
                         im = matmul(x, x.session().input(Tensor::of_floats({4, 4}, imaginary)));
             return square(re) + square(im);
           }},
          {"einsum", {2, 3, 4}, [](const Value& x) {
             return matmul(permute(x, {1, 0, 2}), input(x, {3, 4, 2}));
           }}};
}

std::vector<SessionOp> layout_ops() {
  return {{"reshape",
           {3, 4},
           [](const Value& x) {
             return reshape(x, {2, 6});
           }},
          {"permute",
           {2, 3, 4},
           [](const Value& x) {
             return permute(x, {2, 0, 1});
           }},
          {"concat",
           {3, 4},
           [](const Value& x) {
             return runtime::concat({x, input(x, {3, 2}), x}, 1);
           }},
          {"flatten",
           {2, 3, 4},
           [](const Value& x) {
             return reshape(x, {2, 12});
           }},
          {"squeeze",
           {3, 1, 4},
           [](const Value& x) {
             return reshape(x, {3, 4}) * 2;
           }},
          {"transpose",
           {3, 4},
           [](const Value& x) {
             return permute(x, {1, 0});
           }},
          {"split",
           {4, 4},
           [](const Value& x) {
             const Value half = op(Op::slice, x, SliceAttributes{{0, 0}, {1, 1}, {2, 4}}),
                         rest = op(Op::slice, x, SliceAttributes{{2, 0}, {1, 1}, {2, 4}});
             return half * rest;
           }},
          {"slice",
           {3, 4},
           [](const Value& x) {
             return op(Op::slice, x, SliceAttributes{{2, 0}, {-1, 2}, {2, 2}});
           }},
          {"stack",
           {3, 4},
           [](const Value& x) {
             return runtime::concat({reshape(x, {1, 3, 4}), input(x, {1, 3, 4})}, 0);
           }},
          {"gather",
           {3, 4},
           [](const Value& x) {
             return apply(Op::take, ints(x, {3, 2}, {0, -1, 2, 2, 1, 3}), x, ConcatAttributes{1});
           }},
          {"gather rows",
           {3, 4},
           [](const Value& x) {
             return op(Op::gather, x, GatherAttributes{0, {2, 2, 0, 1}, {4}});
           }},
          {"embedding",
           {3, 4},
           [](const Value& x) {
             return embedding(ints(x, {4}, {2, 0, -1, 1}), x);
           }},
          {"scatter-add",
           {3, 4},
           [](const Value& x) {
             return op(Op::place, x, PlaceAttributes{{0, 1, 1, 5, 2, 0, 4, 4, 4, 3, 1, 0}, {2, 3}});
           }},
          {"running sum",
           {3, 4},
           [](const Value& x) {
             return op(Op::cumsum, x, CumulativeAttributes{1, false, false});
           }},
          {"top k",
           {3, 4},
           [](const Value& x) {
             return op(Op::sort, x, SortAttributes{1, 2, true});
           }},
          {"where", {3, 4}, [](const Value& x) {
             return x.session().apply(Op::where, {mask(x, {3, 4}), x, input(x, {4})});
           }}};
}

// The rows of the census of ops that sessions of other toolkits have, and what stands for each here.
const std::vector<std::pair<const char*, std::vector<const char*>>> kCensus = {
    {"input, const, detach", {"detach"}},
    {"uniform numbers, Bernoulli mask", {"uniform", "Bernoulli mask"}},
    {"add, sub", {"add", "sub"}},
    {"mul", {"mul"}},
    {"div", {"div"}},
    {"scale, shift, affine", {"scale", "shift", "affine"}},
    {"inv", {"inv"}},
    {"sqrt", {"sqrt"}},
    {"abs", {"abs"}},
    {"max, min", {"max", "min"}},
    {"clamp", {"clamp"}},
    {"relu", {"relu"}},
    {"leaky relu, elu", {"leaky relu", "elu"}},
    {"gelu", {"gelu"}},
    {"silu", {"silu"}},
    {"sigmoid, tanh", {"sigmoid", "tanh"}},
    {"softplus, safe log", {"softplus", "safe log"}},
    {"exp", {"exp"}},
    {"log", {"log"}},
    {"sin, cos", {"sin", "cos"}},
    {"sinh, cosh, square, smooth abs", {"sinh", "cosh", "square", "smooth abs"}},
    {"softmax", {"softmax"}},
    {"log softmax", {"log softmax"}},
    {"hard-masked softmax", {"hard-masked softmax"}},
    {"layer norm", {"layer norm"}},
    {"batch norm in training", {"batch norm of a batch"}},
    {"batch norm in evaluation", {"batch norm of given moments"}},
    {"root mean square, instance and group norm", {"root mean square norm", "instance norm", "group norm"}},
    {"sum", {"sum"}},
    {"sum, mean over an axis", {"reduce sum", "reduce mean"}},
    {"broadcast to", {"broadcast to"}},
    {"matmul, batched matmul", {"matmul", "batched matmul"}},
    {"linear", {"linear"}},
    {"conv of two axes", {"conv of two axes"}},
    {"conv and transposed conv of any axes", {"conv of one axis", "conv of three axes", "transposed conv", "transposed conv of one axis"}},
    {"max pool", {"max pool", "max pool of one axis"}},
    {"average pool", {"average pool"}},
    {"smooth max pool", {"smooth max pool"}},
    {"reshape, flatten", {"reshape", "flatten"}},
    {"permute", {"permute"}},
    {"transposes, swaps", {"transpose"}},
    {"concat", {"concat"}},
    {"slice, split, stack, squeeze", {"slice", "split", "stack", "squeeze"}},
    {"gather, embedding", {"gather", "gather rows", "embedding"}},
    {"scatter-add", {"scatter-add"}},
    {"attention", {"attention of several heads"}},
    {"selective scan", {"selective scan"}},
    {"Fourier transform", {"discrete Fourier transform"}},
    {"dropout", {"dropout"}},
    {"mean squared error", {"mean squared error"}},
    {"cross entropy, of one bit too", {"cross entropy", "cross entropy with logits of one bit"}},
    {"einsum", {"einsum"}},
    {"beyond the census", {"running sum", "top k", "where"}}};

std::vector<SessionOp> all_ops() {
  std::vector<SessionOp> all;
  for (const auto& family : {elementwise_ops, group_ops, product_ops, layout_ops}) {
    for (SessionOp& one : family()) all.push_back(std::move(one));
  }
  return all;
}

TEST_CASE("gpu session ops: the census is whole", "[gpu]") {
  std::set<std::string> names, listed;
  for (const SessionOp& one : all_ops()) CHECK(names.insert(one.name).second);
  for (const auto& [row, ops] : kCensus) listed.insert(ops.begin(), ops.end());
  CHECK(names == listed);
  CHECK(kCensus.size() == 53);
}

TEST_CASE("gpu session ops: none is refused, forward and backward, in any schedule", "[gpu]") {
  for (const Schedule& schedule : schedules()) {
    for (const SessionOp& one : all_ops()) {
      CAPTURE(one.name, static_cast<int>(schedule.order));
      Session session({.seed = 21, .device = gpu::emulated_device(schedule)});
      runtime::Recorder recorder(session);
      const Value x = session.parameter("x", session.uniform(one.shape, 0.2, 1.2));
      const Value y = one.apply(x);
      if (session.failure()) FAIL(session.failure()->to_text());
      const auto bars = recorder.gradients(sum(y * input(y, y.shape())), std::vector<Value>{x});
      if (!bars) FAIL(bars.rejection().to_text());
      recorder.output(y);
      CHECK(failures_of(recorder.take(), 0.05) == std::vector<std::string>{});
    }
  }
}

// Values and gradients of some calls, on other numbers each time.
std::vector<std::vector<double>> replayed(const SessionOp& one, const std::shared_ptr<runtime::Device>& device) {
  Session session({.seed = 22, .device = device});
  runtime::CompiledFunction f(session,
                              [&](std::span<const Value> v) -> Outcome<std::vector<Value>> {
                                const Value y = one.apply(v[0]);
                                auto bars = session.gradients(sum(y * input(y, y.shape())), std::vector<Value>{v[0]});
                                if (!bars) return bars.rejection();
                                return std::vector<Value>{y, bars.value()[0]};
                              },
                              {});
  std::vector<std::vector<double>> numbers;
  for (int k = 0; k < 4; ++k) {
    session.clear();
    const auto results = f(std::vector<Value>{session.input(session.uniform(one.shape, 0.2, 1.2))});
    if (!results) FAIL(results.rejection().to_text());
    for (const Value& value : results.value()) numbers.push_back(value.to_doubles());
  }
  return numbers;
}

TEST_CASE("gpu session ops: launches that the device keeps give the bits of launches one by one", "[gpu]") {
  for (const SessionOp& one : all_ops()) {
    CAPTURE(one.name);
    const auto device = gpu::emulated_device();
    CHECK(replayed(one, device) == replayed(one, gpu::emulated_device_with({.keeps_launches = false})));
    CHECK(device->traffic().lists > 0);
  }
}

}  // namespace
}  // namespace assay::test
