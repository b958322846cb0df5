// Awkward shapes, by family.
#include <algorithm>
#include <optional>
#include <set>

#include "probes/plan.h"

namespace assay::probes {
namespace {

using Cases = std::vector<OpCase>;

Cases products(Op op) {
  if (op == Op::matmul) {
    Cases cases;
    for (const std::int64_t m : {1, 7, 16, 33}) {
      cases.push_back({"matmul, m " + std::to_string(m), op, {{m, 65}, {65, 18}}});
      cases.push_back({"matmul, matrix and long vector, m " + std::to_string(m), op, {{m, 131}, {131}}});
    }
    cases.push_back({"matmul, batches broadcast", op, {{3, 1, 5, 17}, {2, 17, 4}}});
    cases.push_back({"matmul, nothing to sum", op, {{3, 0}, {0, 2}}});
    cases.push_back({"matmul, long sum", op, {{3, 1024}, {1024, 5}}});
    cases.push_back({"matmul, one column", op, {{7, 65}, {65, 1}}});
    return cases;
  }
  Cases cases;
  for (const std::int64_t m : {1, 7, 15, 16, 17, 33}) {
    const std::string where = ", m " + std::to_string(m);
    cases.push_back({"gemm" + where, op, {{m, 37}, {37, 34 - m}, {34 - m}}, GemmAttributes{}});
    cases.push_back({"gemm, both transposed" + where, op, {{37, m}, {20, 37}, {m, 1}}, GemmAttributes{0.5, -2, true, true}});
    cases.push_back({"gemm, layer" + where, op, {{m, 128}, {9, 128}, {9}}, GemmAttributes{1, 1, false, true}});
  }
  cases.push_back({"gemm, long sum", op, {{3, 1024}, {1024, 5}}, GemmAttributes{}});
  cases.push_back({"gemm, one column", op, {{7, 37}, {37, 1}, {1}}, GemmAttributes{}});
  cases.push_back({"gemm, no rows", op, {{0, 4}, {4, 3}, {3}}, GemmAttributes{}});
  return cases;
}

Cases windows(Op op) {
  switch (op) {
    case Op::conv:
      return {{"conv, 3 x 3", op, {{2, 6, 9, 11}, {20, 6, 3, 3}, {20}}, window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1})},
              {"conv, strided", op, {{2, 16, 13, 8}, {17, 16, 3, 3}}, window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1})},
              {"conv, 1 x 1", op, {{2, 32, 5, 5}, {9, 32, 1, 1}, {9}}, window({1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0})},
              {"conv, all at once", op, {{2, 6, 12, 13}, {8, 3, 5, 3}, {8}}, window({5, 3}, {1, 2}, {2, 3}, {4, 0}, {1, 3}, 2)},
              {"conv, one column", op, {{2, 3, 9, 1}, {4, 3, 3, 1}}, window({3, 1}, {1, 1}, {1, 1}, {1, 0}, {1, 0})},
              {"conv, first pads alone", op, {{1, 2, 5, 5}, {3, 2, 3, 3}}, window({3, 3}, {1, 1}, {1, 1}, {2, 1}, {0, 0})},
              {"conv, last pads alone", op, {{1, 2, 5, 5}, {3, 2, 3, 3}}, window({3, 3}, {1, 1}, {1, 1}, {0, 0}, {1, 2})}};
    case Op::conv_transpose:
      return {{"conv_transpose, 3 x 3", op, {{2, 8, 7, 9}, {8, 6, 3, 3}, {6}}, window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1})},
              {"conv_transpose, 1 x 1, stride 2", op, {{1, 3, 4, 4}, {3, 2, 1, 1}}, window({1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0})},
              {"conv_transpose, output padding",
               op,
               {{2, 4, 9, 8}, {4, 7, 3, 3}},
               with_output_padding(window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}), {1, 0})}};
    case Op::max_pool:
    case Op::avg_pool: {
      const std::string name(op_row(op).name);
      Cases cases = {
          {name + ", resnet", op, {{1, 3, 17, 20}}, window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1})},
          {name + ", one column", op, {{1, 2, 9, 1}}, window({3, 1}, {2, 1}, {1, 1}, {1, 0}, {1, 0})},
          {name + ", first pads alone", op, {{1, 2, 5, 7}}, window({3, 3}, {1, 2}, {1, 1}, {1, 2}, {0, 0})},
          {name + ", last pads alone", op, {{1, 2, 6, 5}}, window({3, 2}, {2, 1}, {1, 1}, {0, 0}, {2, 1})},
          {name + ", overlapping, dilated", op, {{2, 1, 8, 6}}, with_flags(window({2, 3}, {1, 2}, {2, 1}, {0, 1}, {1, 1}), false, true)},
          {name + ", ceil", op, {{1, 1, 6, 7}}, with_flags(window({3, 3}, {2, 3}, {1, 1}, {0, 1}, {0, 0}), op == Op::avg_pool, true)}};
      return cases;
    }
    default:
      return {};
  }
}

