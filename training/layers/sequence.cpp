#include "training/layers/sequence.h"

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "runtime/functions.h"
#include "training/initialise.h"
#include "training/layers/recurrent.h"
#include "training/layers/shapes.h"

namespace assay::training {

Value selective_scan(const Value& u, const Value& delta, const Value& a, const Value& b, const Value& c, const Value& d) {
  const Shape shape = u.shape();
  Session& session = u.session();
  if (shape.size() != 3 || shape[1] < 1 || shape[1] > kMostSteps || a.shape().size() != 2) {
    return session.refuse({Rejection::Kind::unsupported, "training.steps", "selective_scan",
                           "[B, T, n] with T from 1 to " + std::to_string(kMostSteps), to_string(shape), "cut the sequences"});
  }
  const std::int64_t n = shape[2], m = a.shape()[1];
  const Value fed = delta * u;
  Value state;
  std::vector<Value> outputs;
  for (std::int64_t t = 0; t < shape[1]; ++t) {
    const auto column = [&](const Value& x) { return reshape(select(x, 1, t), {shape[0], n, 1}); };
    const auto row = [&](const Value& x) { return reshape(select(x, 1, t), {shape[0], 1, m}); };
    const Value added = column(fed) * row(b);
    state = t == 0 ? added : exp(column(delta) * a) * state + added;
    outputs.push_back(sum(state * row(c), {2}));
  }
  return stack(outputs, 1) + u * d;
}

Mamba::Mamba(const Scope& scope, std::int64_t width, const Options& options)
    : inner_(options.expand * width),
      state_(options.state),
      rank_(options.rank > 0 ? options.rank : (width + 15) / 16),
      kernel_(options.kernel),
      in_(scope / "in_proj", width, 2 * inner_, false),
      conv_(scope / "conv1d", inner_, inner_, {kernel_}, {.padding = {kernel_ - 1}, .groups = inner_}),
      x_(scope / "x_proj", inner_, rank_ + 2 * state_, false),
      delta_(scope / "dt_proj", rank_, inner_),
      out_(scope / "out_proj", inner_, width, false) {
  // a = -exp(a_log) starts at -1, ..., -m for each channel.
  std::vector<double> logs;
  for (std::int64_t k = 0; k < inner_ * state_; ++k) logs.push_back(std::log(static_cast<double>(k % state_ + 1)));
  a_log_ = scope.parameter("A_log", numbers(scope.session(), {inner_, state_}, logs));
  d_ = scope.parameter("D", filled(scope.session(), {inner_}, 1));
}

Value Mamba::operator()(const Value& x) const {
  const std::int64_t places = x.shape().size() == 3 ? x.shape()[1] : 0;
  const std::vector<Value> branches = split(in_(x), x.shape().size() - 1, 2);
  // Padding on both sides, and the last places cut off: each place sees itself and those before.
  const Value u = silu(transpose(slice(conv_(transpose(branches[0], 1, 2)), 2, 0, places), 1, 2));
  const Value parts = x_(u);
  const Value delta = softplus(delta_(slice(parts, 2, 0, rank_)));
  const Value b = slice(parts, 2, rank_, state_), c = slice(parts, 2, rank_ + state_, state_);
  return out_(selective_scan(u, delta, -exp(a_log_), b, c, d_) * silu(branches[1]));
}

SpectralConv::SpectralConv(const Scope& scope, std::int64_t in, std::int64_t out, std::int64_t modes)
    : modes_(modes),
      real_(scope.parameter("real", scope.session().uniform({modes, in, out}, 0, 1 / static_cast<double>(in * out)))),
      imaginary_(scope.parameter("imaginary", scope.session().uniform({modes, in, out}, 0, 1 / static_cast<double>(in * out)))) {}

Value SpectralConv::operator()(const Value& x) const {
  Session& session = x.session();
  const Shape shape = x.shape();
  if (shape.size() != 3 || modes_ > shape[2] / 2 + 1) {
    return session.refuse({Rejection::Kind::malformed, "session.shape", "spectral convolution",
                           "[B, in, n] with n / 2 + 1 frequencies or more", to_string(shape), "use fewer modes"});
  }
  const std::int64_t n = shape[2];
  std::vector<double> there_cos, there_sin, back_cos, back_sin;
  for (std::int64_t k = 0; k < modes_; ++k) {
    const double share = (k == 0 || 2 * k == n ? 1.0 : 2.0) / static_cast<double>(n);  // with its conjugate
    for (std::int64_t j = 0; j < n; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      there_cos.push_back(std::cos(angle));
      there_sin.push_back(-std::sin(angle));
      back_cos.push_back(share * std::cos(angle));
      back_sin.push_back(-share * std::sin(angle));
    }
  }
  const auto matrix = [&](const std::vector<double>& values) { return session.input(numbers(session, {modes_, n}, values), "dft"); };
  const auto spectrum = [&](const std::vector<double>& values) {  // [modes, B, in]
    return permute(matmul(x, transpose(matrix(values), 0, 1)), {2, 0, 1});
  };
  const Value re = spectrum(there_cos), im = spectrum(there_sin);
  const Value y_re = matmul(re, real_) - matmul(im, imaginary_), y_im = matmul(re, imaginary_) + matmul(im, real_);
  return matmul(permute(y_re, {1, 2, 0}), matrix(back_cos)) + matmul(permute(y_im, {1, 2, 0}), matrix(back_sin));
}

}  // namespace assay::training
