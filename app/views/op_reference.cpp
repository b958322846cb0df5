// Pages of the ops, from the entries ASSAY_PAGE of semantics/graph/ops.def.
#include "app/views/op_reference.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "frontends/onnx/import.h"
#include "semantics/graph/family.h"

namespace assay::views {
namespace {

using namespace std::string_view_literals;

// Shapes.
constexpr auto kSame = "S -> S"sv, kBroadcast = "S_1, ..., S_n -> their broadcast"sv, kPair = "S_x, S_y -> their broadcast"sv,
               kReduced = "[d_1, ..., d_r] -> the extents off `axes`; with `keep_dims` 1 on them"sv,
               kWindow =
                   "[N, C, d_1, ..., d_k] -> [N, C, e_1, ..., e_k], "
                   "e = floor((d + pads - dilation (kernel - 1) - 1) / stride) + 1 (ceil_mode: ceil)"sv;
// Domains.
constexpr auto kReals = "all reals"sv, kAll = "all values"sv, kIntegers = "integers; a result outside the type is undefined"sv,
               kTruths = "truth values"sv, kNumbers = "all reals; on integers a result outside the type is undefined"sv;
// Derivatives.
constexpr auto kNone = "0 by convention"sv, kMoved = "g at the place that each element came from, 0 elsewhere"sv,
               kNoneInteger = "none: integers and truth values"sv;
// Enclosures.
constexpr auto kExact = "the exact image, element by element"sv, kMonotone = "from the ends of the box, each rounded outward"sv,
               kPieces = "from the ends and the break points inside, each rounded outward"sv,
               kSums = "interval sum of products, each rounded outward: the exact image up to rounding where every operand occurs once"sv,
               kDecided = "the truth where all points agree, else {0, 1}"sv, kMoves = "each element's own"sv,
               kWide = "from the ends and the extrema inside, at 257 bits, then rounded outward once"sv;

constexpr std::string_view kOwnOperators[] = {
// of each op the ONNX operator that is the same, if there is one
#define ASSAY_OP(op, ...) ""  // NOLINT(bugprone-suspicious-missing-comma): the name follows, and ASSAY_PAGE has the comma
#define ASSAY_ONNX(op, name, ...) name
#define ASSAY_ONNX_NUMBERS(op, name, ...) name
#define ASSAY_ONNX_NAME(op, name) name
#define ASSAY_PAGE(...) ,
#include "semantics/graph/ops.def"
};

#define ASSAY_PAGE(op, meaning, shapes, domain, derivative, enclosure, operators) \
  OpReference{Op::op, meaning, shapes, domain, derivative, enclosure, kOwnOperators[static_cast<std::size_t>(Op::op)], operators},
constexpr std::array<OpReference, kOpCount> kTable = {{
#include "semantics/graph/ops.def"
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].op) != i || kTable[i].meaning.empty() || kTable[i].enclosure.empty()) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "one ASSAY_PAGE per op in ops.def, behind its ASSAY_OP");

}  // namespace

const OpReference& op_reference(Op op) { return kTable[static_cast<std::size_t>(op)]; }

Bound bound_of(Op op) {
  const OpClass op_class = op_row(op).op_class;
  switch (family_of(op)) {
    case Family::leaf:
      return Bound::leaf;
    case Family::layout:
    case Family::linear:
      return Bound::exact;
    case Family::formula:
      return op_class == OpClass::linear || op_class == OpClass::bilinear ? Bound::product : Bound::plane;
    case Family::function:
      return Bound::line;
    case Family::choice:
      return Bound::plane;
    case Family::discrete:
      return Bound::box;
  }
  return Bound::box;
}

std::vector<std::string> onnx_names(const OpReference& reference) {
  std::istringstream words(std::string(reference.own_operator) + " " + std::string(reference.operators));
  return {std::istream_iterator<std::string>(words), {}};
}

const std::vector<std::string_view>& lowered_operators() {
  static const std::vector<std::string_view> kLowered = [] {
    std::vector<std::string_view> names = {"AffineGrid",
                                           "BitwiseNot",
                                           "ConcatFromSequence",
                                           "ConvInteger",
                                           "DFT",
                                           "DeformConv",
                                           "DepthToSpace",
                                           "Det",
                                           "Dropout",
                                           "DynamicQuantizeLinear",
                                           "GlobalLpPool",
                                           "GridSample",
                                           "Identity",
                                           "If",
                                           "LinearAttention",
                                           "Loop",
                                           "LpPool",
                                           "MatMulInteger",
                                           "MaxUnpool",
                                           "QLinearConv",
                                           "QLinearMatMul",
                                           "RoiAlign",
                                           "RotaryEmbedding",
                                           "STFT",
                                           "Scan",
                                           "Scatter",
                                           "ScatterElements",
                                           "ScatterND",
                                           "SequenceAt",
                                           "SequenceConstruct",
                                           "SequenceEmpty",
                                           "SequenceErase",
                                           "SequenceInsert",
                                           "SequenceLength",
                                           "SpaceToDepth",
                                           "SplitToSequence",
                                           "TensorScatter"};
    for (const onnx::OperatorSupport& one : onnx::supported_operators())
      if (one.domain != "ai.onnx") names.push_back(one.op);
    std::ranges::sort(names);
    return names;
  }();
  return kLowered;
}

}  // namespace assay::views
