// Elementwise functions and their derivatives, in double.
//
// Each op has a value, apply_*(), and a cotangent, pull_*(), as in reverse-mode differentiation. An op without a
// formula here is evaluated by its denotation (semantics/ops), and its derivative is approximated by central
// differences, or by a one-sided difference at the end of a domain.
//
// The derivative of a function that jumps is 0 nearly everywhere and says nothing about where to go. Such functions get
// differences over a wide step instead, whose width follows the spread of the operands.
//
// Source: forward and reverse mode as in any framework (Griewank and Walther 2008). How this version differs: nothing
// is recorded, since the steps of a Network are their own tape.

#include "search/relax/elementwise.h"

#include <algorithm>
#include <cmath>

#include "search/relax/function_lines.h"
#include "semantics/interrupt.h"
#include "semantics/ops/denote.h"

namespace assay::search {

bool is_spelled_out(Op op) {
  switch (op) {
    case Op::relu:
    case Op::leaky_relu:
    case Op::sigmoid:
    case Op::tanh:
    case Op::abs:
    case Op::clip:
    case Op::sqrt:
    case Op::pow:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
    case Op::mul:
      return true;
    default:
      return false;
  }
}

bool is_unary(const Node& node) { return UnaryFunction::is_one(node) && FunctionLines::knows(UnaryFunction(node)); }

bool is_binary(Op op) { return op == Op::mul || op == Op::div || op == Op::min || op == Op::max; }

double unary_value(const Step& step, double z) {
  switch (step.op) {
    case Op::relu:
      return z > 0 ? z : 0;
    case Op::leaky_relu:
      return z > 0 ? z : step.first * z;
    case Op::sigmoid:
      return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
    case Op::tanh:
      return std::tanh(z);
    case Op::abs:
      return std::fabs(z);
    case Op::clip:
      return std::clamp(z, step.first, step.second);
    case Op::sqrt:
      return std::sqrt(z);
    case Op::pow:
      return std::pow(z, step.first);
    case Op::exp:
      return std::exp(z);
    case Op::log:
      return std::log(z);
    case Op::sin:
      return std::sin(z);
    case Op::cos:
      return std::cos(z);
    case Op::mul:
      return z * z;
    default:
      return std::nan("");
  }
}

double unary_derivative(const Step& step, double z, double y) {
  switch (step.op) {
    case Op::relu:
      return z > 0 ? 1 : 0;
    case Op::leaky_relu:
      return z > 0 ? 1 : step.first;
    case Op::sigmoid:
      return y * (1 - y);
    case Op::tanh:
      return 1 - y * y;
    case Op::abs:
      return z > 0 ? 1 : z < 0 ? -1 : 0;
    case Op::clip:
      return z >= step.first && z <= step.second ? 1 : 0;
    case Op::sqrt:
      return y > 0 ? 0.5 / y : 0;
    case Op::pow:
      return step.first * std::pow(z, step.first - 1);
    case Op::exp:
      return y;
    case Op::log:
      return 1 / z;
    case Op::sin:
      return std::cos(z);
    case Op::cos:
      return -std::sin(z);
    case Op::mul:
      return 2 * z;
    default:
      return 0;
  }
}

namespace {

// f at many points at once, by its denotation.
void denoted_values(const UnaryFunction& f, std::vector<double> points, double* y) {
  Node node = f.node();
  node.shape = {static_cast<std::int64_t>(points.size())};
  const Array<double> operand{node.shape, std::move(points)};
  const std::vector<const Array<double>*> operands(node.operands.size(), &operand);
  const Outcome<Array<double>> result = denote<double>(node, operands);
  for (std::size_t k = 0; k < operand.values.size(); ++k) y[k] = result.ok() ? result.value().values[k] : std::nan("");
}

// Adds (f(z + h) - f(z - h)) / 2h for every z, or a one-sided difference at an end of the domain.
void add_differences(const UnaryFunction& f, const std::vector<double>& h, std::size_t count, const double* z, const double* y,
                     double* slopes) {
  std::vector<double> points(2 * count), values(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    points[k] = z[k] - h[k];
    points[count + k] = z[k] + h[k];
  }
  denoted_values(f, points, values.data());
  for (std::size_t k = 0; k < count; ++k) {
    const bool left = std::isfinite(values[k]), right = std::isfinite(values[count + k]);
    const double rise = (right ? values[count + k] : y[k]) - (left ? values[k] : y[k]);
    slopes[k] += rise / ((right ? points[count + k] : z[k]) - (left ? points[k] : z[k]));
  }
}

// Functions that jump get differences in place of slopes, which are 0 nearly everywhere. The steps are wide enough to
// reach a jump: they follow the spread of all z.
std::vector<double> denoted_slopes(const UnaryFunction& f, std::size_t count, const double* z, const double* y) {
  std::vector<double> h(count), slopes(count);
  if (jumps(f)) {
    double squares = 0;
    for (std::size_t k = 0; k < count; ++k) squares += z[k] * z[k];
    const double spread = std::sqrt(squares / static_cast<double>(count));
    for (const double part : {0.5, 2.0}) {
      std::ranges::fill(h, spread > 0 && std::isfinite(spread) ? part * spread : part);
      add_differences(f, h, count, z, y, slopes.data());
    }
  } else {
    for (std::size_t k = 0; k < count; ++k) h[k] = 0x1p-20 * (1 + std::fabs(z[k]));
    add_differences(f, h, count, z, y, slopes.data());
  }
  return slopes;
}

}  // namespace

void apply_unary(const Step& step, std::size_t count, const double* z, double* y) {
  if (!is_spelled_out(step.op)) {
    denoted_values(*step.function, {z, z + count}, y);
  } else if (step.op == Op::relu) {
    for (std::size_t k = 0; k < count; ++k) y[k] = z[k] > 0 ? z[k] : 0;
  } else {
    for (std::size_t k = 0; k < count; ++k) y[k] = unary_value(step, z[k]);
  }
}

void pull_unary(const Step& step, std::size_t count, const double* z, const double* y, const double* y_bar, double* z_bar) {
  if (!is_spelled_out(step.op)) {
    const std::vector<double> slopes = denoted_slopes(*step.function, count, z, y);
    for (std::size_t k = 0; k < count; ++k) z_bar[k] += y_bar[k] * slopes[k];
  } else if (step.op == Op::relu) {
    for (std::size_t k = 0; k < count; ++k) z_bar[k] += z[k] > 0 ? y_bar[k] : 0;
  } else {
    for (std::size_t k = 0; k < count; ++k) z_bar[k] += y_bar[k] * unary_derivative(step, z[k], y[k]);
  }
}

namespace {

// The two operands of a binary step, one batch row at a time.
struct Pair {
  std::size_t element[2];
  double a, b;
};

template <class Visit>
void for_each_pair(const Step& step, std::size_t batch, const Workspace& workspace, Visit visit) {
  const std::vector<double>&a = workspace.values[step.operands[0]], &b = workspace.values[step.operands[1]];
  const std::size_t a_size = a.size() / batch, b_size = b.size() / batch;
  for (std::size_t row = 0; row < batch; ++row) {
    for (std::size_t i = 0; i < step.size; ++i) {
      const std::size_t ka = row * a_size + (step.broadcast[0].empty() ? i : step.broadcast[0][i]);
      const std::size_t kb = row * b_size + (step.broadcast[1].empty() ? i : step.broadcast[1][i]);
      visit(row * step.size + i, Pair{{ka, kb}, a[ka], b[kb]});
    }
  }
}

}  // namespace

void apply_binary(const Step& step, std::size_t batch, const Workspace& workspace, double* y) {
  for_each_pair(step, batch, workspace, [&](std::size_t at, const Pair& pair) {
    switch (step.op) {
      case Op::mul:
        y[at] = pair.a * pair.b;
        break;
      case Op::div:
        y[at] = pair.a / pair.b;
        break;
      case Op::min:
        y[at] = std::min(pair.a, pair.b);
        break;
      default:
        y[at] = std::max(pair.a, pair.b);
        break;
    }
  });
}

void pull_binary(const Step& step, std::size_t batch, Workspace& workspace) {
  const std::vector<double>& y_bar = workspace.bars[step.node];
  std::vector<double>&a_bar = workspace.bars[step.operands[0]], &b_bar = workspace.bars[step.operands[1]];
  for_each_pair(step, batch, workspace, [&](std::size_t at, const Pair& pair) {
    double da = 0, db = 0;
    switch (step.op) {
      case Op::mul:
        da = pair.b, db = pair.a;
        break;
      case Op::div:
        da = 1 / pair.b, db = -pair.a / (pair.b * pair.b);
        break;
      case Op::min:
        da = pair.a <= pair.b ? 1 : 0, db = 1 - da;
        break;
      default:
        da = pair.a >= pair.b ? 1 : 0, db = 1 - da;
        break;
    }
    a_bar[pair.element[0]] += y_bar[at] * da;
    b_bar[pair.element[1]] += y_bar[at] * db;
  });
}

namespace {

// Visits the pairs of factors of a product of matrices, with the result element that each pair belongs to.
template <class Visit>
void for_each_factor_pair(const Step& step, std::size_t batch, const Workspace& workspace, Visit visit) {
  const std::size_t p_size = workspace.values[step.operands[0]].size() / batch, q_size = workspace.values[step.operands[1]].size() / batch;
  for (std::size_t row = 0; row < batch; ++row) {
    for (std::size_t j = 0; j < step.size; ++j) {
      poll(step.extent);
      const std::size_t p = row * p_size + step.broadcast[0][j], q = row * q_size + step.broadcast[1][j];
      for (std::size_t k = 0; k < step.extent; ++k) visit(row * step.size + j, p + k, q + k * step.inner);
    }
  }
}

}  // namespace

void apply_matmul(const Step& step, std::size_t batch, const Workspace& workspace, double* y) {
  const double *a = workspace.values[step.operands[0]].data(), *b = workspace.values[step.operands[1]].data();
  std::fill_n(y, batch * step.size, 0.0);
  for_each_factor_pair(step, batch, workspace, [&](std::size_t at, std::size_t p, std::size_t q) { y[at] += a[p] * b[q]; });
}

void pull_matmul(const Step& step, std::size_t batch, Workspace& workspace) {
  const double *a = workspace.values[step.operands[0]].data(), *b = workspace.values[step.operands[1]].data();
  const double* y_bar = workspace.bars[step.node].data();
  double *a_bar = workspace.bars[step.operands[0]].data(), *b_bar = workspace.bars[step.operands[1]].data();
  for_each_factor_pair(step, batch, workspace, [&](std::size_t at, std::size_t p, std::size_t q) {
    a_bar[p] += y_bar[at] * b[q];
    b_bar[q] += y_bar[at] * a[p];
  });
}

namespace {

// The element of the window with the largest value (the first if several are equal).
std::size_t largest(const Step& step, const double* z, std::size_t i) {
  std::size_t best = step.window[step.window_start[i]];
  for (std::uint32_t k = step.window_start[i] + 1; k < step.window_start[i + 1]; ++k) {
    if (z[step.window[k]] > z[best]) best = step.window[k];
  }
  return best;
}

}  // namespace

void apply_max_pool(const Step& step, std::size_t batch, const Workspace& workspace, double* y) {
  const std::vector<double>& z = workspace.values[step.operands[0]];
  const std::size_t size = z.size() / batch;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < step.size; ++i) y[b * step.size + i] = z[b * size + largest(step, z.data() + b * size, i)];
  }
}

