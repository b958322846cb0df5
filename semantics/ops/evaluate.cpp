// Shared by the denotations over every scalar: their rejections, and the ranges of integer types.
#include "semantics/demand.h"
#include "semantics/ops/families.h"
#include "semantics/ops/integer_range.h"

namespace assay {

namespace ops {

Rejection no_function(const Node& node, const char* scalar) {
  const std::string name(op_row(node.op).name);
  return {Rejection::Kind::declined,
          "denote.scalar",
          "node '" + node.name + "' (" + name + ")",
          "a scalar on which " + name + " is defined",
          scalar,
          "evaluate over Interval or WideInterval"};
}

Rejection domain_fault(const Node& node, std::size_t element, const char* required, const char* found) {
  const std::string name(op_row(node.op).name);
  return {Rejection::Kind::rejected,
          name + ".domain",
          "node '" + node.name + "' (" + name + "), element " + std::to_string(element),
          required,
          found,
          "the exact function has no value there"};
}

}  // namespace ops

std::pair<Rational, Rational> range_of(DType dtype) {
  if (dtype == DType::boolean) return {Rational(0), Rational(1)};
  demand(is_integer(dtype), "range_of: an integer or boolean type");
  const auto bits = static_cast<std::int64_t>(8 * byte_size(dtype));
  if (is_unsigned(dtype)) return {Rational(0), pow(Rational(2), bits) - Rational(1)};
  const Rational least = -pow(Rational(2), bits - 1);
  return {least, -least - Rational(1)};
}

}  // namespace assay
