// Products that are right at random points and wrong at the one that was recorded; and right ones in other words, which stay right.
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

// y = forward(x) and its product x_bar, each one region, with what was recorded.
struct Product {
  Graph forward, backward;
  Tensor x, y, y_bar, x_bar;
};

Trace recorded(const Product& one) {
  Trace trace;
  trace.tensors = {{"x", Trace::Origin::input, one.x},
                   {"y", Trace::Origin::result, one.y},
                   {"y_bar", Trace::Origin::input, one.y_bar},
                   {"x_bar", Trace::Origin::result, one.x_bar}};
  trace.regions = {{"forward", one.forward, float_model(), {0}, {1}}, {"product", one.backward, float_model(), {0, 2}, {3}}};
  trace.outputs = {1, 3};
  trace.vjps = {{0, 0, 2, {{0, 3}}}};
  trace.gradients = {{1, 2, {{0, 3}}}};
  return trace;
}

// The code of the first failure, of the audit or the gradients; with what was declined in brackets.
std::string verdict(const Trace& trace) {
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = audit::audit_region(trace, r);
    if (!audit) FAIL(audit.rejection().to_text());
    if (audit.value().first) return "audit: " + audit.value().first->text;
  }
  for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 7)) {
    INFO((step.failure ? step.failure->to_text() : ""));
    if (step.failure) return step.failure->kind == Rejection::Kind::rejected ? step.failure->code : "(" + step.failure->code + ")";
  }
  return "right";
}

// Nodes by short names, over vectors of this length.
struct Builder {
  Graph graph;
  std::int64_t length;

  NodeId input(const char* name) { return graph.append_input(DType::float32, {length}, name); }
  NodeId number(float value) { return graph.append_constant(Tensor::of_floats({1}, std::vector<float>{value})); }
  NodeId apply(Op op, std::vector<NodeId> operands, const Attributes& attributes = NoAttributes{}) {
    auto node = graph.append(op, std::move(operands), attributes);
    if (!node) FAIL(node.rejection().to_text());
    return node.value();
  }
  Graph with_output(NodeId id) {
    graph.mark_output(id, "y");
    return std::move(graph);
  }
};

Tensor vector_of(const std::vector<float>& values) { return Tensor::of_floats({static_cast<std::int64_t>(values.size())}, values); }

Graph square(std::int64_t length) {
  Builder b{{}, length};
  const NodeId x = b.input("x");
  return b.with_output(b.apply(Op::mul, {x, x}));
}

// y_bar * where(x == at, value, 2 x)
Graph slope_except_at(std::int64_t length, float at, float value) {
  Builder b{{}, length};
  const NodeId x = b.input("x"), y_bar = b.input("y_bar");
  const NodeId here = b.apply(Op::equal, {x, b.number(at)});
  const NodeId slope = b.apply(Op::where, {here, b.number(value), b.apply(Op::scale, {x}, ScaleAttributes{2})});
  return b.with_output(b.apply(Op::mul, {y_bar, slope}));
}

