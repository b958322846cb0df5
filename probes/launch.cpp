#include "probes/launch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "kernel/contracts/contract.h"
#include "probes/layout.h"
#include "runtime/compiled/program.h"
#include "runtime/kernels/kernels.h"

namespace assay::probes {
namespace {

using runtime::Array;

// The byte of each round: NaN, then a number; neither is a truth value. A kernel that writes one of them shows in the round of
// the other.
constexpr std::byte kPoisons[] = {std::byte{0xff}, std::byte{0x5a}};
constexpr std::size_t kGuard = 256;  // bytes on either side of a result

std::vector<Array> arrays_of(std::span<const Tensor> operands) {
  std::vector<Array> arrays;
  for (const Tensor& operand : operands) arrays.push_back(Array::from(operand));
  return arrays;
}

Rejection fault(const char* code, const RegionProbe& probe, std::string required, std::string found) {
  return {Rejection::Kind::rejected, code, probe.name, std::move(required), std::move(found), ""};
}

std::vector<std::size_t> differing(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t width) {
  std::vector<std::size_t> elements;
  for (std::size_t i = 0; i * width < a.size(); ++i) {
    if (std::memcmp(a.data() + i * width, b.data() + i * width, width) != 0) elements.push_back(i);
  }
  return elements;
}

std::string elements_from(const std::vector<std::size_t>& elements) {
  return std::to_string(elements.size()) + (elements.size() == 1 ? " element: " : " elements, the first: ") + std::to_string(elements[0]);
}

// A launcher's own copies of a probe's operands, dense and in the probe's layout, so that the plan stays as it is.
class Copies {
 public:
  Copies(const RegionProbe& probe, std::byte poison) : probe_(probe) {
    for (std::size_t k = 0; k < probe.operands.size(); ++k) {
      const Tensor& operand = probe.operands[k];
      dense_.emplace_back(operand.dtype(), operand.shape(),
                          std::make_shared<std::vector<std::byte>>(operand.bytes().begin(), operand.bytes().end()));
      laid_.push_back(laid_out(operand, layout_of(probe.layout, k), poison));
    }
    before_ = laid_;
    for (std::size_t k = 0; k < laid_.size(); ++k)
      views_.push_back({laid_[k].memory.data() + laid_[k].offset * byte_size(dense_[k].dtype()), laid_[k].strides});
  }
  [[nodiscard]] std::span<const Tensor> operands() const { return dense_; }
  [[nodiscard]] std::span<const View> views() const { return views_; }
  // The elements of operand k, or of its memory, that were written.
  [[nodiscard]] std::vector<std::size_t> written(std::size_t k) const {
    const std::size_t width = byte_size(dense_[k].dtype());
    auto elements = differing(dense_[k].bytes(), probe_.operands[k].bytes(), width);
    return elements.empty() ? differing(laid_[k].memory, before_[k].memory, width) : elements;
  }

 private:
  const RegionProbe& probe_;
  std::vector<Tensor> dense_;
  std::vector<Laid> laid_, before_;
  std::vector<View> views_;
};

class PlanRunner {
 public:
  PlanRunner(const RegionLauncher& launcher, const ExecutionModel& model) : launcher_(launcher), model_(model) {}
  PlanRun take() {
    run_.trace.writer = "assay probe";
    return std::move(run_);
  }
  void decline(const std::string& probe, Rejection why) { run_.declined.push_back({probe, std::move(why)}); }

  void add(const RegionProbe& probe) {
    std::vector<std::vector<std::byte>> results[2];
    for (int round = 0; round < 2; ++round) {
      for (const NodeId output : probe.graph.outputs) {
        const Node& node = probe.graph.node(output);
        results[round].emplace_back(2 * kGuard + element_count(node.shape) * byte_size(node.dtype), kPoisons[round]);
      }
      if (!launch(probe, results[round], kPoisons[round])) return;
      look_beside(probe, results[round], kPoisons[round]);
    }
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < probe.graph.outputs.size(); ++i) {
      const Node& node = probe.graph.node(probe.graph.outputs[i]);
      compare(probe, results[0][i], results[1][i], byte_size(node.dtype));
      tensors.emplace_back(node.dtype, node.shape, std::make_shared<std::vector<std::byte>>(std::move(results[0][i])));
    }
    append_region(run_.trace, probe.name, probe.graph, model_, probe.operands, std::move(tensors));
  }

