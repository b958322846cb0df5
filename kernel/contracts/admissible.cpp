// Extends the contracts of single ops to a graph: unsupported nodes, fused operations, and execution on sets.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernel/contracts/contract.h"
#include "kernel/contracts/families.h"
#include "kernel/contracts/problems.h"
#include "kernel/floats/forms.h"
#include "semantics/demand.h"
#include "semantics/graph/family.h"
#include "semantics/numbers/wide_interval.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/indexing.h"

namespace assay::contracts {

namespace {

// A product node, or the negative of one, given by its factors.
struct Product {
  const Sets* left;
  const Sets* right;
  Sets constant;
  bool negated = false;
};
std::optional<Product> product_at(const Graph& graph, NodeId id, const std::vector<Sets>& values, const Arithmetic& arithmetic) {
  const Node* node = &graph.node(id);
  Product product{nullptr, nullptr, {node->dtype, {}, {}}, node->op == Op::neg};
  if (product.negated) node = &graph.node(node->operands[0]);
  if (node->op == Op::mul) {
    product.left = &values[node->operands[0]];
    product.right = &values[node->operands[1]];
  } else if (node->op == Op::scale) {
    product.left = &values[node->operands[0]];
    product.constant.values = {arithmetic.number(std::get<ScaleAttributes>(node->attributes).factor)};
  } else if (node->op == Op::pow && std::get<PowAttributes>(node->attributes).exponent == Rational(2)) {
    product.left = product.right = &values[node->operands[0]];
  } else {
    return std::nullopt;
  }
  return product;
}
const Sets& second(const Product& product) { return product.right == nullptr ? product.constant : *product.right; }

// Adds the fused forms of a sum or difference, one of whose operands is a product of the same shape.
void include_fused(const Graph& graph, const Call& call, const std::vector<Sets>& values, Image& image) {
  const Arithmetic& a = call.arithmetic;
  for (std::size_t side = 0; side < 2; ++side) {
    const NodeId id = call.node.operands[side];
    const std::optional<Product> product = product_at(graph, id, values, a);
    if (!product || graph.node(id).shape != call.node.shape) continue;
    const Call three{call.node, a, {product->left, &second(*product), &values[call.node.operands[1 - side]]}};
    const bool minus = call.node.op == Op::sub;  // p - c, or c - p
    const bool negate_product = product->negated != (minus && side == 1), negate_addend = minus && side == 0;
    const std::vector<FloatSet> fused = combined(three, [&](std::span<const FloatSet> x) {
      return a.fused(negate_product ? a.neg(x[0]) : x[0], x[1], negate_addend ? a.neg(x[2]) : x[2]);
    });
    for (std::size_t i = 0; i < fused.size(); ++i) image.values[i].include(fused[i]);
  }
}

// The normalisation and the weight that a node multiplies.
struct Weighted {
  NodeId normalise, weight;
};
std::optional<Weighted> weighted_at(const Graph& graph, const Node& node) {
  for (std::size_t side = 0; node.op == Op::mul && side < 2; ++side) {
    const Node& operand = graph.node(node.operands[side]);
    if (operand.op == Op::normalise && operand.shape == node.shape) return Weighted{node.operands[side], node.operands[1 - side]};
  }
  return std::nullopt;
}

// Adds the forms of a weighted normalisation (x - m) r w + b that multiply its factor r with the weight w first: with s = r w
// they are (x - m) s + b and x s + (b - m s).
void include_folded(const Graph& graph, const Node& node, const Arithmetic& a, const std::vector<Sets>& values,
                    const std::vector<Image>& images, Image& image) {
  for (std::size_t side = 0; side < (node.op == Op::mul ? 1U : node.op == Op::add ? 2U : 0U); ++side) {
    const bool has_bias = node.op == Op::add;
    const Node& product = has_bias ? graph.node(node.operands[side]) : node;
    const std::optional<Weighted> weighted = weighted_at(graph, product);
    if (!weighted || product.shape != node.shape) continue;
    const Sets &x = values[graph.node(weighted->normalise).operands[0]], means{x.dtype, x.shape, images[weighted->normalise].means};
    const Sets factors{x.dtype, x.shape, images[weighted->normalise].factors}, &weight = values[weighted->weight];
    const Sets& bias = has_bias ? values[node.operands[1 - side]] : weight;
    const std::vector<FloatSet> folded = combined({node, a, {&x, &means, &factors, &weight, &bias}}, [&](std::span<const FloatSet> e) {
      const FloatSet difference = a.sub(e[0], e[1]), scale = a.mul(e[2], e[3]);
      if (!has_bias) return a.mul(difference, scale);
      return hull(a.mul_add(difference, scale, e[4]), a.mul_add(e[0], scale, a.mul_add(a.neg(e[1]), scale, e[4])));
    });
    for (std::size_t i = 0; i < folded.size(); ++i) image.values[i].include(folded[i]);
  }
}

bool adds_up(Op op) {
  return op == Op::reduce_sum || op == Op::reduce_mean || op == Op::cumsum || op == Op::place || op == Op::avg_pool ||
         op == Op::weighted_gather;
}

// The exact products that a sum over a product node adds up, if all are finite.
std::optional<Sets> exact_products(const Graph& graph, NodeId id, const std::vector<Sets>& values, const Arithmetic& a) {
  const std::optional<Product> product = product_at(graph, id, values, a);
  if (!product) return std::nullopt;
  const Arithmetic reals(a.model(), floats::Format::real);
  const Call both{graph.node(id), a, {product->left, &second(*product)}};
  Sets exact{graph.node(id).dtype, graph.node(id).shape, combined(both, [&](std::span<const FloatSet> x) {
               const FloatSet value = reals.mul(a.operand(x[0]), a.operand(x[1]));
               return product->negated ? reals.neg(value) : value;
             })};
  const bool finite = std::all_of(exact.values.begin(), exact.values.end(), [](const FloatSet& set) { return set.is_finite(); });
  return finite ? std::optional<Sets>(std::move(exact)) : std::nullopt;
}

// Adds the numbers nearest to the exact values. An execution of a defined op that is more accurate than its usual forms
// does not fail.
void include_nearest(const Call& call, Image& image) {
  const Arithmetic reals(call.arithmetic.model(), floats::Format::real);
  const std::optional<Image> exact = image_of(Call{call.node, reals, call.operands});
  const floats::Format format = call.arithmetic.format();
  for (std::size_t i = 0; exact && i < image.values.size(); ++i) {
    const FloatSet& value = exact->values[i];
    image.exact.push_back(enclosure(value));
    if (value.is_finite()) image.values[i].include(format, nearest(format, value.lo), nearest(format, value.hi));
  }
}
bool is_defined(Op op) {
  const Family family = contracts::family_of(op);
  return family == Family::activation || family == Family::softmax || family == Family::normalise || family == Family::batch_norm ||
         family == Family::local_response;
}

// Executes one node on the sets of its operands; nullopt if its op has no contract.
std::optional<Image> executed(const Graph& graph, const Node& node, const Arithmetic& arithmetic, const std::vector<Sets>& values,
                              const std::vector<std::span<const double>>& scales) {
  Call call{node, arithmetic, {}};
  for (const NodeId operand : node.operands) {
    call.operands.push_back(&values[operand]);
    call.scales.push_back(scales[operand]);
  }
  const bool may_fuse = !arithmetic.is_real() && arithmetic.model().fused_multiply_add && is_number_type(node.dtype);
  std::optional<Sets> products;
  if (may_fuse && adds_up(node.op)) products = exact_products(graph, node.operands[0], values, arithmetic);
  if (products) {
    call.operands[0] = &*products;
    call.products = true;
  }
  std::optional<Image> image = image_of(call);
  if (image && !arithmetic.is_real() && is_defined(node.op)) include_nearest(call, *image);
  if (image && may_fuse && (node.op == Op::add || node.op == Op::sub)) include_fused(graph, call, values, *image);
  if (image && !arithmetic.is_real()) image->scales = scales_of(call, *image);
  return image;
}

// The stored form of a computed value. If results may be flushed, a conversion may flush, too.
FloatSet stored_by(const ExecutionModel& model, Storage storage, const FloatSet& computed) {
  return stored(storage, model.flush_results ? flushed(floats::Format::binary32, computed) : computed);
}

// The values that a step inside a region may hold for later steps: the computed one or, if the model says so, the
// stored one.
FloatSet kept(const ExecutionModel& model, const FloatSet& computed) {
  return model.storage == Storage::same ? computed : hull(computed, stored_by(model, model.storage, computed));
}

// The values that later nodes read of a recorded result: the recorded value. If it is stored in 16 bits, a fused kernel
// may still use the computed value, which is one of the numbers that are stored as the recorded one.
Sets read_again(const Recording& recording, const Sets& computed) {
  Sets sets = recorded(recording.value);
  for (std::size_t i = 0; recording.storage != Storage::same && i < sets.values.size(); ++i) {
    FloatSet& value = sets.values[i];
    if (value.nan || !value.is_single()) continue;
    const FloatSet same = stored_as(recording.storage, value.has_finite()    ? value.lo
                                                       : value.plus_infinity ? floats::kInfinity
                                                                             : -floats::kInfinity);
    value.include(
        part_of(computed.values[i], same.minus_infinity ? -floats::kInfinity : same.lo, same.plus_infinity ? floats::kInfinity : same.hi));
  }
  return sets;
}

// A conversion from float32 to itself marks a step that the region stores.
bool is_stored_step(const Graph& graph, const Node& node) {
  return node.op == Op::cast && node.dtype == DType::float32 && graph.node(node.operands[0]).dtype == DType::float32;
}

bool says_what_is_stored(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) { return is_stored_step(graph, node); });
}

