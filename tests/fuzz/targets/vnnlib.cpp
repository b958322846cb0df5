// VNN-LIB properties, version 1 and 2, about two networks: one input and output tensor of two elements, and two of each, one of integers.
#include "frontends/vnnlib/read.h"

#include "tests/fuzz/targets/statements.h"

using namespace assay;

namespace {

NodeId appended(Outcome<NodeId> node) { return fuzz::expect_ok(node, "the target's network has shapes"); }

Graph one_to_one() {
  Graph g;
  const NodeId x = g.append_input(DType::float32, {1, 2}, "X");
  const std::vector<float> weights{1, -0.5F, 0.25F, 1};
  const NodeId w = g.append_constant(Tensor::of_floats({2, 2}, weights));
  g.mark_output(appended(g.append(Op::gemm, {appended(g.append(Op::relu, {x})), w}, GemmAttributes{})), "Y");
  return g;
}

Graph two_to_two() {
  Graph g;
  const NodeId a = g.append_input(DType::float32, {2}, "a"), b = g.append_input(DType::int64, {1, 2}, "b");
  CastAttributes to_float;
  to_float.to = static_cast<std::uint8_t>(DType::float32);
  g.mark_output(appended(g.append(Op::relu, {a})), "p");
  g.mark_output(appended(g.append(Op::cast, {b}, to_float)), "q");
  return g;
}

void read_about(std::string_view text, const Graph& graph, vnnlib::Polynomials polynomials) {
  const vnnlib::NetworkShape shape{"", &graph};
  auto read = vnnlib::read_property_text(text, "p.vnnlib", std::span(&shape, 1), polynomials, check::memory_rule(fuzz::limits()));
  if (!read) return;
  std::size_t inputs = 0;
  for (const NodeId id : graph.inputs) inputs += graph.size(id);
  for (const statement::Case& one : read.value().property.cases)
    fuzz::expect(one.box->lo.size() == inputs && one.box->hi.size() == inputs, "every case has a box of the network's inputs");
  if (polynomials == vnnlib::Polynomials::state && read.value().property.cases.size() <= 256)
    fuzz::decide({read.value().graph.value_or(graph), std::move(read.value().property), ExecutionModel{}, {}}, text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Graph kOne = one_to_one(), kTwo = two_to_two();
  const fuzz::Bounded bounded;
  const std::string_view text = fuzz::text_of(data, size);
  read_about(text, kOne, vnnlib::Polynomials::state);
  read_about(text, kOne, vnnlib::Polynomials::leave_out);
  read_about(text, kTwo, vnnlib::Polynomials::state);
  return 0;
}
