// Faults of any kernel: elements that are not written, places that are mixed up, results that were narrower on the way.
#include <cmath>
#include <limits>

#include "kernel/contracts/contract.h"
#include "probes/sketch.h"

namespace assay::probes {
namespace {

using contracts::Family;

// Nearest number with that many bits of significand; ties to even; subnormal numbers below 2^least.
double narrowed(double x, int bits, int least, double largest) {
  if (!std::isfinite(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), least);
  const double unit = std::ldexp(1.0, exponent - (bits - 1)), rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : rounded;
}

template <class F>
Tensor mapped(const Tensor& x, const F& f) {
  if (!is_float(x.dtype())) return x;
  std::vector<double> values = x.to_doubles();
  for (double& value : values) value = f(value);
  if (x.dtype() == DType::float64) return Tensor::of_doubles(x.shape(), values);
  return Tensor::of_floats(x.shape(), std::vector<float>(values.begin(), values.end()));
}

using Map = std::function<double(double)>;

void add_on_results(Collector& c, std::string name, Map f, std::string seen_in = {}) {
  c.add_run(
      std::move(name),
      [right = Evaluation(c.application()), f = std::move(f)](const std::vector<Tensor>& operands) -> Outcome<Tensor> {
        const auto y = right(operands);
        return y ? Outcome<Tensor>(mapped(y.value(), f)) : y;
      },
      std::move(seen_in));
}

void add_on_operands(Collector& c, std::string name, Map f, std::string seen_in = {}) {
  c.add_run(
      std::move(name),
      [right = Evaluation(c.application()), f = std::move(f)](std::vector<Tensor> operands) {
        for (Tensor& operand : operands) operand = mapped(operand, f);
        return right(operands);
      },
      std::move(seen_in));
}

void add_on_both(Collector& c, std::string name, Map f) {
  c.add_run(std::move(name), [right = Evaluation(c.application()), f = std::move(f)](std::vector<Tensor> operands) -> Outcome<Tensor> {
    for (Tensor& operand : operands) operand = mapped(operand, f);
    const auto y = right(operands);
    return y ? Outcome<Tensor>(mapped(y.value(), f)) : y;
  });
}

double binary16(double x) { return narrowed(x, 11, -14, 65504); }
double bfloat16(double x) { return narrowed(x, 8, -126, 0x1.fep127); }
double tf32(double x) { return narrowed(x, 11, -126, 0x1.ffcp127); }

bool rounds(Family family) {
  return family == Family::elementwise || family == Family::function || family == Family::product || family == Family::sum ||
         family == Family::activation || family == Family::softmax || family == Family::normalise || family == Family::batch_norm ||
         family == Family::local_response;
}

void add_precision_faults(Collector& c) {
  const Node& node = c.node();
  const Family family = contracts::family_of(node.op);
  if (node.dtype != DType::float32 || c.application().inputs.empty()) return;
  add_on_results(c, "with its result rounded to binary16", binary16);
  add_on_results(c, "with its result rounded to bfloat16", bfloat16);
  if (rounds(family)) {
    add_on_operands(c, "with operands rounded to bfloat16", bfloat16);
    add_on_operands(c, "with operands rounded to binary16", binary16);
    add_on_both(c, "with operands and result rounded to bfloat16", bfloat16);
    add_on_both(c, "with operands and result rounded to binary16", binary16);
  }
  const bool multiplies = node.op == Op::gemm || node.op == Op::matmul || node.op == Op::conv || node.op == Op::conv_transpose;
  if (multiplies) add_on_operands(c, "with operands rounded to tf32", tf32, "triton#10821");
  const auto flushed = [](double x) { return std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x; };
  add_on_results(c, "with subnormal results flushed to 0", flushed);
  const bool handed_on = family == Family::layout || family == Family::choice || family == Family::extremum;
  if (handed_on || family == Family::elementwise) {
    add_on_operands(c, "with subnormal operands flushed to 0", flushed);
    add_on_results(c, "one number of the format off", [](double x) {
      return std::isfinite(x) && x != 0
                 ? static_cast<double>(std::nextafterf(static_cast<float>(x), std::numeric_limits<float>::infinity()))
                 : x;
    });
  }
}

// Partial sums of 16 terms each, rounded to binary16: reductions and products that a slice takes apart.
void add_accumulator_faults(Collector& c) {
  const Node& node = c.node();
  std::size_t operand_axis = 0, second_axis = 0;
  bool two = false;
  if (node.op == Op::reduce_sum) {
    const auto& axes = std::get<ReduceAttributes>(node.attributes).axes;
    if (axes.size() != 1) return;
    operand_axis = static_cast<std::size_t>(axes[0]);
  } else if (node.op == Op::matmul && c.application().node(c.application().inputs[0]).shape.size() == 2 &&
             c.application().node(c.application().inputs[1]).shape.size() == 2) {
    operand_axis = 1, second_axis = 0, two = true;
  } else if (node.op == Op::gemm && std::get<GemmAttributes>(node.attributes).alpha == 1 && c.application().inputs.size() == 2) {
    const auto& gemm = std::get<GemmAttributes>(node.attributes);
    operand_axis = gemm.transpose_a ? 0 : 1, second_axis = gemm.transpose_b ? 1 : 0, two = true;
  } else {
    return;
  }
  const std::int64_t terms = c.application().node(c.application().inputs[0]).shape[operand_axis];
  if (terms <= 16 || terms > 256 || node.dtype != DType::float32) return;
  const Graph application = c.application();
  c.add_run(
      "with partial sums in binary16",
      [=](const std::vector<Tensor>& operands) -> Outcome<Tensor> {
        std::vector<double> sum(element_count(node.shape), 0);
        for (std::int64_t from = 0; from < terms; from += 16) {
          Sketch sketch(application);
          const std::int64_t count = std::min<std::int64_t>(16, terms - from);
          std::vector<NodeId> of = sketch.with(0, sketch.part(sketch.x(0), operand_axis, from, count));
          if (two) of[1] = sketch.part(sketch.x(1), second_axis, from, count);
          const auto graph = sketch.done(sketch.again(std::move(of)));
          if (!graph) return Rejection{Rejection::Kind::unsupported, "probes.slice", "", "a part of the sum", "none", ""};
          const auto part = Evaluation(*graph)(operands);
          if (!part) return part;
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = binary16(sum[i] + binary16(part.value().as_double(i)));
        }
        return Tensor::of_floats(node.shape, std::vector<float>(sum.begin(), sum.end()));
      },
      "pytorch#74438");
}

}  // namespace

void add_common_faults(Collector& c) {
  const std::int64_t n = static_cast<std::int64_t>(element_count(c.node().shape));
  const Shape shape = c.node().shape;
  const auto shaped = [&](Sketch& s, NodeId flat) { return s.put(Op::reshape, {flat}, ShapeAttributes{shape}); };
  if (n > 1) {
    c.add("with its last element left at 0", [&](Sketch& s) { return shaped(s, s.cleared_from(s.flat(s.again()), 0, n - 1)); });
    c.add("one place further on", [&](Sketch& s) {
      const NodeId flat = s.flat(s.again());
      return shaped(s, s.put(Op::concat, {s.part(flat, 0, 1, n - 1), s.part(flat, 0, 0, 1)}, ConcatAttributes{0}));
    });
  }
  if (n > 8 && n % 8 != 0)
    c.add("with the rest after the last full vector left at 0",
          [&](Sketch& s) { return shaped(s, s.cleared_from(s.flat(s.again()), 0, n - n % 8)); });
  if (n > 32) c.add("for its first 32 elements alone", [&](Sketch& s) { return shaped(s, s.cleared_from(s.flat(s.again()), 0, 32)); });
  if (c.node().dtype != DType::boolean)
    c.add("added to itself", [](Sketch& s) {
      const NodeId y = s.again();
      return s.put(Op::add, {y, y});
    });
  for (std::size_t k = 0; k < c.application().inputs.size(); ++k) {
    const Shape own = c.application().node(c.application().inputs[k]).shape;
    const std::size_t rank = own.size();
    if (rank < 2 || own[rank - 1] < 2 || own[rank - 2] < 2) continue;
    c.add(
        "with the strides of operand " + std::to_string(k) + " ignored",
        [&](Sketch& s) {
          PermuteAttributes axes;
          for (std::size_t a = 0; a < rank; ++a) axes.axes.push_back(static_cast<std::int64_t>(a));
          std::swap(axes.axes[rank - 1], axes.axes[rank - 2]);
          const NodeId read = s.put(Op::reshape, {s.put(Op::permute, {s.x(k)}, axes)}, ShapeAttributes{own});
          return s.again(s.with(k, read));
        },
        "pytorch#100764");
    if (own[0] > 1)
      c.add("with the first entry of operand " + std::to_string(k) + " for all",
            [&](Sketch& s) { return s.again(s.with(k, s.put(Op::expand, {s.part(s.x(k), 0, 0, 1)}, ShapeAttributes{own}))); });
  }
  add_precision_faults(c);
  add_accumulator_faults(c);
}

}  // namespace assay::probes
