// Compiled programs against the same graphs run op by op: equal bits.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <new>
#include <thread>

#include "runtime/autodiff/transform.h"
#include "runtime/compiled/program.h"
#include "runtime/kernels/composed.h"
#include "tests/runtime/executed.h"
#include "tests/semantics/ops_catalogue.h"

namespace assay::test {
namespace {

using runtime::Array;
using runtime::Program;

// Every node by its own kernel, in order.
std::vector<Tensor> one_by_one(const Graph& graph, const std::vector<Array>& inputs) {
  std::vector<Array> values(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    if (node.op == Op::constant) {
      values[id] = Array::from(node.value);
      continue;
    }
    std::vector<const Array*> operands;
    for (const NodeId operand : node.operands) operands.push_back(&values[operand]);
    values[id] = Array::empty(node.dtype, node.shape);
    const Outcome<Done> done = runtime::run(node.op, node.attributes, operands, values[id]);
    if (!done) FAIL(done.rejection().to_text());
  }
  std::vector<Tensor> outputs;
  for (const NodeId id : graph.outputs) outputs.push_back(values[id].to_tensor());
  return outputs;
}

// Zeros of either sign are one number.
bool equal_numbers(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (!is_float(a.dtype())) return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double p = a.as_double(i), q = b.as_double(i);
    if (p != q && !(std::isnan(p) && std::isnan(q))) return false;
  }
  return true;
}

std::vector<Array> random_inputs(const Graph& graph, std::mt19937_64& random) {
  std::vector<Array> inputs;
  for (const NodeId id : graph.inputs) {
    const Node& node = graph.node(id);
    if (is_float(node.dtype)) {
      inputs.push_back(Array::from(gaussians(random, node.dtype, node.shape)));
    } else if (node.dtype == DType::boolean) {
      std::vector<std::uint8_t> values(element_count(node.shape));
      for (std::uint8_t& value : values) value = random() % 2;
      inputs.push_back(Array::from(tensor_of<std::uint8_t>(DType::boolean, node.shape, values)));
    } else {
      std::vector<std::int64_t> values(element_count(node.shape));
      for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 2);
      inputs.push_back(Array::from(Tensor::of_ints(node.shape, values)));
    }
  }
  return inputs;
}

runtime::ProgramSummary check_program(const Graph& graph, std::mt19937_64& random) {
  const Outcome<Program> program = Program::compile(graph);
  if (!program) FAIL(program.rejection().to_text());
  std::vector<std::vector<Array>> kept;  // outputs of earlier replays stay what they were
  std::vector<std::vector<Tensor>> expected;
  for (int round = 0; round < 2; ++round) {
    const std::vector<Array> inputs = random_inputs(graph, random);
    const Outcome<std::vector<Array>> outputs = program.value().replay(inputs);
    if (!outputs) FAIL(outputs.rejection().to_text());
    kept.push_back(outputs.value());
    expected.push_back(one_by_one(graph, inputs));
  }
  for (std::size_t round = 0; round < kept.size(); ++round) {
    for (std::size_t i = 0; i < kept[round].size(); ++i) {
      CAPTURE(round, i, graph.output_names[i]);
      CHECK(equal_numbers(kept[round][i].to_tensor(), expected[round][i]));
    }
  }
  return program.value().summary();
}

NodeId add_node(Graph& graph, Op op, std::vector<NodeId> operands, const Attributes& attributes = NoAttributes{}) {
  const Outcome<NodeId> id = graph.append(op, std::move(operands), attributes);
  if (!id) FAIL(id.rejection().to_text());
  return id.value();
}

TEST_CASE("every op of the catalogue, compiled", "[runtime]") {
  std::mt19937_64 random(231);
  for (const OpCase& one : catalogue()) {
    CAPTURE(one.name);
    if (one.op == Op::max_weight) continue;
    check_program(graph_of(one), random);
  }
}

TEST_CASE("chains of elementwise ops are one pass, with broadcast and kept values", "[runtime]") {
  std::mt19937_64 random(232);
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {5, 7, 3000}, "x"), row = graph.append_input(DType::float32, {7, 1}, "row"),
               one = graph.append_input(DType::float32, {}, "one");
  const NodeId shifted = add_node(graph, Op::add, {x, row}), squared = add_node(graph, Op::mul, {shifted, shifted});
  const NodeId scaled = add_node(graph, Op::mul, {squared, one}), positive = add_node(graph, Op::relu, {scaled});
  const NodeId kept = add_node(graph, Op::tanh, {positive}), y = add_node(graph, Op::sub, {kept, x});
  graph.mark_output(y, "y");
  graph.mark_output(kept, "kept");
  const runtime::ProgramSummary summary = check_program(graph, random);
  CHECK(summary.steps == 1);
  CHECK(summary.fused == 6);
  CHECK(summary.memory == 0);
}

