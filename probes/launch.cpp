#include "probes/launch.h"

#include <algorithm>
#include <cstring>

#include "runtime/compiled/program.h"
#include "runtime/kernels/kernels.h"

namespace assay::probes {
namespace {

using runtime::Array;

constexpr std::byte kPoisons[] = {std::byte{0xff}, std::byte{0x5a}};  // NaN; a number, truth values apart

std::vector<Array> arrays_of(std::span<const Tensor> operands) {
  std::vector<Array> arrays;
  for (const Tensor& operand : operands) arrays.push_back(Array::from(operand));
  return arrays;
}

Rejection fault(const char* code, const Probe& probe, std::string required, std::string found) {
  return {Rejection::Kind::rejected, code, probe.name(), std::move(required), std::move(found), ""};
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

class PlanRunner {
 public:
  PlanRunner(const Launcher& launcher, const ExecutionModel& model) : launcher_(launcher), model_(model) {}
  PlanRun take() { return std::move(run_); }

  void add(const Probe& probe) {
    auto graph = graph_of(probe.op, probe.attributes, probe.operands);
    if (!graph) {
      run_.declined.push_back({probe.name(), graph.rejection()});
      return;
    }
    const Node& node = graph.value().node(graph.value().outputs[0]);
    std::vector<std::byte> results[2];
    for (int round = 0; round < 2; ++round) {
      results[round].assign(element_count(node.shape) * byte_size(node.dtype), kPoisons[round]);
      if (!launch(probe, node, results[round])) return;
    }
    compare(probe, results[0], results[1], byte_size(node.dtype));
    append_region(run_.trace, probe.name(), std::move(graph).value(), model_, probe.operands,
                  Tensor(node.dtype, node.shape, std::make_shared<std::vector<std::byte>>(std::move(results[0]))));
  }

 private:
  bool launch(const Probe& probe, const Node& node, std::vector<std::byte>& result) {
    std::vector<Tensor> copies;  // the launcher's own, so that the plan stays as it is
    for (const Tensor& operand : probe.operands)
      copies.emplace_back(operand.dtype(), operand.shape(),
                          std::make_shared<std::vector<std::byte>>(operand.bytes().begin(), operand.bytes().end()));
    const auto done = launcher_({probe.op, probe.attributes, copies, node.dtype, node.shape, result});
    if (!done) {
      run_.declined.push_back({probe.name(), done.rejection()});
      return false;
    }
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const auto written = differing(copies[k].bytes(), probe.operands[k].bytes(), byte_size(copies[k].dtype()));
      if (!written.empty())
        run_.faults.push_back(
            {probe.name(), fault("probe.operand", probe, "operands that stay as they are",
                                 std::string("operand ").append(std::to_string(k)).append(" written, ").append(elements_from(written)))});
    }
    return true;
  }

  void compare(const Probe& probe, std::span<const std::byte> a, std::span<const std::byte> b, std::size_t width) {
    std::vector<std::size_t> unwritten, unsteady;
    for (const std::size_t i : differing(a, b, width)) {
      const auto is = [&](std::span<const std::byte> bytes, std::byte poison) {
        return std::ranges::all_of(bytes.subspan(i * width, width), [&](std::byte byte) { return byte == poison; });
      };
      (is(a, kPoisons[0]) && is(b, kPoisons[1]) ? unwritten : unsteady).push_back(i);
    }
    if (!unwritten.empty())
      run_.faults.push_back(
          {probe.name(), fault("probe.unwritten", probe, "every element written", "not written: " + elements_from(unwritten))});
    if (!unsteady.empty())
      run_.faults.push_back({probe.name(), fault("probe.unsteady", probe, "the same result from the same operands",
                                                 "two results: " + elements_from(unsteady))});
  }

  const Launcher& launcher_;
  const ExecutionModel& model_;
  PlanRun run_;
};

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

Launcher compiled_launcher() {
  return [](const Launch& launch) -> Outcome<Done> {
    const std::vector<Tensor> operands(launch.operands.begin(), launch.operands.end());
    const auto graph = graph_of(launch.op, launch.attributes, operands);
    if (!graph) return graph.rejection();
    const auto program = runtime::Program::compile(graph.value());
    if (!program) return program.rejection();
    const auto results = program.value().replay(arrays_of(launch.operands));
    if (!results) return results.rejection();
    if (!launch.result.empty()) std::memcpy(launch.result.data(), results.value()[0].raw(), launch.result.size());
    return Done{};
  };
}

void append_region(Trace& trace, std::string name, Graph graph, ExecutionModel model, std::span<const Tensor> operands, Tensor result) {
  Region region{std::move(name), std::move(graph), std::move(model), {}, {}};
  const auto is_wide = [](const Tensor& tensor) { return tensor.dtype() == DType::float64; };
  if (is_wide(result) || std::ranges::any_of(operands, is_wide)) region.model.format = ExecutionModel::Format::binary64;
  const auto add_tensor = [&](Tensor value, const std::string& what, Trace::Origin origin) {
    trace.tensors.push_back({std::to_string(trace.regions.size()).append(" ").append(what), origin, std::move(value)});
    return static_cast<TraceTensorId>(trace.tensors.size() - 1);
  };
  for (std::size_t k = 0; k < operands.size(); ++k)
    region.operands.push_back(add_tensor(operands[k], std::string("x").append(std::to_string(k)), Trace::Origin::input));
  region.results.push_back(add_tensor(std::move(result), "y", Trace::Origin::result));
  trace.outputs.push_back(region.results[0]);
  trace.regions.push_back(std::move(region));
}

PlanRun run_plan(std::span<const Probe> plan, const Launcher& launcher, const ExecutionModel& model) {
  PlanRunner runner(launcher, model);
  for (const Probe& probe : plan) runner.add(probe);
  PlanRun run = runner.take();
  run.trace.writer = "assay probe";
  return run;
}

}  // namespace assay::probes
