// This header tests kernels on any device. A launcher runs the probe plan of an op, contracts judge the results, and faults have
// names.
//
// For kernels in CUDA include "assay/cuda_testing.h", which has their device and the emulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/reports/report.h"
#include "probes/composites.h"
#include "probes/launch.h"
#include "semantics/graph/trace.h"

namespace assay::testing {

// A device on which kernels are audited. Memory that it hands out is aligned to 256 bytes.
class KernelDevice {
 public:
  virtual ~KernelDevice() = default;
  KernelDevice() = default;
  KernelDevice(const KernelDevice&) = delete;
  KernelDevice& operator=(const KernelDevice&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual ExecutionModel model() const = 0;            // the model of its kernels, unless the plan says otherwise
  [[nodiscard]] virtual std::size_t schedules() const { return 1; }  // in how many orders it runs threads
  virtual void set_schedule(std::size_t number) = 0;
  [[nodiscard]] virtual void* stream(bool is_default) = 0;  // the default one, or another

  [[nodiscard]] virtual Outcome<void*> allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  [[nodiscard]] virtual Outcome<Done> copy_in(void* to, std::span<const std::byte> from, void* stream) = 0;
  [[nodiscard]] virtual Outcome<Done> copy_out(std::span<std::byte> to, const void* from, void* stream) = 0;
  // Of an allocation only these bytes are the kernel's, as an operand or as a result, which holds nothing yet.
  virtual void give(const void* memory, std::size_t first, std::size_t bytes, const std::string& what, bool is_operand) = 0;
  // From here on a launch has to be in this stream.
  virtual void begin(void* stream) = 0;
  // Waits for the stream. A rejection is the kernel's fault, by the codes of docs/how-to/cuda-testing.md.
  [[nodiscard]] virtual Outcome<Done> end(void* stream) = 0;
  [[nodiscard]] virtual bool is_lost() const { return false; }  // after a fault that no later launch survives
};

// An operand or a result in the device's memory, dense and row-major.
struct DeviceTensor {
  void* memory = nullptr;
  DType dtype = DType::float32;
  Shape shape;

  template <class T = float>
  [[nodiscard]] T* data() const {
    return static_cast<T*>(memory);
  }
  [[nodiscard]] std::size_t size() const { return element_count(shape); }
  [[nodiscard]] int extent(int axis) const {  // from the end where axis is negative; 1 where there is none
    const int rank = static_cast<int>(shape.size()), at = axis < 0 ? rank + axis : axis;
    return at < 0 || at >= rank ? 1 : static_cast<int>(shape[static_cast<std::size_t>(at)]);
  }
};

// The request to a launcher. It starts its kernels in the given stream and need not wait for them.
class KernelLaunch {
 public:
  KernelLaunch(const Graph& graph, std::vector<DeviceTensor> inputs, std::vector<DeviceTensor> outputs, unsigned threads, void* stream)
      : operands(std::move(inputs)), results(std::move(outputs)), graph_(graph), threads_(threads), stream_(stream) {}

  std::vector<DeviceTensor> operands;  // not to be written
  std::vector<DeviceTensor> results;   // poisoned; every element is to be written

  // The size of block that the plan tries. A launcher that chooses its own does not ask, and is tried with one only.
  [[nodiscard]] unsigned threads() const {
    asked_ = true;
    return threads_;
  }
  [[nodiscard]] bool asked_for_threads() const { return asked_; }
  [[nodiscard]] void* raw_stream() const { return stream_; }
  [[nodiscard]] const Graph& graph() const { return graph_; }  // the computation
  template <class A>
  [[nodiscard]] const A& attributes() const {  // of the op, or of a region's last op that has such
    for (std::size_t n = graph_.nodes.size(); n-- > 0;)
      if (const A* const found = std::get_if<A>(&graph_.nodes[n].attributes)) return *found;
    static const A none{};
    return none;
  }
  // `return launch.declined("rank 2 only");`: this probe does not count.
  [[nodiscard]] static Rejection declined(std::string why) {
    return {Rejection::Kind::declined, "kernel.declined", "the launcher", "what it takes", std::move(why), ""};
  }

 private:
  const Graph& graph_;
  unsigned threads_;
  void* stream_;
  mutable bool asked_ = false;
};
using KernelLauncher = std::function<Outcome<Done>(const KernelLaunch&)>;

struct KernelPlan {
  probes::PlanOptions probes = {.blocks = false};  // blocks: lines of up to 65,537 elements, which take the emulation minutes
  std::vector<unsigned> threads = {128, 32, 96};   // sizes of blocks; all probes with the first, some with each of the others
  std::size_t repeats = 4;                         // runs of each probe, two at least: in other schedules and streams, on other poison
  bool deterministic = true;                       // another result from the same operands is a fault
  std::optional<ExecutionModel> model = {};        // else the device's
  std::function<bool(const std::string& name)> only = {};  // probes by name; none: all
  std::string source = {};                                 // the file of the kernel, which SARIF names
  std::size_t enough = 40;                                 // failing probes, after which no further one is run or judged
  double most_vacuous = 0.25;                              // of the elements of a kind of ordinary probes (share_of, probes/plan.h)
};

struct KernelFault {
  std::string code;   // "gpu.race", "probe.unwritten", "contract.softmax"
  std::string words;  // "races: threads touch a word and nothing orders them", "computes the reference without subtracting the maximum"
  std::size_t probes = 0;
};

struct KernelReport {
  std::string title;                               // "softmax on the emulation of CUDA"
  std::vector<KernelFault> faults;                 // the most frequent first
  std::size_t probes = 0, declined = 0, left = 0;  // of the plan; by the launcher; not run or judged since enough fail
  std::string text;                                // for a person: the faults, two probes in full, the verdict
  reports::GateReport report;
  Trace trace;

  [[nodiscard]] std::string verdict() const;  // "passed", "failed", "undecided"
  [[nodiscard]] bool passed() const { return verdict() == "passed"; }
  [[nodiscard]] bool has(const std::string& words) const;  // whether a fault's code or words contain these

  // Files; a rejection where one could not be written.
  [[nodiscard]] Outcome<Done> write_trace(const std::string& path) const;
  [[nodiscard]] Outcome<Done> write_junit(const std::string& path) const;
  [[nodiscard]] Outcome<Done> write_sarif(const std::string& path) const;

  double most_vacuous = 0.25;
};

// Audits a kernel of an op. `attributes` are those that the kernel is for, and negative axes count from the end; NoAttributes
// takes all probes.
[[nodiscard]] KernelReport audit_kernel_on(KernelDevice& device, Op op, const Attributes& attributes, const KernelLauncher& launcher,
                                           const KernelPlan& plan = {});
// Audits a kernel of a composite region (probes/composites.h): "attention", "attention backward", "layer norm", ...
[[nodiscard]] KernelReport audit_kernel_on(KernelDevice& device, const std::string& region, const KernelLauncher& launcher,
                                           const KernelPlan& plan = {});

}  // namespace assay::testing