void pull_max_pool(const Step& step, std::size_t batch, Workspace& workspace) {
  const std::vector<double>& z = workspace.values[step.operands[0]];
  std::vector<double>& z_bar = workspace.bars[step.operands[0]];
  const std::size_t size = z.size() / batch;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < step.size; ++i) {
      z_bar[b * size + largest(step, z.data() + b * size, i)] += workspace.bars[step.node][b * step.size + i];
    }
  }
}

void apply_softmax(const Step& step, std::size_t batch, const double* z, double* y) {
  const std::size_t total = batch * step.size, block = step.inner * step.extent;
  for (std::size_t outer = 0; outer < total; outer += block) {
    for (std::size_t k = outer; k < outer + step.inner; ++k) {
      double top = z[k], sum = 0;
      for (std::size_t i = 0; i < step.extent; ++i) top = std::max(top, z[k + i * step.inner]);
      for (std::size_t i = 0; i < step.extent; ++i) sum += y[k + i * step.inner] = std::exp(z[k + i * step.inner] - top);
      for (std::size_t i = 0; i < step.extent; ++i) y[k + i * step.inner] /= sum;
    }
  }
}

void pull_softmax(const Step& step, std::size_t batch, const double* y, const double* y_bar, double* z_bar) {
  const std::size_t total = batch * step.size, block = step.inner * step.extent;
  for (std::size_t outer = 0; outer < total; outer += block) {
    for (std::size_t k = outer; k < outer + step.inner; ++k) {
      double mean = 0;
      for (std::size_t i = 0; i < step.extent; ++i) mean += y[k + i * step.inner] * y_bar[k + i * step.inner];
      for (std::size_t i = 0; i < step.extent; ++i) {
        z_bar[k + i * step.inner] += y[k + i * step.inner] * (y_bar[k + i * step.inner] - mean);
      }
    }
  }
}

}  // namespace assay::search
