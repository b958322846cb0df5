#include "runtime/recorder.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "semantics/demand.h"

namespace assay::runtime {

namespace {

constexpr const char* kWriter = "assay runtime";
constexpr std::size_t kMostHeight = 999'999;  // that an execution model may name

// The terms of the longest sum of a node; nothing where its kernel may add any number of terms in one chain.
std::optional<std::size_t> longest_sum(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::conv:
    case Op::conv_transpose:
    case Op::avg_pool:
    case Op::cumsum:
    case Op::place:
    case Op::weighted_gather:
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
    case Op::masked_softmax:
    case Op::normalise:
      return std::nullopt;
    case Op::gemm:
    case Op::matmul: {
      const auto* gemm = std::get_if<GemmAttributes>(&node.attributes);
      const Shape& a = graph.node(node.operands[0]).shape;
      return static_cast<std::size_t>(gemm != nullptr && gemm->transpose_a ? a[0] : a.back()) + 1;  // with a bias
    }
    case Op::reduce_sum:
    case Op::reduce_mean:
      return graph.size(node.operands[0]) / std::max<std::size_t>(element_count(node.shape), 1);
    default:
      return 0;
  }
}

bool is_double(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.dtype == DType::float64; });
}

}  // namespace

ExecutionModel execution_model(DType dtype) {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  model.format = dtype == DType::float64 ? ExecutionModel::Format::binary64 : ExecutionModel::Format::binary32;
  model.math_table = "glibc-2.36";
  return model;
}

ExecutionModel execution_model(DType dtype, const Graph& graph) {
  constexpr std::size_t kLeastBlock = 256, kMostBlock = 1024;  // terms: the sum that the kernels add before they continue with another
  ExecutionModel model = execution_model(dtype);
  std::size_t terms = 0;
  for (const Node& node : graph.nodes) {
    const auto longest = longest_sum(graph, node);
    if (!longest) return model;
    terms = std::max(terms, *longest);
  }
  const std::size_t height = kMostBlock + (terms + kLeastBlock - 1) / kLeastBlock;
  if (height >= terms || height > kMostHeight) return model;  // says no more than any order
  model.accumulator = ExecutionModel::Accumulator::tree;
  model.tree_height = static_cast<std::uint32_t>(height);
  return model;
}

Recorder::Recorder(Session& session) : session_(session) {
  trace_.writer = kWriter;
  session_.set_observer(this);
}

Recorder::~Recorder() { session_.set_observer(nullptr); }

ExecutionModel Recorder::model_of(const Graph& graph) const {
  const auto& device = session_.options().device;
  const DType dtype = is_double(graph) ? DType::float64 : DType::float32;
  return device != nullptr && dtype == DType::float32 ? device->model() : execution_model(dtype, graph);
}

TraceTensorId Recorder::add(const Array& array, std::string name, Trace::Origin origin) {
  const auto id = static_cast<TraceTensorId>(trace_.tensors.size());
  if (name.empty()) name.append("t").append(std::to_string(id));
  if (const std::size_t times = ++names_[name]; times > 1) name.append("#").append(std::to_string(times));
  const bool is_short = session_.options().bfloat16 && array.dtype() == DType::float32;
  trace_.tensors.push_back(
      {std::move(name), origin, array.to_tensor(), is_short ? ExecutionModel::Storage::bfloat16 : ExecutionModel::Storage::same});
  return id;
}

void Recorder::given(Ref value, const Array& array, std::string_view name) {
  const bool stays = value >= kFirstKept;
  ids_[value] = add(array, std::string(name), stays && !name.empty() ? Trace::Origin::parameter : Trace::Origin::input);
}

bool Recorder::kept(Ref from, Ref to) {
  ids_[to] = ids_.at(from);
  return true;
}

// A value from before this recorder is a parameter or an input of what it records.
TraceTensorId Recorder::id_of(Ref ref) { return id_of(ref, session_.content(ref)); }

