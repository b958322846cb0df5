// The spelling of execution models.
#include "semantics/graph/execution_model.h"

#include <functional>
#include <set>

#include "tests/catch.h"

namespace assay::test {
namespace {

using Change = std::function<void(ExecutionModel&)>;

// Every field, changed alone.
std::vector<Change> changes() {
  using M = ExecutionModel;
  return {
      [](M& m) { m.format = M::Format::binary64; },
      [](M& m) { m.flush_operands = true; },
      [](M& m) { m.flush_results = true; },
      [](M& m) { m.fused_multiply_add = false; },
      [](M& m) { m.accumulator = M::Accumulator::left_to_right; },
      [](M& m) {
        m.accumulator = M::Accumulator::tree;
        m.tree_height = 12;
      },
      [](M& m) { m.accumulator_format = M::AccumulatorFormat::binary64; },
      [](M& m) { m.accumulator_rounding = M::AccumulatorRounding::toward_zero; },
      [](M& m) { m.accumulator_rounding = M::AccumulatorRounding::aligned; },
      [](M& m) { m.input_rounding = M::InputRounding::tf32; },
      [](M& m) { m.input_rounding = M::InputRounding::bfloat16; },
      [](M& m) { m.input_rounding = M::InputRounding::binary16; },
      [](M& m) { m.bias_in_product = false; },
      [](M& m) { m.reciprocal_of_count = false; },
      [](M& m) { m.softmax = M::Softmax::online; },
      [](M& m) { m.moments = M::Moments::welford; },
      [](M& m) { m.moments = M::Moments::one_pass; },
      [](M& m) { m.sigmoid = M::Sigmoid::tanh_form; },
      [](M& m) { m.math_table = "cuda-13"; },
  };
}

ExecutionModel plain() {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  return model;
}

TEST_CASE("a spelling names every field and is read back", "[graph]") {
  std::set<std::string> seen = {to_string(plain()), to_string(ExecutionModel{})};
  CHECK(parse_execution_model(to_string(ExecutionModel{})).value() == ExecutionModel{});
  CHECK(parse_execution_model(to_string(plain())).value() == plain());
  for (const Change& change : changes()) {
    ExecutionModel model = plain();
    change(model);
    const std::string text = to_string(model);
    CHECK(seen.insert(text).second);
    const Outcome<ExecutionModel> read = parse_execution_model(text);
    REQUIRE(read.ok());
    CHECK(read.value() == model);
    CHECK(validate(model).empty());
  }
}

TEST_CASE("fields may be left out and come in any order", "[graph]") {
  CHECK(parse_execution_model("binary32 accumulator=any_order").value() == plain());
  ExecutionModel model = plain();
  model.accumulator = ExecutionModel::Accumulator::tree;  // the default for sums
  model.tree_height = 4096;
  CHECK(parse_execution_model("binary32").value() == model);
  model.format = ExecutionModel::Format::binary64;
  model.fused_multiply_add = false;
  model.math_table = "glibc-2.36";
  CHECK(parse_execution_model("binary64 math=glibc-2.36 fma=no").value() == model);
}

TEST_CASE("what is no execution model is refused by name", "[graph]") {
  const auto code = [](std::string_view text) {
    const Outcome<ExecutionModel> read = parse_execution_model(text);
    return read.ok() ? std::string("ok") : read.rejection().code;
  };
  CHECK(code("") == "execution_model.format");
  CHECK(code("binary16") == "execution_model.format");
  CHECK(code("fma=no binary32") == "execution_model.format");
  CHECK(code("binary32 fma=maybe") == "execution_model.word");
  CHECK(code("binary32 fma=") == "execution_model.word");
  CHECK(code("binary32 fma") == "execution_model.word");
  CHECK(code("binary32  fma=no") == "execution_model.key");
  CHECK(code("binary32 fma=no ") == "execution_model.key");
  CHECK(code("binary32 speed=high") == "execution_model.key");
  CHECK(code("binary32 fma=no fma=no") == "execution_model.twice");
  CHECK(code("binary32 math=none math=none") == "execution_model.twice");
  CHECK(code("binary32 tree_height=-1") == "execution_model.height");
  CHECK(code("binary32 tree_height=1234567") == "execution_model.height");
  CHECK(code("binary32 tree_height=3") == "execution_model.tree");
  CHECK(code("binary32 accumulator=tree") == "execution_model.tree");
  CHECK(code("binary32 accumulator=tree tree_height=0") == "execution_model.tree");
  CHECK(code("binary32 math=CUDA-13") == "execution_model.math");
  CHECK(code("binary32 math=../x") == "execution_model.math");
  ExecutionModel none = plain();
  none.math_table = "none";
  CHECK(validate(none).size() == 1);
}

}  // namespace
}  // namespace assay::test
