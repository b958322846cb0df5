#include "runtime/recorder.h"

#include <algorithm>
#include <utility>

#include "semantics/demand.h"

namespace assay::runtime {

namespace {

Array ones_like(const Array& like) {
  Array ones = Array::empty(like.dtype(), like.shape());
  if (like.dtype() == DType::float64) {
    std::ranges::fill(ones.data<double>(), 1.0);
  } else {
    std::ranges::fill(ones.data<float>(), 1.0F);
  }
  return ones;
}

}  // namespace

ExecutionModel execution_model(DType dtype) {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  model.format = dtype == DType::float64 ? ExecutionModel::Format::binary64 : ExecutionModel::Format::binary32;
  model.math_table = "glibc-2.36";
  return model;
}

Recorder::Recorder(Session& session) : session_(session) {
  trace_.writer = "assay runtime, eager";
  session_.set_observer(this);
}

Recorder::~Recorder() { session_.set_observer(nullptr); }

ExecutionModel Recorder::model_of(DType dtype) const {
  const auto& device = session_.options().device;
  return device != nullptr && dtype == DType::float32 ? device->model() : execution_model(dtype);
}

TraceTensorId Recorder::add(Ref ref, const Array& array, std::string name, Trace::Origin origin) {
  const auto id = static_cast<TraceTensorId>(trace_.tensors.size());
  if (name.empty()) name.append("t").append(std::to_string(id));
  if (const std::size_t times = ++names_[name]; times > 1) name.append("#").append(std::to_string(times));
  trace_.tensors.push_back({std::move(name), origin, array.to_tensor()});
  ids_[ref] = id;
  return id;
}

void Recorder::given(Ref value, const Array& array, std::string_view name) {
  const bool stays = value >= kFirstKept;
  add(value, array, std::string(name), stays && !name.empty() ? Trace::Origin::parameter : Trace::Origin::input);
}

bool Recorder::kept(Ref from, Ref to) {
  ids_[to] = ids_.at(from);
  return true;
}

// A value from before this recorder is a parameter or an input of what it records.
TraceTensorId Recorder::id_of(Ref ref, const Array& content) {
  const auto known = ids_.find(ref);
  if (known != ids_.end()) return known->second;
  const std::string name = ref >= kFirstKept ? session_.kept_name(ref) : std::string();
  return add(ref, content, name, name.empty() ? Trace::Origin::input : Trace::Origin::parameter);
}

void Recorder::ran(Op op, const Attributes& attributes, std::span<const Ref> operands, std::span<const Array* const> contents, Ref result,
                   const Array& result_content, Role role) {
  Region region;
  region.name = op_row(op).name;
  region.model = model_of(result_content.dtype() == DType::float64 ? DType::float64 : DType::float32);
  std::vector<NodeId> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TraceTensorId id = id_of(operands[i], *contents[i]);
    region.operands.push_back(id);
    if (contents[i]->dtype() == DType::float64) region.model = model_of(DType::float64);
    inputs.push_back(region.graph.append_input(contents[i]->dtype(), contents[i]->shape(), trace_.tensors[id].name));
  }
  const auto node = region.graph.append(op, std::move(inputs), attributes);
  demand(node.ok(), "Recorder: an op that ran has a shape");
  const TraceTensorId id = add(result, result_content, {}, Trace::Origin::result);
  region.graph.mark_output(node.value(), trace_.tensors[id].name);
  region.results = {id};
  producers_[id] = static_cast<std::uint32_t>(trace_.regions.size());
  trace_.regions.push_back(std::move(region));
  if (role.kind == Role::Kind::accumulate) totals_[ids_.at(role.node)] = id;
}

TraceTensorId Recorder::total_of(TraceTensorId tensor) const { return totals_.at(tensor); }

void Recorder::sent(Ref node, std::size_t operand, Ref cotangent) {
  const TraceTensorId of = ids_.at(node), value = ids_.at(cotangent);
  const std::uint32_t region = producers_.at(of);
  const TraceTensorId target = trace_.regions[region].operands[operand], total = total_of(of);
  const bool goes_on = !trace_.vjps.empty() && trace_.vjps.back().of == region && trace_.vjps.back().cotangent == total;
  if (!goes_on) trace_.vjps.push_back({region, 0, total, {}});
  trace_.vjps.back().cotangents.emplace_back(static_cast<std::uint32_t>(operand), value);
  totals_[target] = value;  // until a sum follows
}

void Recorder::forgotten(Ref first) { ids_.erase(ids_.lower_bound(first), ids_.lower_bound(kFirstKept)); }

Outcome<std::vector<Value>> Recorder::gradients(const Value& loss, std::span<const Value> of) {
  if (!loss.ok()) return session_.check().rejection();
  const Value seed = session_.input(ones_like(loss.array()), "seed");
  const TraceTensorId output = ids_.at(loss.ref());
  totals_[output] = ids_.at(seed.ref());
  Trace::Gradient gradient{output, ids_.at(seed.ref()), {}};
  GradientOptions options;
  options.cotangent = seed;
  auto bars = session_.gradients(loss, of, options);
  if (!bars) return bars;
  for (std::size_t i = 0; i < of.size(); ++i) {
    gradient.of.emplace_back(id_of(of[i].ref(), of[i].array()), id_of(bars.value()[i].ref(), bars.value()[i].array()));
    trace_.outputs.push_back(gradient.of.back().second);
  }
  trace_.gradients.push_back(std::move(gradient));
  totals_.clear();
  return bars;
}

void Recorder::output(const Value& value) { trace_.outputs.push_back(id_of(value.ref(), value.array())); }

Trace Recorder::take() {
  ids_.clear();
  totals_.clear();
  producers_.clear();
  names_.clear();
  return std::exchange(trace_, Trace{"assay runtime, eager", {}, {}, {}, {}, {}, {}});
}

}  // namespace assay::runtime
