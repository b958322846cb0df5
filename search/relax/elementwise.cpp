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
#include <array>
#include <cmath>
#include <utility>

#include "search/relax/function_lines.h"
#include "semantics/interrupt.h"
#include "semantics/ops/denote.h"

namespace assay::search {

namespace {

constexpr std::array kFormulas{
    Formula{Op::relu, [](double z, Constants) { return z > 0 ? z : 0; }, [](double z, double, Constants) { return z > 0 ? 1.0 : 0.0; }},
    Formula{Op::leaky_relu, [](double z, Constants c) { return z > 0 ? z : c.first * z; },
            [](double z, double, Constants c) { return z > 0 ? 1 : c.first; }},
    Formula{Op::sigmoid, [](double z, Constants) { return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z)); },
            [](double, double y, Constants) { return y * (1 - y); },
            [](double slope, bool negative, Constants) {
              const double y = 0.5 + std::sqrt(0.25 - slope), z = std::log(y / (1 - y));
              return negative ? -z : z;
            }},
    Formula{Op::tanh, [](double z, Constants) { return std::tanh(z); }, [](double, double y, Constants) { return 1 - y * y; },
            [](double slope, bool negative, Constants) {
              const double z = std::atanh(std::sqrt(1 - slope));
              return negative ? -z : z;
            }},
    Formula{Op::abs, [](double z, Constants) { return std::fabs(z); },
            [](double z, double, Constants) { return z > 0   ? 1.0
                                                     : z < 0 ? -1.0
                                                             : 0.0; }},
    Formula{Op::clip, [](double z, Constants c) { return std::clamp(z, c.first, c.second); },
            [](double z, double, Constants c) { return z >= c.first && z <= c.second ? 1.0 : 0.0; }},
    Formula{Op::sqrt, [](double z, Constants) { return std::sqrt(z); }, [](double, double y, Constants) { return y > 0 ? 0.5 / y : 0; },
            [](double slope, bool, Constants) { return slope > 0 ? 0.25 / (slope * slope) : std::nan(""); }},
    Formula{Op::pow, [](double z, Constants c) { return std::pow(z, c.first); },
            [](double z, double, Constants c) { return c.first * std::pow(z, c.first - 1); },
            [](double slope, bool negative, Constants c) {
              const double size = std::pow(std::fabs(slope / c.first), 1 / (c.first - 1)), z = negative ? -size : size;
              return c.first * std::pow(z, c.first - 1) * slope > 0 || slope == 0 ? z : std::nan("");
            }},
    Formula{Op::exp, [](double z, Constants) { return std::exp(z); }, [](double, double y, Constants) { return y; },
            [](double slope, bool, Constants) { return std::log(slope); }},
    Formula{Op::log, [](double z, Constants) { return std::log(z); }, [](double z, double, Constants) { return 1 / z; },
            [](double slope, bool, Constants) { return 1 / slope; }},
    Formula{Op::sin, [](double z, Constants) { return std::sin(z); }, [](double z, double, Constants) { return std::cos(z); }},
    Formula{Op::cos, [](double z, Constants) { return std::cos(z); }, [](double z, double, Constants) { return -std::sin(z); }},
    Formula{Op::mul, [](double z, Constants) { return z * z; }, [](double z, double, Constants) { return 2 * z; },
            [](double slope, bool, Constants) { return slope / 2; }},
    Formula{Op::reciprocal, [](double z, Constants) { return 1 / z; }, [](double, double y, Constants) { return -y * y; },
            [](double slope, bool negative, Constants) { return (negative ? -1 : 1) * std::sqrt(-1 / slope); }},
};

// An op with two operands: its value, and its derivatives by both.
struct BinaryFormula {
  Op op;
  double (*value)(double a, double b);
  std::pair<double, double> (*derivatives)(double a, double b);
};

constexpr std::array kBinaryFormulas{
    BinaryFormula{Op::mul, [](double a, double b) { return a * b; }, [](double a, double b) { return std::pair(b, a); }},
    BinaryFormula{Op::div, [](double a, double b) { return a / b; }, [](double a, double b) { return std::pair(1 / b, -a / (b * b)); }},
    BinaryFormula{Op::min, [](double a, double b) { return std::min(a, b); },
                  [](double a, double b) { return a <= b ? std::pair(1.0, 0.0) : std::pair(0.0, 1.0); }},
    BinaryFormula{Op::max, [](double a, double b) { return std::max(a, b); },
                  [](double a, double b) { return a >= b ? std::pair(1.0, 0.0) : std::pair(0.0, 1.0); }},
};

// Null for an op that the table does not have.
auto find(const auto& formulas, Op op) {
  const auto found = std::ranges::find(formulas, op, [](const auto& one) { return one.op; });
  return found != formulas.end() ? &*found : nullptr;
}

}  // namespace

const Formula* formula_of(Op op) { return find(kFormulas, op); }