// Lines of every length around lanes, warps and blocks.
constexpr std::int64_t kLengths[] = {1, 2, 31, 32, 33, 65, 127, 128, 129, 300};

Cases lines(Op op, const auto& along) {
  Cases cases;
  for (const std::int64_t n : kLengths) cases.push_back({std::string(op_row(op).name) + ", " + std::to_string(n), op, {{3, n}}, along(1)});
  cases.push_back({std::string(op_row(op).name) + ", first axis", op, {{37, 5}}, along(0)});
  cases.push_back({std::string(op_row(op).name) + ", first axis, one column", op, {{37, 1}}, along(0)});
  return cases;
}

Cases reductions(Op op) {
  Cases cases = lines(op, [&](std::int64_t axis) { return ReduceAttributes{{axis}, op == Op::max_weight}; });
  const bool keep = true;
  cases.push_back({std::string(op_row(op).name) + ", outer axes", op, {{3, 4, 5}}, ReduceAttributes{{0, 2}, keep}});
  cases.push_back({std::string(op_row(op).name) + ", leading axes", op, {{11, 3, 7}}, ReduceAttributes{{0, 1}, keep}});
  return cases;
}

Cases normalisations(Op op) {
  using Form = NormaliseAttributes::Form;
  Cases cases = lines(op, [](std::int64_t axis) { return NormaliseAttributes{{axis}, 1e-5, Form::centered}; });
  cases.push_back({"normalise, rank 3", op, {{2, 3, 16}}, NormaliseAttributes{{2}, 1e-5, Form::centered}});
  cases.push_back({"normalise, groups", op, {{2, 3, 2, 6}}, NormaliseAttributes{{2, 3}, 1e-3, Form::centered}});
  return cases;
}

// Sums of several elements, whose order shows, and a place in between that nothing goes to.
PlaceAttributes many_to_one() {
  PlaceAttributes attributes{{}, {6}};
  for (std::int64_t i = 0; i < 96; ++i) attributes.indices.push_back(i * i % 5 + (i % 7 == 0 ? 1 : 0));
  return attributes;
}

