#include "gpu/emulation.h"

#include <ucontext.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "semantics/demand.h"

namespace assay::gpu::emulation {

namespace {

constexpr std::size_t kStack = std::size_t{1} << 16;  // bytes of a fiber: a kernel holds a few dozen numbers
constexpr unsigned kMostThreads = 1024;
constexpr std::size_t kMostBlocks = (std::size_t{1} << 31) - 1, kMostShared = 48 * 1024 / sizeof(float);

// One word of shared memory and who touched it since the last barrier.
struct Word {
  float value = std::numeric_limits<float>::quiet_NaN();
  std::size_t written_in = 0, read_in = 0;  // barrier intervals, counted from 1; 0: never
  unsigned writer = 0, reader = 0;
  bool many_readers = false;
};

struct Fiber {
  enum class State : std::uint8_t { ready, at_barrier, at_shuffle, done } state = State::ready;
  ucontext_t context{};
  std::optional<Thread> thread;
  float offered = 0, received = 0;  // shuffle
  unsigned mask = 0;
};

// The blocks of one launch, one after the other.
class Machine {
 public:
  Machine(const Launch& launch, const Schedule& schedule, Body body, const void* kernel)
      : launch_(launch),
        schedule_(schedule),
        body_(body),
        kernel_(kernel),
        random_(schedule.seed),
        fibers_(launch.threads),
        order_(launch.threads),
        stacks_(launch.threads) {
    for (auto& stack : stacks_) stack = std::make_unique_for_overwrite<std::byte[]>(kStack);
    std::iota(order_.begin(), order_.end(), 0U);
    if (schedule.order == Schedule::Order::reverse) std::ranges::reverse(order_);
  }

  Outcome<Done> run() {
    for (std::size_t i = 0; i < launch_.blocks; ++i) {
      const std::size_t block = schedule_.order == Schedule::Order::reverse ? launch_.blocks - 1 - i : i;
      run_block(block);
      if (fault_) {
        return Rejection{Rejection::Kind::rejected, "gpu.launch", place_,
                         "a kernel without faults", *fault_,      "gpu/emulation.h lists the faults"};
      }
    }
    return Done{};
  }

  [[noreturn]] void fault(std::string what) {
    if (!fault_) {
      fault_ = std::move(what);
      place_ = std::string("kernel ") + launch_.kernel + ", block " + std::to_string(block_) + ", thread " + std::to_string(current_);
    }
    setcontext(&scheduler_);  // this fiber never goes on
    demand(false, "emulation: a context that can be set");
    std::abort();
  }

  void wait(Fiber::State state) {
    Fiber& fiber = fibers_[current_];
    fiber.state = state;
    swapcontext(&fiber.context, &scheduler_);
  }
  float shuffle(float value, unsigned mask) {
    fibers_[current_].offered = value;
    fibers_[current_].mask = mask;
    wait(Fiber::State::at_shuffle);
    return fibers_[current_].received;
  }

  float get(std::size_t index) {
    if (index >= words_.size()) beyond(index);
    Word& word = words_[index];
    if (word.written_in == 0) fault("word " + std::to_string(index) + " of shared memory is read and was never written");
    if (schedule_.detect_races && word.written_in == interval_ && word.writer != current_) race(index, word.writer, "writes");
    word.many_readers = word.read_in == interval_ && (word.many_readers || word.reader != current_);
    word.read_in = interval_;
    word.reader = current_;
    return word.value;
  }
  void put(std::size_t index, float value) {
    if (index >= words_.size()) beyond(index);
    Word& word = words_[index];
    if (schedule_.detect_races) {
      if (word.written_in == interval_ && word.writer != current_) race(index, word.writer, "writes");
      if (word.read_in == interval_ && (word.many_readers || word.reader != current_)) race(index, word.reader, "reads");
    }
    word.value = value;
    word.written_in = interval_;
    word.writer = current_;
  }

  void enter() {
    body_(kernel_, *fibers_[current_].thread);
    fibers_[current_].state = Fiber::State::done;
  }

 private:
  [[noreturn]] void beyond(std::size_t index) {
    fault("word " + std::to_string(index) + " of " + std::to_string(words_.size()) + " words of shared memory");
  }
  [[noreturn]] void race(std::size_t index, unsigned other, const char* does) {
    fault("word " + std::to_string(index) + " of shared memory, which thread " + std::to_string(other) + " " + does +
          " between the same two barriers");
  }

  void run_block(std::size_t block);
  void resume(unsigned thread);
  bool release_warps();
  bool release_barrier();

