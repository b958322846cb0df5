// The emulation names the fault of each kernel of faults.cu, in every schedule, and finds none in its twin.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gpu/cuda/cuda_fp16.h"
#include "tests/catch.h"
#include "tests/emulation/faults.h"

namespace assay::test {
namespace {

using gpu::Schedule;

const std::vector<Schedule> schedules = {
    {Schedule::Order::forward, 0, true}, {Schedule::Order::reverse, 0, true}, {Schedule::Order::random, 5, true}};

// Buffers of a run: x, which holds i, and is not to be written; y, which holds nothing.
class Buffers {
 public:
  Buffers() {
    std::vector<float> numbers(kCount);
    for (int i = 0; i < kCount; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<float>(i);
    REQUIRE(cudaMalloc(&x_, kCount * sizeof(float)) == cudaSuccess);
    REQUIRE(cudaMalloc(&y_, kCount * sizeof(float)) == cudaSuccess);
    REQUIRE(cudaMemcpy(x_, numbers.data(), kCount * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess);
    gpu::cuda::name_part(x_, 0, kCount * sizeof(float), "x", true);
    gpu::cuda::name_part(y_, 0, kCount * sizeof(float), "y", false);
  }
  ~Buffers() {
    (void)cudaFree(x_);
    (void)cudaFree(y_);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] Run run(bool wrong) const { return {wrong, x_, y_}; }
  [[nodiscard]] std::vector<float> result() const {
    std::vector<float> y(kCount);
    REQUIRE(cudaMemcpy(y.data(), y_, kCount * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
    return y;
  }

 private:
  float *x_ = nullptr, *y_ = nullptr;
};

struct Case {
  std::string name;
  void (*launch)(const Run&);
  std::string code, words;          // of the fault
  std::function<float(int)> value;  // of the twin's result
  int count = kCount;               // elements of it
};

float same(int i) { return static_cast<float>(i); }
constexpr float kTotal = kCount * (kCount - 1) / 2;

const std::vector<Case> cases = {
    {"missing barrier", missing_barrier, "gpu.race", "shared variable words", [](int i) { return same(kCount - 1 - i); }},
    {"missing barrier in a loop", missing_barrier_in_loop, "gpu.race", "shared variable words",
     [](int i) { return 4 * same((i + 1) % kCount); }},
    {"missing barrier of a warp", missing_warp_barrier, "gpu.race", "shared variable words", [](int i) { return same(i ^ 1); }},
    {"race of blocks", race_of_blocks, "gpu.race", "element 0 of y", [](int) { return kTotal; }, 1},
    {"hand-over without a fence", unfenced_hand_over, "gpu.race", "of y", [](int) { return kTotal; }, 1},
    {"early return before a barrier", early_return, "gpu.barrier", "has ended", same, 100},
    {"barrier in a branch", barrier_in_branch, "gpu.barrier", "waits at line", same},
    {"different barriers", different_barriers, "gpu.barrier", "different barriers", same},
    {"shuffle from a lane that has ended", shuffle_from_ended_lane, "gpu.barrier", "lane 7",
     [](int i) { return same(i % 32 == 31 ? i : i + 1); }},
    {"beyond the end", beyond_the_end, "gpu.bounds", "element 128 of x, which has 128", same},
    {"before the beginning", before_the_beginning, "gpu.bounds", "element -1 of x", [](int i) { return i == 0 ? 0 : same(i - 1); }},
    {"writes beyond the end", writes_beyond, "gpu.bounds", "of y, which has 128", same},
    {"beyond a row of a shared array", beyond_a_row, "gpu.bounds", "[8]'", same},
    {"beyond dynamic shared memory", beyond_dynamic, "gpu.bounds", "dynamic shared memory, which has 128", same},
    {"shared memory that nobody wrote", unwritten_shared, "gpu.uninitialised", "shared variable words", same},
    {"a buffer that nobody wrote", unwritten_buffer, "gpu.uninitialised", "of y", same},
    {"an operand that is written", writes_operand, "gpu.operand", "element 3 of x", same},
    {"local memory of another thread", local_of_another, "gpu.bounds", "local memory of thread", same},
    {"too many threads", too_many_threads, "gpu.launch", "1025", same},
    {"too much shared memory", too_much_shared, "gpu.launch", "49156", same},
    {"the host reads the device's memory", host_reads_device, "gpu.bounds", "the host reads or writes", same},
    {"a copy beyond the end", copy_beyond, "gpu.bounds", "y, which has 512", same},
};

TEST_CASE("emulation: the fault of each kernel is named, in every schedule", "[gpu]") {
  for (const Schedule& schedule : schedules) {
    gpu::cuda::set_schedule(schedule);
    for (const Case& one : cases) {
      CAPTURE(one.name, static_cast<int>(schedule.order));
      const Buffers buffers;
      one.launch(buffers.run(true));
      CHECK(cudaGetLastError() != cudaSuccess);
      const auto fault = gpu::cuda::take_fault();
      REQUIRE(fault.has_value());
      CHECK(fault->code == one.code);
      CAPTURE(fault->to_text());
      CHECK(fault->to_text().find(one.words) != std::string::npos);
      CHECK(cudaGetLastError() == cudaSuccess);  // the next launch starts anew
    }
  }
}

TEST_CASE("emulation: twins without the fault have none, and compute what they are meant to", "[gpu]") {
  for (const Schedule& schedule : schedules) {
    gpu::cuda::set_schedule(schedule);
    for (const Case& one : cases) {
      CAPTURE(one.name, static_cast<int>(schedule.order));
      const Buffers buffers;
      one.launch(buffers.run(false));
      const auto fault = gpu::cuda::take_fault();
      CAPTURE(fault ? fault->to_text() : "no fault");
      REQUIRE_FALSE(fault.has_value());
      const std::vector<float> y = buffers.result();
      for (int i = 0; i < one.count; ++i) CHECK(y[static_cast<std::size_t>(i)] == one.value(i));
    }
  }
}

TEST_CASE("emulation: lines of both sides of a race are named where the program has lines", "[gpu]") {
  gpu::cuda::set_schedule({});
  const Buffers buffers;
  missing_barrier(buffers.run(true));
  const auto fault = gpu::cuda::take_fault();
  REQUIRE(fault.has_value());
  CHECK(fault->place.find("::reversed, block 0") != std::string::npos);
  if (std::system("addr2line --version > /dev/null 2>&1") == 0)
    CHECK(fault->found.find("at faults.cu:") != fault->found.rfind("at faults.cu:"));
}

TEST_CASE("emulation: CUDA's votes, shuffles, indices and vectors mean what they mean", "[gpu]") {
  for (const Schedule& schedule : schedules) {
    gpu::cuda::set_schedule(schedule);
    const Buffers buffers;
    words_of_cuda(buffers.run(false));
    const auto fault = gpu::cuda::take_fault();
    CAPTURE(fault ? fault->to_text() : "no fault");
    REQUIRE_FALSE(fault.has_value());
    const std::vector<float> y = buffers.result();
    for (int i = 0; i < kCount; ++i) CHECK(y[static_cast<std::size_t>(i)] == same(i));
  }
}

TEST_CASE("emulation: schedules show that an order is left open", "[gpu]") {
  std::vector<float> sums;
  for (const Schedule& schedule : schedules) {
    gpu::cuda::set_schedule(schedule);
    const Buffers buffers;
    order_of_sums(buffers.run(false));
    REQUIRE_FALSE(gpu::cuda::take_fault().has_value());
    sums.push_back(buffers.result()[0]);
  }
  CHECK((sums[0] != sums[1] || sums[0] != sums[2]));
}

TEST_CASE("emulation: a launch in another stream than the expected one is a fault", "[gpu]") {
  gpu::cuda::set_schedule({});
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  for (const bool wrong : {true, false}) {
    const Buffers buffers;
    gpu::cuda::expect_stream(reinterpret_cast<std::uintptr_t>(stream));
    without_stream(buffers.run(wrong), stream);
    gpu::cuda::expect_stream(std::nullopt);
    const auto fault = gpu::cuda::take_fault();
    CHECK(fault.has_value() == wrong);
    if (fault) CHECK(fault->code == "gpu.stream");
  }
}

TEST_CASE("emulation: without detection a race is no fault, and shows in the results of some schedule", "[gpu]") {
  bool differs = false;
  for (Schedule schedule : schedules) {
    schedule.detect_races = false;
    gpu::cuda::set_schedule(schedule);
    const Buffers buffers;
    missing_barrier_in_loop(buffers.run(true));
    REQUIRE_FALSE(gpu::cuda::take_fault().has_value());
    const std::vector<float> y = buffers.result();
    for (int i = 0; i < kCount; ++i) differs = differs || y[static_cast<std::size_t>(i)] != 4 * same((i + 1) % kCount);
  }
  CHECK_FALSE(differs);  // every round writes the same numbers: only the detector sees this race
}

TEST_CASE("emulation: halves are rounded to nearest, ties to even", "[gpu]") {
  for (std::uint32_t bits = 0; bits < 0x7c00U; ++bits) {
    const float here = __half::widened(static_cast<std::uint16_t>(bits)), next = __half::widened(static_cast<std::uint16_t>(bits + 1));
    REQUIRE(__half::rounded(here) == bits);
    REQUIRE(__half::rounded(-here) == (bits | 0x8000U));
    if (bits == 0x7bffU) continue;  // beyond the greatest number lies an infinity
    const float middle = (here + next) / 2;
    REQUIRE(__half::rounded(middle) == (bits % 2 == 0 ? bits : bits + 1));
    REQUIRE(__half::rounded(std::nextafter(middle, 0.0F)) == bits);
    REQUIRE(__half::rounded(std::nextafter(middle, 1e9F)) == bits + 1);
  }
  CHECK(__half::rounded(65519.0F) == 0x7bffU);
  CHECK(__half::rounded(65520.0F) == 0x7c00U);
  CHECK(std::isinf(__half::widened(0x7c00U)));
  CHECK(std::isnan(__half::widened(__half::rounded(std::nanf("")))));
}

}  // namespace
}  // namespace assay::test
