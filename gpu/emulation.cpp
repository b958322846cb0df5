// A jump to another stack is no mistake here, whatever the checks of the C library make of it.
#undef _FORTIFY_SOURCE
#include "gpu/emulation.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "gpu/machine.h"
#include "gpu/program.h"
#include "semantics/demand.h"

namespace assay::gpu::emulation {

namespace {

// Bytes of a fiber: a kernel holds a few dozen numbers, but one that is compiled to be watched holds them all on its stack.
constexpr std::size_t kStack = std::size_t{1} << 17;
constexpr unsigned kMostThreads = 1024;
constexpr std::size_t kMostBlocks = (std::size_t{1} << 31) - 1, kMostShared = 48 * 1024 / sizeof(float);

// Fibers switch by jumps, which leave signals alone and cost no call of the system. A sanitizer has to see stacks change, and
// sees it with contexts only.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kJumps = false;
#else
constexpr bool kJumps = true;
#endif

// Stacks are made once and used by every launch of this thread; they lie side by side.
std::vector<Fiber>& fibers_for(unsigned threads) {
  static thread_local std::unique_ptr<std::byte[]> stacks;
  static thread_local std::size_t made = 0;
  static thread_local std::vector<Fiber> fibers;
  if (made < threads) {
    stacks = std::make_unique_for_overwrite<std::byte[]>(kStack * threads);
    made = threads;
  }
  fibers.clear();
  fibers.resize(threads);
  for (unsigned t = 0; t < threads; ++t) fibers[t].stack = stacks.get() + kStack * t;
  return fibers;
}

void start() {
  while (true) {
    running()->enter();
    running()->wait(Fiber::State::done);
  }
}

std::uint32_t next_epoch = 1;

}  // namespace

Machine*& running() {
  static thread_local Machine* machine = nullptr;
  return machine;
}

shadow::Memory& device_memory() {
  static shadow::Memory memory;
  return memory;
}

Machine::Machine(const Launch& launch, const Schedule& schedule, Body body, const void* kernel)
    : launch_(launch),
      schedule_(schedule),
      body_(body),
      kernel_(kernel),
      random_(schedule.seed),
      fibers_(fibers_for(launch.threads)),
      order_(launch.threads),
      first_epoch_(next_epoch) {
  std::iota(order_.begin(), order_.end(), 0U);
  if (schedule.order == Schedule::Order::reverse) std::ranges::reverse(order_);
}

Outcome<Done> Machine::run() {
  for (std::size_t i = 0; i < launch_.blocks; ++i) {
    const std::size_t block = schedule_.order == Schedule::Order::reverse ? launch_.blocks - 1 - i : i;
    run_block(block);
    if (fault_)
      return Rejection{Rejection::Kind::rejected, code_,   place_,
                       "a kernel without faults", *fault_, "docs/how-to/cuda-testing.md lists the faults"};
  }
  return Done{};
}

void Machine::fault(const char* code, std::string what) {
  if (!fault_) {
    fault_ = std::move(what);
    code_ = code;
    place_ = std::string("kernel ") + launch_.kernel + ", block " + std::to_string(block_) + ", thread " + std::to_string(current_);
  }
  fibers_[current_].started = false;  // this fiber never resumes
  if (kJumps) _longjmp(scheduler_place_, 1);
  setcontext(&scheduler_);
  demand(false, "emulation: a context that can be set");
  std::abort();
}

void Machine::wait(Fiber::State state) {
  Fiber& fiber = fibers_[current_];
  fiber.state = state;
  if (!kJumps) {
    swapcontext(&fiber.context, &scheduler_);
  } else if (_setjmp(fiber.place) == 0) {
    _longjmp(scheduler_place_, 1);
  }
}

// Runs the thread until it waits, ends or faults.
void Machine::resume(unsigned thread) {
  current_ = thread;
  if (launch_.enter != nullptr) launch_.enter(thread);
  Fiber& fiber = fibers_[thread];
  const bool is_new = !fiber.started;
  if (is_new) {
    fiber.started = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, start, 0);
  }
  if (!kJumps) {
    swapcontext(&scheduler_, &fiber.context);
  } else if (_setjmp(scheduler_place_) == 0) {
    if (is_new) setcontext(&fiber.context);
    _longjmp(fiber.place, 1);
  }
}

float Machine::shuffle(float value, unsigned mask) {
  fibers_[current_].offered = value;
  fibers_[current_].mask = mask;
  wait(Fiber::State::at_shuffle);
  return fibers_[current_].received;
}

float Machine::get(std::size_t index) {
  if (index >= words_.size()) beyond(index);
  Word& word = words_[index];
  if (word.written_in == 0) fault("gpu.launch", "word " + std::to_string(index) + " of shared memory is read and was never written");
  if (schedule_.detect_races && word.written_in == interval_ && word.writer != current_) race(index, word.writer, "writes");
  word.many_readers = word.read_in == interval_ && (word.many_readers || word.reader != current_);
  word.read_in = interval_;
  word.reader = current_;
  return word.value;
}