  const Launch& launch_;
  const Schedule& schedule_;
  Body body_;
  const void* kernel_;
  std::mt19937_64 random_;
  std::vector<Fiber> fibers_;
  std::vector<unsigned> order_;
  std::vector<std::unique_ptr<std::byte[]>> stacks_;
  std::vector<Word> words_;
  ucontext_t scheduler_{};
  std::size_t block_ = 0, interval_ = 1;
  unsigned current_ = 0;
  std::optional<std::string> fault_;
  std::string place_;
};

thread_local Machine* running = nullptr;

void start() { running->enter(); }

void Machine::run_block(std::size_t block) {
  block_ = block;
  interval_ = 1;
  words_.assign(launch_.shared, Word{});
  for (unsigned t = 0; t < launch_.threads; ++t) {
    Fiber& fiber = fibers_[t];
    fiber.state = Fiber::State::ready;
    fiber.thread.emplace(t, launch_.threads, block, launch_.blocks);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks_[t].get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = &scheduler_;
    makecontext(&fiber.context, start, 0);
  }
  while (!fault_) {
    if (schedule_.order == Schedule::Order::random) std::ranges::shuffle(order_, random_);
    bool progress = false;
    for (const unsigned t : order_) {
      if (fibers_[t].state != Fiber::State::ready) continue;
      progress = true;
      resume(t);
      if (fault_) return;
    }
    const bool all_done = std::ranges::all_of(fibers_, [](const Fiber& f) { return f.state == Fiber::State::done; });
    if (all_done) return;
    if (release_warps() || release_barrier() || progress) continue;
    fault_ = "some threads wait at a barrier or a shuffle that others do not reach";
    place_ = std::string("kernel ") + launch_.kernel + ", block " + std::to_string(block_);
  }
}

// Runs the thread until it waits, ends or faults.
void Machine::resume(unsigned thread) {
  current_ = thread;
  swapcontext(&scheduler_, &fibers_[thread].context);
}

// Warps whose threads all wait at a shuffle exchange their values and go on.
bool Machine::release_warps() {
  bool released = false;
  for (unsigned first = 0; first < launch_.threads; first += kWarp) {
    const unsigned end = std::min(first + kWarp, launch_.threads);
    bool complete = true;
    for (unsigned t = first; t < end; ++t) complete = complete && fibers_[t].state == Fiber::State::at_shuffle;
    if (!complete) continue;
    for (unsigned t = first; t < end; ++t) {
      const unsigned other = first + ((t - first) ^ fibers_[t].mask);
      fibers_[t].received = other < end ? fibers_[other].offered : std::numeric_limits<float>::quiet_NaN();  // undefined on a device
      fibers_[t].state = Fiber::State::ready;
    }
    released = true;
  }
  return released;
}

bool Machine::release_barrier() {
  if (!std::ranges::all_of(fibers_, [](const Fiber& f) { return f.state == Fiber::State::at_barrier; })) return false;
  for (Fiber& fiber : fibers_) fiber.state = Fiber::State::ready;
  ++interval_;
  return true;
}

std::optional<std::string> problem_of(const Launch& launch) {
  if (launch.blocks == 0 || launch.blocks > kMostBlocks) return std::to_string(launch.blocks) + " blocks";
  if (launch.threads == 0 || launch.threads > kMostThreads) return std::to_string(launch.threads) + " threads per block";
  if (launch.shared > kMostShared) return std::to_string(launch.shared) + " words of shared memory";
  return std::nullopt;
}

}  // namespace

void fault(const char* what, std::size_t index, std::size_t size) {
  demand(running != nullptr, "emulation: an access outside a launch");
  running->fault(std::string(what) + ": element " + std::to_string(index) + " of " + std::to_string(size));
}

void Thread::barrier() { running->wait(Fiber::State::at_barrier); }
float Thread::shuffle_xor(float value, unsigned mask) { return running->shuffle(value, mask); }
float Thread::get(std::size_t word) const { return running->get(word); }
void Thread::put(std::size_t word, float value) { running->put(word, value); }

Outcome<Done> run(const Launch& launch, const Schedule& schedule, Body body, const void* kernel) {
  if (auto problem = problem_of(launch)) {
    return Rejection{Rejection::Kind::rejected,      "gpu.launch", std::string("kernel ") + launch.kernel,
                     "a launch that devices accept", *problem,     "1 to 1024 threads, 1 to 2^31 - 1 blocks, 48 KiB of shared memory"};
  }
  demand(running == nullptr, "emulation: one launch at a time");
  Machine machine(launch, schedule, body, kernel);
  running = &machine;
  Outcome<Done> done = machine.run();
  running = nullptr;
  return done;
}

}  // namespace assay::gpu::emulation
