// And/or formulas over comparisons, in disjunctive normal form with limits.
#pragma once

#include <cstdint>
#include <vector>

#include "frontends/vnnlib/expression.h"
#include "frontends/vnnlib/lexer.h"
#include "frontends/vnnlib/products.h"
#include "frontends/vnnlib/signature.h"
#include "semantics/statement/statement.h"

namespace assay::vnnlib {

using LiteralId = std::uint32_t;

// The comparisons of a file: bounds of single inputs, and rows for all else.
class Literals {
 public:
  struct Bound {
    Scalar scalar = 0;
    bool is_lower = false;
    Rational value;
    std::uint64_t hash = 0;   // of the value
    std::uint64_t bytes = 0;  // of the value's digits, where they take more than two words
  };
  LiteralId add(Bound bound);
  LiteralId add(statement::Row row, std::uint64_t bytes);  // of all its numbers' digits
  [[nodiscard]] static bool is_row(LiteralId id) { return (id & 1) != 0; }
  [[nodiscard]] const Bound& bound(LiteralId id) const { return bounds_[id >> 1]; }
  [[nodiscard]] const statement::Row& row(LiteralId id) const { return rows_[id >> 1]; }
  [[nodiscard]] std::uint64_t row_bytes(LiteralId id) const { return row_bytes_[id >> 1]; }
  [[nodiscard]] std::size_t size() const { return bounds_.size() + rows_.size(); }

 private:
  std::vector<Bound> bounds_;
  std::vector<statement::Row> rows_;
  std::vector<std::uint64_t> row_bytes_;
};

// A disjunction of conjunctions of literals; no conjunction at all is `false`.
struct Dnf {
  std::vector<LiteralId> literals;  // of all conjunctions, one after the other
  std::vector<std::size_t> ends;    // where each conjunction ends

  [[nodiscard]] static Dnf always() { return {{}, {0}}; }  // one empty conjunction
  [[nodiscard]] std::size_t size() const { return ends.size(); }
  [[nodiscard]] std::size_t begin_of(std::size_t i) const { return i == 0 ? 0 : ends[i - 1]; }
};

// common AND rest: what an `and` has gathered so far. Keeping the literals that hold in every case apart is what
// makes a large box with a few output disjuncts cheap.
struct Conjunction {
  std::vector<LiteralId> common;
  Dnf rest = Dnf::always();
  void clear();
};

// Reads formulas and conjoins them.
class FormulaReader {
 public:
  FormulaReader(Lexer& lexer, Diagnostics& diagnostics, const Signature& signature, Polynomials polynomials, Room& room)
      : lexer_(lexer),
        diagnostics_(diagnostics),
        signature_(signature),
        room_(room),
        products_(signature, diagnostics, room),
        expressions_(lexer, diagnostics, signature, products_, polynomials) {}

  // target := target AND the formula that comes next.
  bool read_into(Conjunction& target, unsigned depth = 0);
  [[nodiscard]] const Literals& literals() const { return literals_; }
  [[nodiscard]] const Products& products() const { return products_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }  // comparisons

 private:
  bool read_and(Conjunction& target, unsigned depth);
  bool read_or(Conjunction& target, Position at, unsigned depth);
  bool read_comparison(Conjunction& target, const Token& op);
  bool conjoin(Conjunction& target, Dnf&& disjuncts, Position at);
  bool append(Dnf& target, const Conjunction& disjunct, Position at);
  // The literals of difference <= 0 (< 0 if strict); `holds` is false when no point can satisfy them.
  void add_at_most_zero(const LinearExpression& difference, bool strict, std::vector<LiteralId>& result, bool& holds);

  Lexer& lexer_;
  Diagnostics& diagnostics_;
  const Signature& signature_;
  Room& room_;
  Products products_;
  ExpressionReader expressions_;
  Literals literals_;
  LinearExpression left_, right_;
  std::size_t left_out_ = 0;
};

}  // namespace assay::vnnlib