TEST_CASE("a value that comes back by way of another op is not fused across it", "[runtime]") {
  std::mt19937_64 random(233);
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {4, 6}, "x");
  const NodeId e = add_node(graph, Op::exp, {x}), sum = add_node(graph, Op::reduce_sum, {e}, ReduceAttributes{{1}, true});
  graph.mark_output(add_node(graph, Op::div, {e, sum}), "softmax");
  const runtime::ProgramSummary summary = check_program(graph, random);
  CHECK(summary.steps == 3);
}

TEST_CASE("constants are folded, equal nodes computed once, expansions not at all", "[runtime]") {
  std::mt19937_64 random(234);
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {8, 5}, "x");
  const NodeId c = graph.append_constant(Tensor::of_floats({1, 5}, std::vector<float>{1, 2, 3, 4, 5}));
  const NodeId wide = add_node(graph, Op::expand, {add_node(graph, Op::exp, {c})}, ShapeAttributes{{8, 5}});
  const NodeId mean =
      add_node(graph, Op::expand, {add_node(graph, Op::reduce_mean, {x}, ReduceAttributes{{1}, true})}, ShapeAttributes{{8, 5}});
  const NodeId a = add_node(graph, Op::sub, {x, mean}), b = add_node(graph, Op::sub, {x, mean});
  graph.mark_output(add_node(graph, Op::mul, {add_node(graph, Op::mul, {a, b}), wide}), "y");
  graph.mark_output(x, "same");
  graph.mark_output(c, "constant");
  graph.mark_output(add_node(graph, Op::reshape, {x}, ShapeAttributes{{40}}), "flat");
  const runtime::ProgramSummary summary = check_program(graph, random);
  CHECK(summary.folded == 2);
  CHECK(summary.shared == 1);
  CHECK(summary.steps == 3);  // mean, one pass, reshape
}

// Random graphs of elementwise ops, reductions and products: groups, memory and order.
TEST_CASE("random graphs give the same numbers compiled", "[runtime]") {
  std::mt19937_64 random(235);
  constexpr std::array kUnary = {Op::relu, Op::tanh, Op::neg, Op::sigmoid, Op::abs, Op::exp};
  constexpr std::array kBinary = {Op::add, Op::sub, Op::mul, Op::max, Op::min};
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    Graph graph;
    std::vector<NodeId> nodes = {graph.append_input(DType::float32, {6, 6}, "x"), graph.append_input(DType::float32, {6, 6}, "z"),
                                 graph.append_input(DType::float32, {1, 6}, "row")};
    const auto any = [&] { return nodes[random() % nodes.size()]; };
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t kind = random() % 10;
      if (kind < 4) {
        nodes.push_back(add_node(graph, kUnary[random() % kUnary.size()], {any()}));
      } else if (kind < 8) {
        nodes.push_back(add_node(graph, kBinary[random() % kBinary.size()], {any(), any()}));
      } else if (kind == 8) {
        nodes.push_back(add_node(graph, Op::softmax, {any()}, SoftmaxAttributes{1}));
      } else {
        nodes.push_back(add_node(graph, Op::reduce_mean, {any()}, ReduceAttributes{{static_cast<std::int64_t>(random() % 2)}, true}));
      }
    }
    for (int i = 0; i < 4; ++i) graph.mark_output(any(), "y" + std::to_string(i));
    check_program(graph, random);
  }
}

Graph gradient_of(const Graph& graph) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (is_float(graph.node(graph.inputs[i]).dtype)) inputs.push_back(i);
  }
  const Outcome<Graph> result = runtime::vjp(graph, 0, inputs);
  if (!result) FAIL(result.rejection().to_text());
  return result.value();
}

