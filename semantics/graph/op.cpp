// The rows of the op table, from ops.def.

#include "semantics/graph/op.h"

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "semantics/graph/family.h"

namespace assay {

namespace {

// Position of an alternative of Attributes, by its type.
template <class T, std::size_t... I>
constexpr std::size_t position(std::index_sequence<I...>) {
  std::size_t found = sizeof...(I);
  ((std::is_same_v<T, std::variant_alternative_t<I, Attributes>> ? void(found = I) : void()), ...);
  return found;
}

template <class T>
inline constexpr std::size_t kOf = position<T>(std::make_index_sequence<std::variant_size_v<Attributes>>());

struct Row {
  OpRow row;
  Family family;
  OpKind kind;
  Shapes shapes;
  unsigned facts;
};
constexpr unsigned plain = 0, mpfr = 1, entire = 2, exact = 4;  // facts

#define ASSAY_OP(op, fewest, most, attributes, op_class, smoothness, elements, family, kind, shapes, facts)        \
  Row{{Op::op, #op, fewest, most, kOf<attributes>, OpClass::op_class, Smoothness::smoothness, Elements::elements}, \
      Family::family,                                                                                              \
      OpKind::kind,                                                                                                \
      Shapes::shapes,                                                                                              \
      facts},
constexpr std::array<Row, kOpCount> kTable = {{
#include "semantics/graph/ops.def"
}};

constexpr bool rows_agree() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    const auto& [row, family, kind, shapes, facts] = kTable[i];
    if (static_cast<std::size_t>(row.op) != i || row.attributes >= std::variant_size_v<Attributes>) return false;
    const bool is_leaf = row.op_class == OpClass::leaf;
    if ((family == Family::leaf) != is_leaf || (kind == OpKind::leaf) != is_leaf || (shapes == Shapes::none) != is_leaf) return false;
    if ((facts & entire) != 0 && row.smoothness != Smoothness::smooth) return false;
  }
  return true;
}
static_assert(rows_agree(), "one row per op, whose columns do not contradict each other");

}  // namespace

const OpRow& op_row(Op op) { return kTable[static_cast<std::size_t>(op)].row; }
Family family_of(Op op) { return kTable[static_cast<std::size_t>(op)].family; }
OpKind kind_of(Op op) { return kTable[static_cast<std::size_t>(op)].kind; }
Shapes shapes_of(Op op) { return kTable[static_cast<std::size_t>(op)].shapes; }
bool rests_on_mpfr(Op op) { return (kTable[static_cast<std::size_t>(op)].facts & mpfr) != 0; }
bool is_entire(Op op) { return (kTable[static_cast<std::size_t>(op)].facts & entire) != 0; }
bool is_exact(Op op) { return (kTable[static_cast<std::size_t>(op)].facts & exact) != 0; }

bool gives_integers(Op op, DType dtype) {
  return is_integer(dtype) || dtype == DType::boolean || op == Op::floor || op == Op::ceil || op == Op::round || op == Op::sign;
}

}  // namespace assay