 private:
  bool launch(const RegionProbe& probe, std::vector<std::vector<std::byte>>& results, std::byte poison) {
    const Copies copies(probe, poison);
    std::vector<std::span<std::byte>> spans;
    for (auto& result : results) spans.push_back(std::span(result).subspan(kGuard, result.size() - 2 * kGuard));
    const auto done = launcher_({probe.graph, copies.operands(), spans, copies.views()});
    if (!done) {
      decline(probe.name, done.rejection());
      return false;
    }
    for (std::size_t k = 0; k < probe.operands.size(); ++k) {
      const auto written = copies.written(k);
      if (!written.empty())
        run_.faults.push_back(
            {probe.name, fault("probe.operand", probe, "operands that stay as they are",
                               std::string("operand ").append(std::to_string(k)).append(" written, ").append(elements_from(written)))});
    }
    return true;
  }

  // Guards: reports what was written there, and takes them away.
  void look_beside(const RegionProbe& probe, std::vector<std::vector<std::byte>>& results, std::byte poison) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::span<const std::byte> all(results[i]);
      const auto is_written = [&](std::byte byte) { return byte != poison; };
      const auto written = std::ranges::count_if(all.first(kGuard), is_written) + std::ranges::count_if(all.last(kGuard), is_written);
      if (written > 0)
        run_.faults.push_back({probe.name, fault("probe.guard", probe, "nothing written beside a result",
                                                 std::to_string(written).append(" bytes beside result ").append(std::to_string(i)))});
      results[i] = {all.begin() + kGuard, all.end() - kGuard};
    }
  }

  void compare(const RegionProbe& probe, std::span<const std::byte> a, std::span<const std::byte> b, std::size_t width) {
    std::vector<std::size_t> unwritten, unsteady;
    for (const std::size_t i : differing(a, b, width)) {
      const auto is = [&](std::span<const std::byte> bytes, std::byte poison) {
        return std::ranges::all_of(bytes.subspan(i * width, width), [&](std::byte byte) { return byte == poison; });
      };
      (is(a, kPoisons[0]) && is(b, kPoisons[1]) ? unwritten : unsteady).push_back(i);
    }
    if (!unwritten.empty())
      run_.faults.push_back(
          {probe.name, fault("probe.unwritten", probe, "every element written", "not written: " + elements_from(unwritten))});
    if (!unsteady.empty())
      run_.faults.push_back({probe.name, fault("probe.unsteady", probe, "the same result from the same operands",
                                               "two results: " + elements_from(unsteady))});
  }

  const RegionLauncher& launcher_;
  const ExecutionModel& model_;
  PlanRun run_;
};

// A result that a kernel gave, into the launch's memory.
void hand_over(const Array& array, std::span<std::byte> result) {
  if (!result.empty()) std::memcpy(result.data(), array.raw(), result.size());
}

}  // namespace

Launcher eager_launcher() {
  return [](const Launch& launch) -> Outcome<Done> {
    const std::vector<Array> arrays = arrays_of(launch.operands);
    std::vector<const Array*> pointers;
    for (const Array& array : arrays) pointers.push_back(&array);
    Array result = Array::empty(launch.dtype, launch.shape);
    if (!launch.result.empty()) std::memcpy(result.raw(), launch.result.data(), launch.result.size());
    auto done = runtime::run(launch.op, launch.attributes, pointers, result);
    if (done && !launch.result.empty()) std::memcpy(launch.result.data(), result.raw(), launch.result.size());
    return done;
  };
}

Launcher compiled_launcher(const std::shared_ptr<runtime::Device>& device) {
  return [of_region = compiled_region_launcher(device)](const Launch& launch) -> Outcome<Done> {
    const std::vector<Tensor> operands(launch.operands.begin(), launch.operands.end());
    const auto graph = graph_of(launch.op, launch.attributes, operands);
    if (!graph) return graph.rejection();
    return of_region({graph.value(), launch.operands, std::span(&launch.result, 1)});
  };
}

// Node by node; a node's result stays in memory until the region is done.
RegionLauncher eager_region_launcher() {
  return [](const RegionLaunch& launch) -> Outcome<Done> {
    const std::vector<Array> inputs = arrays_of(launch.operands);
    std::vector<Array> values(launch.graph.nodes.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) values[launch.graph.inputs[k]] = inputs[k];
    for (NodeId id = 0; id < launch.graph.nodes.size(); ++id) {
      const Node& node = launch.graph.node(id);
      if (node.op == Op::input) continue;
      if (node.op == Op::constant) {
        values[id] = Array::from(node.value);
        continue;
      }
      std::vector<const Array*> operands;
      for (const NodeId operand : node.operands) operands.push_back(&values[operand]);
      values[id] = Array::empty(node.dtype, node.shape);
      if (auto done = runtime::run(node.op, node.attributes, operands, values[id]); !done) return done;
    }
    for (std::size_t i = 0; i < launch.results.size(); ++i) hand_over(values[launch.graph.outputs[i]], launch.results[i]);
    return Done{};
  };
}

