// Fused chains: several elementwise ops in one pass, judged as the region that they are.
#include "gpu/chain.h"

#include "tests/gpu/devices.h"

namespace assay::test {
namespace {

TEST_CASE("gpu chain: a fused graph lies within the contract of its region", "[gpu]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {5, 7}, "x"), b = graph.append_input(DType::float32, {7}, "b");
  const NodeId z = graph.append(Op::add, {x, b}).value();
  const NodeId s = graph.append(Op::sigmoid, {z}).value();
  graph.mark_output(graph.append(Op::mul, {graph.append(Op::scale, {z}, ScaleAttributes{0.3}).value(), s}).value(), "y");
  std::mt19937_64 random(51);
  const std::vector<Tensor> inputs = {gaussians(random, DType::float32, {5, 7}), gaussians(random, DType::float32, {7})};
  std::vector<std::vector<float>> contents;
  std::vector<gpu::Operand> operands;
  for (const Tensor& input : inputs) {
    const std::vector<double> values = input.to_doubles();
    contents.emplace_back(values.begin(), values.end());
  }
  for (std::size_t k = 0; k < 2; ++k) operands.push_back({{contents[k].data(), contents[k].size()}, &inputs[k].shape()});
  std::vector<float> y(35, std::numeric_limits<float>::quiet_NaN());
  const std::vector<gpu::View<float>> to = {{y.data(), y.size()}};
  gpu::EmulatedQueue queue(schedules()[2]);
  REQUIRE(gpu::run_chain(queue, graph, operands, to).ok());
  const auto sets = contracts::admissible(graph, gpu::kernel_model("glibc-2.36"), inputs);
  REQUIRE(sets.ok());
  CHECK(judged(sets.value()[0], Tensor::of_floats({5, 7}, y)).passed == 35);
  y[3] += 0.001F;
  CHECK(judged(sets.value()[0], Tensor::of_floats({5, 7}, y)).failed == 1);

  graph.outputs = {graph.append(Op::softmax, {z}, SoftmaxAttributes{1}).value()};
  const auto refused = gpu::run_chain(queue, graph, operands, to);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.rejection().code == "gpu.op");
}

}  // namespace
}  // namespace assay::test
