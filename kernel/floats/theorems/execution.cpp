// Executions: the rounding errors that a theorem about float executions adds to the denotation.
//
// Meaning of a fact on a scope in a floating semantics: take any point of the scope's input box whose elements are
// numbers of the inputs' types, and any execution of the graph that the model admits. Then all values so far are
// finite, and the values that the execution holds satisfy the fact.
// Local errors. The value that an execution holds at node n is within rounding(n) of the denotation of n at the values
// it holds at n's operands. So
//   propagate_box      widens the image of the operands' boxes by rounding(n) on either side
//   through_affine     z_n = M x + b + e, |e| <= rounding(n): subtracts sum |A_j| rounding(n)_j more from a row
//   through_relaxation lower(x) - rounding(n) <= z_n <= upper(x) + rounding(n): moves intercepts outward
// Everything else (literals, meets, joins, the rows of the property) is about the values held, as over the reals.
// If rounding(n) is not finite, some execution may leave the finite numbers: the step is declined, and no fact
// about n exists.
// Fused products. If the model lets a bias join the accumulation of a product, the product has no value of its own. A
// value may then be chosen for it, such that the product has one rounding more, and the sum's error grows by gamma of
// the accumulation times the sum's other operand.
// Storage. If the model stores results in a shorter format, each is rounded once more; constants are rounded to that
// format, too.
// Rewrites. See rewrites.cpp.
// Monotone. Errors bounded on a box hold on every part of it. So children keep those of their parents until their boxes
// are considerably smaller.
// Real semantics. Every number is admitted and rounding(n) >= 0, so a refutation here is one over the reals, too.
// Source: derived in docs/explanation/float32.md.

#include <algorithm>
#include <cmath>

#include "kernel/floats/format.h"
#include "kernel/floats/math_tables.h"
#include "kernel/floats/rounding.h"
#include "kernel/floats/sums.h"
#include "kernel/floats/theorems/execution.h"
#include "kernel/logic/state.h"
#include "semantics/numbers/directed.h"