TraceTensorId Recorder::id_of(Ref ref, const Array& content) {
  const auto known = ids_.find(ref);
  if (known != ids_.end()) return known->second;
  const std::string name = ref >= kFirstKept ? session_.kept_name(ref) : std::string();
  return ids_[ref] = add(content, name, name.empty() ? Trace::Origin::input : Trace::Origin::parameter);
}

void Recorder::ran(Op op, const Attributes& attributes, std::span<const Ref> operands, std::span<const Array* const> contents, Ref result,
                   const Array& result_content, Role role) {
  Region region;
  region.name = op_row(op).name;
  std::vector<NodeId> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TraceTensorId id = id_of(operands[i], *contents[i]);
    region.operands.push_back(id);
    inputs.push_back(region.graph.append_input(contents[i]->dtype(), contents[i]->shape(), trace_.tensors[id].name));
  }
  const auto node = region.graph.append(op, std::move(inputs), attributes);
  demand(node.ok(), "Recorder: an op that ran has a shape");
  region.model = model_of(region.graph);
  const TraceTensorId id = ids_[result] = add(result_content, {}, Trace::Origin::result);
  region.graph.mark_output(node.value(), trace_.tensors[id].name);
  region.results = {id};
  producers_[id] = static_cast<std::uint32_t>(trace_.regions.size());
  trace_.regions.push_back(std::move(region));
  if (role.kind == Role::Kind::accumulate) totals_[id_of(role.node)] = id;
}

void Recorder::sent(Ref node, std::size_t operand, Ref cotangent) {
  const TraceTensorId of = id_of(node), value = id_of(cotangent);
  if (producers_.count(of) == 0 || totals_.count(of) == 0) return;  // ran unseen, or from a seed without a name: nothing is claimed
  const std::uint32_t region = producers_.at(of);
  const TraceTensorId target = trace_.regions[region].operands[operand], total = totals_.at(of);
  const bool goes_on = !trace_.vjps.empty() && trace_.vjps.back().of == region && trace_.vjps.back().cotangent == total;
  if (!goes_on) trace_.vjps.push_back({region, 0, total, {}});
  trace_.vjps.back().cotangents.emplace_back(static_cast<std::uint32_t>(operand), value);
  totals_[target] = value;  // until a sum follows
}

void Recorder::forgotten(Ref first) { ids_.erase(ids_.lower_bound(first), ids_.lower_bound(kFirstKept)); }

ProgramObserver* Recorder::replaying(const Program& program, const GradientNotes<NodeId>& notes, std::span<const Ref> inputs,
                                     std::span<const Array> contents) {
  std::vector<TraceTensorId> ids;
  for (std::size_t k = 0; k < inputs.size(); ++k) ids.push_back(id_of(inputs[k], contents[k]));
  replay_.begin(program, notes, ids);
  return &replay_;
}

void Recorder::replayed(std::span<const Ref> outputs) {
  replay_.end();
  for (std::size_t k = 0; k < outputs.size(); ++k) ids_[outputs[k]] = replay_.id_of(replay_.outputs()[k]);
}

void Recorder::Replay::begin(const Program& program, const GradientNotes<NodeId>& notes, std::span<const TraceTensorId> inputs) {
  notes_ = renamed<ProgramValue>(notes, [&](NodeId node) { return program.value_of(node); });
  ids_.clear();
  places_.clear();
  for (std::size_t k = 0; k < inputs.size(); ++k) ids_[program.inputs()[k]] = inputs[k];
  outputs_ = program.outputs();
}

void Recorder::Replay::held(ProgramValue value, const Array& content) {
  ids_[value] = recorder_.add(content, "constant", Trace::Origin::input);
}

