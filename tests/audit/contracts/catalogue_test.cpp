// Every op of the shared catalogue has a contract; its exact value is the denotation's, and the sets hold the values they must.
#include <array>
#include <set>

#include "tests/audit/contracts/executions.h"
#include "tests/semantics/ops_catalogue.h"

namespace assay::test {
namespace {

// Numbers with full mantissas of the kind that the operand asks for.
float drawn(std::mt19937_64& random, Draw from) {
  const auto whole = static_cast<float>(draw(random, from));
  if (from == Draw::any) return whole + gaussian(random) * 0.37F;
  if (from == Draw::positive || from == Draw::square) return whole + 0.61F * std::fabs(gaussian(random)) + 0.01F;
  if (from == Draw::fraction) return std::tanh(gaussian(random)) * 0.9F;
  return from == Draw::non_zero ? whole * (1 + 0.3F * std::tanh(gaussian(random))) : whole;
}

Tensor operand_of(const OpCase& one, std::size_t k, std::mt19937_64& random) {
  const Draw from = draw_of(one, k);
  const std::size_t count = element_count(one.shapes[k]);
  if (from == Draw::truth) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    for (std::size_t i = 0; i < count; ++i) bytes->push_back(static_cast<std::byte>(draw(random, from) != 0));
    return Tensor(DType::boolean, one.shapes[k], bytes);
  }
  if (from == Draw::whole || from == Draw::index) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(draw(random, from));
    return Tensor::of_ints(one.shapes[k], values);
  }
  Floats values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(drawn(random, from));
  return tensor(one.shapes[k], values);
}

TEST_CASE("every op of the catalogue: the exact value beside the sets is the denotation's", "[contracts]") {
  std::mt19937_64 random(111);
  std::set<Op> seen;
  for (const OpCase& one : catalogue()) {
    CAPTURE(one.name);
    const Graph graph = graph_of(one);
    REQUIRE(graph.outputs.size() == 1);
    for (int round = 0; round < 3; ++round) {
      std::vector<Tensor> operands;
      std::vector<Array<Interval>> arrays;
      for (std::size_t k = 0; k < one.shapes.size(); ++k) {
        operands.push_back(operand_of(one, k, random));
        arrays.push_back(lift<Interval>(operands.back()));
      }
      const Outcome<std::vector<Admissible>> sets = contracts::admissible(graph, float_model(), operands);
      if (!sets) FAIL(sets.rejection().to_text());
      const Admissible& y = sets.value()[0];
      const Outcome<Array<Interval>> exact = denote_case(graph, arrays);
      REQUIRE(exact.ok());
      seen.insert(one.op);
      for (std::size_t i = 0; i < y.exact.size(); ++i) {
        const Interval &denoted = exact.value().values[i], &beside = y.exact[i];
        CAPTURE(i, denoted.lo(), denoted.hi(), beside.lo(), beside.hi());
        if (denoted.is_undefined()) {
          const contracts::FloatSet& set = y.sets.values[i];
          CHECK((beside.is_undefined() || set.nan || set == contracts::anything(contracts::Format::binary64)));
          continue;
        }
        if (beside.is_undefined()) continue;
        CHECK((denoted.lo() <= beside.hi() && beside.lo() <= denoted.hi()));  // both contain the exact value
        CHECK(beside.width_up() <= 1e-9 * (1 + beside.magnitude()) + denoted.width_up());
      }
      CHECK(y.scales.size() == y.sets.values.size());
    }
  }
  for (int op = 0; op < kOpCount; ++op) {
    const bool has_contract = contracts::family_of(static_cast<Op>(op)) != contracts::Family::none;
    CHECK(has_contract == (static_cast<Op>(op) != Op::input && static_cast<Op>(op) != Op::constant));
  }
  CHECK(seen.size() > 90);
}

// Every kind of number that can be recorded.
float special(std::mt19937_64& random) {
  constexpr std::array kValues = {0.0F,   -0.0F,     1.0F,         -2.5F,           INFINITY,         -INFINITY,
                                  NAN,    0x1p-149F, -0x1.8p-127F, 0x1.fffffep127F, -0x1.fffffep127F, 0x1p-126F,
                                  1e-30F, -1e30F};
  return kValues[random() % kValues.size()];
}