namespace assay::floats {
namespace {

constexpr double kInflate = 1 + 0x1p-26;  // covers the rounding of sums of magnitudes in double, up to 2^25 terms

// The absolute errors of factors that are rounded, or flushed, before they are multiplied; the relative ones count with
// the terms. They are `absolute` times the sums of the coefficients and of the operands, once each, and absolute^2 per
// term, and the error of a flushed bias. `later`: as in SumForm.
std::vector<double> lost_in_factors(const rows::AffineForm& form, const std::vector<std::vector<double>>& x, double absolute,
                                    double later) {
  if (absolute == 0) return std::vector<double>(form.bias.size(), 0.0);
  std::vector<double> sums(form.bias.size(), 1.0);
  for (std::size_t p = 0; p < form.parts.size(); ++p) {
    const rows::LinearMap& map = *form.parts[p].map;
    const std::vector<double> ones(map.columns(), 1.0 + absolute);
    map.apply_magnitude(ones.data(), sums.data());
    if (form.parts[p].error) form.parts[p].error->apply_magnitude(ones.data(), sums.data());
    map.apply_pattern(x[p].data(), sums.data());
  }
  for (double& sum : sums) sum = mul_up(mul_up(sum, mul_up(kInflate, later)), mul_up(2, absolute));
  return sums;
}

// The errors of a sum of products or of other terms, by its form; S follows from the map.
std::vector<double> sum_rounding(const Node& node, const rows::AffineForm& form, const ExecutionModel& model, const SumForm& sum,
                                 const std::vector<std::vector<double>>& x, const std::vector<double>& size) {
  const Format format = format_of(node.dtype);
  const auto errors = sum_errors(model, format, terms_of(form), sum);
  FactorRounding factors{0, 0, kInfinity};
  if (has_factors(node.op)) factors = factor_rounding(model);
  if (model.flush_operands) factors.absolute += smallest_normal(format);
  std::vector<double> result(size.size(), kInfinity);
  const auto fits = [&](const std::vector<double>& one) { return std::ranges::all_of(one, [&](double v) { return v < factors.most; }); };
  if (!errors || !std::ranges::all_of(x, fits)) return result;
  const std::vector<double> lost = lost_in_factors(form, x, factors.absolute, sum.later);
  const double of_factors = sub_up(mul_up(add_up(1, factors.relative), add_up(1, factors.relative)), 1);
  const double of_terms = add_up(mul_up(add_up(errors->to_terms, errors->to_sum), add_up(1, of_factors)), of_factors);
  for (std::size_t i = 0; i < size.size(); ++i) {
    const double error = add_up(mul_up(of_terms, size[i]), add_up(mul_up(2, lost[i]), errors->absolute));
    const double all = mul_up(mul_up(errors->growth, add_up(mul_up(size[i], add_up(1, of_factors)), lost[i])), sum.before_scaling);
    if (all < largest(format) && error < kInfinity) result[i] = error;
  }
  return result;
}

// Whether a program may fuse the node with a sum that reads it.
bool is_product(const Node& node) { return node.op == Op::mul || node.op == Op::scale || has_factors(node.op) || is_square(node); }

// Other terms may join the accumulation of a product of constants. So the sum's error grows by gamma of the
// accumulation times the magnitudes of all its terms.
std::vector<double> joined_constants(const Node& node, const rows::ConstantValues& constants, const ExecutionModel& model,
                                     std::vector<double> magnitudes) {
  const Format format = format_of(node.dtype);
  double gamma = 0, terms_size = 0;
  for (const NodeId operand : node.operands) {
    const double terms = constants.product_terms[operand];
    if (terms == 0) continue;
    const auto errors = sum_errors(model, format, terms, {true, 1});
    gamma = errors ? add_up(gamma, add_up(errors->to_terms, errors->to_sum)) : kInfinity;
    // Its interval is at least 2 u wide for each unit of the sum of its magnitudes.
    for (const Interval& value : constants.values[operand].values)
      terms_size = std::fmax(terms_size, div_up(sub_up(value.hi(), value.lo()), unit_roundoff(format)));
  }
  const bool adds = node.op == Op::add || node.op == Op::sub;  // for other ops no bound is known
  for (double& size : magnitudes) {
    const bool fits = adds && gamma < kInfinity && mul_up(2, add_up(size, terms_size)) < largest(format);
    size = fits ? mul_up(gamma, size) : kInfinity;
  }
  return magnitudes;
}
bool joins_constants(const Node& node, const rows::ConstantValues& constants, const ExecutionModel& model) {
  const auto holds = [&](NodeId operand) { return constants.product_terms[operand] > 0; };
  const bool sums = op_row(node.op).op_class == OpClass::linear && !has_factors(node.op) && node.op != Op::neg;
  return model.bias_in_product && sums && std::ranges::any_of(node.operands, holds);
}

// A product behind an operand. `read_twice`: something else also reads it, or a node between it and this reader.
struct ProductBehind {
  NodeId product;
  bool read_twice;
};
// The products whose values this node holds, unchanged, moved or negated.
std::vector<ProductBehind> products_behind(const Graph& graph, const std::vector<bool>& is_constant,
                                           const std::vector<std::size_t>& readers, NodeId id) {
  std::vector<ProductBehind> found;
  std::vector<ProductBehind> open{{id, readers[id] > 1}};
  while (!open.empty()) {
    const ProductBehind one = open.back();
    open.pop_back();
    const Node& node = graph.node(one.product);
    if (is_constant[one.product]) continue;
    if (is_product(node)) found.push_back(one);
    if (node.op != Op::neg && op_row(node.op).op_class != OpClass::layout) continue;
    for (const NodeId operand : node.operands) open.push_back({operand, one.read_twice || readers[operand] > 1});
  }
  return found;
}

// The magnitudes of a form's elements, given those of its parts' sum.
std::vector<double> with_bias(const rows::AffineForm& form, std::vector<double> size) {
  for (std::size_t i = 0; i < size.size(); ++i) {
    const double bias = std::fabs(form.bias[i]) + (form.bias_error.empty() ? 0 : form.bias_error[i]);
    size[i] = (size[i] + bias) * kInflate + 0x1p-1000;
  }
  return size;
}

std::vector<double> sizes_of(const Array<Interval>& values) {
  std::vector<double> sizes;
  for (const Interval& value : values.values) sizes.push_back(value.magnitude());
  return sizes;
}

}  // namespace

std::vector<double> magnitudes_of(const rows::AffineForm& form, const std::vector<std::vector<double>>& x, std::size_t without) {
  std::vector<double> size(form.bias.size(), 0.0);
  for (std::size_t p = 0; p < form.parts.size(); ++p) {
    if (p == without) continue;
    form.parts[p].map->apply_magnitude(x[p].data(), size.data());
    if (form.parts[p].error) form.parts[p].error->apply_magnitude(x[p].data(), size.data());
  }
  return with_bias(form, std::move(size));
}

double terms_of(const rows::AffineForm& form) {
  double terms = 1;
  for (const rows::AffineForm::Part& part : form.parts) terms += static_cast<double>(part.map->fan_in());
  return terms;
}

Array<Interval> as_intervals(const Shape& shape, const relax::Box& box) {
  Array<Interval> values{shape, {}};
  values.values.reserve(box.lo.size());
  for (std::size_t i = 0; i < box.lo.size(); ++i) values.values.emplace_back(box.lo[i], box.hi[i]);
  return values;
}

bool is_square(const Node& node) {
  const auto* power = std::get_if<PowAttributes>(&node.attributes);
  return power != nullptr ? power->exponent == Rational(2) : node.op == Op::mul && node.operands[0] == node.operands[1];
}

}  // namespace assay::floats

