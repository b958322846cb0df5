// Applications that are broad along several axes at once, whose tiles and strides no long line reaches.
#include "probes/plan.h"

namespace assay::probes {
namespace {

using Cases = std::vector<OpCase>;

// Rows beyond a tile of 64, lengths beyond one of 64 or 128, and long lines in several rows.
constexpr std::int64_t kRows = 67, kLength = 131, kColumns = 70, kLong = 8195;
// At least two whole tiles of every usual size up to 1,024 (of 64 in a square), an element less and one more; and rows beyond a
// grid's 65,535.
constexpr std::int64_t kWhole = 2048, kSquare = 128, kGrid = 65537;

class Broad {
 public:
  explicit Broad(Op op) : op_(op) {}

  void add(const std::string& what, std::vector<Shape> shapes, Attributes attributes = NoAttributes{}, std::vector<Draw> draws = {}) {
    cases_.push_back({std::string(op_row(op_).name) + ", " + what, op_, std::move(shapes), std::move(attributes), std::move(draws)});
  }
  Cases take() { return std::move(cases_); }

  // `along` makes the attributes for an axis.
  void lines(const auto& along) {
    add("67 rows", {{kRows, kColumns}}, along(1));
    add("9 long rows", {{9, 1030}}, along(1));
    add("3 longer rows", {{3, kLong}}, along(1));
    add("67 columns", {{kColumns, kRows}}, along(0));
    add("middle axis", {{5, 33, 35}}, along(1));
    add("middle axis of one batch", {{1, 7, 5}}, along(1));
    add("second axis of four", {{3, 7, 2, 4}}, along(1));
    add("middle axis of five", {{2, 1, 7, 3, 2}}, along(2));
    for (const std::int64_t n : {kWhole - 1, kWhole, kWhole + 1}) add("2 rows of " + std::to_string(n), {{2, n}}, along(1));
    add("128 rows of 64", {{kSquare, 64}}, along(1));
    add("128 columns of 64", {{64, kSquare}}, along(0));
    add("65537 rows", {{kGrid, 2}}, along(1));
  }
  // Squares of whole tiles, a row and a column less and more.
  void squares(const auto& shapes, const Attributes& attributes) {
    for (const std::int64_t n : {kSquare - 1, kSquare, kSquare + 1})
      add(std::to_string(n) + " x " + std::to_string(n), shapes(n), attributes);
  }

  void matmul() {
    add("all beyond a tile", {{kRows, kLength}, {kLength, kColumns}});
    squares([](std::int64_t n) { return std::vector<Shape>{{n, n}, {n, n}}; }, NoAttributes{});
    add("batches, all beyond a tile", {{2, 35, 37}, {2, 37, 39}});
    add("heads", {{2, 3, 5, 9}, {2, 3, 9, 11}});
    add("heads, one left", {{2, 1, 5, 9}, {2, 3, 9, 11}});
    add("heads, one right", {{2, 3, 5, 9}, {1, 3, 9, 11}});
    add("matrix and batches", {{5, 9}, {3, 9, 11}});
    add("batches and matrix", {{3, 5, 9}, {9, 11}});
    add("one and batches", {{1, 5, 9}, {3, 9, 11}});
    add("batches and one", {{3, 5, 9}, {1, 9, 11}});
  }
  void gemm() {
    add("all beyond a tile", {{kRows, kLength}, {kLength, kColumns}, {kColumns}}, GemmAttributes{});
    squares([](std::int64_t n) { return std::vector<Shape>{{n, n}, {n, n}, {n}}; }, GemmAttributes{1, 1, false, true});
    add("all beyond a tile, both transposed", {{37, 35}, {39, 37}, {35, 39}}, GemmAttributes{0.5, -2, true, true});
  }
  void windows() {
    if (op_ == Op::conv)
      for (const std::int64_t n : {31, 32})
        add(std::to_string(n) + " channels", {{1, n, n / 2, 16}, {n, n, 3, 3}, {n}}, window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}));
    if (op_ == Op::max_pool || op_ == Op::avg_pool) add("whole tiles", {{1, 16, 32, 32}}, window({2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}));
    if (op_ == Op::conv) add("all beyond a tile", {{3, 17, 18, 19}, {33, 17, 3, 3}, {33}}, window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}));
    if (op_ == Op::conv_transpose)
      add("all beyond a tile", {{3, 17, 9, 10}, {17, 33, 3, 3}, {33}}, window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}));
    if (op_ == Op::max_pool || op_ == Op::avg_pool)
      add("all beyond a tile", {{3, 17, 34, 35}}, window({3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}));
  }
  void layouts() {
    if (op_ == Op::permute) add("67 rows", {{kRows, kColumns}}, PermuteAttributes{{1, 0}});
    if (op_ == Op::permute) add("whole tiles", {{64, kSquare}}, PermuteAttributes{{1, 0}});
    if (op_ == Op::concat) add("whole tiles", {{64, 32}, {64, 64}}, ConcatAttributes{1});
    if (op_ == Op::permute) add("heads", {{2, 35, 3, 33}}, PermuteAttributes{{0, 2, 1, 3}});
    if (op_ == Op::concat) add("67 rows", {{kRows, 37}, {kRows, kColumns}}, ConcatAttributes{1});
    if (op_ == Op::slice) add("67 rows", {{kRows, kColumns}}, SliceAttributes{{1, 2}, {1, 1}, {kRows - 1, kColumns - 3}});
    if (op_ == Op::pad) add("67 rows", {{kRows, kColumns}}, PadAttributes{{1, 0}, {0, 2}, 5});
    if (op_ == Op::expand) add("67 rows", {{kColumns}}, ShapeAttributes{{2, kRows, kColumns}});
    if (op_ == Op::reshape) add("67 rows", {{kRows, kColumns}}, ShapeAttributes{{kColumns, kRows}});
  }
  // The operands of an elementwise op: one, two, or a condition with two.
  void elementwise(const OpCase& first) {
    const auto more = [&](const std::string& what, std::vector<Shape> shapes) {
      add(what, std::move(shapes), first.attributes, first.draws);
    };
    if (first.shapes.size() == 1) {
      more("five axes", {{2, 3, 2, 3, 2}});
      more("three axes", {{5, 7, 9}});
      more("seven axes", {{1, 2, 1, 3, 2, 1, 2}});
      more("64 rows", {{64, 64}});
      more("317 rows", {{317, 331}});
    }
    for (const std::int64_t n : {kWhole - 1, kWhole, kWhole + 1})
      more(std::to_string(n), std::vector<Shape>(first.shapes.size(), Shape{n}));
    if (first.shapes.size() == 2 || op_ == Op::min) {
      more("64 rows, a row broadcast", {{64, 64}, {64}});
      more("65537 rows, a row broadcast", {{kGrid, 2}, {2}});
      more("six axes", {{2, 1, 2, 1, 3, 1}, {1, 2, 1, 2, 1, 2}});
      more("317 rows, a row broadcast", {{317, 331}, {331}});
      more("a row and a column", {{1, 35}, {33, 1}});
      more("a column and a row", {{33, 1}, {1, 35}});
      more("ranks 3 and 1", {{3, 4, 5}, {5}});
      more("ranks 1 and 3", {{5}, {3, 4, 5}});
      more("middle axis broadcast", {{3, 7, 5}, {3, 1, 5}});
      more("five axes", {{2, 3, 1, 3, 2}, {2, 1, 2, 3, 1}});
    }
    if (op_ == Op::where) more("all broadcast", {{5, 33, 1}, {35}, {5, 1, 35}});
  }

 private:
  Op op_;
  Cases cases_;
};

}  // namespace

