// Audits every kernel of this project and every wrong twin of it: the right ones pass, the wrong ones are found and named.
//
//   audit_emulated [KERNEL] [--verbose] [--files FOLDER]       FOLDER: JUnit, SARIF and a trace per kernel
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "assay/cuda_testing.h"
#include "kernels.h"

namespace {

using assay::testing::audit_kernel;
using assay::testing::CudaLaunch;
using assay::testing::KernelPlan;
using assay::testing::KernelReport;

int threads_of(const CudaLaunch& launch) { return static_cast<int>(launch.threads()); }

KernelReport audit_softmax(Mistake mistake) {
  return audit_kernel(assay::Op::softmax, assay::SoftmaxAttributes{-1}, [&](const CudaLaunch& launch) {
    const auto& x = launch.operands[0];
    if (x.size() == 0) return;
    softmax(mistake, x.data(), launch.results[0].data(), static_cast<int>(x.size()) / x.extent(-1), x.extent(-1), threads_of(launch),
            launch.stream());
  });
}

KernelReport audit_layer_norm(Mistake mistake) {
  return audit_kernel("layer norm", [&](const CudaLaunch& launch) {
    const auto& x = launch.operands[0];
    layer_norm(mistake, x.data(), launch.operands[1].data(), launch.operands[2].data(), launch.results[0].data(), x.extent(0), x.extent(1),
               threads_of(launch), launch.stream());
  });
}

KernelReport audit_product(Mistake mistake) {
  return audit_kernel(assay::Op::matmul, assay::NoAttributes{}, [&](const CudaLaunch& launch) -> assay::Outcome<assay::Done> {
    const auto &a = launch.operands[0], &b = launch.operands[1];
    if (a.shape.size() != 2 || b.shape.size() != 2) return CudaLaunch::declined("two matrices only");
    if (a.dtype != assay::DType::float32) return CudaLaunch::declined("float32 only");
    if (launch.results[0].size() > 0)
      product(mistake, a.data(), b.data(), launch.results[0].data(), a.extent(0), a.extent(1), b.extent(1), launch.stream());
    return assay::Done{};
  });
}

// Runs of the atomic kernel differ in their last bits, which is a fault unless the plan says that it is meant to be.
KernelReport audit_scatter(Mistake mistake) {
  return audit_kernel(assay::Op::place, assay::NoAttributes{}, [&](const CudaLaunch& launch) -> assay::Outcome<assay::Done> {
    const auto& x = launch.operands[0];
    if (x.dtype != assay::DType::float32) return CudaLaunch::declined("float32 only");
    if (launch.results[0].size() == 0) return assay::Done{};
    const std::vector<std::int64_t>& indices = launch.attributes<assay::PlaceAttributes>().indices;
    long long* index = nullptr;
    cudaMallocAsync(&index, indices.size() * sizeof(long long), launch.stream());
    cudaMemcpyAsync(index, indices.data(), indices.size() * sizeof(long long), cudaMemcpyHostToDevice, launch.stream());
    scatter(mistake, x.data(), index, launch.results[0].data(), static_cast<int>(x.size()), static_cast<int>(launch.results[0].size()),
            threads_of(launch), launch.stream());
    cudaFreeAsync(index, launch.stream());
    return assay::Done{};
  });
}

// q, k, v of a launch, and what they say of the shape.
AttentionShape shape_of(const CudaLaunch& launch) {
  const auto &q = launch.operands[0], &v = launch.operands[2];
  return {q.extent(0), q.extent(1), v.extent(1), q.extent(2), v.extent(2)};
}

KernelReport audit_attention(Mistake mistake) {
  return audit_kernel("attention", [&](const CudaLaunch& launch) -> assay::Outcome<assay::Done> {
    if (launch.operands.size() != 3) return CudaLaunch::declined("no mask");
    const auto& all = launch.operands;
    attention(mistake, shape_of(launch), all[0].data(), all[1].data(), all[2].data(), launch.results[0].data(), launch.stream());
    return assay::Done{};
  });
}

KernelReport audit_attention_backward(Mistake mistake) {
  return audit_kernel("attention backward", [&](const CudaLaunch& launch) {
    const auto &in = launch.operands, &out = launch.results;
    attention_backward(mistake, shape_of(launch), in[0].data(), in[1].data(), in[2].data(), in[3].data(), out[0].data(), out[1].data(),
                       out[2].data(), threads_of(launch), launch.stream());
  });
}

struct Case {
  const char* kernel;
  const char* twin;  // what is wrong; of a right kernel nothing
  Mistake mistake;
  const char* words;  // what the report has to say
  KernelReport (*audit)(Mistake);
};

const std::vector<Case> cases = {
    {"softmax", "", Mistake::none, "", audit_softmax},
    {"softmax", "missing barrier", Mistake::missing_barrier, "gpu.race", audit_softmax},
    {"softmax", "no maximum subtracted", Mistake::no_maximum, "without", audit_softmax},
    {"layer norm", "", Mistake::none, "", audit_layer_norm},
    {"layer norm", "variance in one pass", Mistake::one_pass_variance, "contract", audit_layer_norm},
    {"layer norm", "tail elements", Mistake::tail_elements, "probe.unwritten", audit_layer_norm},
    {"product", "", Mistake::none, "", audit_product},
    {"product", "missing barrier", Mistake::missing_barrier, "gpu.race", audit_product},
    {"product", "half accumulator", Mistake::half_accumulator, "contract", audit_product},
    {"product", "wrong stride", Mistake::wrong_stride, "contract.matmul", audit_product},
    {"scatter", "", Mistake::none, "", audit_scatter},
    {"scatter", "race", Mistake::race, "gpu.race", audit_scatter},
    {"scatter", "order of additions left open", Mistake::unordered, "probe.unsteady", audit_scatter},
    {"scatter", "result not zeroed", Mistake::not_zeroed, "gpu.uninitialised", audit_scatter},
    {"attention", "", Mistake::none, "", audit_attention},
    {"attention", "missing barrier", Mistake::missing_barrier, "gpu.race", audit_attention},
    {"attention", "sum not rescaled", Mistake::no_rescaling, "contract", audit_attention},
    {"attention backward", "", Mistake::none, "", audit_attention_backward},
    {"attention backward", "no inner product", Mistake::no_inner_product, "contract", audit_attention_backward},
    {"attention backward", "no scale", Mistake::no_scale, "contract", audit_attention_backward},
};

// Whether the report says what it has to.
bool is_as_expected(const Case& one, const KernelReport& report) {
  return one.mistake == Mistake::none ? report.passed() : report.verdict() == "failed" && report.has(one.words);
}

bool write_files(const KernelReport& report, const std::string& stem) {
  return report.write_junit(stem + ".xml").ok() && report.write_sarif(stem + ".sarif").ok() &&
         report.write_trace(stem + ".safetensors").ok();
}

}  // namespace

int main(int count, char** arguments) {
  std::string only, folder;
  bool verbose = false;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--verbose") == 0) {
      verbose = true;
    } else if (std::strcmp(arguments[i], "--files") == 0 && i + 1 < count) {
      folder = arguments[++i];
    } else {
      only = arguments[i];
    }
  }
  int devices = 0, wrong = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no device\n");
    return 77;
  }
  for (const Case& one : cases) {
    if (!only.empty() && only != one.kernel) continue;
    const KernelReport report = one.audit(one.mistake);
    const bool expected = is_as_expected(one, report);
    const std::string name = std::string(one.kernel) + (one.mistake == Mistake::none ? "" : ", ") + one.twin;
    std::printf("%s  %s: %s%s%s\n", expected ? "ok   " : "WRONG", name.c_str(), report.verdict().c_str(),
                report.faults.empty() ? "" : ", it ", report.faults.empty() ? "" : report.faults[0].words.c_str());
    if (verbose || !expected) std::printf("%s\n", report.text.c_str());
    if (!folder.empty() && !write_files(report, folder + "/" + name)) ++wrong;
    wrong += expected ? 0 : 1;
  }
  return wrong == 0 ? 0 : 1;
}
