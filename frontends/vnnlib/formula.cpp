#include "frontends/vnnlib/formula.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace assay::vnnlib {
namespace {

constexpr const char* kDnf = "literals of the disjunctive normal form";
constexpr std::uint64_t kBytesPerLiteral = 16;  // and per case: four or eight bytes, in two copies
// Literals are numbered with 31 bits.
constexpr std::size_t kMaxLiterals = std::size_t{1} << 30;
constexpr std::uint64_t kBytesPerDigit = 1;  // of the numbers that are kept: 0.42, of numerator and denominator
constexpr std::uint32_t kWordDigits = 18;    // that a word of a number holds
constexpr std::uint64_t kBytesPerLongNumber = 64;

bool is_comparison(std::string_view word) {
  return word == "<=" || word == ">=" || word == "<" || word == ">" || word == "=" || word == "==" || word == "!=";
}

}  // namespace

LiteralId Literals::add(Bound bound) {
  bounds_.push_back(std::move(bound));
  return static_cast<LiteralId>((bounds_.size() - 1) << 1);
}

LiteralId Literals::add(statement::Row row, std::uint64_t bytes) {
  rows_.push_back(std::move(row));
  row_bytes_.push_back(bytes);
  return static_cast<LiteralId>((rows_.size() - 1) << 1 | 1);
}

void Conjunction::clear() {
  common.clear();
  rest.literals.clear();
  rest.ends.assign(1, 0);
}

bool FormulaReader::read_into(Conjunction& target, unsigned depth) {
  const Position at = lexer_.peek().at;
  if (!expect(lexer_, diagnostics_, Token::Kind::open, "a formula: (and ...), (or ...) or a comparison")) return false;
  if (depth >= kMaxNesting)
    return diagnostics_.unsupported(at, "nesting", "at most " + std::to_string(kMaxNesting) + " nested parentheses", "one more level",
                                    "flatten the formula: (and a b c) and (or a b c) take any number of formulas");
  const Token word = lexer_.take();
  if (word.kind != Token::Kind::word)
    return diagnostics_.malformed(word.at, "syntax", "and, or, or a comparison", describe(word),
                                  advice_on(word, "a formula begins with its operator: (<= Y_0 Y_1)"));
  if (is_comparison(word.text)) return read_comparison(target, word);
  if (word.text != "and" && word.text != "or") {
    return diagnostics_.unsupported(word.at, "unknown_operator", "and, or, <=, >=, <, >, =, == or !=", describe(word),
                                    word.text == "not"  ? "write the negation out: (not (<= a b)) is (> a b)"
                                    : word.text == "=>" ? "write the implication out: (=> (<= a b) c) is (or (> a b) c)"
                                                        : "write it with these; docs/reference/vnnlib.md says what is read");
  }
  if (lexer_.peek().kind == Token::Kind::close)
    return diagnostics_.malformed(word.at, "arity", "at least one operand of " + std::string(word.text), "none",
                                  "remove it, or write the formulas into it");
  return word.text == "and" ? read_and(target, depth) : read_or(target, word.at, depth);
}

bool FormulaReader::read_and(Conjunction& target, unsigned depth) {
  while (lexer_.peek().kind != Token::Kind::close)
    if (!read_into(target, depth + 1)) return false;
  lexer_.take();
  return true;
}

bool FormulaReader::read_or(Conjunction& target, Position at, unsigned depth) {
  Dnf disjuncts;
  Conjunction disjunct;
  while (lexer_.peek().kind != Token::Kind::close) {
    disjunct.clear();
    if (!read_into(disjunct, depth + 1) || !append(disjuncts, disjunct, at)) return false;
  }
  lexer_.take();
  return conjoin(target, std::move(disjuncts), at);
}

bool FormulaReader::append(Dnf& target, const Conjunction& disjunct, Position at) {
  const std::uint64_t added = disjunct.rest.literals.size() + disjunct.rest.size() * std::uint64_t{disjunct.common.size()};
  if (!room_.take(disjunct.rest.size() + added, kBytesPerLiteral, at, kDnf)) return false;
  for (std::size_t i = 0; i < disjunct.rest.size(); ++i) {
    const auto from = disjunct.rest.literals.begin();
    target.literals.insert(target.literals.end(), disjunct.common.begin(), disjunct.common.end());
    target.literals.insert(target.literals.end(), from + static_cast<std::ptrdiff_t>(disjunct.rest.begin_of(i)),
                           from + static_cast<std::ptrdiff_t>(disjunct.rest.ends[i]));
    target.ends.push_back(target.literals.size());
  }
  return true;
}

