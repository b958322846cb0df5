// A trace that is bound to a model: every way to compute something else is noticed.
#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

// y = relu(x w + b), z = y + y, as a model and as a run of it.
struct Bound {
  Graph model;
  Run run;
};

Bound bound() {
  Bound result;
  const std::vector<float> w = {0.5F, -1, 2, 0.25F}, b = {0.125F, -3};
  Graph& model = result.model;
  const NodeId x = model.append_input(DType::float32, {3, 2}, "x");
  const NodeId gemm =
      model
          .append(Op::gemm, {x, model.append_constant(Tensor::of_floats({2, 2}, w)), model.append_constant(Tensor::of_floats({2}, b))},
                  GemmAttributes{})
          .value();
  const NodeId relu = model.append(Op::relu, {gemm}).value();
  model.mark_output(model.append(Op::add, {relu, relu}).value(), "z");
  model.mark_output(relu, "y");
  Run& run = result.run;
  const auto given = run.given("x", {3, 2}, {1, 2, 3, 4, 5, 6});
  const auto weight = run.given("weight", {2, 2}, w, Trace::Origin::parameter), bias = run.given("bias", {2}, b, Trace::Origin::parameter);
  const auto y = run.apply(Op::relu, {run.apply(Op::gemm, {given, weight, bias}, GemmAttributes{})});
  run.apply(Op::add, {y, y});
  return result;
}

std::string code_of(const Trace& trace, const Graph& model) {
  REQUIRE(audit::check_continuity(trace));
  const auto found = audit::check_model(trace, model);
  if (!found) CHECK(found.rejection().kind == Rejection::Kind::declined);
  return found ? "" : found.rejection().code + " at " + found.rejection().place;
}

void put_float(Tensor& tensor, std::size_t element, float value) {
  std::vector<float> values;
  for (const double one : tensor.to_doubles()) values.push_back(static_cast<float>(one));
  values[element] = value;
  tensor = Tensor::of_floats(tensor.shape(), values);
}

}  // namespace

TEST_CASE("model: a run of it is found, with its inputs and outputs", "[audit]") {
  const Bound one = bound();
  const auto found = audit::check_model(one.run.trace, one.model);
  REQUIRE(found);
  CHECK(found.value().nodes == 3);
  CHECK(found.value().inputs == std::vector<TraceTensorId>{0});
  CHECK(found.value().outputs == std::vector<TraceTensorId>{5, 4});
}

TEST_CASE("model: borders of regions, repeated and further computations do not matter", "[audit]") {
  Bound one = bound();
  Trace& trace = one.run.trace;
  one.run.apply(Op::exp, {one.run.apply(Op::relu, {3})});  // relu once more, and something else
  CHECK(code_of(trace, one.model).empty());

  Bound fused = bound();  // gemm and relu as one region
  Region& region = fused.run.trace.regions[0];
  region.graph.outputs[0] = region.graph.append(Op::relu, {region.graph.outputs[0]}).value();
  region.results = fused.run.trace.regions[1].results;
  fused.run.trace.regions.erase(fused.run.trace.regions.begin() + 1);
  fused.run.trace.tensors[3].origin = Trace::Origin::input;  // of no use any more
  CHECK(code_of(fused.run.trace, fused.model).empty());
}

TEST_CASE("model: another weight, attribute, op, operand or input is noticed", "[audit]") {
  const Bound right = bound();
  const auto broken = [&](auto&& change) {
    Bound one = right;
    change(one.run.trace, one.model);
    return code_of(one.run.trace, one.model);
  };
  CHECK(broken([](Trace& trace, Graph&) { put_float(trace.tensors[1].value, 3, 0.25000003F); }) ==
        "model.node at constant (node 1), float32 [2, 2]");
  CHECK(broken([](Trace& trace, Graph&) { put_float(trace.tensors[2].value, 0, -0.125F); }) ==
        "model.node at constant (node 2), float32 [2]");
  CHECK(broken([](Trace& trace, Graph&) {
          trace.regions[0].graph.nodes.back().attributes = GemmAttributes{1, 1, false, true};
        }) == "model.node at gemm (node 3), float32 [3, 2]");
  CHECK(broken([](Trace& trace, Graph&) { trace.regions[1].graph.nodes.back().op = Op::abs; }) ==
        "model.node at relu (node 4), float32 [3, 2]");
  CHECK(broken([](Trace& trace, Graph&) { trace.regions[2].operands[1] = 3; }) == "model.node at add (node 5), float32 [3, 2]");
  CHECK(broken([](Trace& trace, Graph&) { trace.tensors[0].name = "other"; }) == "model.input at input 'x'");
  CHECK(broken([](Trace&, Graph& model) { model.input_names[0] = "weight"; }) == "model.input at input 'weight'");  // of another shape
  CHECK(broken([](Trace& trace, Graph&) {
          trace.tensors[0].name = "x'";
          trace.tensors[1].name = "x";
        }) == "model.input at input 'x'");
}

TEST_CASE("model: a zero of the other sign is another constant", "[audit]") {
  Bound one = bound();
  put_float(one.run.trace.tensors[2].value, 1, 0.0F);
  Graph& model = one.model;
  put_float(model.nodes[2].value, 1, -0.0F);
  CHECK(code_of(one.run.trace, model) == "model.node at constant (node 2), float32 [2]");
  put_float(model.nodes[2].value, 1, 0.0F);
  CHECK(code_of(one.run.trace, model).empty());
}

TEST_CASE("model: an output inside of a region alone was not recorded", "[audit]") {
  Bound one = bound();
  one.model.mark_output(3, "inner");
  Region& region = one.run.trace.regions[0];
  region.graph.outputs[0] = region.graph.append(Op::relu, {region.graph.outputs[0]}).value();
  region.results = one.run.trace.regions[1].results;
  one.run.trace.regions.erase(one.run.trace.regions.begin() + 1);
  one.run.trace.tensors[3].origin = Trace::Origin::input;
  CHECK(code_of(one.run.trace, one.model) == "model.output at outputs");
}