TEST_CASE("gradients of a perceptron and of a residual block, compiled", "[runtime]") {
  std::mt19937_64 random(236);
  Graph dense;
  NodeId x = dense.append_input(DType::float32, {12, 33}, "x");
  std::int64_t width = 33;
  for (const std::int64_t next : {20, 17, 5}) {
    const NodeId w = dense.append_input(DType::float32, {next, width}, "w"), b = dense.append_input(DType::float32, {next}, "b");
    x = add_node(dense, Op::gemm, {x, w, b}, GemmAttributes{1, 1, false, true});
    if (next != 5) x = add_node(dense, Op::relu, {x});
    width = next;
  }
  dense.mark_output(add_node(dense, Op::log_softmax, {x}, SoftmaxAttributes{1}), "y");
  const runtime::ProgramSummary of_dense = check_program(gradient_of(dense), random);
  CHECK(of_dense.fused > 0);
  CHECK(of_dense.memory < of_dense.memory_alone);

  Graph block;
  x = block.append_input(DType::float32, {6, 16, 12, 13}, "x");
  NodeId y = x;
  for (int layer = 0; layer < 2; ++layer) {
    const NodeId w = block.append_input(DType::float32, {16, 16, 3, 3}, "w"), b = block.append_input(DType::float32, {16}, "b");
    y = add_node(block, Op::conv, {y, w, b}, window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
    if (layer == 1) y = add_node(block, Op::add, {x, y});
    y = add_node(block, Op::relu, {y});
  }
  block.mark_output(add_node(block, Op::reduce_mean, {add_node(block, Op::mul, {y, y})}, ReduceAttributes{{0, 1, 2, 3}, false}), "loss");
  const Graph gradient = gradient_of(block);
  std::size_t permutations = 0;
  for (const Node& node : gradient.nodes) permutations += node.op == Op::permute ? 1 : 0;
  CHECK(permutations == 6);
  check_program(gradient, random);
}

// x with ties, and with what orders strangely.
Array with_ties(std::mt19937_64& random, const Shape& shape, const std::vector<float>& strange) {
  Array x = Array::from(gaussians(random, DType::float32, shape));
  for (float& value : x.data<float>()) value = std::round(value * 2);
  for (std::size_t i = 0; i < strange.size(); ++i) x.data<float>()[i * 37] = strange[i];
  return x;
}

TEST_CASE("the gradient of a maximum over windows is one kernel: ties, padding, NaN and infinities", "[runtime]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLeast = std::numeric_limits<float>::lowest();
  std::mt19937_64 random(236);
  WindowAttributes w;
  w.kernel = {3, 2};
  w.strides = {2, 1};
  w.dilations = {1, 2};
  w.pads_begin = w.pads_end = {1, 0};
  Graph forward;
  const NodeId x = forward.append_input(DType::float32, {2, 3, 9, 8}, "x");
  forward.mark_output(add_node(forward, Op::max_pool, {x}, w), "y");
  const std::vector<std::size_t> all{0};
  const Graph graph = runtime::vjp(forward, 0, all).value();
  CHECK(check_program(graph, random).composed == 1);
  const Outcome<Program> program = Program::compile(graph);
  REQUIRE(program.ok());
  const Shape g = forward.node(forward.outputs[0]).shape;
  for (const std::vector<float>& in_x : {std::vector<float>{}, {kLeast, -kInfinity, kInfinity, kInfinity}, {NAN, 1, NAN}}) {
    for (const std::vector<float>& in_g : {std::vector<float>{}, {kInfinity, -kInfinity}, {NAN}}) {
      const std::vector<Array> inputs{with_ties(random, {2, 3, 9, 8}, in_x), with_ties(random, g, in_g)};
      CHECK(equal_numbers(program.value().replay(inputs).value()[0].to_tensor(), one_by_one(graph, inputs)[0]));
    }
  }
}

TEST_CASE("parts of a tensor are put together, not padded and added", "[runtime]") {
  std::mt19937_64 random(237);
  for (const std::int64_t last : {2, 3}) {  // parts that lie apart, with and without a gap, and parts that meet
    for (const auto& [width, inner] : std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 5}, {3, 5}, {3, 6}, {4, 5}}) {
      CAPTURE(last, width, inner);
      Graph forward;
      const NodeId x = forward.append_input(DType::float32, {3, 6, inner}, "x");
      NodeId sum =
          add_node(forward, Op::exp, {add_node(forward, Op::slice, {x}, SliceAttributes{{0, 0, 0}, {1, 1, 1}, {3, width, inner}})});
      for (std::int64_t k = 1; k < last; ++k) {
        const SliceAttributes kth{{0, std::min<std::int64_t>(3 * k, 6 - width), 0}, {1, 1, 1}, {3, width, inner}};
        sum = add_node(forward, Op::add, {sum, add_node(forward, Op::tanh, {add_node(forward, Op::slice, {x}, kth)})});
      }
      forward.mark_output(sum, "y");
      const std::vector<std::size_t> all{0};
      const runtime::ProgramSummary summary = check_program(runtime::vjp(forward, 0, all).value(), random);
      // Where lines are long the pass takes its slices out, and puts its results in, where they lie.
      const bool is_one_pass = last == 2 && width * inner == 18;
      CHECK(summary.composed == (last == 2 && width < 4 && !is_one_pass ? 1 : 0));
      CHECK((summary.steps == 1) == is_one_pass);
    }
  }
}