Cases layouts(Op op) {
  switch (op) {
    case Op::place:
      return {{"place, many to one", op, {{96}}, many_to_one()}};
    case Op::permute:
      return {{"permute, 2-D", op, {{33, 17}}, PermuteAttributes{{1, 0}}},
              {"permute, inner pair", op, {{3, 20, 5, 16}}, PermuteAttributes{{0, 2, 1, 3}}},
              {"permute, one column", op, {{33, 17, 1}}, PermuteAttributes{{1, 2, 0}}},
              {"permute, three axes cycled", op, {{5, 7, 9}}, PermuteAttributes{{1, 2, 0}}}};
    case Op::concat:
      return {{"concat, long", op, {{3, 65}, {3, 1}, {3, 31}}, ConcatAttributes{1}},
              {"concat, one column", op, {{3, 1}, {7, 1}}, ConcatAttributes{0}}};
    case Op::slice:
      return {{"slice, backwards", op, {{5, 37}}, SliceAttributes{{4, 36}, {-2, -3}, {3, 12}}}};
    case Op::gather:
      return {{"gather, middle axis", op, {{3, 5, 17}}, GatherAttributes{1, {4, 0, 2, 1, 4}, {5}}}};
    case Op::expand:
      return {{"expand, middle axis", op, {{3, 1, 17}}, ShapeAttributes{{3, 5, 17}}}};
    default:
      return {};
  }
}

// The first application of an elementwise op, on other shapes.
Cases elementwise(const OpCase& first) {
  Cases cases;
  const auto add = [&](const std::string& what, std::vector<Shape> shapes) {
    cases.push_back({std::string(op_row(first.op).name) + ", " + what, first.op, std::move(shapes), first.attributes, first.draws});
  };
  if (first.shapes.size() == 1) {
    add("131", {{131}});
    add("one column", {{131, 1}});
    add("nothing", {{0, 3}});
    add("a scalar", {{}});
    add("two pieces", {{3, 343}});
  } else if (first.shapes.size() == 2) {
    add("129", {{129}, {129}});
    add("outer and inner axis broadcast", {{3, 1, 5}, {4, 1}});
    add("long axis broadcast", {{5, 65}, {5, 1}});
    add("one column", {{5, 65, 1}, {5, 1, 1}});
    add("a scalar", {{2, 7}, {}});
    add("nothing", {{1, 3}, {0, 1}});
  }
  return cases;
}

Cases awkward(Op op, const OpCase& first) {
  switch (op) {
    case Op::gemm:
    case Op::matmul:
      return products(op);
    case Op::conv:
    case Op::conv_transpose:
    case Op::max_pool:
    case Op::avg_pool:
      return windows(op);
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::log_sum_exp:
    case Op::max_weight:
      return reductions(op);
    case Op::softmax:
    case Op::log_softmax:
      return lines(op, [](std::int64_t axis) { return SoftmaxAttributes{axis}; });
    case Op::masked_softmax:
      return {{"masked_softmax, 33", op, {{3, 33}, {33}}, MaskedSoftmaxAttributes{1, true}, {Draw::any, Draw::truth}},
              {"masked_softmax, 300", op, {{3, 300}, {300}}, MaskedSoftmaxAttributes{1, true}, {Draw::any, Draw::truth}}};
    case Op::cumsum:
      return lines(op, [](std::int64_t axis) { return CumulativeAttributes{axis, false, false}; });
    case Op::arg_max:
    case Op::arg_min:
      return lines(op, [](std::int64_t axis) { return ArgAttributes{axis, true, false}; });
    case Op::normalise:
      return normalisations(op);
    default:
      return is_elementwise(op, first) ? elementwise(first) : layouts(op);
  }
}

}  // namespace

bool is_elementwise(Op op, const OpCase& first) {
  const OpRow& row = op_row(op);
  if (op == Op::prelu || op == Op::where || op == Op::take) return false;  // their second operand has a shape of its own
  if (row.op_class == OpClass::elementwise || row.op_class == OpClass::bilinear) return true;
  const std::set<Op> others = {Op::add,  Op::sub,         Op::neg,         Op::scale,       Op::equal,
                               Op::less, Op::less_equal,  Op::logical_not, Op::is_nan,      Op::is_inf,
                               Op::cast, Op::logical_and, Op::logical_or,  Op::logical_xor, Op::step};
  if (others.count(op) > 0) return true;
  return row.op_class == OpClass::defined && first.shapes == std::vector<Shape>{{3, 4}} &&
         !std::holds_alternative<SoftmaxAttributes>(first.attributes);
}

