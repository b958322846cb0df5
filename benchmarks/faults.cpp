// The bank of faults and the mutants of gradients, written down for other tools: benchmarks/faults_against_torch.py.
//
//   bench_faults forward OUT    every fault and twin of the small applications, on a dense probe and up to 24 others: what it gave, what is
//                               right
//   bench_faults gradients OUT  every application of the representative set, its product, and the mutants of that product, as graphs
//   bench_faults suite OUT      an application per op with a gradient; prints the processor time of the gradient gate on each
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>

#include "formats/trace.h"
#include "kernel/audit/audit.h"
#include "kernel/audit/gradients.h"
#include "kernel/gradients/adjointness/cases.h"
#include "probes/launch.h"
#include "probes/mistakes.h"
#include "probes/trial.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"

namespace {

using namespace assay;
using probes::Trial;

TraceTensorId add(Trace& trace, std::string name, Tensor value) {
  trace.tensors.push_back({std::move(name), Trace::Origin::input, std::move(value)});
  return static_cast<TraceTensorId>(trace.tensors.size() - 1);
}

void write(const Trace& trace, const char* path) {
  std::ofstream out(path, std::ios::binary);
  formats::write_trace(trace, [&](std::span<const std::byte> part) {
    out.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  });
}

const char* word(Trial::Source source) { return source == Trial::Source::bank ? "bank" : source == Trial::Source::rule ? "rule" : "twin"; }

// Tensors "number|what": what the fault gave ("got"), what is right ("want"); regions only carry their names.
void write_forward(const char* path) {
  Trace trace;
  for (int k = 0; k < kOpCount; ++k) {
    const Op op = static_cast<Op>(k);
    if (op_row(op).op_class == OpClass::leaf) continue;
    std::map<std::string, int> seen;  // per fault: one dense probe, and at most that many others
    std::map<std::string, std::string> keys;
    const auto watch = [&](const Trial& trial, const probes::Probe& probe, const Tensor& right, const Tensor& wrong) {
      if (probe.operands[0].dtype() != DType::float32 || wrong.size() > 4096 || wrong.size() != right.size()) return;
      const bool dense = probe.kind == probes::ProbeKind::dense;
      const std::string fault = std::string(op_row(op).name) + "|" + trial.application + "|" + trial.fault.name + "|" + word(trial.source);
      int& count = seen[fault + (dense ? "|dense" : "|other")];
      if (++count > (dense ? 1 : 24)) return;
      const std::string key = fault + "|" + (dense ? "dense" : "other") + "|" + std::to_string(count);
      add(trace, key + "|got", wrong);
      add(trace, key + "|want", right);
    };
    for (const Trial& trial : probes::try_bank(op, {DType::float32, 1, false}, watch)) {
      if (trial.application_graph.node(trial.application_graph.inputs[0]).dtype != DType::float32) continue;
      const std::string key =
          std::string(op_row(op).name) + "|" + trial.application + "|" + trial.fault.name + "|" + word(trial.source) + "|verdict";
      add(trace, key, Tensor::of_ints({3}, std::vector<std::int64_t>{trial.caught, trial.differs, trial.fault.numeric}));
    }
  }
  write(trace, path);
}

// Regions "case|...", "vjp|..." and "mutant|...", on operands of 0.
void write_gradients(const char* path) {
  Trace trace;
  const auto add_region = [&](std::string name, const Graph& graph) {
    Region region{std::move(name), graph, {}, {}, {}};
    region.model.kind = ExecutionModel::Kind::floating;
    for (const NodeId input : graph.inputs) {
      const Node& node = graph.node(input);
      auto bytes = std::make_shared<std::vector<std::byte>>(element_count(node.shape) * byte_size(node.dtype));
      region.operands.push_back(add(trace, "t" + std::to_string(trace.tensors.size()), Tensor(node.dtype, node.shape, std::move(bytes))));
    }
    for (const NodeId output : graph.outputs) {
      const Node& node = graph.node(output);
      auto bytes = std::make_shared<std::vector<std::byte>>(element_count(node.shape) * byte_size(node.dtype));
      region.results.push_back(add(trace, "t" + std::to_string(trace.tensors.size()), Tensor(node.dtype, node.shape, std::move(bytes))));
      trace.tensors.back().origin = Trace::Origin::result;
    }
    trace.regions.push_back(std::move(region));
  };
  for (int k = 0; k < kOpCount; ++k) {
    for (const gradients::AdjointCase& one : gradients::adjoint_cases(static_cast<Op>(k))) {
      const auto vjp = gradients::reverse_of(one.graph);
      if (!vjp || one.name == "conv, large") continue;
      std::string domains;
      for (const gradients::Domain& domain : one.domains) domains += " " + std::to_string(domain.lo) + " " + std::to_string(domain.hi);
      add_region("case|" + one.name + "|" + domains, one.graph);
      add_region("vjp|" + one.name, vjp.value());
      for (const probes::Mutant& mutant : probes::mutants_of_product(vjp.value())) {
        const auto verdict = gradients::check_adjointness(one, mutant.graph, 11);
        add_region(std::string("mutant|") + (verdict.ok() ? "same" : "caught") + "|" + mutant.name, mutant.graph);
      }
    }
  }
  write(trace, path);
}

// Processor time: the machine may do other things.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The suite: of every op with a gradient the largest application of up to 1,500 elements, at its first dense probe.
std::vector<probes::Probe> suite() {
  std::vector<probes::Probe> list;
  for (int k = 0; k < kOpCount; ++k) {
    if (gradients::adjoint_cases(static_cast<Op>(k)).empty()) continue;
    std::optional<probes::Probe> best;
    std::size_t most = 0;
    for (probes::Probe& probe : probes::probe_plan(static_cast<Op>(k))) {
      std::size_t elements = 0;
      for (const Tensor& operand : probe.operands) elements += operand.size();
      const bool real = std::ranges::any_of(probe.operands, [](const Tensor& x) { return x.dtype() == DType::float32; });
      if (probe.kind != probes::ProbeKind::dense || !real || elements <= most || elements > 1500) continue;
      most = elements;
      best = std::move(probe);
    }
    if (best) list.push_back(std::move(*best));
  }
  return list;
}

// The gradient gate as a test would call it: run and record in float32, audit, prove. False where it finds something.
bool is_right(const probes::Probe& probe) {
  runtime::Session session({.threads = 1});
  runtime::Recorder recorder(session);
  std::vector<runtime::Value> values, real;
  for (const Tensor& operand : probe.operands) {
    values.push_back(session.input(operand));
    if (is_float(operand.dtype())) real.push_back(values.back());
  }
  const runtime::Value y = session.apply(probe.op, values, probe.attributes);
  if (!y.ok() || !recorder.gradients(runtime::sum(y * session.input(session.normal(y.shape()))), real)) return false;
  const Trace trace = recorder.take();
  if (!audit::check_continuity(trace)) return false;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = audit::audit_region(trace, r);
    if (!audit || audit.value().total().failed > 0) return false;
  }
  return std::ranges::none_of(audit::check_gradient(trace, 0, 1), [](const auto& step) { return step.failure.has_value(); });
}