void Recorder::Replay::ran(const ProgramRegion& step, std::span<const Array> results) {
  ExecutionModel model = step.is_folded ? execution_model(is_double(step.graph) ? DType::float64 : DType::float32, step.graph)
                                        : recorder_.model_of(step.graph);
  Region region{step.name, step.graph, std::move(model), {}, {}};
  const auto number = static_cast<std::uint32_t>(recorder_.trace_.regions.size());
  for (NodeId id = 0; id < step.graph.nodes.size(); ++id) {
    if (step.graph.node(id).op != Op::input) places_.try_emplace(step.values[id], Place{number, id});
  }
  for (const ProgramValue value : step.operands) region.operands.push_back(ids_.at(value));
  for (std::size_t k = 0; k < results.size(); ++k) {
    const TraceTensorId id = recorder_.add(results[k], {}, Trace::Origin::result);
    ids_[step.results[k]] = id;
    places_[step.results[k]] = {number, step.graph.outputs[k]};
    region.results.push_back(id);
  }
  recorder_.trace_.regions.push_back(std::move(region));
}

TraceTensorId Recorder::Replay::named(ProgramValue value) {
  if (const auto known = ids_.find(value); known != ids_.end()) return known->second;
  const Place place = places_.at(value);
  std::vector<Trace::Inner>& inner = recorder_.trace_.inner;
  const TraceTensorId id = kFirstInner + static_cast<TraceTensorId>(inner.size());
  inner.push_back(
      {std::string("r").append(std::to_string(place.region)).append(".").append(std::to_string(place.node)), place.region, place.node});
  return ids_[value] = id;
}

bool Recorder::Replay::has_tensors(const GradientNotes<ProgramValue>::Gradient& gradient) const {
  const auto is_tensor = [&](ProgramValue value) {
    const auto known = ids_.find(value);
    return known != ids_.end() && known->second < kFirstInner;
  };
  return is_tensor(gradient.output) && is_tensor(gradient.seed) &&
         std::ranges::all_of(gradient.of, [&](const auto& one) { return is_tensor(one.first) && is_tensor(one.second); });
}

// A value that the function computed twice is one for the program, with two cotangents: of that gradient nothing is claimed.
void Recorder::Replay::end() {
  for (const auto& [number, gradient] : notes_.gradients) {
    std::set<ProgramValue> of;
    bool fine = has_tensors(gradient);
    for (const auto& product : notes_.products) fine = fine && (product.gradient != number || of.insert(product.of).second);
    if (!fine) continue;
    for (const auto& product : notes_.products) {
      if (product.gradient != number || places_.count(product.of) == 0) continue;
      const Place place = places_.at(product.of);
      Trace::Vjp vjp{place.region, 0, named(product.cotangent), {}, place.node};
      for (const auto& [operand, cotangent] : product.cotangents) vjp.cotangents.emplace_back(operand, named(cotangent));
      recorder_.trace_.vjps.push_back(std::move(vjp));
    }
    Trace::Gradient claim{ids_.at(gradient.output), ids_.at(gradient.seed), {}};
    for (const auto& [value, bar] : gradient.of) claim.of.emplace_back(ids_.at(value), ids_.at(bar));
    recorder_.trace_.gradients.push_back(std::move(claim));
  }
}

void Recorder::seeded(Ref output, Ref seed) {
  totals_.clear();
  totals_[id_of(output)] = id_of(seed);
}

void Recorder::differentiated(Ref output, Ref seed, std::span<const Ref> leaves, std::span<const Ref> bars) {
  Trace::Gradient gradient{id_of(output), id_of(seed), {}};
  for (std::size_t k = 0; k < leaves.size(); ++k) gradient.of.emplace_back(id_of(leaves[k]), id_of(bars[k]));
  trace_.gradients.push_back(std::move(gradient));
  totals_.clear();
}

Outcome<std::vector<Value>> Recorder::gradients(const Value& loss, std::span<const Value> of) {
  auto bars = session_.gradients(loss, of);
  if (!bars) return bars;
  for (const Value& bar : bars.value()) output(bar);
  return bars;
}

void Recorder::output(const Value& value) { trace_.outputs.push_back(id_of(value.ref())); }

Trace Recorder::take() {
  ids_.clear();
  totals_.clear();
  producers_.clear();
  names_.clear();
  return std::exchange(trace_, Trace{kWriter, {}, {}, {}, {}, {}, {}});
}

}  // namespace assay::runtime
