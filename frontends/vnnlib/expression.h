// Arithmetic that is linear in variables and their products: decimals, variables, + - * with exact coefficients.
#pragma once

#include <cstdint>
#include <vector>

#include "frontends/vnnlib/lexer.h"
#include "frontends/vnnlib/products.h"
#include "frontends/vnnlib/signature.h"
#include "semantics/numbers/rational.h"

namespace assay::vnnlib {

// constant + sum of coefficient * scalar.
struct LinearExpression {
  struct Term {
    Scalar scalar = 0;
    Rational coefficient;
  };
  std::vector<Term> terms;
  Rational constant;
  std::uint32_t digits = 1;    // no coefficient needs more decimal digits, above or below its point
  bool is_polynomial = false;  // the rest means nothing then (Polynomials::leave_out)

  void clear();
  void negate();
  // Each scalar once, in order, with a non-zero coefficient.
  void collect();
};

// Nesting of parentheses, in expressions and formulas alike; the readers recurse.
inline constexpr unsigned kMaxNesting = 500;

class ExpressionReader {
 public:
  ExpressionReader(Lexer& lexer, Diagnostics& diagnostics, const Signature& signature, Products& products, Polynomials polynomials)
      : lexer_(lexer), diagnostics_(diagnostics), signature_(signature), products_(products), polynomials_(polynomials) {}

  // The expression that comes next.
  bool read(LinearExpression& result, unsigned depth);
  // target += source (which is consumed).
  bool add(LinearExpression& target, LinearExpression& source, Position at);

 private:
  bool read_number(LinearExpression& result);
  bool read_operation(LinearExpression& result, unsigned depth);
  bool read_sum(LinearExpression& result, Position at, bool subtract, unsigned depth);
  bool read_product(LinearExpression& result, Position at, unsigned depth);
  bool multiply(LinearExpression& target, LinearExpression& factor, Position at);
  bool multiply_out(LinearExpression& target, const LinearExpression& factor, Position at);
  bool charge(std::size_t terms, std::uint32_t digits, Position at);

  Lexer& lexer_;
  Diagnostics& diagnostics_;
  const Signature& signature_;
  Products& products_;
  Polynomials polynomials_;
  std::uint64_t work_ = 0;
};

}  // namespace assay::vnnlib