Outcome<std::vector<Array>> compiled_and_run(const Graph& graph, std::span<const Tensor> operands,
                                             const std::shared_ptr<runtime::Device>& device) {
  const auto program = runtime::Program::compile(graph);
  if (!program) return program.rejection();
  const std::vector<Array> arrays = arrays_of(operands);
  if (device == nullptr) return program.value().replay(arrays);
  runtime::Mirror mirror(device);
  // The second replay runs what the device has kept.
  if (const auto first = program.value().replay(arrays, nullptr, &mirror); !first) return first.rejection();
  auto results = program.value().replay(arrays, nullptr, &mirror);
  if (!results) return results;
  for (const Array& result : results.value()) {
    if (auto done = result.fetch(); !done) return done.rejection();
  }
  return results;
}

RegionLauncher compiled_region_launcher(const std::shared_ptr<runtime::Device>& device) {
  return [device](const RegionLaunch& launch) -> Outcome<Done> {
    const auto results = compiled_and_run(launch.graph, launch.operands, device);
    if (!results) return results.rejection();
    for (std::size_t i = 0; i < launch.results.size(); ++i) hand_over(results.value()[i], launch.results[i]);
    return Done{};
  };
}

void append_region(Trace& trace, std::string name, Graph graph, ExecutionModel model, std::span<const Tensor> operands,
                   std::vector<Tensor> results) {
  Region region{std::move(name), std::move(graph), std::move(model), {}, {}};
  const auto is_wide = [](const Tensor& tensor) { return tensor.dtype() == DType::float64; };
  if (std::ranges::any_of(results, is_wide) || std::ranges::any_of(operands, is_wide))
    region.model.format = ExecutionModel::Format::binary64;
  const auto add_tensor = [&](Tensor value, const std::string& what, Trace::Origin origin) {
    trace.tensors.push_back({std::to_string(trace.regions.size()).append(" ").append(what), origin, std::move(value)});
    return static_cast<TraceTensorId>(trace.tensors.size() - 1);
  };
  for (std::size_t k = 0; k < operands.size(); ++k)
    region.operands.push_back(add_tensor(operands[k], std::string("x").append(std::to_string(k)), Trace::Origin::input));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string what = results.size() == 1 ? "y" : std::string("y").append(std::to_string(i));
    region.results.push_back(add_tensor(std::move(results[i]), what, Trace::Origin::result));
    trace.outputs.push_back(region.results.back());
  }
  trace.regions.push_back(std::move(region));
}

void append_region(Trace& trace, std::string name, Graph graph, ExecutionModel model, std::span<const Tensor> operands, Tensor result) {
  std::vector<Tensor> results;
  results.push_back(std::move(result));
  append_region(trace, std::move(name), std::move(graph), std::move(model), operands, std::move(results));
}

PlanRun run_plan(std::span<const Probe> plan, const Launcher& launcher, const ExecutionModel& model) {
  const Probe* current = nullptr;
  const RegionLauncher as_op = [&](const RegionLaunch& launch) {
    const Node& node = launch.graph.node(launch.graph.outputs[0]);
    return launcher({current->op, current->attributes, launch.operands, node.dtype, node.shape, launch.results[0], launch.views});
  };
  PlanRunner runner(as_op, model);
  for (const Probe& probe : plan) {
    current = &probe;
    auto graph = graph_of(probe.op, probe.attributes, probe.operands);
    if (graph)
      runner.add({probe.application, probe.name(), std::move(graph).value(), probe.operands, probe.layout});
    else
      runner.decline(probe.name(), graph.rejection());
  }
  return runner.take();
}

void store(Trace& trace, ExecutionModel::Storage storage) {
  if (storage == ExecutionModel::Storage::same) return;
  for (Trace::Entry& entry : trace.tensors) {
    if (entry.value.dtype() != DType::float32) continue;
    std::vector<float> values(entry.value.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(contracts::rounded_to(storage, entry.value.as_double(i)));
    entry.value = Tensor::of_floats(entry.value.shape(), values);
    entry.storage = storage;
  }
}

PlanRun run_regions(std::span<const RegionProbe> plan, const RegionLauncher& launcher, const ExecutionModel& model) {
  PlanRunner runner(launcher, model);
  for (const RegionProbe& probe : plan) runner.add(probe);
  return runner.take();
}

}  // namespace assay::probes
