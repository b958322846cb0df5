// From one op to a graph: which family's contract an op has, what it needs of the math table, and execution on sets.
#include <array>
#include <utility>
#include <vector>

#include "semantics/contracts/contract.h"
#include "semantics/contracts/families.h"
#include "semantics/demand.h"
#include "semantics/ops/indexing.h"

namespace assay::contracts {

namespace {

bool is_number_type(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

Rejection unsupported(const Node& node, std::string code, std::string required, std::string found) {
  const std::string name(op_row(node.op).name);
  return {Rejection::Kind::unsupported, "contract." + code, "node '" + node.name + "' (" + name + ")",
          std::move(required),          std::move(found),   "see docs/contracts"};
}

// The functions whose rows an op's contract reads; a row for the whole op serves as well.
std::vector<std::string_view> functions_of(const Node& node, const ExecutionModel& model) {
  switch (node.op) {
    case Op::softmax:
    case Op::masked_softmax:
    case Op::elu:
    case Op::selu:
    case Op::celu:
      return {"exp"};
    case Op::silu:
    case Op::sigmoid:
      return model.sigmoid == ExecutionModel::Sigmoid::tanh_form ? std::vector<std::string_view>{"tanh"}
                                                                 : std::vector<std::string_view>{"exp"};
    case Op::log_softmax:
    case Op::log_sum_exp:
      return {"exp", "log"};
    case Op::softplus:
      return {"exp", "log1p"};
    case Op::mish:
      return {"exp", "log1p", "tanh"};
    case Op::gelu:
      return std::get<GeluAttributes>(node.attributes).tanh_form ? std::vector<std::string_view>{"tanh"}
                                                                 : std::vector<std::string_view>{"erf"};
    case Op::local_response:
      return {"pow"};
    default:
      return {};
  }
}

// Ops that are one function of the table, by the same name.
std::optional<Function> function_of(Op op) {
  constexpr std::array<std::pair<Op, Function>, 15> kFunctions = {{
      {Op::tanh, Function::tanh},
      {Op::exp, Function::exp},
      {Op::log, Function::log},
      {Op::sin, Function::sin},
      {Op::cos, Function::cos},
      {Op::erf, Function::erf},
      {Op::tan, Function::tan},
      {Op::asin, Function::asin},
      {Op::acos, Function::acos},
      {Op::atan, Function::atan},
      {Op::sinh, Function::sinh},
      {Op::cosh, Function::cosh},
      {Op::asinh, Function::asinh},
      {Op::acosh, Function::acosh},
      {Op::atanh, Function::atanh},
  }};
  for (const auto& [one, function] : kFunctions) {
    if (one == op) return function;
  }
  return std::nullopt;
}

bool takes_numbers(const Call& call) { return call.operands.empty() || is_number_type(call.operand(0).dtype); }

// The contract of each op. No default: an op that forgets its own does not compile.
std::optional<Image> image_of(const Call& call) {
  const bool integers = !takes_numbers(call);
  switch (call.node.op) {
    case Op::input:
    case Op::constant:
      break;
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::concat:
    case Op::pad:
    case Op::gather:
    case Op::expand:
      return image_of_layout(call);
    case Op::gemm:
    case Op::matmul:
    case Op::conv:
    case Op::conv_transpose:
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::avg_pool:
    case Op::cumsum:
    case Op::place:
    case Op::weighted_gather:
      return integers ? image_of_integers(call) : image_of_sum(call);
    case Op::add:
    case Op::sub:
    case Op::neg:
    case Op::scale:
    case Op::mul:
    case Op::div:
    case Op::relu:
    case Op::leaky_relu:
    case Op::abs:
    case Op::sign:
    case Op::clip:
    case Op::sqrt:
    case Op::pow:
    case Op::min:
    case Op::max:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::reciprocal:
    case Op::mod:
    case Op::power:
    case Op::step:
    case Op::prelu:
      return integers ? image_of_integers(call) : image_of_elementwise(call);
    case Op::tanh:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
    case Op::erf:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
      return Image{combined(call, [&](std::span<const FloatSet> x) { return call.arithmetic.function(*function_of(call.node.op), x[0]); })};
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
      return image_of_integers(call);
    case Op::equal:
    case Op::less:
    case Op::less_equal:
    case Op::is_nan:
    case Op::is_inf:
      return integers ? image_of_integers(call) : image_of_comparison(call);
    case Op::where:
    case Op::cast:
    case Op::take:
    case Op::sort:
      return image_of_choice(call);
    case Op::arg_max:
    case Op::arg_min:
    case Op::arg_sort:
    case Op::max_weight:
      return image_of_positions(call);
    case Op::max_pool:
    case Op::reduce_max:
    case Op::reduce_min:
      return integers ? image_of_integers(call) : image_of_extremum(call);
    case Op::reduce_prod:
    case Op::cumprod:
      return integers ? image_of_integers(call) : image_of_product(call);
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
    case Op::masked_softmax:
      return image_of_softmax(call);
    case Op::sigmoid:
    case Op::softplus:
    case Op::softsign:
    case Op::elu:
    case Op::selu:
    case Op::celu:
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::hard_sigmoid:
    case Op::hard_swish:
    case Op::thresholded_relu:
    case Op::shrink:
      return image_of_activation(call);
    case Op::normalise:
      return image_of_normalise(call);
    case Op::batch_norm:
      return image_of_batch_norm(call);
    case Op::local_response:
      return image_of_local_response(call);
  }
  return std::nullopt;
}

// Why the model has no contract for the node, if so.
std::optional<Rejection> obstacle(const Node& node, const ExecutionModel& model) {
  if (node.dtype == DType::complex64) return unsupported(node, "type", "a real element type", to_string(node.dtype));
  const bool computes = op_row(node.op).op_class != OpClass::layout && op_row(node.op).op_class != OpClass::leaf && node.op != Op::cast;
  const DType meant = model.format == ExecutionModel::Format::binary32 ? DType::float32 : DType::float64;
  if (computes && is_number_type(node.dtype) && node.dtype != meant)
    return unsupported(node, "format", to_string(meant), to_string(node.dtype));
  if (!is_number_type(node.dtype)) return std::nullopt;
  const Arithmetic arithmetic(model, format_of(node.dtype));
  const std::string_view own = op_row(node.op).name;
  const auto missing = [&](std::string_view name) {
    return unsupported(node, "function", "a row for " + std::string(name) + " in the model's math table",
                       "'" + model.math_table + "' has none");
  };
  if (function_of(node.op) && !arithmetic.has_rows(own)) return missing(own);
  for (const std::string_view name : functions_of(node, model)) {
    if (!arithmetic.has_rows(name) && !arithmetic.has_rows(own)) return missing(name);
  }
  return std::nullopt;
}

// The fused forms of a sum or difference one of whose operands is a product of the same shape.
void include_fused(const Graph& graph, const Call& call, const std::vector<Sets>& values, Image& image) {
  const Node& sum = call.node;
  const Arithmetic& a = call.arithmetic;
  if ((sum.op != Op::add && sum.op != Op::sub) || a.is_real() || !a.model().fused_multiply_add || !is_number_type(sum.dtype)) return;
  for (std::size_t side = 0; side < 2; ++side) {
    const Node& product = graph.node(sum.operands[side]);
    if ((product.op != Op::mul && product.op != Op::scale) || product.shape != sum.shape) continue;
    const Sets factor{
        sum.dtype, {}, {product.op == Op::scale ? a.number(std::get<ScaleAttributes>(product.attributes).factor) : FloatSet()}};
    const Sets& left = values[product.operands[0]];
    const Sets& right = product.op == Op::scale ? factor : values[product.operands[1]];
    const Call three{sum, a, {&left, &right, &values[sum.operands[1 - side]]}};
    const std::vector<FloatSet> fused = combined(three, [&](std::span<const FloatSet> x) {
      const bool minus = sum.op == Op::sub;  // p - c, or c - p
      return a.fused(minus && side == 1 ? a.neg(x[0]) : x[0], x[1], minus && side == 0 ? a.neg(x[2]) : x[2]);
    });
    for (std::size_t i = 0; i < fused.size(); ++i) image.values[i].include(fused[i]);
  }
}

// Every node on sets, in the node's format or over the reals.
Outcome<std::vector<Image>> executed(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs, bool over_reals) {
  std::vector<Sets> values(graph.nodes.size());
  std::vector<Image> images(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = recorded(inputs[i]);
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op == Op::input) continue;
    if (node.op == Op::constant) {
      values[id] = recorded(node.value);
      continue;
    }
    const Arithmetic arithmetic(model, over_reals && is_number_type(node.dtype) ? Format::real : format_of(node.dtype));
    Call call{node, arithmetic, {}};
    for (const NodeId operand : node.operands) call.operands.push_back(&values[operand]);
    std::optional<Image> image = image_of(call);
    if (!image) return unsupported(node, "op", "an op with a contract", std::string(op_row(node.op).name));
    include_fused(graph, call, values, *image);
    demand(image->values.size() == element_count(node.shape), "executed: one set per element");
    values[id] = {node.dtype, node.shape, image->values};
    images[id].scales = std::move(image->scales);
  }
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) images[id].values = std::move(values[id].values);
  return images;
}

std::optional<Rejection> problem_of(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs) {
  const auto malformed = [](std::string code, std::string required, std::string found) {
    return Rejection{Rejection::Kind::malformed, "contract." + code, "inputs", std::move(required), std::move(found), ""};
  };
  if (const std::vector<Rejection> problems = assay::validate(model); !problems.empty()) return problems.front();
  if (const std::vector<Rejection> problems = assay::validate(graph); !problems.empty()) return problems.front();
  if (model.kind != ExecutionModel::Kind::floating) return malformed("model", "a floating-point execution model", to_string(model));
  if (!model.math_table.empty() && find_math_table(model.math_table) == nullptr) {
    return malformed("table", "a known math table", "'" + model.math_table + "'");
  }
  if (inputs.size() != graph.inputs.size())
    return malformed("inputs", std::to_string(graph.inputs.size()) + " tensors", std::to_string(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Node& input = graph.node(graph.inputs[i]);
    if (inputs[i].dtype() == input.dtype && inputs[i].shape() == input.shape) continue;
    return malformed("inputs", std::string(to_string(input.dtype)) + " " + to_string(input.shape),
                     std::string(to_string(inputs[i].dtype())) + " " + to_string(inputs[i].shape()));
  }
  for (const Node& node : graph.nodes) {
    if (std::optional<Rejection> why = obstacle(node, model)) return why;
  }
  return std::nullopt;
}

Admissible collected(const Node& node, Image image, const std::vector<FloatSet>& exact) {
  Admissible result{{node.dtype, node.shape, std::move(image.values)}, {}, std::move(image.scales)};
  for (const FloatSet& set : exact) result.exact.push_back(enclosure(set));
  if (result.scales.empty()) {
    for (const FloatSet& set : result.sets.values) result.scales.push_back(set.magnitude());
  }
  return result;
}

}  // namespace

Outcome<std::vector<Admissible>> admissible(const Graph& graph, const ExecutionModel& model, std::span<const Tensor> inputs) {
  if (std::optional<Rejection> why = problem_of(graph, model, inputs)) return *std::move(why);
  Outcome<std::vector<Image>> images = executed(graph, model, inputs, false);
  if (!images) return images.rejection();
  const Outcome<std::vector<Image>> exact = executed(graph, model, inputs, true);
  demand(exact.ok(), "admissible: what has a contract has an exact value");
  std::vector<Admissible> results;
  for (const NodeId output : graph.outputs) {
    results.push_back(collected(graph.node(output), images.value()[output], exact.value()[output].values));
  }
  return results;
}

Outcome<Admissible> admissible(Op op, const Attributes& attributes, const ExecutionModel& model, std::span<const Tensor> operands) {
  Graph graph;
  std::vector<NodeId> ids;
  for (const Tensor& operand : operands) ids.push_back(graph.append_input(operand.dtype(), operand.shape(), ""));
  const Outcome<NodeId> node = graph.append(op, ids, attributes);
  if (!node) return node.rejection();
  graph.mark_output(node.value(), "");
  Outcome<std::vector<Admissible>> results = admissible(graph, model, operands);
  if (!results) return results.rejection();
  return std::move(results).value().front();
}

}  // namespace assay::contracts