void Machine::put(std::size_t index, float value) {
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

void Machine::enter() { body_(kernel_, *fibers_[current_].thread); }

void Machine::beyond(std::size_t index) {
  fault("gpu.launch", "word " + std::to_string(index) + " of " + std::to_string(words_.size()) + " words of shared memory");
}

void Machine::race(std::size_t index, unsigned other, const char* does) {
  fault("gpu.launch", "word " + std::to_string(index) + " of shared memory, which thread " + std::to_string(other) + " " + does +
                          " between the same two barriers");
}

int Machine::barrier(int vote, int line) {
  Fiber& fiber = fibers_[current_];
  fiber.line = line;
  fiber.offered_vote = vote;
  wait(Fiber::State::at_barrier);
  return fibers_[current_].votes;
}

const Exchange& Machine::exchange(const Exchange& offer) {
  Fiber& fiber = fibers_[current_];
  if ((offer.mask >> current_ % kWarp & 1U) == 0)
    fault("gpu.barrier",
          "lane " + std::to_string(current_ % kWarp) + " is not in the mask of its own exchange at line " + std::to_string(offer.line));
  fiber.exchange = offer;
  fiber.line = offer.line;
  wait(Fiber::State::at_exchange);
  return fibers_[current_].exchange;
}

void Machine::touch(const shadow::Access& access) {
  const std::size_t on_stacks = access.address - reinterpret_cast<std::uintptr_t>(fibers_[0].stack);
  if (on_stacks < kStack * launch_.threads) {
    if (on_stacks / kStack == current_) return;
    fault("gpu.bounds", "reaches into the local memory of thread " + std::to_string(on_stacks / kStack));
  }
  if (access.kind == shadow::Kind::read && access.address - reinterpret_cast<std::uintptr_t>(kernel_) < launch_.arguments) return;
  const shadow::Now now{first_epoch_,
                        epoch_,
                        static_cast<std::uint32_t>(interval_),
                        warp_intervals_[current_ / kWarp],
                        static_cast<std::uint16_t>(current_),
                        schedule_.detect_races};
  const std::size_t number = epoch_ - first_epoch_;
  if (access.kind == shadow::Kind::atomic && fenced_[number]) handed_over_[number] = true;
  shadow::Fault found = device_memory().touch(access, now, handed_over_);
  if (*found.code == '\0') return;
  if (found.code != std::string_view("gpu.uninitialised")) fault(found.code, std::move(found.text));
  if (unwritten_) return;
  unwritten_ = std::move(found.text);
  unwritten_by_ = current_;
}

void Machine::fence() { fenced_[epoch_ - first_epoch_] = true; }

// A read of an unwritten word, once it is certain that no other thread writes it before the next barrier.
void Machine::report_unwritten() {
  if (!unwritten_ || fault_) return;
  fault_ = std::move(unwritten_);
  code_ = "gpu.uninitialised";
  place_ = std::string("kernel ") + launch_.kernel + ", block " + std::to_string(block_) + ", thread " + std::to_string(unwritten_by_);
}

void Machine::run_block(std::size_t block) {
  block_ = block;
  interval_ = 1;
  epoch_ = next_epoch++;
  warp_intervals_.assign((launch_.threads + kWarp - 1) / kWarp, 1);
  fenced_.push_back(false);
  handed_over_.push_back(false);
  words_.assign(launch_.shared, Word{std::numeric_limits<float>::quiet_NaN()});
  for (unsigned t = 0; t < launch_.threads; ++t) {
    fibers_[t].state = Fiber::State::ready;
    fibers_[t].thread.emplace(t, launch_.threads, block, launch_.blocks);
  }
  if (launch_.begin != nullptr) launch_.begin(block);
  run_threads();
  report_unwritten();
}

void Machine::run_threads() {
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
    if (release_warps() || release_exchanges() || release_barrier() || fault_ || progress) continue;
    fault_ = stuck();
    code_ = std::ranges::any_of(fibers_, [](const Fiber& f) { return f.line != 0; }) ? "gpu.barrier" : "gpu.launch";
    place_ = std::string("kernel ") + launch_.kernel + ", block " + std::to_string(block_);
  }
}

// Which threads wait, and for whom.
std::string Machine::stuck() const {
  std::string text = "some threads wait at a barrier or a shuffle that others do not reach";
  const auto waits = [](const Fiber& f) { return f.state != Fiber::State::done && f.line != 0; };
  const auto waiting = std::ranges::find_if(fibers_, waits);
  if (waiting == fibers_.end()) return text;
  const auto number = [&](auto it) { return std::to_string(it - fibers_.begin()); };
  text += ": thread " + number(waiting) + " waits at line " + std::to_string(waiting->line);
  const auto other = std::ranges::find_if(fibers_, [&](const Fiber& f) { return !waits(f) || f.line != waiting->line; });
  if (other == fibers_.end()) return text;
  return text + ", thread " + number(other) + (waits(*other) ? " at line " + std::to_string(other->line) : " has ended");
}