std::vector<OpCase> broad_applications(Op op) {
  const Cases known = applications(op, false);
  Broad broad(op);
  using Form = NormaliseAttributes::Form;
  switch (op) {
    case Op::matmul:
      broad.matmul();
      break;
    case Op::gemm:
      broad.gemm();
      break;
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::log_sum_exp:
      broad.lines([](std::int64_t axis) { return ReduceAttributes{{axis}, false}; });
      break;
    case Op::softmax:
    case Op::log_softmax:
      broad.lines([](std::int64_t axis) { return SoftmaxAttributes{axis}; });
      break;
    case Op::cumsum:
      broad.lines([](std::int64_t axis) { return CumulativeAttributes{axis, false, false}; });
      break;
    case Op::arg_max:
    case Op::arg_min:
      broad.lines([](std::int64_t axis) { return ArgAttributes{axis, true, false}; });
      break;
    case Op::normalise:
      broad.lines([](std::int64_t axis) { return NormaliseAttributes{{axis}, 1e-5, Form::centered}; });
      broad.add("root_mean, 67 rows", {{kRows, kColumns}}, NormaliseAttributes{{1}, 1e-5, Form::root_mean});
      break;
    case Op::masked_softmax:
      broad.add("67 rows", {{kRows, kColumns}, {kRows, kColumns}}, MaskedSoftmaxAttributes{1, true}, {Draw::any, Draw::truth});
      broad.add("128 rows of 64", {{kSquare, 64}, {kSquare, 64}}, MaskedSoftmaxAttributes{1, true}, {Draw::any, Draw::truth});
      break;
    case Op::sort:
    case Op::arg_sort:
      broad.add("67 rows", {{kRows, kColumns}}, SortAttributes{1, kColumns, true});
      broad.add("2 rows of 1024", {{2, 1024}}, SortAttributes{1, 1024, true});
      break;
    case Op::batch_norm:
      broad.add("67 channels", {{9, kRows, 35}, {kRows}, {kRows}, {kRows}, {kRows}}, BatchNormAttributes{1e-5},
                {Draw::any, Draw::any, Draw::any, Draw::any, Draw::square});
      broad.add("64 channels", {{4, 64, 32}, {64}, {64}, {64}, {64}}, BatchNormAttributes{1e-5},
                {Draw::any, Draw::any, Draw::any, Draw::any, Draw::square});
      break;
    default:
      broad.windows();
      broad.layouts();
      if (!known.empty() && (is_elementwise(op, known.front()) || op == Op::where)) broad.elementwise(known.front());
  }
  return broad.take();
}

}  // namespace assay::probes