enum class Numbers : std::uint8_t { typed, reals, doubles };

floats::Format format_on(Numbers numbers, DType dtype) {
  if (!is_number_type(dtype) || numbers == Numbers::typed) return format_of(dtype);
  return numbers == Numbers::reals ? floats::Format::real : floats::Format::binary64;
}

// Executes every node on sets, in the node's format, over the reals or in binary64. Later nodes read recorded results.
Outcome<std::vector<Image>> executed(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs,
                                     std::span<const Recording> recordings, Numbers numbers) {
  const bool over_reals = numbers == Numbers::reals;
  std::vector<Sets> values(graph.nodes.size());
  std::vector<Image> images(graph.nodes.size());
  std::vector<std::span<const double>> scales(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = recorded(inputs[i]);
  // If a region marks the steps that are stored, no others are; otherwise any step may be.
  const bool says_where = says_what_is_stored(graph);
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op == Op::constant) values[id] = recorded(node.value);
    if (node.op != Op::constant && node.op != Op::input) {
      const bool is_softmax = contracts::family_of(node.op) == Family::softmax;
      ExecutionModel here = model;
      if (says_where && !(is_softmax && model.softmax == ExecutionModel::Softmax::online)) here.storage = Storage::same;
      const Arithmetic arithmetic(here, format_on(numbers, node.dtype));
      std::optional<Image> image = executed(graph, node, arithmetic, values, scales);
      if (!image) return unsupported(node, "op", "an op with a contract", std::string(op_row(node.op).name));
      demand(image->values.size() == element_count(node.shape), "executed: one set per element");
      if (!over_reals && recordings.empty()) include_folded(graph, node, arithmetic, values, images, *image);
      values[id] = {node.dtype, node.shape, image->values};
      if (node.dtype == DType::float32 && !over_reals && (!says_where || is_stored_step(graph, node)))
        for (FloatSet& value : values[id].values) value = kept(model, value);
      images[id] = std::move(*image);
      scales[id] = images[id].scales;
    } else {
      images[id].values = values[id].values;
    }
    for (const Recording& recording : recordings) {
      if (recording.node != id) continue;
      values[id] = read_again(recording, values[id]);
      scales[id] = {};
    }
  }
  return images;
}

