// Points drawn at random, away from kinks, until every element has a residue.

#include "kernel/gradients/adjointness/sample.h"

#include <cmath>

namespace assay::kernel::adjointness {

namespace {

Rational exactly(double value) { return Rational::from_double(value).value_or(Rational()); }

// A point at random, with 52 bits, so that no sum of few is a small number. Ends of any size: nothing overflows.
double generic(const Domain& domain, bool real, Random& random) {
  if (!real) return domain.lo + static_cast<double>(random.below(static_cast<std::uint64_t>(std::fmin(domain.hi - domain.lo, 0x1p53)) + 1));
  const double u = (static_cast<double>(random.next() >> 12) + 0.5) * 0x1p-52;
  return domain.lo * (1 - u) + domain.hi * u;
}

// Elements at break points, the others at multiples of 1/8, so that intervals are points.
Rational at_kink(const AdjointCase& one, const Domain& domain, bool real, Random& random) {
  if (!real) return exactly(generic(domain, real, random));
  if (random.below(3) != 0) return exactly(one.kinks[static_cast<std::size_t>(random.below(one.kinks.size()))]);
  const auto steps = static_cast<std::uint64_t>((domain.hi - domain.lo) * 8);
  return exactly(domain.lo) + Rational(random.below(steps + 1), 8);
}

template <class S, class F>
Arrays<S> sampled(const Graph& graph, const F& draw) {
  Arrays<S> x;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const Node& node = graph.node(graph.inputs[k]);
    x.push_back({node.shape, {}});
    for (std::size_t i = 0; i < element_count(node.shape); ++i) x.back().values.push_back(draw(k, is_float(node.dtype)));
  }
  return x;
}

}  // namespace

Arrays<double> generic_point(const AdjointCase& one, Random& random) {
  return sampled<double>(one.graph, [&](std::size_t k, bool real) { return generic(one.domains[k], real, random); });
}
Arrays<Rational> kink_point(const AdjointCase& one, Random& random) {
  return sampled<Rational>(one.graph, [&](std::size_t k, bool real) { return at_kink(one, one.domains[k], real, random); });
}

Arrays<Opaque> displaced(const Graph& graph, const Arrays<Rational>& x, Random& random) {
  Arrays<Opaque> result = lifted<Opaque>(x);
  for (const std::size_t k : real_inputs(graph)) {
    for (std::size_t i = 0; i < x[k].values.size(); ++i) {
      result[k].values[i] = Opaque(x[k].values[i], static_cast<double>(2 * random.below(1 << 20) + 1 - (1 << 20)));
    }
  }
  return result;
}

}  // namespace assay::kernel::adjointness
