#include "training/data/loader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "semantics/demand.h"

namespace assay::training {

namespace {

// The purposes of the keys of a seed.
enum : std::uint64_t { kOrder, kTransform, kDivision };

Array rows(const Array& array, std::span<const std::int64_t> places) {
  Shape shape = array.shape();
  const std::size_t bytes = shape[0] == 0 ? 0 : array.bytes() / static_cast<std::size_t>(shape[0]);
  shape[0] = static_cast<std::int64_t>(places.size());
  Array result = Array::empty(array.dtype(), std::move(shape));
  const std::byte* from = array.raw();
  std::byte* to = result.raw();
  for (const std::int64_t place : places) {
    if (bytes > 0) std::memcpy(to, from + static_cast<std::size_t>(place) * bytes, bytes);
    to += bytes;
  }
  return result;
}

}  // namespace

std::size_t sample_count(const Dataset& data) {
  demand(!data.empty(), "Dataset: at least one array");
  for (const Array& array : data) {
    demand(!array.shape().empty() && array.shape()[0] == data[0].shape()[0], "Dataset: arrays of equally many samples");
  }
  return static_cast<std::size_t>(data[0].shape()[0]);
}

Dataset chosen(const Dataset& data, std::span<const std::int64_t> places) {
  const auto count = static_cast<std::int64_t>(sample_count(data));
  demand(std::ranges::all_of(places, [=](std::int64_t place) { return 0 <= place && place < count; }), "chosen: places of samples");
  Dataset result;
  for (const Array& array : data) result.push_back(rows(array, places));
  return result;
}

Parts divided(const Dataset& data, double share, std::uint64_t seed) {
  const std::vector<std::int64_t> order = runtime::permutation(RandomKey(seed).split(kDivision), sample_count(data));
  const auto count = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(order.size()));
  return {chosen(data, std::span(order).first(count)), chosen(data, std::span(order).subspan(count))};
}

Loader::Loader(Dataset data, LoaderOptions options) : data_(std::move(data)), options_(std::move(options)) {
  const std::size_t count = sample_count(data_);
  demand(options_.batch > 0, "Loader: batches of at least one sample");
  batches_ = options_.drop_last ? count / options_.batch : (count + options_.batch - 1) / options_.batch;
  demand(batches_ > 0, "Loader: enough samples for one batch");
  start();
}

Loader::~Loader() { halt(); }

std::vector<Array> Loader::made(const Position& position) {
  const RandomKey key(options_.seed);
  const std::size_t count = sample_count(data_);
  if (ordered_ != position.epoch) {
    if (options_.shuffle) {
      order_ = runtime::permutation(key.split(kOrder).split(position.epoch), count);
    } else {
      order_.resize(count);
      std::iota(order_.begin(), order_.end(), 0);
    }
    ordered_ = position.epoch;
  }
  const std::size_t first = position.batch * options_.batch;
  std::vector<Array> batch = chosen(data_, std::span(order_).subspan(first, std::min(options_.batch, count - first)));
  if (!options_.transform) return batch;
  return options_.transform(std::move(batch), key.split(kTransform).split(position.epoch).split(position.batch));
}

Loader::Position Loader::after(Position position) const {
  return position.batch + 1 < batches_ ? Position{position.epoch, position.batch + 1} : Position{position.epoch + 1, 0};
}

void Loader::work(const std::stop_token& stop, Position from) {
  for (Position at = from;; at = after(at)) {
    std::vector<Array> batch = made(at);
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return ready_.size() < options_.prefetch; })) return;
    ready_.push_back(std::move(batch));
    changed_.notify_all();
  }
}

void Loader::start() {
  if (options_.prefetch == 0) return;
  thread_ = std::jthread([this, from = position_](const std::stop_token& stop) { work(stop, from); });
}

void Loader::halt() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  ready_.clear();
}

std::vector<Array> Loader::next() {
  std::vector<Array> batch;
  if (options_.prefetch == 0) {
    batch = made(position_);
  } else {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty(); });
    batch = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
  }
  position_ = after(position_);
  return batch;
}

void Loader::seek(const Position& position) {
  demand(has(position), "Loader: a batch of an epoch");
  halt();
  position_ = position;
  start();
}

}  // namespace assay::training