namespace assay::logic {

// For an affine node, by its form; otherwise `image` encloses the denotation. The operands have boxes.
std::vector<double> Network::State::rounding_as_written(NodeId id, const rows::Boxes& boxes,
                                                        std::span<const std::shared_ptr<const std::vector<double>>> known,
                                                        const Array<Interval>* image, KeptSizes kept) const {
  const ExecutionModel& model = semantics_;
  const Node& node = graph_.node(id);
  if (floats::computes_exactly(node, model)) return {};
  const rows::AffineForm* form = own_form(id);
  std::vector<std::vector<double>> x;
  if (form != nullptr) x = operand_magnitudes(form->parts, boxes);
  std::vector<double> held;  // floats::magnitudes_of(*form, x), computed once
  const auto sizes = [&]() -> const std::vector<double>& {
    if (!held.empty()) return held;
    if (kept == nullptr) return held = floats::magnitudes_of(*form, x);
    if (*kept == nullptr) *kept = std::make_shared<rows::Sizes>(affine_sizes(*form, x));
    std::vector<double> size = (*kept)->products;
    for (std::size_t i = 0; i < size.size(); ++i) size[i] += (*kept)->errors[i];
    return held = floats::with_bias(*form, std::move(size));
  };
  auto sum = floats::sum_form(node, graph_.node(node.operands[0]).shape, model, floats::format_of(node.dtype));
  // Programs compute weights that are no numbers of the format in float32, from coordinates, by their own methods.
  if (std::holds_alternative<WeightedGatherAttributes>(node.attributes) &&
      floats::roundings_of_factors(node, floats::format_of(node.dtype)) > 0)
    return std::vector<double>(element_count(node.shape), floats::kInfinity);
  std::vector<double> result;
  if (form != nullptr && sum && is_float(node.dtype)) {
    sum->further_roundings += sum->products && model.bias_in_product ? 1 : 0;
    // Interpolation along several axes is a chain of these nodes; programs may sum all corners, at most 16, at once. So
    // the first node's error of the terms has to cover the additions of the later nodes, whose own values cancel.
    if (floats::has_weights(node)) sum->further_roundings += 16;
    sum->products = sum->products || model.fused_multiply_add;
    const double most = floats::has_factors(node.op) ? floats::factor_rounding(model).most : floats::kInfinity;
    for (std::size_t k = 0; k < 2 && most < floats::kInfinity; ++k) {
      for (const Interval& weight : constants_.values[node.operands[k]].values) {
        if (!(weight.magnitude() < most)) return std::vector<double>(form->bias.size(), floats::kInfinity);
      }
    }
    result = floats::sum_rounding(node, *form, model, *sum, x, sizes());
  } else {
    std::vector<Array<Interval>> operands;
    for (const NodeId operand : node.operands) operands.push_back(values_at(operand, boxes));
    Array<Interval> of_form{node.shape, {}};
    if (form != nullptr) {
      for (const double size : sizes()) of_form.values.emplace_back(-size, size);
    }
    result = floats::rounding_errors(node, model, pointers_to(operands), form != nullptr ? of_form : *image);
  }
  const auto stored = [&](std::vector<double> errors) {
    if (model.storage == ExecutionModel::Storage::same) return errors;
    const floats::Precision format = floats::stored_precision(model);
    const std::vector<double> size = form != nullptr ? sizes() : floats::sizes_of(*image);
    errors.resize(size.size(), 0.0);
    for (std::size_t i = 0; i < size.size(); ++i) {
      const double all = add_up(size[i], errors[i]);
      errors[i] = all < format.overflow ? add_up(errors[i], add_up(mul_up(format.unit, all), format.smallest)) : floats::kInfinity;
    }
    return errors;
  };
  if (form == nullptr || floats::has_factors(node.op) || op_row(node.op).op_class == OpClass::layout) return stored(std::move(result));
  // Products among the terms may have been fused with this sum, or take the other terms as their bias.
  const auto add_errors = [&](const std::vector<double>& more) {
    result.resize(form->bias.size(), 0.0);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = add_up(result[i], more[i]);
  };
  const double u = floats::unit_roundoff(floats::format_of(node.dtype));
  // A form reads through copies; the node's own operands show which other nodes read the values on the way.
  const auto behind = [&](NodeId part) {
    std::vector<floats::ProductBehind> found;
    for (const NodeId operand : node.operands) {
      NodeId source = operand;
      while (source != part && own_form(source) != nullptr && own_form(source)->parts.size() == 1)
        source = own_form(source)->parts[0].operand;
      std::vector<floats::ProductBehind> more;
      if (source == part) more = floats::products_behind(graph_, constants_.is_constant, readers_, operand);
      found.insert(found.end(), more.begin(), more.end());
    }
    return found;
  };
  if (floats::joins_constants(node, constants_, model)) add_errors(floats::joined_constants(node, constants_, model, sizes()));
  for (std::size_t p = 0; p < form->parts.size(); ++p) {
    for (const floats::ProductBehind& one : behind(form->parts[p].operand)) {
      if (known[one.product] && known[one.product]->empty()) continue;
      const double most = known[one.product] ? *std::ranges::max_element(*known[one.product]) : floats::kInfinity;
      std::vector<double> more(form->bias.size(), 0.0);
      const std::vector<double> all(form->parts[p].map->columns(), most);
      form->parts[p].map->apply_magnitude(all.data(), more.data());
      if (model.bias_in_product && floats::has_factors(graph_.node(one.product).op)) {
        const rows::AffineForm* of_product = own_form(one.product);
        const double all_terms = static_cast<double>(graph_.size(graph_.node(one.product).operands[0]));
        const double terms = (of_product != nullptr ? floats::terms_of(*of_product) : all_terms) + 2;
        const auto errors = floats::sum_errors(model, floats::format_of(node.dtype), terms, {true, 1});
        std::vector<double> others = floats::magnitudes_of(*form, x, p);
        // The product's errors are at least u times the sum of its magnitudes, which the bias may join first.
        for (std::size_t i = 0; i < others.size(); ++i) {
          const double partial = mul_up(2, add_up(others[i], div_up(mul_up(more[i], floats::kInflate), u)));
          const bool known_error = errors && partial < floats::largest(floats::format_of(node.dtype));
          others[i] = known_error ? mul_up(add_up(errors->to_terms, errors->to_sum), others[i]) : floats::kInfinity;
        }
        add_errors(others);
      }
      if (!one.read_twice) continue;
      for (double& value : more) value = mul_up(value, 2 * floats::kInflate);
      add_errors(more);
    }
  }
  return stored(std::move(result));
}

}  // namespace assay::logic

