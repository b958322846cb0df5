// Faults of sums, means, softmax, normalisations and running sums.
#include "probes/sketch.h"

namespace assay::probes {
namespace {

using Form = NormaliseAttributes::Form;

// The axes along which one element of the result reads many.
std::vector<std::int64_t> lines_of(const Node& node) {
  if (const auto* reduce = std::get_if<ReduceAttributes>(&node.attributes)) return reduce->axes;
  if (const auto* softmax = std::get_if<SoftmaxAttributes>(&node.attributes)) return {softmax->axis};
  if (const auto* masked = std::get_if<MaskedSoftmaxAttributes>(&node.attributes)) return {masked->axis};
  if (const auto* normalise = std::get_if<NormaliseAttributes>(&node.attributes)) return normalise->axes;
  if (const auto* arg = std::get_if<ArgAttributes>(&node.attributes)) return {arg->axis};
  return {};
}

void add_reduce_faults(Collector& c, const std::vector<std::int64_t>& axes) {
  const bool drops =
      std::holds_alternative<ReduceAttributes>(c.node().attributes) || std::holds_alternative<ArgAttributes>(c.node().attributes);
  if (!drops || axes.empty()) return;
  const auto axis = static_cast<std::size_t>(axes.back());
  const std::int64_t n = c.application().node(c.application().inputs[0]).shape[axis];
  const auto over = [&](std::int64_t from, std::int64_t count) {
    return [=](Sketch& s) { return s.again(std::vector<NodeId>{s.part(s.x(0), axis, from, count)}); };
  };
  if (n > 1 && c.node().op != Op::max_weight) {
    c.add("without the last element of each line", over(0, n - 1));
    c.add("without the first element of each line", over(1, n - 1));
    if (n > 32) c.add("over the first 32 elements of each line", over(0, 32));
  }
  const double count = c.count_along(axes);
  if (c.node().op == Op::reduce_mean && count > 1) {
    c.add("divided by one less", [&](Sketch& s) { return s.put(Op::scale, {s.again()}, ScaleAttributes{count / (count - 1)}); });
    c.add("without the division", [](Sketch& s) { return s.put(Op::reduce_sum, {s.x(0)}, s.node().attributes); });
  }
  if (c.node().op == Op::reduce_max) c.add("starting from 0", [](Sketch& s) { return s.put(Op::max, {s.again(), s.number(0)}); });
  if (c.node().op == Op::reduce_min) c.add("starting from 0", [](Sketch& s) { return s.put(Op::min, {s.again(), s.number(0)}); });
  if (c.node().op == Op::log_sum_exp)
    c.add_numeric("without the maximum taken out",
                  [&](Sketch& s) { return s.put(Op::log, {s.put(Op::reduce_sum, {s.put(Op::exp, {s.x(0)})}, s.node().attributes)}); });
  if (c.node().op == Op::reduce_prod)
    c.add_numeric("by logarithms",
                  [&](Sketch& s) { return s.put(Op::exp, {s.put(Op::reduce_sum, {s.put(Op::log, {s.x(0)})}, s.node().attributes)}); });
}

NodeId plain_softmax(Sketch& s, std::int64_t axis, NodeId summed) {
  const NodeId sum = s.put(Op::reduce_sum, {s.put(Op::exp, {summed})}, ReduceAttributes{{axis}, true});
  return s.put(Op::div, {s.put(Op::exp, {s.x(0)}), sum});
}

void add_softmax_faults(Collector& c) {
  const auto* softmax = std::get_if<SoftmaxAttributes>(&c.node().attributes);
  if (softmax == nullptr) return;
  const std::int64_t axis = softmax->axis, n = c.node().shape[static_cast<std::size_t>(axis)];
  if (c.node().op == Op::softmax) {
    c.add_numeric("without the maximum taken out", [&](Sketch& s) { return plain_softmax(s, axis, s.x(0)); });
    if (n > 1)
      c.add("with the last element left out of the sum",
            [&](Sketch& s) { return plain_softmax(s, axis, s.part(s.x(0), static_cast<std::size_t>(axis), 0, n - 1)); });
    if (n > 1)
      c.add("with the last element of each line masked out", [&](Sketch& s) {
        std::vector<std::int64_t> none(c.node().shape.size(), 0), last = none;
        last[static_cast<std::size_t>(axis)] = 1;
        const NodeId rest = s.put(Op::softmax, {s.part(s.x(0), static_cast<std::size_t>(axis), 0, n - 1)}, s.node().attributes);
        return s.put(Op::pad, {rest}, PadAttributes{none, last, 0});
      });
    if (n > 32)
      c.add("with the sum of the first 32",
            [&](Sketch& s) { return plain_softmax(s, axis, s.part(s.x(0), static_cast<std::size_t>(axis), 0, 32)); });
  } else {
    c.add_numeric("as the logarithm of softmax",
                  [&](Sketch& s) { return s.put(Op::log, {s.put(Op::softmax, {s.x(0)}, s.node().attributes)}); });
    c.add_numeric("without the maximum taken out", [&](Sketch& s) { return s.put(Op::log, {plain_softmax(s, axis, s.x(0))}); });
  }
  c.add(
      "of twice the operand",
      [](Sketch& s) {
        return s.again(std::vector<NodeId>{s.put(Op::add, {s.x(0), s.x(0)})});
      },
      "nki-samples#81");
}

void add_masked_faults(Collector& c) {
  const auto* masked = std::get_if<MaskedSoftmaxAttributes>(&c.node().attributes);
  if (masked == nullptr) return;
  c.add("with the mask ignored", [&](Sketch& s) { return s.put(Op::softmax, {s.x(0)}, SoftmaxAttributes{masked->axis}); });
  c.add(kOtherConvention, [&](Sketch& s) { return s.again(Attributes(MaskedSoftmaxAttributes{masked->axis, !masked->empty_is_zero})); });
  c.add("with a large negative number, such as -1e9, in place of masked elements", [&](Sketch& s) {
    return s.put(Op::softmax, {s.put(Op::where, {s.x(1), s.x(0), s.number(-1e9)})}, SoftmaxAttributes{masked->axis});
  });
  c.add("with the mask inverted", [](Sketch& s) { return s.again(s.with(1, s.put(Op::logical_not, {s.x(1)}))); });
  c.add("with masked elements 0 before the softmax", [&](Sketch& s) {
    return s.put(Op::softmax, {s.put(Op::where, {s.x(1), s.x(0), s.number(0)})}, SoftmaxAttributes{masked->axis});
  });
  c.add("with the mask after the softmax", [&](Sketch& s) {
    return s.put(Op::where, {s.x(1), s.put(Op::softmax, {s.x(0)}, SoftmaxAttributes{masked->axis}), s.number(0)});
  });
}

struct Moments {
  NodeId centred, variance;
};

Moments moments(Sketch& s, const std::vector<std::int64_t>& axes) {
  const ReduceAttributes over{axes, true};
  const NodeId centred = s.put(Op::sub, {s.x(0), s.put(Op::reduce_mean, {s.x(0)}, over)});
  return {centred, s.put(Op::reduce_mean, {s.put(Op::mul, {centred, centred})}, over)};
}

void add_normalise_faults(Collector& c) {
  const auto* normalise = std::get_if<NormaliseAttributes>(&c.node().attributes);
  if (normalise == nullptr || normalise->form != Form::centered) return;
  const auto& axes = normalise->axes;
  const double epsilon = normalise->epsilon, count = c.count_along(axes);
  const auto scaled = [epsilon](Sketch& s, NodeId centred, NodeId variance) {
    return s.put(Op::div, {centred, s.put(Op::sqrt, {s.put(Op::add, {variance, s.number(epsilon)})})});
  };
  c.add_numeric(
      "with its variance from one pass",
      [&](Sketch& s) {
        const ReduceAttributes over{axes, true};
        const NodeId mean = s.put(Op::reduce_mean, {s.x(0)}, over);
        const NodeId squares = s.put(Op::reduce_mean, {s.put(Op::mul, {s.x(0), s.x(0)})}, over);
        return scaled(s, s.put(Op::sub, {s.x(0), mean}), s.put(Op::sub, {squares, s.put(Op::mul, {mean, mean})}));
      },
      "pytorch#51102");
  c.add("with epsilon outside the root", [&](Sketch& s) {
    const Moments m = moments(s, axes);
    return s.put(Op::div, {m.centred, s.put(Op::add, {s.put(Op::sqrt, {m.variance}), s.number(epsilon)})});
  });
  c.add("without epsilon", [&](Sketch& s) {
    const Moments m = moments(s, axes);
    return s.put(Op::div, {m.centred, s.put(Op::sqrt, {m.variance})});
  });
  if (count > 1)
    c.add("with the variance of a sample", [&](Sketch& s) {
      const Moments m = moments(s, axes);
      return scaled(s, m.centred, s.put(Op::scale, {m.variance}, ScaleAttributes{count / (count - 1)}));
    });
  c.add("without the mean taken out", [&](Sketch& s) { return scaled(s, s.x(0), moments(s, axes).variance); });
  c.add(
      "over its first axis",
      [&](Sketch& s) {
        return s.again(Attributes(NormaliseAttributes{{0}, epsilon, Form::centered}));
      },
      "FlagGems#5392");
}

void add_batch_norm_faults(Collector& c) {
  const auto* batch = std::get_if<BatchNormAttributes>(&c.node().attributes);
  if (batch == nullptr) return;
  c.add("with scale and bias exchanged", [](Sketch& s) { return s.again(std::vector<NodeId>{s.x(0), s.x(2), s.x(1), s.x(3), s.x(4)}); });
  c.add("with mean and variance exchanged", [](Sketch& s) { return s.again(std::vector<NodeId>{s.x(0), s.x(1), s.x(2), s.x(4), s.x(3)}); });
  c.add("without epsilon", [](Sketch& s) { return s.again(Attributes(BatchNormAttributes{0})); });
  c.add("with the root of the variance twice", [](Sketch& s) { return s.again(s.with(4, s.put(Op::sqrt, {s.x(4)}))); });
}

}  // namespace

void add_reduction_faults(Collector& c) {
  add_reduce_faults(c, lines_of(c.node()));
  add_softmax_faults(c);
  add_masked_faults(c);
  add_normalise_faults(c);
  add_batch_norm_faults(c);
  if (const auto* local = std::get_if<LocalResponseAttributes>(&c.node().attributes)) {
    const LocalResponseAttributes own = *local;
    const auto changed = [&](const std::string& name, const auto& f) {
      LocalResponseAttributes other = own;
      f(other);
      c.add(name, [other](Sketch& s) { return s.again(Attributes(other)); });
    };
    changed("with alpha not divided by the size", [](LocalResponseAttributes& a) { a.alpha *= static_cast<double>(a.size); });
    changed("with one more channel in the sum", [](LocalResponseAttributes& a) { ++a.size; });
    changed("with bias 1", [](LocalResponseAttributes& a) { a.bias = 1; });
  }
}

}  // namespace assay::probes
