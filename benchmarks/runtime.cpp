// Times of single operations of the runtime. Reads names of cases from stdin, one per line; prints the median time of a call in
// microseconds for each. benchmarks/runtime_against_torch.py asks, and times PyTorch in between.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/threads.h"
#include "semantics/graph/graph.h"

namespace {

using namespace assay;

struct Case {
  Op op;
  Attributes attributes;
  std::vector<Shape> shapes;
};

WindowAttributes window(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  WindowAttributes w;
  w.kernel = {kernel, kernel};
  w.strides = {stride, stride};
  w.dilations = {1, 1};
  w.pads_begin = w.pads_end = {pad, pad};
  return w;
}

std::map<std::string, Case> cases() {
  const Shape image = {16, 64, 32, 32};
  WindowAttributes back = window(3, 1, 1);
  back.output_padding = {0, 0};
  WindowAttributes weights = window(32, 1, 1);
  return {
      {"linear", {Op::gemm, GemmAttributes{1, 1, false, true}, {{128, 784}, {512, 784}, {512}}}},
      {"linear_input_gradient", {Op::gemm, GemmAttributes{}, {{128, 512}, {512, 512}}}},
      {"linear_weight_gradient", {Op::gemm, GemmAttributes{1, 1, true, false}, {{128, 512}, {128, 784}}}},
      {"linear_small", {Op::gemm, GemmAttributes{1, 1, false, true}, {{1, 64}, {64, 64}, {64}}}},
      {"matmul_square", {Op::matmul, NoAttributes{}, {{512, 512}, {512, 512}}}},
      {"matmul_batch", {Op::matmul, NoAttributes{}, {{64, 128, 64}, {64, 64, 128}}}},
      {"conv", {Op::conv, window(3, 1, 1), {image, {64, 64, 3, 3}, {64}}}},
      {"conv_stride", {Op::conv, window(3, 2, 1), {image, {128, 64, 3, 3}, {128}}}},
      {"conv_one", {Op::conv, window(1, 1, 0), {image, {64, 64, 1, 1}, {64}}}},
      {"conv_input_gradient", {Op::conv_transpose, back, {image, {64, 64, 3, 3}}}},
      {"conv_weight_gradient", {Op::conv, weights, {{64, 16, 32, 32}, {64, 16, 32, 32}}}},
      {"max_pool", {Op::max_pool, window(2, 2, 0), {image}}},
      {"avg_pool", {Op::avg_pool, window(3, 2, 1), {image}}},
      {"add", {Op::add, NoAttributes{}, {image, image}}},
      {"add_channel", {Op::add, NoAttributes{}, {image, {1, 64, 1, 1}}}},
      {"relu", {Op::relu, NoAttributes{}, {image}}},
      {"gelu", {Op::gelu, GeluAttributes{}, {image}}},
      {"tanh", {Op::tanh, NoAttributes{}, {image}}},
      {"exp", {Op::exp, NoAttributes{}, {image}}},
      {"sigmoid", {Op::sigmoid, NoAttributes{}, {image}}},
      {"silu", {Op::silu, ActivationAttributes{1, 0}, {image}}},
      {"softmax", {Op::softmax, SoftmaxAttributes{1}, {{2048, 512}}}},
      {"softmax_channels", {Op::softmax, SoftmaxAttributes{1}, {image}}},
      {"log_softmax", {Op::log_softmax, SoftmaxAttributes{1}, {{128, 10}}}},
      {"layer_norm", {Op::normalise, NormaliseAttributes{{1}, 1e-5, NormaliseAttributes::Form::centered}, {{2048, 512}}}},
      {"batch_norm", {Op::batch_norm, BatchNormAttributes{1e-5}, {image, {64}, {64}, {64}, {64}}}},
      {"sum_all", {Op::reduce_sum, ReduceAttributes{{0, 1, 2, 3}, false}, {image}}},
      {"sum_channels", {Op::reduce_sum, ReduceAttributes{{0, 2, 3}, false}, {image}}},
      {"sum_rows", {Op::reduce_sum, ReduceAttributes{{0}, false}, {{128, 512}}}},
      {"max_rows", {Op::reduce_max, ReduceAttributes{{1}, false}, {{2048, 512}}}},
      {"transpose", {Op::permute, PermuteAttributes{{1, 0}}, {{1024, 1024}}}},
      {"to_channels_last", {Op::permute, PermuteAttributes{{0, 2, 3, 1}}, {image}}},
      {"concat", {Op::concat, ConcatAttributes{1}, {image, image}}},
  };
}

double microseconds(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const auto start = Clock::now();
  do {
    const auto before = Clock::now();
    call();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
  } while (times.size() < 5 || (times.size() < 2000 && Clock::now() - start < std::chrono::milliseconds(60)));
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

double time_of(const Case& one) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  Graph graph;
  std::vector<NodeId> ids;
  std::vector<runtime::Array> arrays;
  std::vector<const runtime::Array*> operands;
  for (const Shape& shape : one.shapes) {
    ids.push_back(graph.append_input(DType::float32, shape, "x"));
    arrays.push_back(runtime::Array::empty(DType::float32, shape));
    for (float& value : arrays.back().data<float>()) value = std::fabs(normal(random)) + 0.1F;
  }
  for (const runtime::Array& array : arrays) operands.push_back(&array);
  const Attributes& attributes = one.attributes;
  const Outcome<ResultType> type = infer(graph, one.op, ids, attributes);
  if (!type) {
    std::cerr << type.rejection().to_text() << "\n";
    return -1;
  }
  return microseconds([&] {
    runtime::Array result = runtime::Array::empty(type.value().dtype, type.value().shape);
    const Outcome<Done> done = runtime::run(one.op, attributes, operands, result);
    demand(done.ok(), "time_of: the op runs");
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) assay::runtime::set_thread_count(std::stoul(argv[1]));
  const std::map<std::string, Case> all = cases();
  std::string name;
  while (std::getline(std::cin, name)) {
    const auto found = all.find(name);
    if (found == all.end()) {
      std::cout << "unknown\n" << std::flush;
    } else {
      std::cout << time_of(found->second) << "\n" << std::flush;
    }
  }
}
