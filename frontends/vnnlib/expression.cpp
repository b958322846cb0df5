#include "frontends/vnnlib/expression.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "frontends/vnnlib/decimal.h"

namespace assay::vnnlib {
namespace {

// Limits on what a small file may ask for by nesting products and sums.
constexpr std::uint32_t kMaxDigits = 4000;         // of one coefficient
constexpr std::uint64_t kMaxWork = 1'000'000'000;  // multiplications of words of 18 digits, per file
constexpr std::uint32_t kDigitsPerWord = 18;

}  // namespace

void LinearExpression::clear() {
  terms.clear();
  constant = Rational();
  digits = 1;
  is_polynomial = false;
}

void LinearExpression::negate() {
  constant = -constant;
  for (Term& term : terms) term.coefficient = -term.coefficient;
}

void LinearExpression::collect() {
  const auto by_scalar = [](const Term& a, const Term& b) { return a.scalar < b.scalar; };
  if (!std::is_sorted(terms.begin(), terms.end(), by_scalar)) std::sort(terms.begin(), terms.end(), by_scalar);
  std::size_t kept = 0;
  for (std::size_t next = 0; next < terms.size();) {
    Term sum = std::move(terms[next++]);
    for (; next < terms.size() && terms[next].scalar == sum.scalar; ++next) sum.coefficient += terms[next].coefficient;
    if (sum.coefficient.sign() != 0) terms[kept++] = std::move(sum);
  }
  terms.resize(kept);
}

bool ExpressionReader::charge(std::size_t terms, std::uint32_t digits, Position at) {
  const std::uint64_t words = 1 + digits / kDigitsPerWord;
  work_ += (terms + 1) * words * words;  // reducing a fraction is quadratic in its length
  if (digits > kMaxDigits) {
    return diagnostics_.unsupported(at, "number_too_long", "coefficients of at most " + std::to_string(kMaxDigits) + " digits",
                                    "a product with up to " + std::to_string(digits), "round the numbers to fewer digits");
  }
  if (work_ > kMaxWork) {
    return diagnostics_.unsupported(at, "expression_too_large",
                                    "arithmetic of at most " + std::to_string(kMaxWork) + " operations per file", "one more",
                                    "multiply the nested sums out");
  }
  return true;
}

bool ExpressionReader::read(LinearExpression& result, unsigned depth) {
  result.clear();
  const Token& next = lexer_.peek();
  if (next.kind == Token::Kind::open) return read_operation(result, depth);
  if (next.kind != Token::Kind::word)
    return diagnostics_.malformed(next.at, "syntax", "a number, a variable or \"(\"", describe(next),
                                  advice_on(next, "a comparison and a sum need two sides or terms: (<= Y_0 (+ X_0 0.5))"));
  if (looks_like_number(next.text)) return read_number(result);
  Scalar scalar = 0;
  if (!signature_.read_reference(lexer_, diagnostics_, scalar)) return false;
  result.terms.push_back({scalar, Rational(1)});
  return true;
}

bool ExpressionReader::read_number(LinearExpression& result) {
  const Token token = lexer_.take();
  std::string problem;
  std::optional<Decimal> number = parse_decimal(token.text, problem);
  if (!number) return diagnostics_.malformed(token.at, "number", problem, describe(token), "write a decimal number, such as -0.5 or 1e-3");
  result.constant = std::move(number->value);
  result.digits = number->digits;
  return charge(0, result.digits, token.at);
}

bool ExpressionReader::read_operation(LinearExpression& result, unsigned depth) {
  const Position at = lexer_.take().at;
  if (depth >= kMaxNesting)
    return diagnostics_.unsupported(at, "nesting", "at most " + std::to_string(kMaxNesting) + " nested parentheses", "one more level",
                                    "flatten the sums: (+ a b c) takes any number of terms");
  const Token word = lexer_.take();
  if (word.kind == Token::Kind::word && (word.text == "+" || word.text == "-")) return read_sum(result, word.at, word.text == "-", depth);
  if (word.kind == Token::Kind::word && word.text == "*") return read_product(result, word.at, depth);
  if (word.kind != Token::Kind::word)
    return diagnostics_.malformed(word.at, "syntax", "+, - or *", describe(word),
                                  advice_on(word, "an operation begins with its sign: (+ X_0 0.5)"));
  return diagnostics_.unsupported(word.at, "unknown_operator", "linear arithmetic with +, - and *", describe(word),
                                  word.text == "/" ? "write the quotient as a decimal"
                                                   : "only linear constraints can be stated; docs/reference/vnnlib.md says what is read");
}

bool ExpressionReader::add(LinearExpression& target, LinearExpression& source, Position at) {
  target.constant += source.constant;
  target.digits = std::max(target.digits, source.digits);
  target.is_polynomial = target.is_polynomial || source.is_polynomial;
  std::move(source.terms.begin(), source.terms.end(), std::back_inserter(target.terms));
  return charge(source.terms.size(), target.digits, at);
}

bool ExpressionReader::read_sum(LinearExpression& result, Position at, bool subtract, unsigned depth) {
  if (!read(result, depth + 1)) return false;
  std::size_t operands = 1;
  LinearExpression operand;
  for (; lexer_.peek().kind != Token::Kind::close; ++operands) {
    if (!read(operand, depth + 1)) return false;
    if (subtract) operand.negate();
    if (!add(result, operand, at)) return false;
  }
  lexer_.take();
  if (subtract && operands == 1) result.negate();
  // A sum of n numbers has at most as many digits more than the longest as n has.
  result.digits += operands > 1 ? static_cast<std::uint32_t>(std::to_string(operands).size()) : 0;
  return charge(0, result.digits, at);
}

bool ExpressionReader::read_product(LinearExpression& result, Position at, unsigned depth) {
  if (!read(result, depth + 1)) return false;
  LinearExpression factor;
  while (lexer_.peek().kind != Token::Kind::close)
    if (!read(factor, depth + 1) || !multiply(result, factor, at)) return false;
  lexer_.take();
  return true;
}

bool ExpressionReader::multiply(LinearExpression& target, LinearExpression& factor, Position at) {
  target.collect();
  factor.collect();
  const bool of_variables = !target.terms.empty() && !factor.terms.empty();
  if (of_variables && polynomials_ == Polynomials::state) return multiply_out(target, factor, at);
  target.is_polynomial = target.is_polynomial || factor.is_polynomial || of_variables;
  if (target.is_polynomial) {
    target.terms.clear();
    return true;
  }
  if (target.terms.empty()) std::swap(target, factor);
  target.digits += factor.digits;
  if (!charge(target.terms.size(), target.digits, at)) return false;
  target.constant *= factor.constant;
  for (LinearExpression::Term& term : target.terms) term.coefficient *= factor.constant;
  return true;
}

bool ExpressionReader::multiply_out(LinearExpression& target, const LinearExpression& factor, Position at) {
  constexpr std::size_t kWorkPerProduct = 100;  // to find it among the others
  const std::size_t products = target.terms.size() * factor.terms.size();
  const std::uint32_t digits = target.digits + factor.digits + static_cast<std::uint32_t>(std::to_string(products + 2).size());
  if (!charge(kWorkPerProduct * products, digits, at)) return false;
  LinearExpression result;
  result.constant = target.constant * factor.constant;
  result.digits = digits;
  for (const LinearExpression::Term& a : target.terms) {
    for (const LinearExpression::Term& b : factor.terms) {
      result.terms.push_back({0, a.coefficient * b.coefficient});
      if (!products_.multiply(a.scalar, b.scalar, at, result.terms.back().scalar)) return false;
    }
  }
  for (const LinearExpression::Term& a : target.terms) result.terms.push_back({a.scalar, a.coefficient * factor.constant});
  for (const LinearExpression::Term& b : factor.terms) result.terms.push_back({b.scalar, b.coefficient * target.constant});
  result.collect();
  target = std::move(result);
  return true;
}

}  // namespace assay::vnnlib
