// Term: a value of an emitter with the operators that rules are written in.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/autodiff/emitter.h"

namespace assay::runtime::autodiff {

class Term {
 public:
  Term(Emitter& emitter, Ref ref) : emitter_(&emitter), ref_(ref) {}
  [[nodiscard]] Emitter& emitter() const { return *emitter_; }
  [[nodiscard]] Ref ref() const { return ref_; }
  [[nodiscard]] const Shape& shape() const { return emitter_->shape(ref_); }  // valid until the next op
  [[nodiscard]] DType dtype() const { return emitter_->dtype(ref_); }

  [[nodiscard]] Term apply(Op op, Attributes attributes = NoAttributes{}) const {
    return {*emitter_, emitter_->op(op, std::span(&ref_, 1), std::move(attributes))};
  }
  [[nodiscard]] Term apply(Op op, const Term& other, Attributes attributes = NoAttributes{}) const {
    const Ref operands[] = {ref_, other.ref_};
    return {*emitter_, emitter_->op(op, operands, std::move(attributes))};
  }
  // A scalar of this term's dtype.
  [[nodiscard]] Term number(double value) const { return {*emitter_, emitter_->number(value, dtype())}; }
  [[nodiscard]] Term fixed(Fixed which) const { return {*emitter_, emitter_->fixed(which, dtype())}; }
  // The number itself also where this term's dtype does not hold it: in ops then.
  [[nodiscard]] Term exact(double value) const;
  [[nodiscard]] Term exact(const Rational& value) const;

 private:
  Emitter* emitter_;
  Ref ref_;
};

inline Term operator+(const Term& a, const Term& b) { return a.apply(Op::add, b); }
inline Term operator-(const Term& a, const Term& b) { return a.apply(Op::sub, b); }
inline Term operator*(const Term& a, const Term& b) { return a.apply(Op::mul, b); }
inline Term operator/(const Term& a, const Term& b) { return a.apply(Op::div, b); }
inline Term operator-(const Term& a) { return a.apply(Op::neg); }
inline Term operator*(const Term& a, double factor) { return a.apply(Op::scale, ScaleAttributes{factor}); }
inline Term operator+(const Term& a, double b) { return a + a.exact(b); }
inline Term operator-(const Term& a, double b) { return a - a.exact(b); }
inline Term operator-(double a, const Term& b) { return b.exact(a) - b; }
inline Term square(const Term& a) { return a * a; }
inline Term sign(const Term& a) { return a.apply(Op::sign); }
inline Term above_zero(const Term& a) { return sign(a).apply(Op::relu); }  // 1 above 0, 0 from there on down
inline Term exp(const Term& a) { return a.apply(Op::exp); }
inline Term sqrt(const Term& a) { return a.apply(Op::sqrt); }
inline Term reciprocal(const Term& a) { return a.apply(Op::reciprocal); }
inline Term sigmoid(const Term& a) { return a.apply(Op::sigmoid); }
Term below_zero(const Term& a);  // min(a, 0)
Term power(const Term& a, const Rational& exponent);

// Layout; each gives `a` itself where there is nothing to do.
Term reshape(const Term& a, const Shape& shape);
Term permute(const Term& a, const std::vector<std::int64_t>& axes);
Term transpose(const Term& a);  // of the last two axes
Term expand(const Term& a, const Shape& shape);
Term sum(const Term& a, const std::vector<std::int64_t>& axes, bool keep_dims = true);
Term mean(const Term& a, const std::vector<std::int64_t>& axes);
Term pad(const Term& a, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after);  // with 0; negative ones crop
Term concat(const std::vector<Term>& parts, std::int64_t axis);
Term choose(const Term& condition, const Term& yes, const Term& no);
// The sum of `a` over what was broadcast from `shape`.
Term sum_to(const Term& a, const Shape& shape);

[[nodiscard]] std::int64_t extent_product(const Shape& shape, std::size_t first, std::size_t last);

}  // namespace assay::runtime::autodiff