// An output in its stored form, or kept in float32 if the model rounds steps.
FloatSet as_output(const ExecutionModel& model, Storage storage, const FloatSet& computed) {
  return storage == Storage::same ? kept(model, computed) : stored_by(model, storage, kept(model, computed));
}

Admissible collected(const Node& node, const ExecutionModel& model, Storage storage, Image image, std::vector<Interval> exact) {
  if (node.dtype == DType::float32)
    for (FloatSet& value : image.values) value = as_output(model, storage, value);
  Admissible result{{node.dtype, node.shape, std::move(image.values)}, std::move(exact), std::move(image.scales)};
  result.storage = storage;
  // Without fused operations, or with one order of sums, a model asks for the bits of each step.
  const bool asks_for_steps = !model.fused_multiply_add || model.accumulator == ExecutionModel::Accumulator::left_to_right;
  result.admits_nearest = storage != Storage::same || !asks_for_steps;
  if (result.scales.empty()) {
    for (const FloatSet& set : result.sets.values) result.scales.push_back(set.magnitude());
  }
  return result;
}

bool is_single_op(const Graph& graph) {
  const auto computes = [](const Node& node) { return node.op != Op::input && node.op != Op::constant; };
  return std::ranges::count_if(graph.nodes, computes) == 1;
}

// Whether the graph is a single op on recorded operands, whose family computed its exact results.
bool knows_exact(const Graph& graph, const std::vector<Image>& images) {
  return is_single_op(graph) && std::all_of(graph.outputs.begin(), graph.outputs.end(),
                                            [&](NodeId output) { return images[output].exact.size() == graph.size(output); });
}

bool is_finite(const Tensor& tensor) {
  bool finite = true;
  for (std::size_t i = 0; is_number_type(tensor.dtype()) && i < tensor.size(); ++i) finite = finite && std::isfinite(tensor.as_double(i));
  return finite;
}

