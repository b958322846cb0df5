// Gradients of softmax and of normalisations.
#include "runtime/autodiff/families.h"

namespace assay::runtime::autodiff {

// y_i (g_i - sum_j g_j y_j)
Term softmax_bar(const Applied& a, std::int64_t axis) {
  const Term gy = a.g() * a.y();
  return gy - a.y() * sum(gy, {axis});
}

Term log_softmax_bar(const Applied& a) { return a.g() - exp(a.y()) * sum(a.g(), {a.get<SoftmaxAttributes>().axis}); }

namespace {

using Form = NormaliseAttributes::Form;

// y = c / D with c = x - mean: (g - mean g - c mean(g c) d) / D, where dD = d mean(c dc)
Term centred_bar(const Applied& a, const NormaliseAttributes& n) {
  const Term c = a.x() - mean(a.x(), n.axes), v = mean(square(c), n.axes);
  if (n.form == Form::centered) {
    const Term r = reciprocal(sqrt(v + n.epsilon));
    const Term moment = mean(a.g() * a.y(), n.axes);
    return r * (a.g() - mean(a.g(), n.axes) - a.y() * moment);
  }
  const Term s = sqrt(v), h = a.g() / (s + n.epsilon);
  return h - mean(h, n.axes) - a.y() * (mean(h * c, n.axes) / s);
}

}  // namespace

Term normalise_bar(const Applied& a) {
  const auto& n = a.get<NormaliseAttributes>();
  if (n.form == Form::centered || n.form == Form::deviation) return centred_bar(a, n);
  const Term g = a.g(), y = a.y(), x = a.x();
  if (n.form == Form::l1) return (g - sign(x) * sum(g * y, n.axes)) / (sum(x.apply(Op::abs), n.axes) + n.epsilon);
  if (n.form == Form::l2) return (g - y * sum(g * y, n.axes)) / sqrt(sum(square(x), n.axes) + n.epsilon);
  return (g - y * mean(g * y, n.axes)) / sqrt(mean(square(x), n.axes) + n.epsilon);
}

// Operands x, scale, bias, mean, var; with r = 1 / sqrt(var + epsilon), y = (x - mean) scale r + bias.
Cotangents batch_norm_bars(const Applied& a) {
  const Shape shape = a.x().shape();
  Shape channels(shape.size(), 1);
  channels[1] = shape[1];
  std::vector<std::int64_t> others;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 1) others.push_back(static_cast<std::int64_t>(i));
  }
  const auto per_channel = [&](const Term& t) { return sum(t, others, false); };
  const Term var = a.x(4), g = a.g();
  const double epsilon = a.get<BatchNormAttributes>().epsilon;
  const Term r = reciprocal(sqrt(epsilon == 0 ? var : var + epsilon)), slope = a.x(1) * r;
  Cotangents bars(5, kNone);
  if (a.wanted[0]) bars[0] = (g * reshape(slope, channels)).ref();
  if (a.wanted[2]) bars[2] = per_channel(g).ref();
  if (a.wanted[3]) bars[3] = (-(per_channel(g) * slope)).ref();
  if (!a.wanted[1] && !a.wanted[4]) return bars;
  const Term moment = per_channel(g * (a.x() - reshape(a.x(3), channels)));
  if (a.wanted[1]) bars[1] = (moment * r).ref();
  if (a.wanted[4]) bars[4] = (moment * slope * square(r) * -0.5).ref();
  return bars;
}

// y_c = x_c b_c^-beta, b = bias + alpha/size (the sum of x^2 over neighbours):
// x_bar = g b^-beta - 2 beta x (alpha/size times the sum of g y / b over those whose neighbour x is).
Term local_response_bar(const Applied& a) {
  const auto& l = a.get<LocalResponseAttributes>();
  const Term x = a.x(), g = a.g();
  const std::int64_t channels = x.shape()[1];
  const Rational share = *Rational::from_double(l.alpha) / Rational(l.size);
  WeightedGatherAttributes neighbours{1, {0}, {}, {}};
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t first = c - (l.size - 1) / 2, last = c + l.size / 2;
    for (std::int64_t k = first < 0 ? 0 : first; k <= last && k < channels; ++k) neighbours.indices.push_back(k);
    neighbours.starts.push_back(static_cast<std::int64_t>(neighbours.indices.size()));
  }
  neighbours.weights.assign(neighbours.indices.size(), share);
  const WeightedGatherAttributes back = turned(neighbours, channels);
  const Term b = square(x).apply(Op::weighted_gather, neighbours) + l.bias;
  const Term direct = g * power(b, -*Rational::from_double(l.beta));
  return direct - x * ((g * a.y() / b).apply(Op::weighted_gather, back) * (2 * l.beta));
}

}  // namespace assay::runtime::autodiff
