// softmax: a defined op; the formula below is its definition in primitives.
//
// Meaning.     y_i = 1 / sum_j exp(x_j - x_i), i and j along the axis; equal to exp(x_i) / sum_j exp(x_j). The term j = i
//              is exactly 1.
// Shapes.      S -> S
// Domain.      All reals, values in (0, 1]. Over float and double a large x_j - x_i overflows to y_i = 0; NaN gives NaN.
//              Scalars without exp have no softmax ("denote.scalar").
// Side conditions. S1 0 <= axis < rank.
// Derivative.  y_dot_i = y_i * (x_dot_i - sum_j y_j x_dot_j)
// Rounding.    The sum takes j in order. Over intervals this form is as tight as the box allows (up to rounding): y_i is
//              increasing in x_i and decreasing in every other x_j, and each of them enters all terms on one side only.
// Source.      ONNX Softmax (13 and later: one axis); the form: Wei et al. 2023, "Convex bounds on the softmax function"
#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"

namespace assay::ops {

template <class S>
Outcome<Array<S>> denote_softmax(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_transcendental) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    const Array<S>& x = *operands[0];
    const auto axis = static_cast<std::size_t>(std::get<SoftmaxAttributes>(node.attributes).axis);
    const auto extent = static_cast<std::size_t>(node.shape[axis]);
    const auto stride = static_cast<std::size_t>(row_major_strides(node.shape)[axis]);
    const S one = ScalarTraits<S>::from_double(1);
    Array<S> y{node.shape, std::vector<S>(x.values.size())};
    for (std::size_t at = 0; at < x.values.size(); ++at) {
      const std::size_t i = at / stride % extent, line = at - i * stride;
      S sum{};
      for (std::size_t j = 0; j < extent; ++j) sum += j == i ? one : S(exp(x.values[line + j * stride] - x.values[at]));
      y.values[at] = one / sum;
    }
    return y;
  }
}

template Outcome<Array<Rational>> denote_softmax(const Node&, Operands<Rational>);
template Outcome<Array<Interval>> denote_softmax(const Node&, Operands<Interval>);
template Outcome<Array<WideInterval>> denote_softmax(const Node&, Operands<WideInterval>);
template Outcome<Array<Modular>> denote_softmax(const Node&, Operands<Modular>);
template Outcome<Array<double>> denote_softmax(const Node&, Operands<double>);
template Outcome<Array<float>> denote_softmax(const Node&, Operands<float>);
template Outcome<Array<Symbolic>> denote_softmax(const Node&, Operands<Symbolic>);
template Outcome<Array<Dual<Interval>>> denote_softmax(const Node&, Operands<Dual<Interval>>);
template Outcome<Array<Dual<Rational>>> denote_softmax(const Node&, Operands<Dual<Rational>>);

}  // namespace assay::ops
