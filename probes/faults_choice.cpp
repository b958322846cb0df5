// Faults of comparisons, choices, orders, layouts and broadcasting.
#include "probes/sketch.h"

namespace assay::probes {
namespace {

void add_truth_faults(Collector& c) {
  const auto as = [&](Op other, const std::string& name) {
    c.add("as " + name, [other](Sketch& s) { return s.put(other, {s.x(0), s.x(1)}); });
  };
  switch (c.node().op) {
    case Op::less:
      as(Op::less_equal, "less_equal");
      break;
    case Op::less_equal:
      as(Op::less, "less");
      break;
    case Op::equal:
      if (is_float(c.application().node(c.application().inputs[0]).dtype))
        c.add("up to 1e-5", [](Sketch& s) {
          return s.put(Op::less_equal, {s.put(Op::abs, {s.put(Op::sub, {s.x(0), s.x(1)})}),
                                        s.put(Op::scale, {s.put(Op::abs, {s.x(1)})}, ScaleAttributes{1e-5})});
        });
      as(Op::less_equal, "less_equal");
      break;
    case Op::logical_and:
      as(Op::logical_or, "logical_or");
      break;
    case Op::logical_or:
      as(Op::logical_xor, "logical_xor");
      break;
    case Op::logical_xor:
      as(Op::logical_or, "logical_or");
      break;
    case Op::bitwise_and:
      as(Op::bitwise_or, "bitwise_or");
      break;
    case Op::bitwise_or:
      as(Op::bitwise_xor, "bitwise_xor");
      break;
    case Op::bitwise_xor:
      as(Op::bitwise_or, "bitwise_or");
      break;
    case Op::is_nan:
      c.add("as is_inf", [](Sketch& s) { return s.put(Op::is_inf, {s.x(0)}, IsInfAttributes{}); });
      break;
    case Op::is_inf:
      c.add("for +inf alone", [](Sketch& s) { return s.again(Attributes(IsInfAttributes{true, false})); });
      break;
    case Op::logical_not:
      c.add("as it was", [](Sketch& s) { return s.x(0); });
      break;
    default:
      break;
  }
}

void add_order_faults(Collector& c) {
  if (const auto* arg = std::get_if<ArgAttributes>(&c.node().attributes)) {
    c.add("with the other one of equals", [&](Sketch& s) {
      return s.again(Attributes(ArgAttributes{arg->axis, arg->keep_dims, !arg->last}));
    });
    c.add("of magnitudes", [](Sketch& s) { return s.again(s.with(0, s.put(Op::abs, {s.x(0)}))); });
    c.add("of the other end",
          [](Sketch& s) { return s.put(s.op() == Op::arg_max ? Op::arg_min : Op::arg_max, {s.x(0)}, s.node().attributes); });
  }
  if (const auto* sort = std::get_if<SortAttributes>(&c.node().attributes)) {
    const auto axis = static_cast<std::size_t>(sort->axis);
    c.add("in the other direction", [&](Sketch& s) {
      return s.again(Attributes(SortAttributes{sort->axis, sort->count, !sort->descending}));
    });
    c.add("without the last element of each line", [&](Sketch& s) {
      const std::int64_t n = s.shape(s.x(0))[axis];
      return s.again(std::vector<NodeId>{s.part(s.x(0), axis, 0, n - 1)});
    });
    if (c.node().op == Op::sort) {
      c.add("not at all", [&](Sketch& s) { return s.part(s.x(0), axis, 0, sort->count); });
    } else {
      c.add("with equals in the other order", [&](Sketch& s) {
        const std::int64_t n = s.shape(s.x(0))[axis];
        const NodeId last =
            s.put(Op::cast, {s.number(static_cast<double>(n - 1))}, CastAttributes{static_cast<std::uint8_t>(DType::int64)});
        return s.put(Op::sub, {last, s.again(std::vector<NodeId>{s.reversed(s.x(0), axis)})});
      });
    }
  }
  if (c.node().op == Op::take)
    c.add("with negative positions as 0", [](Sketch& s) {
      const std::size_t index = is_integer(s.node().dtype) || s.shape(s.x(0)) != s.node().shape ? 0 : 1;
      return s.again(s.with(index, s.put(Op::max, {s.x(index), s.put(Op::sub, {s.x(index), s.x(index)})})));
    });
}

// Broadcast operands read round and round instead of along their axes.
void add_broadcast_faults(Collector& c) {
  const OpRow& row = op_row(c.node().op);
  if (c.application().inputs.size() < 2 ||
      (row.op_class != OpClass::elementwise && row.op_class != OpClass::bilinear && row.op_class != OpClass::linear))
    return;
  if (!std::holds_alternative<NoAttributes>(c.node().attributes) || c.node().op == Op::matmul) return;
  for (std::size_t k = 0; k < c.application().inputs.size(); ++k) {
    const std::size_t own = element_count(c.application().node(c.application().inputs[k]).shape), all = element_count(c.node().shape);
    if (own < 2 || own == all) continue;
    c.add(
        "with operand " + std::to_string(k) + " read round and round",
        [&](Sketch& s) {
          GatherAttributes gather{0, {}, s.node().shape};
          for (std::size_t i = 0; i < all; ++i) gather.indices.push_back(static_cast<std::int64_t>(i % own));
          return s.again(s.with(k, s.put(Op::gather, {s.flat(s.x(k))}, gather)));
        },
        "pytorch#85675");
  }
}

void add_layout_faults(Collector& c) {
  const Shape shape = c.node().shape;
  switch (c.node().op) {
    case Op::reshape:
      c.add("in column-major order", [](Sketch& s) {
        PermuteAttributes reversed;
        for (std::size_t k = s.shape(s.x(0)).size(); k-- > 0;) reversed.axes.push_back(static_cast<std::int64_t>(k));
        return s.again(std::vector<NodeId>{s.put(Op::permute, {s.x(0)}, reversed)});
      });
      break;
    case Op::permute:
      c.add("by the inverse order of axes", [](Sketch& s) {
        const auto axes = s.get<PermuteAttributes>().axes;
        PermuteAttributes inverse{std::vector<std::int64_t>(axes.size())};
        for (std::size_t k = 0; k < axes.size(); ++k) inverse.axes[static_cast<std::size_t>(axes[k])] = static_cast<std::int64_t>(k);
        return s.put(Op::reshape, {s.put(Op::permute, {s.x(0)}, inverse)}, ShapeAttributes{s.node().shape});
      });
      c.add("as the bytes lie", [&](Sketch& s) { return s.put(Op::reshape, {s.x(0)}, ShapeAttributes{shape}); });
      break;
    case Op::expand:
      c.add("read round and round", [&](Sketch& s) {
        GatherAttributes gather{0, {}, shape};
        for (std::size_t i = 0; i < element_count(shape); ++i)
          gather.indices.push_back(static_cast<std::int64_t>(i % element_count(s.shape(s.x(0)))));
        return s.put(Op::gather, {s.flat(s.x(0))}, gather);
      });
      break;
    case Op::concat:
      if (c.application().inputs.size() > 1)
        c.add("with the parts one after the other in memory", [&](Sketch& s) {
          std::vector<NodeId> parts;
          for (std::size_t k = 0; k < s.arity(); ++k) parts.push_back(s.flat(s.x(k)));
          return s.put(Op::reshape, {s.put(Op::concat, parts, ConcatAttributes{0})}, ShapeAttributes{shape});
        });
      break;
    case Op::pad:
      c.add("with padding 0", [](Sketch& s) {
        PadAttributes pad = s.get<PadAttributes>();
        pad.value = 0;
        return s.again(Attributes(pad));
      });
      break;
    default:
      break;
  }
}

}  // namespace

void add_choice_faults(Collector& c) {
  add_truth_faults(c);
  add_order_faults(c);
  add_broadcast_faults(c);
  add_layout_faults(c);
}

}  // namespace assay::probes
