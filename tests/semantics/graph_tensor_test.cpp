#include <cmath>
#include <limits>

#include "semantics/graph/execution_model.h"
#include "semantics/graph/op.h"
#include "semantics/graph/tensor.h"
#include "tests/catch.h"

using namespace assay;

TEST_CASE("element_count and its checked form agree", "[graph]") {
  struct {
    Shape shape;
    std::size_t limit;
    bool fits;
    std::size_t count;
  } const rows[] = {
      {{}, 1, true, 1},
      {{}, 0, false, 0},
      {{2, 3, 4}, 24, true, 24},
      {{2, 3, 4}, 23, false, 0},
      {{0}, 0, true, 0},
      {{0, 5}, 4, false, 0},
      {{-1}, 10, false, 0},
      {{-1, -1}, 10, false, 0},
      {{0, -1}, 10, false, 0},
      {{std::int64_t{1} << 32, std::int64_t{1} << 32}, std::numeric_limits<std::size_t>::max(), false, 0},
      {{std::int64_t{1} << 62, 4}, std::numeric_limits<std::size_t>::max(), false, 0},
      {{0, std::int64_t{1} << 40, std::int64_t{1} << 40}, std::numeric_limits<std::size_t>::max(), false, 0},
  };
  for (const auto& row : rows) {
    std::size_t count = 0;
    CAPTURE(to_string(row.shape), row.limit);
    REQUIRE(checked_element_count(row.shape, row.limit, count) == row.fits);
    if (row.fits) {
      CHECK(count == row.count);
      CHECK(element_count(row.shape) == row.count);
    }
  }
}

TEST_CASE("broadcast follows NumPy", "[graph]") {
  struct {
    Shape a, b;
    bool matches;
    Shape result;
  } const rows[] = {
      {{}, {}, true, {}},    {{3}, {}, true, {3}},  {{2, 3}, {3}, true, {2, 3}}, {{2, 1, 3}, {4, 1}, true, {2, 4, 3}},
      {{1}, {0}, true, {0}}, {{2}, {0}, false, {}}, {{2, 3}, {2}, false, {}},    {{4, 3}, {2, 3}, false, {}},
  };
  for (const auto& row : rows) {
    CAPTURE(to_string(row.a), to_string(row.b));
    Shape forth, back;
    REQUIRE(broadcast(row.a, row.b, forth) == row.matches);
    REQUIRE(broadcast(row.b, row.a, back) == row.matches);
    CHECK(forth == row.result);
    CHECK(back == row.result);
  }
  Shape untouched = {7};
  CHECK_FALSE(broadcast({2}, {3}, untouched));
  CHECK(untouched == Shape{7});
}

TEST_CASE("tensors keep the bits of their elements", "[graph]") {
  const float floats[] = {1.5F, -0.0F, 1e-45F};
  const Tensor f = Tensor::of_floats({3}, floats);
  CHECK(f.dtype() == DType::float32);
  CHECK(f.bytes().size() == 12);
  CHECK(f.as_double(0) == 1.5);
  CHECK(std::signbit(f.as_double(1)));
  CHECK(f.as_double(2) == 0x1p-149);

  const double doubles[] = {0.1, std::numeric_limits<double>::max()};
  const Tensor d = Tensor::of_doubles({2, 1}, doubles);
  CHECK(d.to_doubles() == std::vector<double>{0.1, std::numeric_limits<double>::max()});

  const std::int64_t ints[] = {std::int64_t{1} << 53, -7, std::numeric_limits<std::int64_t>::min()};
  const Tensor i = Tensor::of_ints({3}, ints);
  CHECK(i.to_ints() == std::vector<std::int64_t>(ints, ints + 3));
  CHECK(i.as_double(0) == 0x1p53);
  CHECK(i.as_double(2) == -0x1p63);

  const Tensor r = i.reshaped({3, 1});
  CHECK(r.shape() == Shape{3, 1});
  CHECK(r.bytes().data() == i.bytes().data());
  CHECK(Tensor().bytes().empty());
}

TEST_CASE("small integer types widen with their sign", "[graph]") {
  const auto of = [](DType dtype, std::vector<unsigned char> raw, Shape shape) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    for (const unsigned char c : raw) bytes->push_back(static_cast<std::byte>(c));
    return Tensor(dtype, std::move(shape), bytes);
  };
  CHECK(of(DType::int8, {0xff, 0x80}, {2}).to_ints() == std::vector<std::int64_t>{-1, -128});
  CHECK(of(DType::uint8, {0xff, 0x80}, {2}).to_ints() == std::vector<std::int64_t>{255, 128});
  CHECK(of(DType::int16, {0xff, 0xff, 0x00, 0x80}, {2}).to_ints() == std::vector<std::int64_t>{-1, -32768});
  CHECK(of(DType::uint16, {0xff, 0xff, 0x00, 0x80}, {2}).to_ints() == std::vector<std::int64_t>{65535, 32768});
  CHECK(of(DType::uint32, {0xff, 0xff, 0xff, 0xff}, {1}).to_ints() == std::vector<std::int64_t>{4294967295});
  CHECK(of(DType::uint64, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, {1}).to_ints() ==
        std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()});
  CHECK(of(DType::boolean, {0, 1}, {2}).to_ints() == std::vector<std::int64_t>{0, 1});
  CHECK(of(DType::int32, {0xfe, 0xff, 0xff, 0xff}, {}).to_ints() == std::vector<std::int64_t>{-2});
  CHECK(of(DType::int32, {0xfe, 0xff, 0xff, 0xff}, {}).as_double(0) == -2);
}

TEST_CASE("the op table has one distinct name per op", "[graph]") {
  std::vector<std::string_view> names;
  for (int i = 0; i < kOpCount; ++i) {
    const OpRow& row = op_row(static_cast<Op>(i));
    CHECK(static_cast<int>(row.op) == i);
    CHECK(row.arity_min >= 0);
    CHECK((row.arity_max < 0 || row.arity_max >= row.arity_min));
    for (const std::string_view name : names) CHECK(name != row.name);
    names.push_back(row.name);
  }
  CHECK(op_row(Op::relu).smoothness == Smoothness::kink);
  CHECK(op_row(Op::sign).smoothness == Smoothness::jump);
  CHECK(op_row(Op::conv).op_class == OpClass::linear);
}

TEST_CASE("an execution model is told in words", "[graph]") {
  ExecutionModel model;
  CHECK(to_string(model) == "real arithmetic");
  model.kind = ExecutionModel::Kind::floating;
  const std::string nearest = to_string(model);
  CHECK(nearest.find("binary32") == 0);
  // Every field shows.
  std::vector<std::string> texts = {nearest};
  for (int field = 0; field < 7; ++field) {
    ExecutionModel other = model;
    if (field == 0) other.format = ExecutionModel::Format::binary64;
    if (field == 1) other.flush_operands = true;
    if (field == 2) other.flush_results = true;
    if (field == 3) other.fused_multiply_add = false;
    if (field == 4) other.accumulator = ExecutionModel::Accumulator::left_to_right;
    if (field == 5) other.bias_in_product = false;
    if (field == 6) other.math_table = "glibc-2.36";
    for (const std::string& text : texts) CHECK(to_string(other) != text);
    texts.push_back(to_string(other));
  }
}