namespace assay::floats {

bool has_number(const ExecutionModel& model, const Rational& lo, const Rational& hi) {
  const Precision format = stored_precision(model);
  return number_above(format, lo.double_up()) <= number_below(format, hi.double_down());
}

// The reason why a floating semantics does not cover the graph.
std::optional<Rejection> execution_obstacle(const Graph& graph, const ExecutionModel& model) {
  if (model.kind == ExecutionModel::Kind::real) return std::nullopt;
  if (const std::vector<Rejection> problems = validate(model); !problems.empty()) return problems.front();
  if (!model.math_table.empty() && find_math_table(model.math_table) == nullptr)
    return logic::declined("execution.table", "statement", "a known math table", "'" + model.math_table + "'",
                           "docs/contracts/math-tables.md lists them");
  const DType format = model.format == ExecutionModel::Format::binary32 ? DType::float32 : DType::float64;
  for (const Node& node : graph.nodes) {
    if (is_float(node.dtype) && node.dtype != format)
      return logic::declined("execution.format", std::string(op_row(node.op).name) + " '" + printable(node.name) + "'",
                             std::string(to_string(format)) + " values", std::string(to_string(node.dtype)),
                             "state a semantics of that format, or real arithmetic");
  }
  return std::nullopt;
}

bool sums_constants(const Node& node, const std::vector<bool>& is_constant) {
  return has_factors(node.op) && is_constant[node.operands[0]] && is_constant[node.operands[1]];
}

// A constant that is no number of the storage format lies between two of them.
Outcome<Done> round_weights(const Node& constant, const ExecutionModel& model, Array<Interval>& values) {
  if (model.kind == ExecutionModel::Kind::real || model.storage == ExecutionModel::Storage::same || !is_float(constant.dtype))
    return Done{};
  const Precision format = stored_precision(model);
  for (Interval& value : values.values) {
    value = Interval(number_below(format, value.lo()), number_above(format, value.hi()));
    if (!(value.magnitude() < kInfinity))
      return logic::declined("execution.constant", printable(constant.name), "constants inside the range of the storage format",
                             "one that may become infinite");
  }
  return Done{};
}

Outcome<Done> round_constant(const Graph& graph, NodeId id, const ExecutionModel& model, std::span<const Array<Interval>* const> operands,
                             rows::ConstantValues& constants) {
  if (model.kind == ExecutionModel::Kind::real) return Done{};
  const Node& node = graph.node(id);
  Array<Interval>& values = constants.values[id];
  double& terms = constants.product_terms[id];
  if (has_factors(node.op)) terms = static_cast<double>(graph.size(node.operands[0])) + 2;
  const bool moves = node.op == Op::neg || op_row(node.op).op_class == OpClass::layout;
  for (const NodeId operand : node.operands) terms = moves ? std::fmax(terms, constants.product_terms[operand]) : terms;
  std::vector<double> errors = rounding_errors(node, model, operands, values);
  if (joins_constants(node, constants, model)) {
    const auto sizes = sums_of_magnitudes(node, model, operands);
    const std::vector<double> joined =
        joined_constants(node, constants, model, sizes ? sizes_of(*sizes) : std::vector<double>(errors.size(), kInfinity));
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = add_up(errors[i], joined[i]);
  }
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!(errors[i] < kInfinity))
      return logic::declined("execution.constant", printable(node.name), "a bound on the rounding of constants",
                             std::string(op_row(node.op).name) + " of constants without one");
    values.values[i] += Interval(-errors[i], errors[i]);
  }
  return round_weights(node, model, values);
}

}  // namespace assay::floats