void write_suite(const char* path) {
  Trace trace;
  runtime::Session warm({.threads = 1});  // the first product in a process loads its library, as `import torch` does
  const runtime::Value square = warm.input(warm.normal({8, 8}));
  static_cast<void>(warm.apply(Op::gemm, {square, square}, GemmAttributes{}).ok());
  for (const probes::Probe& probe : suite()) {
    Region region{"case|" + probe.application, probes::graph_of(probe.op, probe.attributes, probe.operands).value(), {}, {}, {}};
    region.model.kind = ExecutionModel::Kind::floating;
    for (const Tensor& operand : probe.operands) region.operands.push_back(add(trace, "t" + std::to_string(trace.tensors.size()), operand));
    const Node& y = region.graph.nodes.back();
    auto bytes = std::make_shared<std::vector<std::byte>>(element_count(y.shape) * byte_size(y.dtype));
    region.results = {add(trace, "t" + std::to_string(trace.tensors.size()), Tensor(y.dtype, y.shape, std::move(bytes)))};
    trace.tensors.back().origin = Trace::Origin::result;
    trace.regions.push_back(std::move(region));
    const double start = seconds();
    const bool right = is_right(probe);
    std::printf("%s|%d|%.6f\n", probe.application.c_str(), right ? 1 : 0, seconds() - start);
  }
  write(trace, path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "forward") == 0) {
    write_forward(argv[2]);
  } else if (argc == 3 && std::strcmp(argv[1], "gradients") == 0) {
    write_gradients(argv[2]);
  } else if (argc == 3 && std::strcmp(argv[1], "suite") == 0) {
    write_suite(argv[2]);
  } else {
    std::fprintf(stderr, "usage: bench_faults forward OUT | gradients OUT | suite OUT\n");
    return 2;
  }
  return 0;
}
