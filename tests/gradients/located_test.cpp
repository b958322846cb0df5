// A wrong entry among many is named at the price of a few products: failures are as cheap as proofs.
#include <ctime>
#include <string>

#include "kernel/gradients/adjointness/adjointness.h"
#include "tests/catch.h"

using namespace assay;
using namespace assay::gradients;

namespace {

// Layer normalisation of many rows.
AdjointCase normalised(std::int64_t rows, std::int64_t width) {
  AdjointCase one{"rows", {}, {{-4, 4}}, {}};
  const NodeId x = one.graph.append_input(DType::float32, {rows, width}, "x");
  const auto y = one.graph.append(Op::normalise, {x}, NormaliseAttributes{{1}, 0x1p-10});
  REQUIRE(y.ok());
  one.graph.mark_output(y.value(), "y");
  return one;
}

// The right product, times 2 at this element of x.
Graph doubled_at(const AdjointCase& one, std::size_t element) {
  Graph vjp = reverse_of(one.graph).value();
  std::vector<float> weights(vjp.size(vjp.outputs[0]), 1);
  weights[element] = 2;
  const auto scaled =
      vjp.append(Op::mul, {vjp.outputs[0], vjp.append_constant(Tensor::of_floats(vjp.node(vjp.outputs[0]).shape, weights))});
  REQUIRE(scaled.ok());
  vjp.outputs[0] = scaled.value();
  return vjp;
}

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("adjointness: one wrong entry of a large product is named, about as fast as none is found", "[adjointness]") {
  const AdjointCase one = normalised(1000, 12);
  const double start = seconds();
  CHECK(check_adjointness(one, reverse_of(one.graph).value(), 3).ok());
  const double proved = seconds();
  constexpr std::size_t kElement = 12 * 700 + 5;
  const auto verdict = check_adjointness(one, doubled_at(one, kElement), 3);
  const double refused = seconds() - proved;
  REQUIRE_FALSE(verdict.ok());
  const Rejection& why = verdict.rejection();
  CHECK(why.kind == Rejection::Kind::rejected);
  CHECK(why.code == "adjointness.entry");
  INFO(why.place);
  CHECK(why.place.find("/ d x[" + std::to_string(kElement) + "]") != std::string::npos);
  CHECK(why.place.find("d y[84") != std::string::npos);  // an element of that row, 8400 to 8411
  INFO(proved - start << " s proved, " << refused << " s refused");
  CHECK(refused < 20 * (proved - start) + 0.5);
}

TEST_CASE("adjointness: a wrong entry outside of what the meaning reads", "[adjointness]") {
  AdjointCase one{"squares", {}, {{-4, 4}}, {}};
  const NodeId x = one.graph.append_input(DType::float32, {3000}, "x");
  one.graph.mark_output(one.graph.append(Op::mul, {x, x}).value(), "y");
  Graph vjp;  // 2 x y_bar, and y_bar[2999] besides at x[7]
  const NodeId in = vjp.append_input(DType::float32, {3000}, "x"), y_bar = vjp.append_input(DType::float32, {3000}, "y_bar");
  const NodeId twice = vjp.append(Op::scale, {vjp.append(Op::mul, {in, y_bar}).value()}, ScaleAttributes{2}).value();
  const NodeId last = vjp.append(Op::slice, {y_bar}, SliceAttributes{{2999}, {1}, {1}}).value();
  const NodeId moved = vjp.append(Op::pad, {last}, PadAttributes{{7}, {2992}}).value();
  vjp.mark_output(vjp.append(Op::add, {twice, moved}).value(), "x_bar");
  const auto verdict = check_adjointness(one, vjp, 3);
  REQUIRE_FALSE(verdict.ok());
  CHECK(verdict.rejection().place.find("d y[2999] / d x[7]") != std::string::npos);
}
