// The emulated device: the kernels of gpu/kernels on the CPU, for machines without a GPU and for finding faults.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/emulation.h"
#include "gpu/stream.h"
#include "runtime/device.h"

namespace assay::gpu {

// A failure to try out what follows one.
struct Failure {
  enum class At : std::uint8_t {
    never,
    launch,  // of a kernel, at once
    kernel,  // after its launch: the next wait says so, and nothing that was launched from there on has run
    copy_in,
    copy_out,
    recording,  // where it ends: nothing was kept
  } at = At::never;
  std::size_t after = 0;  // the number of them that succeed first
};

struct EmulatedOptions {
  Schedule schedule = {};
  std::size_t memory = std::numeric_limits<std::size_t>::max();  // bytes that the device has
  Failure failure = {};
  ExecutionModel::InputRounding factors = ExecutionModel::InputRounding::none;  // the rounding of products' factors
  bool has_library = false;                                                     // a stand-in for cuBLAS computes products
  bool keeps_launches = true;                                                   // else each one runs when it is asked for
};

// Memory there is ours: 0xff in each byte, NaN among floats, when it is handed out and when it was given back. Copies are made when the
// stream has to be done with them, and not before.
class EmulatedDriver {
 public:
  struct Pinned {
    static void* take(std::size_t bytes) { return ::operator new(bytes, std::nothrow); }
    static void give(void* memory) { ::operator delete(memory); }
  };

  using Recording = std::vector<std::function<Outcome<Done>(EmulatedDriver&)>>;

  explicit EmulatedDriver(EmulatedOptions options) : options_(std::move(options)) {}
  EmulatedDriver(const EmulatedDriver&) = delete;
  EmulatedDriver& operator=(const EmulatedDriver&) = delete;
  ~EmulatedDriver();

  [[nodiscard]] void* take(std::size_t bytes);
  void give(void* memory, std::size_t bytes);
  [[nodiscard]] Outcome<Done> copy_in(void* to, const void* from, std::size_t bytes);
  [[nodiscard]] Outcome<Done> copy_out(void* to, const void* from, std::size_t bytes);
  [[nodiscard]] Outcome<Done> copy(void* to, const void* from, std::size_t bytes);
  [[nodiscard]] Outcome<Done> wait();
  [[nodiscard]] Outcome<Done> record();
  [[nodiscard]] Outcome<Recording> recorded();
  [[nodiscard]] Outcome<Done> run(const Recording& recording);
  void forget(Recording& recording) { recording.clear(); }
  template <class Kernel>
  [[nodiscard]] Outcome<Done> launch(const Launch& launch, const Kernel& kernel) {
    if (recording_) return keep([launch, kernel](EmulatedDriver& driver) { return driver.launch(launch, kernel); });
    if (fails(Failure::At::launch)) return failed(launch.kernel);
    make_copies();
    if (fails(Failure::At::kernel)) broken_ = launch.kernel;
    if (broken_) return Done{};
    return emulation::run(
        launch, options_.schedule, [](const void* k, emulation::Thread& thread) { (*static_cast<const Kernel*>(k))(thread); }, &kernel);
  }

  [[nodiscard]] bool has_library() const { return options_.has_library; }
  [[nodiscard]] Outcome<Done> product(const LibraryProduct& product);

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  static constexpr std::size_t kMostGone = std::size_t{1} << 24;  // bytes of memory that was given back and is watched

  [[nodiscard]] bool fails(Failure::At at);
  [[nodiscard]] static Rejection failed(const char* where);
  void make_copies();
  Outcome<Done> keep(std::function<Outcome<Done>(EmulatedDriver&)> launch);

  EmulatedOptions options_;
  std::vector<Copy> copies_;
  std::deque<std::pair<void*, std::size_t>> gone_;
  std::size_t in_use_ = 0, gone_bytes_ = 0, count_ = 0;
  std::optional<const char*> broken_;  // the kernel that failed
  std::optional<Recording> recording_;
};

// A queue of its own, for kernels without a device.
class EmulatedQueue : public StreamQueue<EmulatedDriver> {
 public:
  explicit EmulatedQueue(const Schedule& schedule)
      : StreamQueue(std::make_shared<Stream<EmulatedDriver>>("emulation", EmulatedOptions{schedule})) {}
};

// The C library's functions stand for the device's.
[[nodiscard]] std::shared_ptr<runtime::Device> emulated_device_with(const EmulatedOptions& options);
[[nodiscard]] std::shared_ptr<runtime::Device> emulated_device(const Schedule& schedule = {});

// The model that kernels keep with functions of this math table and such factors of products: online softmax, two-pass moments,
// sums in any order, perhaps fused. A library adds up products of rounded factors as tensor cores do.
[[nodiscard]] ExecutionModel kernel_model(std::string math_table,
                                          ExecutionModel::InputRounding factors = ExecutionModel::InputRounding::none,
                                          bool has_library = false);

}  // namespace assay::gpu