// The product of all elements, and its gradient as the product over each element.
Graph product_of_all(std::int64_t length) {
  Builder b{{}, length};
  return b.with_output(b.apply(Op::reduce_prod, {b.input("x")}, ReduceAttributes{{0}, true}));
}
Graph product_over_each(std::int64_t length, bool guarded) {
  Builder b{{}, length};
  const NodeId x = b.input("x"), y_bar = b.graph.append_input(DType::float32, {1}, "y_bar");
  const NodeId scaled = b.apply(Op::mul, {b.apply(Op::reduce_prod, {x}, ReduceAttributes{{0}, true}), y_bar});
  const NodeId quotient = b.apply(Op::div, {scaled, x});
  if (!guarded) return b.with_output(quotient);
  return b.with_output(b.apply(Op::where, {b.apply(Op::equal, {x, b.number(0)}), b.number(0), quotient}));
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("point: another value at one number, which random points miss", "[gradients]") {
  const Product one{
      square(3), slope_except_at(3, 0, 7), vector_of({0, 1, -2}), vector_of({0, 1, 4}), vector_of({1, 1, 1}), vector_of({7, 2, -4})};
  CHECK(verdict(recorded(one)) == "gradient.value");
  Product elsewhere = one;  // the same kernel, where the run did not meet the number
  elsewhere.x = vector_of({0.5F, 1, -2});
  elsewhere.y = vector_of({0.25F, 1, 4});
  elsewhere.x_bar = vector_of({1, 2, -4});
  CHECK(verdict(recorded(elsewhere)) == "right");
}

TEST_CASE("point: a zero where the derivative is none", "[gradients]") {
  const Product one{square(2),        slope_except_at(2, 1.5F, 0), vector_of({1.5F, 3}), vector_of({2.25F, 9}), vector_of({1, 1}),
                    vector_of({0, 6})};
  CHECK(verdict(recorded(one)) == "gradient.value");
  Product nothing = one;  // y_bar is 0 there: so is the cotangent
  nothing.y_bar = vector_of({0, 1});
  CHECK(verdict(recorded(nothing)) == "right");
}

TEST_CASE("point: the gradient of a product as a quotient by a zero", "[gradients]") {
  const Product one{product_of_all(3), product_over_each(3, false), vector_of({0, 2, 3}), vector_of({0}),
                    vector_of({1}),    vector_of({kNaN, 0, 0})};
  CHECK(verdict(recorded(one)) == "gradient.value");
  Product guarded = one;  // 0 instead of the product of the others
  guarded.backward = product_over_each(3, true);
  guarded.x_bar = vector_of({0, 0, 0});
  CHECK(verdict(recorded(guarded)) == "gradient.value");
  Product right = one;  // no zero among them
  right.x = vector_of({1, 2, 3});
  right.y = vector_of({6});
  right.x_bar = vector_of({6, 3, 2});
  CHECK(verdict(recorded(right)) == "right");
}

TEST_CASE("point: a quotient of infinities where the derivative is a number", "[gradients]") {
  Builder forward{{}, 2}, backward{{}, 2};
  const NodeId x = backward.input("x"), y_bar = backward.input("y_bar"), power = backward.apply(Op::exp, {x});
  const NodeId slope = backward.apply(Op::div, {power, backward.apply(Op::add, {backward.number(1), power})});
  const Product one{forward.with_output(forward.apply(Op::softplus, {forward.input("x")})),
                    backward.with_output(backward.apply(Op::mul, {y_bar, slope})),
                    vector_of({0, 100}),
                    vector_of({0x1.62e43p-1F, 100}),
                    vector_of({1, 1}),
                    vector_of({0.5F, kNaN})};
  CHECK(verdict(recorded(one)) == "gradient.value");
}

namespace {

// exp of x where the mask is 1, and of `fill` elsewhere; as a function of x, or of x and y_bar: times factor and y_bar.
Graph masked_exp(float fill, std::optional<float> factor, bool is_masked = true) {
  Builder b{{}, 3};
  const NodeId x = b.input("x"), y_bar = factor ? b.input("y_bar") : x;
  const auto bits = std::make_shared<std::vector<std::byte>>(std::vector{std::byte{1}, std::byte{0}, std::byte{1}});
  const NodeId mask = b.graph.append_constant(Tensor(DType::boolean, {3}, bits));
  const NodeId y = b.apply(Op::exp, {is_masked ? b.apply(Op::where, {mask, x, b.number(fill)}) : x});
  return b.with_output(factor ? b.apply(Op::mul, {b.apply(Op::mul, {y_bar, b.number(*factor)}), y}) : y);
}

}  // namespace

TEST_CASE("point: a product of what underflows is 0, as in the run", "[gradients]") {
  const float fill = GENERATE(-1e30F, -1e4F, std::numeric_limits<float>::lowest());
  const Product one{masked_exp(fill, {}), masked_exp(fill, 1),  vector_of({0, 0, 0}),
                    vector_of({1, 0, 1}), vector_of({1, 2, 3}), vector_of({1, 0, 3})};
  CHECK(verdict(recorded(one)) == "right");
  Product doubled = one;
  doubled.backward = masked_exp(fill, 2);
  doubled.x_bar = vector_of({2, 0, 6});
  CHECK(verdict(recorded(doubled)) == "gradient.product");
  Product unmasked = one;
  unmasked.backward = masked_exp(fill, 1, false);
  unmasked.x_bar = vector_of({1, 2, 3});
  CHECK(verdict(recorded(unmasked)) == "gradient.product");
  Product shown = one;  // a number that a float holds
  shown.forward = masked_exp(-80, {}), shown.backward = masked_exp(-80, 1);
  shown.y = vector_of({1, 0x1.7fd976p-116F, 1}), shown.x_bar = vector_of({1, 0x1.7fd976p-115F, 3});
  CHECK(verdict(recorded(shown)) == "gradient.product");
}

TEST_CASE("point: shares that underflow are left out of a sum of exponentials", "[gradients]") {
  const float fill = GENERATE(-1e30F, -1e4F);
  const auto bits = std::make_shared<std::vector<std::byte>>(std::vector{std::byte{1}, std::byte{0}, std::byte{1}});
  const Tensor mask(DType::boolean, {3}, bits);
  Builder forward{{}, 3};
  const NodeId shares =
      forward.apply(Op::masked_softmax, {forward.input("x"), forward.graph.append_constant(mask)}, MaskedSoftmaxAttributes{0, true});
  const auto product = [&](float factor) {  // recomputes the shares with the fill in place of the mask
    Builder b{{}, 3};
    const NodeId x = b.input("x"), y_bar = b.input("y_bar");
    const NodeId scores = b.apply(Op::where, {b.graph.append_constant(mask), x, b.number(fill)});
    const NodeId p = b.apply(Op::exp, {b.apply(Op::sub, {scores, b.apply(Op::log_sum_exp, {scores}, ReduceAttributes{{0}, true})})});
    const NodeId mean = b.apply(Op::reduce_sum, {b.apply(Op::mul, {y_bar, p})}, ReduceAttributes{{0}, true});
    return b.with_output(b.apply(Op::mul, {p, b.apply(Op::sub, {y_bar, b.apply(Op::mul, {mean, b.number(factor)})})}));
  };
  const Product one{forward.with_output(shares), product(1),           vector_of({0, 0, 0}),
                    vector_of({0.5F, 0, 0.5F}),  vector_of({1, 2, 3}), vector_of({-0.5F, 0, 0.5F})};
  CHECK(verdict(recorded(one)) == "right");
  Product halved = one;
  halved.backward = product(0.5F);
  halved.x_bar = vector_of({0, 0, 1});
  CHECK(verdict(recorded(halved)) == "gradient.product");
}

TEST_CASE("point: a value inside of a fused region", "[gradients]") {
  // y = s^2 with s = x + 1, which is not recorded, and the product, all in one region; it gives 7 where s is 0.
  for (const float at : {-1.0F, 0.0F}) {
    Builder b{{}, 2};
    const NodeId x = b.input("x"), y_bar = b.input("y_bar"), s = b.apply(Op::add, {x, b.number(1)}), y = b.apply(Op::mul, {s, s});
    const NodeId here = b.apply(Op::equal, {s, b.number(0)});
    const NodeId slope = b.apply(Op::where, {here, b.number(7), b.apply(Op::scale, {s}, ScaleAttributes{2})});
    const NodeId x_bar = b.apply(Op::mul, {y_bar, slope});
    b.graph.mark_output(y, "y");
    b.graph.mark_output(x_bar, "x_bar");
    Trace trace;
    trace.tensors = {{"x", Trace::Origin::input, vector_of({at, 2})},
                     {"y", Trace::Origin::result, vector_of({(at + 1) * (at + 1), 9})},
                     {"y_bar", Trace::Origin::input, vector_of({1, 1})},
                     {"x_bar", Trace::Origin::result, vector_of({at == -1 ? 7.0F : 2 * (at + 1), 6})}};
    trace.regions = {{"all", b.graph, float_model(), {0, 2}, {1, 3}}};
    trace.outputs = {1, 3};
    trace.vjps = {{0, 0, 2, {{0, 3}}, y}, {0, 0, 3, {{0, 3}}, s}};
    trace.gradients = {{1, 2, {{0, 3}}}};
    CHECK(verdict(trace) == (at == -1 ? "gradient.value" : "right"));
  }
}

TEST_CASE("point: no value inside of a fused region, at the end of a function's domain", "[gradients]") {
  // y = s^2 with s = 2 x. The cotangent of s, which is not recorded, has a term atanh(s) - atanh(s): 0 where |s| < 1, no number
  // at 1.
  for (const float at : {0.5F, 0.125F}) {
    Builder b{{}, 2};
    const NodeId x = b.input("x"), y_bar = b.input("y_bar"), s = b.apply(Op::scale, {x}, ScaleAttributes{2}), y = b.apply(Op::mul, {s, s});
    const NodeId inverse = b.apply(Op::atanh, {s}), none = b.apply(Op::sub, {inverse, inverse});
    const NodeId slope = b.apply(Op::add, {b.apply(Op::scale, {s}, ScaleAttributes{2}), none});
    const NodeId s_bar = b.apply(Op::mul, {y_bar, slope}), x_bar = b.apply(Op::scale, {s_bar}, ScaleAttributes{2});
    b.graph.mark_output(y, "y");
    b.graph.mark_output(x_bar, "x_bar");
    Trace trace;
    trace.tensors = {{"x", Trace::Origin::input, vector_of({0, at})},
                     {"y", Trace::Origin::result, vector_of({0, 4 * at * at})},
                     {"y_bar", Trace::Origin::input, vector_of({1, 1})},
                     {"x_bar", Trace::Origin::result, vector_of({0, at == 0.5F ? kNaN : 8 * at})}};
    trace.regions = {{"all", b.graph, float_model(), {0, 2}, {1, 3}}};
    trace.outputs = {1, 3};
    trace.inner = {{"s_bar", 0, s_bar}};
    trace.vjps = {{0, 0, 2, {{0, kFirstInner}}, y}, {0, 0, kFirstInner, {{0, 3}}, s}};
    trace.gradients = {{1, 2, {{0, 3}}}};
    CHECK(verdict(trace) == (at == 0.5F ? "(gradient.value)" : "right"));
  }
}

TEST_CASE("point: branches and conventions of right programs stay right", "[gradients]") {
  // relu as a choice, at 0, with either one-sided slope and with what lies between.
  Builder forward{{}, 3};
  const NodeId x = forward.input("x"), zero = forward.number(0);
  const Graph relu = forward.with_output(forward.apply(Op::where, {forward.apply(Op::less, {zero, x}), x, zero}));
  for (const bool closed : {false, true}) {
    Builder backward{{}, 3};
    const NodeId at = backward.input("x"), y_bar = backward.input("y_bar"), none = backward.number(0);
    const NodeId is_positive = backward.apply(closed ? Op::less_equal : Op::less, {none, at});
    const Product one{relu,
                      backward.with_output(backward.apply(Op::where, {is_positive, y_bar, none})),
                      vector_of({-1, 0, 2}),
                      vector_of({0, 0, 2}),
                      vector_of({5, 5, 5}),
                      vector_of({0, closed ? 5.0F : 0.0F, 5})};
    CHECK(verdict(recorded(one)) == "right");
  }
  // The root has no derivative at 0: nothing is asked of the product there, and the infinite gradient is undecided.
  Builder root{{}, 2}, slope{{}, 2};
  const Graph sqrt = root.with_output(root.apply(Op::sqrt, {root.input("x")}));
  const NodeId of = slope.input("x"), bar = slope.input("y_bar");
  const Graph half =
      slope.with_output(slope.apply(Op::div, {bar, slope.apply(Op::scale, {slope.apply(Op::sqrt, {of})}, ScaleAttributes{2})}));
  const Product singular{
      sqrt, half, vector_of({0, 4}), vector_of({0, 2}), vector_of({1, 1}), vector_of({std::numeric_limits<float>::infinity(), 0.25F})};
  CHECK(verdict(recorded(singular)) == "(gradient.finite)");
  // Another formula of the same derivative, far off in float: y_bar ((x + 1)^2 - x^2 - 1) / 1 is 2 x y_bar.
  Builder other{{}, 2};
  const NodeId z = other.input("x"), z_bar = other.input("y_bar"), next = other.apply(Op::add, {z, other.number(1)});
  const NodeId twice =
      other.apply(Op::sub, {other.apply(Op::sub, {other.apply(Op::mul, {next, next}), other.apply(Op::mul, {z, z})}), other.number(1)});
  const NodeId positive = other.apply(Op::div, {other.apply(Op::abs, {z}), other.apply(Op::abs, {z})});
  const Product formula{square(2),
                        other.with_output(other.apply(Op::mul, {z_bar, other.apply(Op::mul, {twice, positive})})),
                        vector_of({0x1.000002p+10F, 3}),
                        vector_of({0x1.000004p+20F, 9}),
                        vector_of({1, 1}),
                        vector_of({2048, 6})};
  CHECK(verdict(recorded(formula)) == "right");
}

TEST_CASE("point: a cotangent that overflows in 16 bits is what is stored of it, or undecided where a step of it did", "[gradients]") {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  Trace plain =
      recorded({square(1), slope_except_at(1, 5, 10), vector_of({400}), vector_of({160000}), vector_of({200}), vector_of({kInfinite})});
  for (const std::size_t id : {2, 3}) plain.tensors[id].storage = ExecutionModel::Storage::binary16;
  CHECK(verdict(plain) == "(gradient.finite)");  // the product is right, and what was handed out is infinite
  plain.tensors[3].storage = ExecutionModel::Storage::same;
  CHECK(verdict(plain) != "right");
  // y = x^2 / 1024; its product by way of y_bar x, which overflows.
  Builder forward{{}, 1};
  const NodeId x = forward.input("x");
  const Graph y = forward.with_output(forward.apply(Op::scale, {forward.apply(Op::mul, {x, x})}, ScaleAttributes{0x1p-10}));
  Builder first{{}, 1}, second{{}, 1};
  const NodeId a = first.input("x"), b = first.input("y_bar");
  const Graph step = first.with_output(first.apply(Op::mul, {a, b}));
  const Graph last = second.with_output(second.apply(Op::scale, {second.input("t")}, ScaleAttributes{0x1p-9}));
  Trace trace = recorded({y, step, vector_of({400}), vector_of({156.25F}), vector_of({200}), vector_of({kInfinite})});
  trace.tensors.push_back({"t", Trace::Origin::result, vector_of({kInfinite}), ExecutionModel::Storage::binary16});
  trace.regions[1].results = {4};
  trace.regions.push_back({"last", last, float_model(), {4}, {3}});
  for (const std::size_t id : {2, 3}) trace.tensors[id].storage = ExecutionModel::Storage::binary16;
  CHECK(verdict(trace) == "(gradient.value)");
}

TEST_CASE("point: a product that reads a tensor from elsewhere is undecided, however large it is", "[gradients]") {
  // x = w^2 in float32 and y = x^2; the product 2 w^2 y_bar reads w, which says the same of the real numbers.
  for (const std::int64_t length : {3, 70000}) {
    std::vector<float> w, x, y, x_bar;
    for (std::int64_t i = 0; i < length; ++i) {
      w.push_back(0.5F + 0.001F * static_cast<float>(i % 997));
      x.push_back(w.back() * w.back());
      y.push_back(x.back() * x.back());
      x_bar.push_back(2 * x.back());
    }
    Builder b{{}, length};
    const NodeId from = b.input("w"), y_bar = b.input("y_bar");
    const NodeId twice = b.apply(Op::scale, {b.apply(Op::mul, {from, from})}, ScaleAttributes{2});
    const Graph product = b.with_output(b.apply(Op::mul, {twice, y_bar}));
    Trace trace;
    trace.tensors = {{"w", Trace::Origin::input, vector_of(w)},
                     {"x", Trace::Origin::result, vector_of(x)},
                     {"y", Trace::Origin::result, vector_of(y)},
                     {"y_bar", Trace::Origin::input, vector_of(std::vector<float>(w.size(), 1))},
                     {"x_bar", Trace::Origin::result, vector_of(x_bar)}};
    trace.regions = {{"x", square(length), float_model(), {0}, {1}},
                     {"y", square(length), float_model(), {1}, {2}},
                     {"product", product, float_model(), {0, 3}, {4}}};
    trace.outputs = {2, 4};
    trace.vjps = {{1, 0, 3, {{0, 4}}}};
    trace.gradients = {{2, 3, {{1, 4}}}};
    CHECK(verdict(trace) == (length == 3 ? "(gradient.product)" : "(gradient.value)"));
  }
}

namespace {

// x, y = forward(x), s = saved(x), c = 1 <= s in float32, and the product x_bar of x, s, c and y_bar.
Trace with_comparison(const Graph& forward, const Graph& saved, const Graph& backward, const std::vector<Tensor>& values, bool holds) {
  Builder b{{}, 1};
  const NodeId s = b.input("s");
  const Graph compares = b.with_output(b.apply(Op::less_equal, {b.number(1), s}));
  const Tensor c(DType::boolean, {1}, std::make_shared<std::vector<std::byte>>(1, static_cast<std::byte>(holds)));
  Trace trace;
  trace.tensors = {{"x", Trace::Origin::input, values[0]},     {"y", Trace::Origin::result, values[1]},
                   {"s", Trace::Origin::result, values[2]},    {"c", Trace::Origin::result, c},
                   {"y_bar", Trace::Origin::input, values[3]}, {"x_bar", Trace::Origin::result, values[4]}};
  trace.regions = {{"forward", forward, float_model(), {0}, {1}},
                   {"saved", saved, float_model(), {0}, {2}},
                   {"compares", compares, float_model(), {2}, {3}},
                   {"product", backward, float_model(), {0, 2, 3, 4}, {5}}};
  trace.outputs = {1, 5};
  trace.vjps = {{0, 0, 4, {{0, 5}}}};
  trace.gradients = {{1, 4, {{0, 5}}}};
  return trace;
}

Graph tanh_of() {
  Builder b{{}, 1};
  return b.with_output(b.apply(Op::tanh, {b.input("x")}));
}

// y_bar * where(c, met, other)
Graph chosen(Builder b, const std::function<std::pair<NodeId, NodeId>(Builder&, NodeId x, NodeId s)>& sides) {
  const NodeId x = b.input("x"), s = b.input("s"), c = b.graph.append_input(DType::boolean, {1}, "c"), y_bar = b.input("y_bar");
  const auto [met, other] = sides(b, x, s);
  return b.with_output(b.apply(Op::mul, {y_bar, b.apply(Op::where, {c, met, other})}));
}

}  // namespace

TEST_CASE("point: a step that rounding decides is taken as it was recorded", "[gradients]") {
  // y = x^2. Where tanh(x) is rounded to 1, the product is twice the derivative, which no exact tanh shows.
  const Graph twice = chosen({{}, 1}, [](Builder& b, NodeId x, NodeId) {
    return std::pair(b.apply(Op::scale, {x}, ScaleAttributes{4}), b.apply(Op::scale, {x}, ScaleAttributes{2}));
  });
  const auto run = [](const Graph& forward, const Graph& product, const std::vector<float>& values, bool holds) {
    std::vector<Tensor> tensors;
    for (const float value : values) tensors.push_back(vector_of({value}));
    return verdict(with_comparison(forward, tanh_of(), product, tensors, holds));
  };
  CHECK(run(square(1), twice, {12, 144, 1, 1, 48}, true) == "(gradient.step)");
  CHECK(run(square(1), twice, {0.5F, 0.25F, 0x1.d9353ep-2F, 1, 1}, false) == "right");
  // The same of a comparison that reads another tensor than the product is of.
  Trace elsewhere =
      with_comparison(square(1), tanh_of(), twice, {vector_of({3}), vector_of({9}), vector_of({1}), vector_of({1}), vector_of({12})}, true);
  elsewhere.tensors.push_back({"z", Trace::Origin::input, Tensor::of_floats({1}, std::vector<float>{12})});
  elsewhere.regions[1].operands = {6};
  CHECK(verdict(elsewhere) == "(gradient.step)");
  // y = tanh(x) with the same branch, whose derivative rounds to the 0 that the product gives.
  const Graph zero = chosen({{}, 1}, [](Builder& b, NodeId, NodeId s) {
    return std::pair(b.number(0), b.apply(Op::sub, {b.number(1), b.apply(Op::mul, {s, s})}));
  });
  CHECK(run(tanh_of(), zero, {12, 1, 1, 1, 0}, true) == "right");
  // A wrong value elsewhere is found: 5 where the derivative rounds to 0.
  const Graph five = chosen({{}, 1}, [](Builder& b, NodeId, NodeId s) {
    return std::pair(b.number(5), b.apply(Op::sub, {b.number(1), b.apply(Op::mul, {s, s})}));
  });
  CHECK(run(tanh_of(), five, {12, 1, 1, 1, 5}, true) == "(gradient.step)");
}

namespace {

// y_bar * factor(x, tanh(x)) in regions: those of the factor's parts, each given as it is recorded at 12, where float32 has tanh(x) = 1.
struct Part {
  std::string name;
  Graph graph;
  std::vector<TraceTensorId> operands;
  Tensor result;
};
Trace with_parts(std::vector<Part> parts, const Tensor& x_bar) {
  Trace trace;
  trace.tensors = {{"x", Trace::Origin::input, vector_of({12})},
                   {"y", Trace::Origin::result, vector_of({144})},
                   {"y_bar", Trace::Origin::input, vector_of({1})},
                   {"t", Trace::Origin::result, vector_of({1})}};
  trace.regions = {{"forward", square(1), float_model(), {0}, {1}}, {"tanh", tanh_of(), float_model(), {0}, {3}}};
  for (Part& part : parts) {
    trace.regions.push_back(
        {part.name, std::move(part.graph), float_model(), std::move(part.operands), {static_cast<TraceTensorId>(trace.tensors.size())}});
    trace.tensors.push_back({part.name, Trace::Origin::result, part.result});
  }
  Builder b{{}, 1};
  const NodeId x = b.input("x"), y_bar = b.input("y_bar"), factor = b.input("factor");
  const Graph product = b.with_output(b.apply(Op::mul, {b.apply(Op::mul, {b.apply(Op::scale, {x}, ScaleAttributes{2}), y_bar}), factor}));
  const auto last = static_cast<TraceTensorId>(trace.tensors.size());
  trace.tensors.push_back({"x_bar", Trace::Origin::result, x_bar});
  trace.regions.push_back({"product", product, float_model(), {0, 2, last - 1}, {last}});
  trace.outputs = {1, last};
  trace.vjps = {{0, 0, 2, {{0, last}}}};
  trace.gradients = {{1, 2, {{0, last}}}};
  return trace;
}

}  // namespace

TEST_CASE("point: a step inside of a region, or of an op that jumps, is taken as the run took it", "[gradients]") {
  const Tensor one = vector_of({1}), twice = vector_of({48}), once = vector_of({24}), two = vector_of({2});
  const auto graph = [](const std::function<NodeId(Builder&, NodeId)>& write) {
    Builder b{{}, 1};
    const NodeId x = b.input("x");
    return b.with_output(write(b, x));
  };
  // where(1 - tanh(x) == 0, 2, 1) in one region, with tanh inside of it.
  const Graph fused = graph([](Builder& b, NodeId x) {
    const NodeId gap = b.apply(Op::sub, {b.number(1), b.apply(Op::tanh, {x})});
    return b.apply(Op::where, {b.apply(Op::equal, {gap, b.number(0)}), b.number(2), b.number(1)});
  });
  CHECK(verdict(with_parts({{"factor", fused, {0}, two}}, twice)) == "(gradient.step)");
  // 1 + floor(t), where t may be rounded inside: a region of another op.
  const Graph floors = graph([](Builder& b, NodeId x) {
    return b.apply(Op::add, {b.number(1), b.apply(Op::floor, {b.apply(Op::tanh, {x})})});
  });
  CHECK(verdict(with_parts({{"factor", floors, {0}, two}}, twice)) == "(gradient.step)");
  // Of the recorded t: where(t < 0, ceil(t), floor(t)) and 1 + floor(t), whose steps are those of the number 1.
  const Graph truncates = graph([](Builder& b, NodeId t) {
    const NodeId toward = b.apply(Op::where, {b.apply(Op::less, {t, b.number(0)}), b.apply(Op::ceil, {t}), b.apply(Op::floor, {t})});
    return b.apply(Op::add, {toward, b.number(1)});
  });
  CHECK(verdict(with_parts({{"factor", truncates, {3}, two}}, twice)) == "(gradient.step)");
  // 1 + t - mod(t, 1), and jumps of shrink and thresholded_relu at a number between tanh(12) and 1.
  for (const bool truncated : {false, true}) {
    const Graph rest = graph([&](Builder& b, NodeId t) {
      const NodeId whole = b.apply(Op::sub, {t, b.apply(Op::mod, {t, b.number(1)}, ModAttributes{truncated})});
      return b.apply(Op::add, {whole, b.number(1)});
    });
    CHECK(verdict(with_parts({{"factor", rest, {3}, two}}, twice)) == "(gradient.step)");
  }
  const double between = 1 - 0x1p-40;
  for (const Op op : {Op::shrink, Op::thresholded_relu}) {
    const Graph jumps = graph([&](Builder& b, NodeId t) {
      const NodeId jump = b.apply(op, {b.apply(Op::tanh, {t})}, ActivationAttributes{between, 0});
      return b.apply(Op::add, {b.apply(Op::sign, {jump}), b.number(1)});
    });
    CHECK(verdict(with_parts({{"factor", jumps, {0}, two}}, twice)) == "(gradient.step)");
  }
  // Steps that no rounding decides are as they were: 12 against 13, floor(12), mod(12, 5) = 2.
  const Graph right = graph([](Builder& b, NodeId x) {
    const NodeId is_below = b.apply(Op::less, {x, b.number(13)}),
                 rest = b.apply(Op::mod, {b.apply(Op::floor, {x}), b.number(5)}, ModAttributes{});
    return b.apply(Op::where, {is_below, b.apply(Op::div, {rest, rest}), b.number(3)});
  });
  CHECK(verdict(with_parts({{"factor", right, {0}, one}}, once)) != "(gradient.step)");
}