namespace {

// Just beyond blocks of kernels that go through a line block by block, and beyond a grid's 65,535.
constexpr std::int64_t kBlocks[] = {8193, 16385, 65537};

Cases long_products(Op op, std::int64_t n) {
  const Attributes attributes = op == Op::gemm ? Attributes(GemmAttributes{}) : NoAttributes{};
  const std::string name(op_row(op).name);
  return {{name + ", sum of " + std::to_string(n), op, {{1, n}, {n, 2}}, attributes},
          {name + ", " + std::to_string(n) + " rows", op, {{n, 2}, {2, 1}}, attributes},
          {name + ", " + std::to_string(n) + " columns", op, {{1, 2}, {2, n}}, attributes}};
}

Cases long_layouts(Op op, std::int64_t n) {
  const std::string name = std::string(op_row(op).name) + ", " + std::to_string(n);
  switch (op) {
    case Op::permute:
      return {{name, op, {{2, n}}, PermuteAttributes{{1, 0}}}, {name + " rows", op, {{n, 2}}, PermuteAttributes{{1, 0}}}};
    case Op::concat:
      return {{name, op, {{n}, {5}}, ConcatAttributes{0}}};
    case Op::slice:
      return {{name, op, {{n}}, SliceAttributes{{n - 1}, {-1}, {n}}}};
    case Op::expand:
      return {{name, op, {{1, 2}}, ShapeAttributes{{n, 2}}}};
    case Op::conv:
      return {{name, op, {{1, 1, n}, {1, 1, 3}}, window({3}, {1}, {1}, {1}, {1})},
              {name + " channels", op, {{1, n, 1}, {2, n, 1}}, window({1}, {1}, {1}, {0}, {0})}};
    case Op::max_pool:
    case Op::avg_pool:
      return {{name, op, {{1, 1, n}}, window({3}, {2}, {1}, {1}, {1})}};
    default:
      return {};
  }
}

// One application of an op along a line of n elements, from one of those along the short lines above.
std::optional<OpCase> lengthened(const OpCase& one, std::int64_t n) {
  if (one.shapes[0] != Shape{3, 300}) return std::nullopt;
  if (one.op == Op::max_weight) return std::nullopt;  // its sets cost seconds on long lines
  OpCase longer = one;
  longer.shapes[0] = {1, n};
  if (one.shapes.size() == 2) longer.shapes[1] = {n};  // a mask
  longer.name = std::string(op_row(one.op).name) + ", " + std::to_string(n);
  return longer;
}

}  // namespace

std::vector<OpCase> block_applications(Op op) {
  Cases cases;
  const Cases known = applications(op, true);
  if (known.empty()) return cases;
  const auto add = [&](Cases more) {
    for (OpCase& one : more) cases.push_back(std::move(one));
  };
  for (const std::int64_t n : kBlocks) {
    if (op == Op::gemm || op == Op::matmul) add(long_products(op, n));
    add(long_layouts(op, n));
    for (const OpCase& one : known) {
      if (auto longer = lengthened(one, n)) cases.push_back(std::move(*longer));
    }
    if (!is_elementwise(op, known.front())) continue;
    OpCase longer = known.front();
    longer.name = std::string(op_row(op).name) + ", " + std::to_string(n);
    for (Shape& shape : longer.shapes) shape = {n, 1};
    if (longer.shapes.size() == 2) longer.shapes[1] = {1};
    cases.push_back(std::move(longer));
  }
  return cases;
}

std::vector<OpCase> applications(Op op, bool large) {
  Cases cases;
  for (OpCase& one : catalogue()) {
    if (one.op == op) cases.push_back(std::move(one));
  }
  if (!large || cases.empty()) return cases;
  for (OpCase& one : awkward(op, OpCase(cases.front()))) cases.push_back(std::move(one));
  return cases;
}

}  // namespace assay::probes