// The exact values of 257 bits, where doubles enclose any. A number that is not finite leaves what is computed from it undefined.
void sharpen(const Graph& graph, std::span<const Tensor> inputs, std::vector<Admissible>& sets) {
  const auto is_infinite = [](const Node& node) { return node.op == Op::constant && !is_finite(node.value); };
  if (std::ranges::any_of(graph.nodes, is_infinite)) return;
  std::vector<Array<WideInterval>> values;
  for (const Tensor& input : inputs) {
    values.push_back({input.shape(), {}});
    if (is_finite(input)) values.back() = lift<WideInterval>(input);
    for (std::size_t i = values.back().values.size(); i < input.size(); ++i) {
      const double value = input.as_double(i);
      values.back().values.push_back(std::isfinite(value) ? WideInterval(value) : WideInterval::undefined());
    }
  }
  const auto wide = evaluate<WideInterval>(graph, values);
  for (std::size_t k = 0; wide && k < sets.size(); ++k) {
    for (std::size_t i = 0; i < sets[k].exact.size(); ++i) {
      const Interval sharp = wide.value()[graph.outputs[k]].values[i].to_interval();
      if (!sets[k].exact[i].is_undefined() && !sharp.is_undefined()) sets[k].exact[i] = sharp;
    }
  }
}

// Whether the value is so far from the exact one that refined sets do not admit it either.
bool is_far(const Admissible& sets, std::size_t element, double value) {
  const Interval& exact = sets.exact[element];
  const double width = 2 * vacuous_width(sets.storage, format_of(sets.sets.dtype), sets.scales[element]);
  return !exact.is_undefined() && std::isfinite(value) && (value < exact.lo() - width || value > exact.hi() + width);
}

}  // namespace

Outcome<std::vector<Admissible>> admissible(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs,
                                            std::span<const Recording> recordings, std::span<const Storage> stored) {
  if (std::optional<Rejection> why = problem_of(graph, model, inputs, recordings)) return *std::move(why);
  if (std::optional<Rejection> why = problem_of(graph, stored)) return *std::move(why);
  Outcome<std::vector<Image>> images = executed(graph, model, inputs, recordings, Numbers::typed);
  if (!images) return images.rejection();
  if (!knows_exact(graph, images.value())) {
    const Outcome<std::vector<Image>> over_reals = executed(graph, model, inputs, recordings, Numbers::reals);
    demand(over_reals.ok(), "admissible: what has a contract has an exact value");
    for (const NodeId output : graph.outputs) {
      images.value()[output].exact.clear();
      for (const FloatSet& set : over_reals.value()[output].values) images.value()[output].exact.push_back(enclosure(set));
    }
  }
  ExecutionModel of_outputs = model;
  if (says_what_is_stored(graph)) of_outputs.storage = Storage::same;
  std::vector<Admissible> results;
  for (const NodeId output : graph.outputs) {
    const Storage storage = stored.empty() ? Storage::same : stored[results.size()];
    results.push_back(collected(graph.node(output), of_outputs, storage, images.value()[output], images.value()[output].exact));
  }
  return results;
}

void refine(std::vector<Admissible>& sets, const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs,
            std::span<const Recording> recordings, std::span<const Tensor> received) {
  // Later nodes read recorded values, and factors that are rounded first have other exact products.
  if (is_single_op(graph) || !recordings.empty() || model.format != ExecutionModel::Format::binary32 ||
      model.input_rounding != ExecutionModel::InputRounding::none)
    return;
  constexpr std::size_t kMostSharp = 1 << 13;
  std::size_t elements = 0, failed = 0;
  for (const Node& node : graph.nodes) elements += element_count(node.shape);
  for (std::size_t k = 0; k < received.size(); ++k) {
    const auto judged = judge(sets[k], received[k]);
    if (!judged || judged.value().failed == 0) continue;
    const std::size_t first = *judged.value().first_failure;
    if (elements > kMostSharp && is_far(sets[k], first, received[k].as_double(first))) return;
    failed += judged.value().failed;
  }
  if (failed == 0) return;
  if (elements <= kMostSharp) sharpen(graph, inputs, sets);
  ExecutionModel wide = model;
  wide.storage = Storage::same;
  wide.math_table = "any-library";
  const Outcome<std::vector<Image>> images = executed(graph, wide, inputs, {}, Numbers::doubles);
  demand(images.ok(), "refine: what has a contract has one in binary64");
  for (std::size_t k = 0; k < sets.size(); ++k) sets[k].in_double = images.value()[graph.outputs[k]].values;
}

Outcome<Admissible> admissible(Op op, const Attributes& attributes, const ExecutionModel& model, std::span<const Tensor> operands,
                               Storage stored) {
  Graph graph;
  std::vector<NodeId> ids;
  for (const Tensor& operand : operands) ids.push_back(graph.append_input(operand.dtype(), operand.shape(), ""));
  const Outcome<NodeId> node = graph.append(op, ids, attributes);
  if (!node) return node.rejection();
  graph.mark_output(node.value(), "");
  Outcome<std::vector<Admissible>> results = admissible(graph, model, operands, {}, std::span(&stored, 1));
  if (!results) return results.rejection();
  return std::move(results).value().front();
}

}  // namespace assay::contracts
