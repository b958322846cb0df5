// Faults of elementwise functions: formulas that overflow or cancel, roundings mixed up, conventions.
#include "probes/sketch.h"
#include "semantics/graph/family.h"

namespace assay::probes {
namespace {

NodeId exp_of(Sketch& s, NodeId x) { return s.put(Op::exp, {x}); }
NodeId plus(Sketch& s, NodeId a, double b) { return s.put(Op::add, {a, s.number(b)}); }
NodeId halved(Sketch& s, NodeId a) { return s.put(Op::scale, {a}, ScaleAttributes{0.5}); }
// sign(x) f(|x|)
template <class F>
NodeId oddly(Sketch& s, const F& f) {
  return s.put(Op::mul, {s.put(Op::sign, {s.x(0)}), f(s.put(Op::abs, {s.x(0)}))});
}

void add_exponential_faults(Collector& c) {
  const std::string overflows = "by a formula that overflows";
  switch (c.node().op) {
    case Op::sigmoid:
      c.add_numeric(overflows, [](Sketch& s) {
        const NodeId e = exp_of(s, s.x(0));
        return s.put(Op::div, {e, plus(s, e, 1)});
      });
      break;
    case Op::tanh:
      c.add_numeric(overflows, [](Sketch& s) {
        const NodeId e = exp_of(s, s.put(Op::scale, {s.x(0)}, ScaleAttributes{2}));
        return s.put(Op::div, {plus(s, e, -1), plus(s, e, 1)});
      });
      c.add("by a rational approximation", [](Sketch& s) {  // x (27 + x^2) / (27 + 9 x^2)
        const NodeId square = s.put(Op::mul, {s.x(0), s.x(0)});
        return s.put(Op::div, {s.put(Op::mul, {s.x(0), plus(s, square, 27)}), plus(s, s.put(Op::scale, {square}, ScaleAttributes{9}), 27)});
      });
      break;
    case Op::softplus:
      c.add_numeric(overflows, [](Sketch& s) { return s.put(Op::log, {plus(s, exp_of(s, s.x(0)), 1)}); });
      break;
    case Op::silu:
    case Op::mish:
      c.add_numeric(overflows, [](Sketch& s) {
        const double alpha = s.op() == Op::silu ? s.get<ActivationAttributes>().alpha : 1;
        const NodeId e = exp_of(s, s.op() == Op::silu ? s.put(Op::scale, {s.x(0)}, ScaleAttributes{alpha}) : s.x(0)), e1 = plus(s, e, 1);
        if (s.op() == Op::silu) return s.put(Op::mul, {s.x(0), s.put(Op::div, {e, e1})});
        const NodeId square = s.put(Op::mul, {e1, e1});  // x ((1 + e)^2 - 1) / ((1 + e)^2 + 1)
        return s.put(Op::mul, {s.x(0), s.put(Op::div, {plus(s, square, -1), plus(s, square, 1)})});
      });
      break;
    case Op::sinh:
      c.add_numeric("by a formula that cancels", [](Sketch& s) {
        return halved(s, s.put(Op::sub, {exp_of(s, s.x(0)), exp_of(s, s.put(Op::neg, {s.x(0)}))}));
      });
      break;
    case Op::asinh:
      c.add_numeric("by a formula that cancels", [](Sketch& s) {
        const NodeId root = s.put(Op::sqrt, {plus(s, s.put(Op::mul, {s.x(0), s.x(0)}), 1)});
        return s.put(Op::log, {s.put(Op::add, {s.x(0), root})});
      });
      break;
    case Op::atanh:
      c.add_numeric("by a formula that cancels", [](Sketch& s) {
        const NodeId quotient = s.put(Op::div, {plus(s, s.x(0), 1), s.put(Op::sub, {s.number(1), s.x(0)})});
        return halved(s, s.put(Op::log, {quotient}));
      });
      break;
    case Op::erf:
      c.add("by an approximation", [](Sketch& s) {  // tanh(1.1283792 (x + 0.0893 x^3)), good to three digits
        const NodeId cube = s.put(Op::mul, {s.x(0), s.put(Op::mul, {s.x(0), s.x(0)})});
        const NodeId inside = s.put(Op::add, {s.x(0), s.put(Op::scale, {cube}, ScaleAttributes{0.0893})});
        return s.put(Op::tanh, {s.put(Op::scale, {inside}, ScaleAttributes{1.1283791670955126})});
      });
      break;
    default:
      break;
  }
}

void add_root_faults(Collector& c) {
  switch (c.node().op) {
    case Op::sqrt:
      c.add_numeric("as x times the reciprocal root", [](Sketch& s) {
        return s.put(Op::mul, {s.x(0), s.put(Op::reciprocal, {s.again()})});
      });
      c.add_numeric("by a logarithm", [](Sketch& s) { return exp_of(s, halved(s, s.put(Op::log, {s.x(0)}))); });
      break;
    case Op::div:
      c.add_numeric("as a product with the reciprocal", [](Sketch& s) {
        return s.put(Op::mul, {s.x(0), s.put(Op::reciprocal, {s.x(1)})});
      });
      break;
    case Op::reciprocal:
      c.add_numeric("by logarithms",
                    [](Sketch& s) { return oddly(s, [&](NodeId a) { return exp_of(s, s.put(Op::neg, {s.put(Op::log, {a})})); }); });
      break;
    case Op::power:
      c.add("of the base's magnitude", [](Sketch& s) { return s.again(s.with(0, s.put(Op::abs, {s.x(0)}))); });
      c.add_numeric("by a logarithm", [](Sketch& s) { return exp_of(s, s.put(Op::mul, {s.x(1), s.put(Op::log, {s.x(0)})})); });
      break;
    case Op::pow:
      c.add_numeric("by a logarithm", [](Sketch& s) {
        return exp_of(s, s.put(Op::scale, {s.put(Op::log, {s.x(0)})}, ScaleAttributes{s.get<PowAttributes>().exponent.double_down()}));
      });
      break;
    default:
      break;
  }
}

void add_rounding_faults(Collector& c) {
  switch (c.node().op) {
    case Op::floor:
    case Op::ceil:
      c.add("towards 0", [](Sketch& s) { return oddly(s, [&](NodeId a) { return s.put(Op::floor, {a}); }); });
      c.add("to the nearest", [](Sketch& s) { return s.put(Op::round, {s.x(0)}); });
      break;
    case Op::round:
      c.add("with halves away from 0", [](Sketch& s) { return oddly(s, [&](NodeId a) { return s.put(Op::floor, {plus(s, a, 0.5)}); }); });
      c.add("with halves upwards", [](Sketch& s) { return s.put(Op::floor, {plus(s, s.x(0), 0.5)}); });
      break;
    case Op::mod:
      c.add("with the sign of the other operand",
            [](Sketch& s) { return s.again(Attributes(ModAttributes{!s.get<ModAttributes>().truncated})); });
      break;
    case Op::cast:
      c.add("after rounding to the nearest", [](Sketch& s) { return s.again(s.with(0, s.put(Op::round, {s.x(0)}))); });
      c.add("after rounding down", [](Sketch& s) { return s.again(s.with(0, s.put(Op::floor, {s.x(0)}))); });
      c.add("with negative numbers as 0", [](Sketch& s) { return s.again(s.with(0, s.put(Op::relu, {s.x(0)}))); });
      break;
    default:
      break;
  }
}

void add_piecewise_faults(Collector& c) {
  switch (c.node().op) {
    case Op::relu:
      c.add_numeric("as a product with its step", [](Sketch& s) {
        return s.put(Op::mul, {s.x(0), s.put(Op::where, {s.put(Op::less, {s.number(0), s.x(0)}), s.number(1), s.number(0)})});
      });
      c.add("with a leak of 0.01", [](Sketch& s) { return s.put(Op::leaky_relu, {s.x(0)}, LeakyReluAttributes{0.01}); });
      c.add("cut off at 6", [](Sketch& s) { return s.put(Op::min, {s.again(), s.number(6)}); });
      break;
    case Op::sign:
      c.add("1 at 0", [](Sketch& s) { return s.put(Op::where, {s.put(Op::less, {s.x(0), s.number(0)}), s.number(-1), s.number(1)}); });
      break;
    case Op::leaky_relu:
    case Op::prelu:
      c.add("with the slope on the other side", [](Sketch& s) {
        std::vector<NodeId> of = s.with(0, s.put(Op::neg, {s.x(0)}));
        return s.put(Op::neg, {s.again(of)});
      });
      break;
    case Op::where:
      if (is_float(c.node().dtype))
        c.add_numeric("as a mixture by 0 and 1", [](Sketch& s) {
          const NodeId t = s.put(Op::where, {s.x(0), s.number(1), s.number(0)});
          return s.put(Op::add, {s.put(Op::mul, {t, s.x(1)}), s.put(Op::mul, {s.put(Op::sub, {s.number(1), t}), s.x(2)})});
        });
      c.add("with the condition inverted", [](Sketch& s) { return s.again(s.with(0, s.put(Op::logical_not, {s.x(0)}))); });
      break;
    default:
      break;
  }
}

// Other activations that are taken for this one.
void add_mistaken_faults(Collector& c) {
  const Op op = c.node().op;
  if (kind_of(op) != OpKind::activation) return;
  if (op != Op::silu)
    c.add("by the sigmoid of 1.702 x", [](Sketch& s) { return s.put(Op::silu, {s.x(0)}, ActivationAttributes{1.702, 0}); });
  if (op != Op::hard_sigmoid)
    c.add("as a plain hard sigmoid", [](Sketch& s) { return s.put(Op::hard_sigmoid, {s.x(0)}, ActivationAttributes{1.0 / 6, 0.5}); });
}

}  // namespace

void add_function_faults(Collector& c) {
  add_exponential_faults(c);
  add_root_faults(c);
  add_rounding_faults(c);
  add_piecewise_faults(c);
  add_mistaken_faults(c);
}

}  // namespace assay::probes
