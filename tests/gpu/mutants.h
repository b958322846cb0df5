// Mutants of kernels: families with their twins, run on probes whose results contracts judge.
#pragma once

#include <functional>
#include <iostream>

#include "tests/gpu/plan.h"

namespace assay::test {
using gpu::Call;
using gpu::EmulatedQueue;
using Run = std::function<Outcome<Done>(EmulatedQueue&, const Call&)>;

// The fault that the run finds in a probe whose result was poisoned; empty if it lies within its contract.
inline std::string fault_in(const Run& run, const Probe& probe, const Schedule& schedule) {
  Graph graph;
  std::vector<NodeId> ids;
  std::vector<gpu::Operand> operands;
  for (const Tensor& operand : probe.operands) {
    ids.push_back(graph.append_input(operand.dtype(), operand.shape(), "x"));
    operands.push_back({{operand.bytes().data(), operand.size(), operand.dtype()}, &operand.shape()});
  }
  const ResultType type = infer(graph, probe.op, ids, probe.attributes).value();
  const std::size_t size = element_count(type.shape);
  auto bytes = std::make_shared<std::vector<std::byte>>(size * byte_size(type.dtype), std::byte{0xff});
  EmulatedQueue queue(schedule);
  const auto done = run(queue, {probe.op, probe.attributes, operands, {bytes->data(), size, type.dtype}, type.shape});
  const Outcome<Tensor> result = done ? Outcome<Tensor>(Tensor(type.dtype, type.shape, bytes)) : Outcome<Tensor>(done.rejection());
  return fault_of(result, probe.op, probe.attributes, gpu::kernel_model("glibc-2.36"), probe.operands);
}

// One launcher for `op`, another for the rest of its family.
inline Run either(Op op, const Run& its, const Run& others) {
  return [=](EmulatedQueue& queue, const Call& call) { return call.op == op ? its(queue, call) : others(queue, call); };
}

struct Family {
  const char* name;
  std::vector<Probe> probes;
  Run twin;
  std::vector<std::pair<const char*, Run>> mutants;
};

// Twins pass all probes of their family; each mutant is caught by at least one.
inline void check_families(const std::vector<Family>& families) {
  for (const Family& family : families) {
    for (const Probe& probe : family.probes) {
      CAPTURE(family.name, op_row(probe.op).name, to_string(probe.operands[0].shape()));
      CHECK(fault_in(family.twin, probe, schedules()[0]) == "");
    }
    for (const auto& [name, mutant] : family.mutants) {
      std::size_t caught = 0;
      std::string first;
      for (const Probe& probe : family.probes) {
        const std::string fault = fault_in(mutant, probe, schedules()[0]);
        if (fault.empty()) continue;
        ++caught;
        if (first.empty()) first = std::string(op_row(probe.op).name) + to_string(probe.operands[0].shape()) + ": " + fault;
      }
      std::cout << family.name << ", " << name << ": " << caught << " of " << family.probes.size() << " probes; " << first << "\n";
      CAPTURE(family.name, name);
      CHECK(caught > 0);
    }
  }
}

}  // namespace assay::test