bool is_unary(const Node& node) { return UnaryFunction::is_one(node) && FunctionLines::knows(UnaryFunction(node)); }

bool is_binary(Op op) { return find(kBinaryFormulas, op) != nullptr; }

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

void apply_unary(const Step& step, std::size_t batch, Workspace& workspace) {
  const std::size_t count = batch * step.size;
  const double* z = workspace.values[step.operands[0]].data();
  double* y = workspace.values[step.node].data();
  const Formula* formula = formula_of(step.op);
  if (formula == nullptr) {
    denoted_values(*step.function, {z, z + count}, y);
  } else if (step.op == Op::relu) {  // so often that a loop without calls is worth it
    for (std::size_t k = 0; k < count; ++k) y[k] = z[k] > 0 ? z[k] : 0;
  } else {
    for (std::size_t k = 0; k < count; ++k) y[k] = formula->value(z[k], step.constants);
  }
}

void pull_unary(const Step& step, std::size_t batch, Workspace& workspace) {
  const std::size_t count = batch * step.size;
  const double *z = workspace.values[step.operands[0]].data(), *y = workspace.values[step.node].data();
  const double* y_bar = workspace.bars[step.node].data();
  double* z_bar = workspace.bars[step.operands[0]].data();
  const Formula* formula = formula_of(step.op);
  if (formula == nullptr) {
    const std::vector<double> slopes = denoted_slopes(*step.function, count, z, y);
    for (std::size_t k = 0; k < count; ++k) z_bar[k] += y_bar[k] * slopes[k];
  } else if (step.op == Op::relu) {
    for (std::size_t k = 0; k < count; ++k) z_bar[k] += z[k] > 0 ? y_bar[k] : 0;
  } else {
    for (std::size_t k = 0; k < count; ++k) z_bar[k] += y_bar[k] * formula->derivative(z[k], y[k], step.constants);
  }
}

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

void apply_binary(const Step& step, std::size_t batch, Workspace& workspace) {
  double* y = workspace.values[step.node].data();
  const BinaryFormula& formula = *find(kBinaryFormulas, step.op);
  for_each_pair(step, batch, workspace, [&](std::size_t at, const Pair& pair) { y[at] = formula.value(pair.a, pair.b); });
}

void pull_binary(const Step& step, std::size_t batch, Workspace& workspace) {
  const std::vector<double>& y_bar = workspace.bars[step.node];
  std::vector<double>&a_bar = workspace.bars[step.operands[0]], &b_bar = workspace.bars[step.operands[1]];
  const BinaryFormula& formula = *find(kBinaryFormulas, step.op);
  for_each_pair(step, batch, workspace, [&](std::size_t at, const Pair& pair) {
    const auto [da, db] = formula.derivatives(pair.a, pair.b);
    a_bar[pair.element[0]] += y_bar[at] * da;
    b_bar[pair.element[1]] += y_bar[at] * db;
  });
}

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

void apply_matmul(const Step& step, std::size_t batch, Workspace& workspace) {
  double* y = workspace.values[step.node].data();
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

// The element of the window with the largest value (the first if several are equal).
std::size_t largest(const Step& step, const double* z, std::size_t i) {
  std::size_t best = step.window[step.window_start[i]];
  for (std::uint32_t k = step.window_start[i] + 1; k < step.window_start[i + 1]; ++k) {
    if (z[step.window[k]] > z[best]) best = step.window[k];
  }
  return best;
}

void apply_max_pool(const Step& step, std::size_t batch, Workspace& workspace) {
  double* y = workspace.values[step.node].data();
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

void apply_softmax(const Step& step, std::size_t batch, Workspace& workspace) {
  const double* z = workspace.values[step.operands[0]].data();
  double* y = workspace.values[step.node].data();
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

void pull_softmax(const Step& step, std::size_t batch, Workspace& workspace) {
  const double *y = workspace.values[step.node].data(), *y_bar = workspace.bars[step.node].data();
  double* z_bar = workspace.bars[step.operands[0]].data();
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

struct Rule {
  Step::Kind kind;
  void (*apply)(const Step&, std::size_t, Workspace&);
  void (*pull)(const Step&, std::size_t, Workspace&);
};

constexpr std::array kRules{
    Rule{Step::Kind::unary, apply_unary, pull_unary},       Rule{Step::Kind::binary, apply_binary, pull_binary},
    Rule{Step::Kind::matmul, apply_matmul, pull_matmul},    Rule{Step::Kind::max_pool, apply_max_pool, pull_max_pool},
    Rule{Step::Kind::softmax, apply_softmax, pull_softmax},
};

}  // namespace

void apply(const Step& step, std::size_t batch, Workspace& workspace) {
  std::ranges::find(kRules, step.kind, &Rule::kind)->apply(step, batch, workspace);
}

void pull(const Step& step, std::size_t batch, Workspace& workspace) {
  std::ranges::find(kRules, step.kind, &Rule::kind)->pull(step, batch, workspace);
}

}  // namespace assay::search