// (A or B) and (C or D) = AC or AD or BC or BD, in this order.
bool FormulaReader::conjoin(Conjunction& target, Dnf&& disjuncts, Position at) {
  if (disjuncts.size() == 1) {
    target.common.insert(target.common.end(), disjuncts.literals.begin(), disjuncts.literals.end());
    return true;
  }
  Dnf& old = target.rest;
  if (old.size() == 1 && old.literals.empty()) {
    old = std::move(disjuncts);
    return true;
  }
  const std::uint64_t literals =
      old.literals.size() * std::uint64_t{disjuncts.size()} + disjuncts.literals.size() * std::uint64_t{old.size()};
  if (!room_.take(std::uint64_t{old.size()} * disjuncts.size() + literals, kBytesPerLiteral, at, kDnf)) return false;
  Dnf product;
  for (std::size_t i = 0; i < old.size(); ++i) {
    for (std::size_t j = 0; j < disjuncts.size(); ++j) {
      for (std::size_t k = old.begin_of(i); k < old.ends[i]; ++k) product.literals.push_back(old.literals[k]);
      for (std::size_t k = disjuncts.begin_of(j); k < disjuncts.ends[j]; ++k) product.literals.push_back(disjuncts.literals[k]);
      product.ends.push_back(product.literals.size());
    }
  }
  old = std::move(product);
  return true;
}

bool FormulaReader::read_comparison(Conjunction& target, const Token& op) {
  if (!expressions_.read(left_, 0) || !expressions_.read(right_, 0)) return false;
  if (lexer_.peek().kind != Token::Kind::close)
    return diagnostics_.malformed(lexer_.peek().at, "arity", "\")\" after the two sides of a comparison", describe(lexer_.peek()),
                                  advice_on(lexer_.peek(), "compare two sides at a time: (and (<= a b) (<= b c))"));
  lexer_.take();
  right_.negate();
  if (!expressions_.add(left_, right_, op.at)) return false;
  if (left_.is_polynomial) {
    ++left_out_;
    return conjoin(target, Dnf::always(), op.at);
  }
  left_.collect();
  std::ranges::sort(left_.terms, [&](const auto& a, const auto& b) { return products_.comes_before(a.scalar, b.scalar); });
  const std::uint64_t digits = std::uint64_t{left_.digits} * (left_.terms.size() + 1);
  if (!room_.take(digits, kBytesPerDigit, op.at, "digits of the numbers")) return false;
  if (literals_.size() > kMaxLiterals)
    return diagnostics_.unsupported(op.at, "file_too_large", "fewer than 2^30 comparisons", "one more",
                                    "split the property into several files");
  const bool strict = op.text == "<" || op.text == ">" || op.text == "!=";
  const bool is_equality = op.text == "=" || op.text == "==";
  Dnf either;  // one disjunct, or two for !=
  bool holds = true;
  if (op.text.front() != '>') add_at_most_zero(left_, strict, either.literals, holds);
  if (op.text == "!=") {
    either.ends.assign(holds ? 1 : 0, either.literals.size());
    holds = true;
  }
  if (op.text.front() == '>' || is_equality || op.text == "!=") {
    left_.negate();
    add_at_most_zero(left_, strict, either.literals, holds);
  }
  if (holds) either.ends.push_back(either.literals.size());
  return conjoin(target, std::move(either), op.at);
}

void FormulaReader::add_at_most_zero(const LinearExpression& difference, bool strict, std::vector<LiteralId>& result, bool& holds) {
  const Rational limit = -difference.constant;
  if (difference.terms.empty()) {
    holds = holds && (strict ? limit.sign() > 0 : limit.sign() >= 0);
    return;
  }
  const std::uint64_t bytes = difference.digits > kWordDigits ? kBytesPerLongNumber + difference.digits : 0;
  const LinearExpression::Term& first = difference.terms.front();
  const bool is_bound = difference.terms.size() == 1 && signature_.is_input(first.scalar);
  if (is_bound) {
    const bool is_unit = first.coefficient == Rational(1);
    Rational value = is_unit ? limit : limit / first.coefficient;
    const std::uint64_t hash = std::hash<std::string>()(value.to_string());
    result.push_back(literals_.add(Literals::Bound{first.scalar, first.coefficient.sign() < 0, std::move(value), hash, bytes}));
  }
  if (is_bound && !strict) return;
  statement::Row row;
  for (const LinearExpression::Term& term : difference.terms) row.terms.push_back({term.coefficient, products_.variable(term.scalar)});
  row.bound = limit;
  row.strict = strict;
  result.push_back(literals_.add(std::move(row), bytes * (difference.terms.size() + 1)));
}

}  // namespace assay::vnnlib