TEST_CASE("products that one sum adds up are one step, and so are the parts of parts", "[runtime]") {
  std::mt19937_64 random(239);
  Graph graph;
  const NodeId w = graph.append_input(DType::float32, {8, 6}, "w");
  std::vector<NodeId> hidden{graph.append_input(DType::float32, {16, 6}, "h")};
  const NodeId x = graph.append_input(DType::float32, {4, 16, 8}, "x");
  for (std::int64_t t = 0; t < 4; ++t) {
    const NodeId part = add_node(graph, Op::reshape, {add_node(graph, Op::slice, {x}, SliceAttributes{{t, 0, 0}, {1, 1, 1}, {1, 16, 8}})},
                                 ShapeAttributes{{16, 8}});
    const NodeId sum = add_node(graph, Op::gemm, {hidden.back(), w, part}, GemmAttributes{1, 1, false, true});
    const auto half = [&](std::int64_t k) { return add_node(graph, Op::slice, {sum}, SliceAttributes{{0, 2 * k}, {1, 1}, {16, 6}}); };
    hidden.push_back(add_node(graph, Op::mul, {add_node(graph, Op::tanh, {half(0)}), add_node(graph, Op::sigmoid, {half(1)})}));
  }
  graph.mark_output(hidden.back(), "y");
  const std::vector<std::size_t> of{0, 2};
  const runtime::ProgramSummary summary = check_program(runtime::vjp(graph, 0, of).value(), random);
  CHECK(summary.composed >= 1);
}

TEST_CASE("products that are added up in one go have the bits of products and sums, whatever their shape", "[runtime]") {
  std::mt19937_64 random(240);
  std::size_t in_place = 0;
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const std::int64_t m : {1, 2, 3, 15, 17, 33, 65, 130}) {
      for (const std::int64_t n : {1, 2, 15, 17, 33, 129, 257}) {
        for (const std::int64_t k : {1, 2, 7, 31, 64, 256, 257}) {
          for (const int transposed : {0, 1, 2, 3}) {
            const GemmAttributes attributes{1, 1, (transposed & 1) != 0, (transposed & 2) != 0};
            const Shape a = attributes.transpose_a ? Shape{k, m} : Shape{m, k}, b = attributes.transpose_b ? Shape{n, k} : Shape{k, n};
            if (!runtime::can_add_products(attributes, a, b)) continue;
            ++in_place;
            std::vector<Array> factors;
            std::vector<const Array*> read;
            for (int t = 0; t < 6; ++t) factors.push_back(Array::from(gaussians(random, dtype, t % 2 == 0 ? a : b)));
            for (const Array& factor : factors) read.push_back(&factor);
            Array sum = Array::empty(dtype, {m, n}), product = Array::empty(dtype, {m, n}), one_by_one = Array::empty(dtype, {m, n}),
                  next = Array::empty(dtype, {m, n});
            for (std::size_t t = 0; t < 3; ++t) {
              Array& result = t == 0 ? one_by_one : product;
              REQUIRE(runtime::run(Op::gemm, attributes, std::span(read).subspan(2 * t, 2), result).ok());
              if (t == 0) continue;
              const std::array<const Array*, 2> both = {&one_by_one, &product};
              REQUIRE(runtime::run(Op::add, NoAttributes{}, both, next).ok());
              std::swap(one_by_one, next);
            }
            runtime::add_products(attributes, read, false, sum);
            CAPTURE(to_string(dtype), m, n, k, transposed);
            CHECK(std::ranges::equal(sum.to_tensor().bytes(), one_by_one.to_tensor().bytes()));
            runtime::add_products(attributes, std::span(read).first(2), false, sum);
            runtime::add_products(attributes, std::span(read).subspan(2), true, sum);
            CHECK(std::ranges::equal(sum.to_tensor().bytes(), one_by_one.to_tensor().bytes()));
          }
        }
      }
    }
  }
  CHECK(in_place > 2000);
}

