// Stream: the work of a device, in order: it takes and gives back memory, copies, and runs kernels. The same for every driver, so
// that the emulation tests the code that runs on a CUDA device.
//
// A Driver has
//   take(bytes), give(memory, bytes)        memory there, null if there is no more; given back when the stream has come so far
//   copy_in(to, pinned, bytes)              to memory there, copy_out(pinned, from, bytes) from it: not done before wait()
//   has_library(), product(LibraryProduct)  whether there is a library of products, and one by it
//   launch(Launch, kernel)                  which may fail at once, or later, and then wait() says so
//   copy(to, from, bytes)                   from memory there to memory there
//   record(), recorded()                    between them launches and products are not run but kept, as a Recording; the rest runs
//   run(Recording), forget(Recording)       the kept launches, as often as wanted
//   wait()                                  until all that was asked for is done
//   Pinned                                  a source of memory that copies may read and write meanwhile (gpu/pool.h)
// After the first failure of the driver, lack of memory apart, the stream is lost.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/call.h"
#include "gpu/library_product.h"
#include "gpu/pool.h"
#include "runtime/device.h"

namespace assay::gpu {

[[nodiscard]] Rejection out_of_memory(const std::string& name, std::size_t bytes, const char* what);
[[nodiscard]] Rejection lost(const std::string& name, const Rejection& why);
[[nodiscard]] Rejection not_recorded(const std::string& name, std::string found);

template <class Driver>
class Stream : public std::enable_shared_from_this<Stream<Driver>> {
 public:
  template <class... Arguments>
  explicit Stream(std::string name, Arguments&&... arguments)
      : name_(std::move(name)), driver_(std::forward<Arguments>(arguments)...), pool_(std::make_shared<Pool<typename Driver::Pinned>>()) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)driver_.wait(); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const runtime::Traffic& traffic() const { return traffic_; }

  [[nodiscard]] Outcome<std::shared_ptr<void>> allocate(std::size_t bytes) {
    if (lost_) return *lost_;
    void* const memory = driver_.take(bytes);
    if (memory == nullptr) return out_of_memory(name_, bytes, "device memory");
    traffic_.memory += bytes;
    traffic_.most_memory = std::max(traffic_.most_memory, traffic_.memory);
    std::shared_ptr<void> owned(memory, [stream = this->shared_from_this(), bytes](void* freed) {
      stream->traffic_.memory -= bytes;
      stream->driver_.give(freed, bytes);
    });
    keep(owned);
    return owned;
  }

  [[nodiscard]] Outcome<Done> copy_in(std::span<const std::byte> from, void* to) {
    ++traffic_.copies_in;
    traffic_.bytes_in += from.size();
    return to_device(from, to);
  }
  [[nodiscard]] Outcome<Done> copy_out(const void* from, std::span<std::byte> to) {
    ++traffic_.copies_out;
    traffic_.bytes_out += to.size();
    return from_device(from, to);
  }
  // Tables of constants for a kernel; the findings of a kernel among operands.
  [[nodiscard]] Outcome<Done> copy_table(std::span<const std::byte> from, void* to) {
    ++traffic_.tables;
    return to_device(from, to);
  }
  [[nodiscard]] Outcome<Done> copy_check(const void* from, std::span<std::byte> to) {
    if (recording_) return not_recorded(name_, "a look at what was not computed yet");
    ++traffic_.checks;
    return from_device(from, to);
  }
  [[nodiscard]] Outcome<Done> copy(const void* from, void* to, std::size_t bytes) {
    if (lost_) return *lost_;
    return bytes == 0 ? Outcome<Done>(Done{}) : known(driver_.copy(to, from, bytes));
  }

  template <class Kernel>
  [[nodiscard]] Outcome<Done> launch(const Launch& launch, const Kernel& kernel) {
    if (lost_) return *lost_;
    if (recording_) return kept(driver_.launch(launch, kernel));
    ++traffic_.launches;
    return known(driver_.launch(launch, kernel));
  }
  [[nodiscard]] bool has_library() const { return driver_.has_library(); }
  [[nodiscard]] Outcome<Done> product(const LibraryProduct& product) {
    if (lost_) return *lost_;
    if (recording_) return kept(driver_.product(product));
    ++traffic_.launches;
    return known(driver_.product(product));
  }

  // Launches from here on are kept. Memory that is handed out, or named to keep(), is kept with them.
  [[nodiscard]] Outcome<Done> begin_recording() {
    if (lost_) return *lost_;
    if (recording_) return not_recorded(name_, "another recording that has not ended");
    if (auto done = kept(driver_.record()); !done) return done;
    recording_.emplace();
    return Done{};
  }
  void keep(const std::shared_ptr<void>& memory) {
    if (recording_) recording_->push_back(memory);
  }
  [[nodiscard]] Outcome<std::shared_ptr<runtime::Launches>> end_recording() {
    if (!recording_) return not_recorded(name_, "no recording");
    std::vector<std::shared_ptr<void>> memory = std::move(*recording_);
    recording_.reset();
    auto recording = driver_.recorded();
    if (!recording) return not_recorded(name_, recording.rejection().found);
    return std::shared_ptr<runtime::Launches>(
        std::make_shared<Recorded>(this->shared_from_this(), std::move(recording).value(), std::move(memory)));
  }

