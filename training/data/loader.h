// Batches of a data set in an order that is a function of seed and epoch, made ahead on a thread of their own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/array.h"
#include "runtime/random.h"

namespace assay::training {

using runtime::Array;
using runtime::RandomKey;

// Arrays whose first axis counts samples, equally many (demanded).
using Dataset = std::vector<Array>;
[[nodiscard]] std::size_t sample_count(const Dataset& data);
// The samples at these places, in this order.
[[nodiscard]] Dataset chosen(const Dataset& data, std::span<const std::int64_t> places);
// Two sets: of the samples in random order, the first share and the rest.
struct Parts {
  Dataset first, rest;
};
[[nodiscard]] Parts divided(const Dataset& data, double share, std::uint64_t seed);

struct LoaderOptions {
  std::size_t batch = 32;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = true;     // a batch that is smaller than the others is left out
  std::size_t prefetch = 2;  // batches made ahead by the thread; 0: no thread
  // Of each batch, with random numbers that are its own: augmentation, scaling. Called on the thread; touches no session.
  std::function<std::vector<Array>(std::vector<Array>, const RandomKey&)> transform = nullptr;
};

class Loader {
 public:
  struct Position {
    std::uint64_t epoch = 0, batch = 0;  // of the next batch
    friend bool operator==(const Position&, const Position&) = default;
  };
  Loader(Dataset data, LoaderOptions options);  // at least one batch (demanded)
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  // The next batch; after the last one of an epoch the first of the next.
  [[nodiscard]] std::vector<Array> next();
  [[nodiscard]] Position position() const { return position_; }
  [[nodiscard]] bool has(const Position& position) const { return position.batch < batches(); }
  void seek(const Position& position);                            // one that it has (demanded)
  [[nodiscard]] std::size_t batches() const { return batches_; }  // per epoch
  [[nodiscard]] const LoaderOptions& options() const { return options_; }

 private:
  [[nodiscard]] std::vector<Array> made(const Position& position);
  [[nodiscard]] Position after(Position position) const;
  void work(const std::stop_token& stop, Position from);
  void start();
  void halt();

  Dataset data_;
  LoaderOptions options_;
  std::size_t batches_;
  Position position_;
  // Of the epoch that was asked for last: used by the thread while there is one.
  std::optional<std::uint64_t> ordered_;
  std::vector<std::int64_t> order_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::vector<Array>> ready_;
  std::jthread thread_;  // the last member: it ends before what it uses
};

}  // namespace assay::training