TEST_CASE("compiled sums of products of one row or one column have the bits of those op by op", "[runtime]") {
  std::mt19937_64 random(241);
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 40}, {40, 1}, {1, 1}, {5, 7}}) {
    CAPTURE(m, n);
    Graph graph;
    std::optional<NodeId> sum;
    for (int t = 0; t < 3; ++t) {
      const std::string number = std::to_string(t);
      const NodeId a = graph.append_input(DType::float32, {64, m}, "a" + number),
                   b = graph.append_input(DType::float32, {64, n}, "b" + number);
      const NodeId product = add_node(graph, Op::gemm, {a, b}, GemmAttributes{1, 1, true, false});
      sum = sum ? add_node(graph, Op::add, {*sum, product}) : product;
    }
    graph.mark_output(*sum, "y");
    CHECK(check_program(graph, random).composed == (m > 1 && n > 1 ? 1 : 0));
  }
}

TEST_CASE("an array that is computed when it is read: once, by whoever reads first, and again after a failure", "[runtime]") {
  const Array wanted = Array::from(Tensor::of_floats({2}, std::vector<float>{1, 2}));
  int calls = 0;
  const Array failing = Array::computed_later(DType::float32, {2}, [&]() -> Outcome<Array> {
    ++calls;
    if (calls == 1) return Rejection{Rejection::Kind::declined, "test", "here", "nothing", "something", ""};
    if (calls == 2) throw std::bad_alloc();
    return wanted;
  });
  const Array copy = failing.reshaped({1, 2});
  CHECK_FALSE(failing.fetch().ok());
  CHECK_THROWS_AS(failing.fetch(), std::bad_alloc);
  CHECK(copy.data<float>()[1] == 2);
  CHECK(failing.data<float>()[0] == 1);
  CHECK(calls == 3);

  std::atomic<int> at_once = 0;
  const Array shared = Array::computed_later(DType::float32, {2}, [&]() -> Outcome<Array> {
    ++at_once;
    return wanted;
  });
  std::vector<std::thread> threads;
  std::atomic<int> fine = 0;
  for (int t = 0; t < 8; ++t) threads.emplace_back([&] { fine += shared.data<float>()[1] == 2 ? 1 : 0; });
  for (std::thread& one : threads) one.join();
  CHECK(fine == 8);
  CHECK(at_once == 1);
}

TEST_CASE("a program holds nothing of its inputs after a replay", "[runtime]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {8, 16}, "x");
  const NodeId part = add_node(graph, Op::slice, {x}, SliceAttributes{{4, 0}, {1, 1}, {4, 16}});
  graph.mark_output(add_node(graph, Op::tanh, {add_node(graph, Op::reshape, {part}, ShapeAttributes{{64}})}), "y");
  const auto program = Program::compile(graph);
  REQUIRE(program.ok());
  std::weak_ptr<void> buffer;
  {
    const Array input = Array::from(Tensor::of_floats({8, 16}, std::vector<float>(128, 1)));
    buffer = input.buffer();
    REQUIRE(program.value().replay(std::span(&input, 1)).ok());
  }
  CHECK(buffer.expired());
}

TEST_CASE("a rejection of a kernel stops the replay", "[runtime]") {
  Graph graph;
  const NodeId index = graph.append_input(DType::int64, {2}, "index"), x = graph.append_input(DType::float32, {3}, "x");
  graph.mark_output(add_node(graph, Op::take, {index, x}, ConcatAttributes{0}), "y");
  const Program program = Program::compile(graph).value();
  const Array values = Array::from(Tensor::of_floats({3}, std::vector<float>{1, 2, 3}));
  const std::vector<Array> bad = {Array::from(Tensor::of_ints({2}, std::vector<std::int64_t>{0, 3})), values};
  CHECK(program.replay(bad).rejection().code == "runtime.index");
  const std::vector<Array> good = {Array::from(Tensor::of_ints({2}, std::vector<std::int64_t>{0, 2})), values};
  CHECK(program.replay(good).value()[0].to_tensor().to_doubles() == std::vector<double>{1, 3});
}

}  // namespace
}  // namespace assay::test