 private:
  class Recorded final : public runtime::Launches {
   public:
    Recorded(std::shared_ptr<Stream> stream, typename Driver::Recording recording, std::vector<std::shared_ptr<void>> memory)
        : stream_(std::move(stream)), recording_(std::move(recording)), memory_(std::move(memory)) {}
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    ~Recorded() override { stream_->driver_.forget(recording_); }
    Outcome<Done> run() override { return stream_->run(recording_); }

   private:
    std::shared_ptr<Stream> stream_;
    typename Driver::Recording recording_;
    std::vector<std::shared_ptr<void>> memory_;
  };

  Outcome<Done> run(const typename Driver::Recording& recording) {
    if (lost_) return *lost_;
    if (recording_) return not_recorded(name_, "launches that were kept before");
    ++traffic_.launches;
    ++traffic_.lists;
    return known(driver_.run(recording));
  }
  static constexpr std::size_t kPiece = std::size_t{1} << 24,
                               kMostStaged = std::size_t{1} << 26;  // bytes of pinned memory: at once, waiting

  // The first failure is handed on, and is the reason for all that follow.
  Outcome<Done> known(Outcome<Done> done) {
    if (!done) lost_ = lost(name_, done.rejection());
    return done;
  }
  // A driver that cannot keep a launch may still run it, so the stream stays usable.
  [[nodiscard]] Outcome<Done> kept(Outcome<Done> done) const {
    if (!done) return not_recorded(name_, done.rejection().place + ": " + done.rejection().found);
    return done;
  }
  Outcome<Done> wait() {
    if (auto done = known(driver_.wait()); !done) return done;
    staged_.clear();
    waiting_ = 0;
    return Done{};
  }
  Outcome<std::shared_ptr<void>> pinned(std::size_t bytes) {
    auto memory = pool_->take(bytes);
    if (memory == nullptr) return out_of_memory(name_, bytes, "pinned memory of the host");
    return memory;
  }

  // Piece by piece through pinned memory, which stays until the stream has come so far.
  Outcome<Done> to_device(std::span<const std::byte> from, void* to) {
    if (lost_) return *lost_;
    for (std::size_t at = 0; at < from.size(); at += kPiece) {
      const std::size_t bytes = std::min(kPiece, from.size() - at);
      if (waiting_ + bytes > kMostStaged) {
        if (auto done = wait(); !done) return done;
      }
      const auto memory = pinned(bytes);
      if (!memory) return memory.rejection();
      std::memcpy(memory.value().get(), from.data() + at, bytes);
      staged_.push_back(memory.value());
      waiting_ += bytes;
      if (auto done = known(driver_.copy_in(static_cast<std::byte*>(to) + at, memory.value().get(), bytes)); !done) return done;
    }
    return Done{};
  }
  Outcome<Done> from_device(const void* from, std::span<std::byte> to) {
    if (lost_) return *lost_;
    for (std::size_t at = 0; at < to.size(); at += kPiece) {
      const std::size_t bytes = std::min(kPiece, to.size() - at);
      const auto memory = pinned(bytes);
      if (!memory) return memory.rejection();
      if (auto done = known(driver_.copy_out(memory.value().get(), static_cast<const std::byte*>(from) + at, bytes)); !done) return done;
      if (auto done = wait(); !done) return done;
      std::memcpy(to.data() + at, memory.value().get(), bytes);
    }
    return Done{};
  }

  std::string name_;
  Driver driver_;
  std::shared_ptr<Pool<typename Driver::Pinned>> pool_;
  std::vector<std::shared_ptr<void>> staged_;  // copies that may not be made yet read these
  std::size_t waiting_ = 0;                    // bytes of them
  runtime::Traffic traffic_;
  std::optional<Rejection> lost_;
  std::optional<std::vector<std::shared_ptr<void>>> recording_;  // memory that it uses
};

// The queue of one application of an op: launches in the stream, and tables that live until the queue is gone.
template <class Driver>
class StreamQueue {
 public:
  explicit StreamQueue(std::shared_ptr<Stream<Driver>> stream) : stream_(std::move(stream)) {}

  template <class Kernel>
  [[nodiscard]] Outcome<Done> launch(const Launch& launch, const Kernel& kernel) {
    return stream_->launch(launch, kernel);
  }
  [[nodiscard]] bool has_library() const { return stream_->has_library(); }
  [[nodiscard]] Outcome<Done> product(const LibraryProduct& product) { return stream_->product(product); }
  template <class T>
  [[nodiscard]] Outcome<View<T>> scratch(std::size_t count) {
    auto memory = stream_->allocate(count * sizeof(T));
    if (!memory) return memory.rejection();
    tables_.push_back(memory.value());
    return View<T>{static_cast<T*>(memory.value().get()), count};
  }
  template <class T>
  [[nodiscard]] Outcome<View<const T>> upload(std::span<const T> table) {
    const auto memory = scratch<T>(table.size());
    if (!memory) return memory.rejection();
    if (auto done = stream_->copy_table(std::as_bytes(table), memory.value().data); !done) return done.rejection();
    return View<const T>{memory.value().data, table.size()};
  }
  template <class T>
  [[nodiscard]] Outcome<std::vector<T>> download(View<const T> view) {
    std::vector<T> copy(view.size);
    if (auto done = stream_->copy_check(view.data, std::as_writable_bytes(std::span(copy))); !done) return done.rejection();
    return copy;
  }

 private:
  std::shared_ptr<Stream<Driver>> stream_;
  std::vector<std::shared_ptr<void>> tables_;
};

}  // namespace assay::gpu