TEST_CASE("special values under every model are answered, and the answer admits what it holds", "[contracts]") {
  std::mt19937_64 random(113);
  std::vector<ExecutionModel> models(7, float_model());
  models[1].flush_operands = models[1].flush_results = true;
  models[2].input_rounding = ExecutionModel::InputRounding::tf32;
  models[2].accumulator = ExecutionModel::Accumulator::tree;
  models[2].tree_height = 3;
  models[3].softmax = ExecutionModel::Softmax::online;
  models[3].moments = ExecutionModel::Moments::welford;
  models[3].accumulator_rounding = ExecutionModel::AccumulatorRounding::toward_zero;
  models[4].moments = ExecutionModel::Moments::one_pass;
  models[4].accumulator_format = ExecutionModel::AccumulatorFormat::binary64;
  models[4].sigmoid = ExecutionModel::Sigmoid::tanh_form;
  models[5].accumulator = ExecutionModel::Accumulator::left_to_right;
  models[5].fused_multiply_add = models[5].bias_in_product = models[5].reciprocal_of_count = false;
  models[5].input_rounding = ExecutionModel::InputRounding::binary16;
  models[5].math_table = "cuda-13";
  models[6].input_rounding = ExecutionModel::InputRounding::bfloat16;
  models[6].accumulator_rounding = ExecutionModel::AccumulatorRounding::aligned;
  for (const OpCase& one : catalogue()) {
    CAPTURE(one.name);
    const Graph graph = graph_of(one);
    std::vector<Tensor> operands;
    for (std::size_t k = 0; k < one.shapes.size(); ++k) {
      operands.push_back(operand_of(one, k, random));
      if (operands.back().dtype() != DType::float32) continue;
      Floats values(operands.back().size());
      for (float& value : values) value = special(random);
      operands.back() = tensor(one.shapes[k], values);
    }
    for (const ExecutionModel& model : models) {
      const Outcome<std::vector<Admissible>> sets = contracts::admissible(graph, model, operands);
      if (!sets) FAIL(sets.rejection().to_text());
      const Admissible& y = sets.value()[0];
      for (const contracts::FloatSet& set : y.sets.values) CHECK((set.has_finite() || set.nan || set.plus_infinity || set.minus_infinity));
      if (y.sets.dtype != DType::float32) continue;
      Floats inside;
      for (const contracts::FloatSet& set : y.sets.values)
        inside.push_back(set.nan ? NAN : set.plus_infinity ? INFINITY : set.minus_infinity ? -INFINITY : static_cast<float>(set.lo));
      CHECK(within(y, inside));
    }
  }
}

// The float denotation of an op is one way to compute it; of these ops it is one that every default model admits.
TEST_CASE("every op of the catalogue: one float execution is within contract", "[contracts]") {
  std::mt19937_64 random(112);
  std::size_t elements = 0, vacuous = 0;
  for (const OpCase& one : catalogue()) {
    CAPTURE(one.name);
    const Graph graph = graph_of(one);
    for (int round = 0; round < 3; ++round) {
      std::vector<Tensor> operands;
      std::vector<Array<float>> arrays;
      for (std::size_t k = 0; k < one.shapes.size(); ++k) {
        operands.push_back(operand_of(one, k, random));
        arrays.push_back(lift<float>(operands.back()));
      }
      const Outcome<Array<float>> run = denote_case(graph, arrays);
      if (!run) continue;
      const Node& node = graph.node(graph.outputs[0]);
      if (node.dtype != DType::float32) continue;
      const Admissible y = contracts::admissible(graph, float_model(), operands).value()[0];
      CHECK(within(y, run.value().values));
      elements += y.exact.size();
      vacuous += judged(y, run.value().values).vacuous;
    }
  }
  CHECK(elements > 3000);
  CHECK(vacuous < elements / 50);
}

}  // namespace
}  // namespace assay::test