// Warps whose threads all wait at a shuffle exchange their values and resume.
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

// The lanes of a mask that all wait, with that mask, exchange their values and resume. Lanes that have ended are not waited for.
bool Machine::release_lanes(unsigned first, unsigned end, std::uint32_t mask) {
  const auto takes_part = [&](unsigned t) { return (mask >> (t - first) & 1U) != 0 && fibers_[t].state != Fiber::State::done; };
  std::uint32_t ballot = 0;
  for (unsigned t = first; t < end; ++t) {
    if (!takes_part(t)) continue;
    if (fibers_[t].state != Fiber::State::at_exchange || fibers_[t].exchange.mask != mask) return false;
    if (fibers_[t].exchange.offered != 0) ballot |= 1U << (t - first);
  }
  for (unsigned t = first; t < end; ++t) {
    if (!takes_part(t)) continue;
    Exchange& one = fibers_[t].exchange;
    const unsigned source = first + one.source;
    one.source_took_part = one.source < kWarp && source < end && takes_part(source);
    one.received = one.source_took_part ? fibers_[source].exchange.offered : 0;
    one.ballot = ballot;
  }
  for (unsigned t = first; t < end; ++t)
    if (takes_part(t)) fibers_[t].state = Fiber::State::ready;
  return true;
}

bool Machine::release_exchanges() {
  bool released = false;
  for (unsigned first = 0; first < launch_.threads; first += kWarp) {
    const unsigned end = std::min(first + kWarp, launch_.threads);
    for (unsigned t = first; t < end; ++t) {
      if (fibers_[t].state != Fiber::State::at_exchange || !release_lanes(first, end, fibers_[t].exchange.mask)) continue;
      ++warp_intervals_[first / kWarp];
      released = true;
    }
  }
  return released;
}

bool Machine::release_barrier() {
  if (!std::ranges::all_of(fibers_, [](const Fiber& f) { return f.state == Fiber::State::at_barrier; })) return false;
  const int line = fibers_[0].line;
  const auto elsewhere = std::ranges::find_if(fibers_, [&](const Fiber& f) { return f.line != line; });
  if (elsewhere != fibers_.end()) {
    fault_ = "threads of a block wait at different barriers: thread 0 at line " + std::to_string(line) + ", thread " +
             std::to_string(elsewhere - fibers_.begin()) + " at line " + std::to_string(elsewhere->line);
    code_ = "gpu.barrier";
    place_ = std::string("kernel ") + launch_.kernel + ", block " + std::to_string(block_);
    return false;
  }
  report_unwritten();
  if (fault_) return false;
  int votes = 0;
  for (const Fiber& fiber : fibers_) votes += fiber.offered_vote != 0 ? 1 : 0;
  for (Fiber& fiber : fibers_) {
    fiber.state = Fiber::State::ready;
    fiber.votes = votes;
  }
  ++interval_;
  return true;
}

namespace {

std::optional<std::string> problem_of(const Launch& launch) {
  if (launch.blocks == 0 || launch.blocks > kMostBlocks) return std::to_string(launch.blocks) + " blocks";
  if (launch.threads == 0 || launch.threads > kMostThreads) return std::to_string(launch.threads) + " threads per block";
  if (launch.shared > kMostShared) return std::to_string(launch.shared) + " words of shared memory";
  return std::nullopt;
}

}  // namespace

void fault(const char* what, std::size_t index, std::size_t size) {
  demand(running() != nullptr, "emulation: an access outside a launch");
  running()->fault("gpu.launch", std::string(what) + ": element " + std::to_string(index) + " of " + std::to_string(size));
}

void Thread::barrier() { running()->wait(Fiber::State::at_barrier); }
float Thread::shuffle_xor(float value, unsigned mask) { return running()->shuffle(value, mask); }
float Thread::get(std::size_t word) const { return running()->get(word); }
void Thread::put(std::size_t word, float value) { running()->put(word, value); }

Outcome<Done> run(const Launch& launch, const Schedule& schedule, Body body, const void* kernel) {
  if (auto problem = problem_of(launch)) {
    return Rejection{Rejection::Kind::rejected,      "gpu.launch", std::string("kernel ") + launch.kernel,
                     "a launch that devices accept", *problem,     "1 to 1024 threads, 1 to 2^31 - 1 blocks, 48 KiB of shared memory"};
  }
  demand(running() == nullptr, "emulation: one launch at a time");
  Machine machine(launch, schedule, body, kernel);
  running() = &machine;
  Outcome<Done> done = machine.run();
  running() = nullptr;
  return done;
}

}  // namespace assay::gpu::emulation
