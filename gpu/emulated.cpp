#include "gpu/emulated.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "gpu/stream_device.h"

namespace assay::gpu {

EmulatedDriver::~EmulatedDriver() {
  for (const auto& [memory, bytes] : gone_) ::operator delete(memory);
}

bool EmulatedDriver::fails(Failure::At at) { return options_.failure.at == at && count_++ == options_.failure.after; }

Rejection EmulatedDriver::failed(const char* where) {
  return {Rejection::Kind::rejected, "gpu.launch", where, "a driver without failures", "a failure that was asked for",
          "gpu/emulated.h, Failure"};
}

void* EmulatedDriver::take(std::size_t bytes) {
  if (bytes > options_.memory - in_use_) return nullptr;
  // Exactly as much as was asked for: a sanitizer sees what lies beyond.
  void* const memory = ::operator new(bytes, std::nothrow);
  if (memory == nullptr) return nullptr;
  if (bytes > 0) std::memset(memory, 0xff, bytes);
  in_use_ += bytes;
  return memory;
}

void EmulatedDriver::give(void* memory, std::size_t bytes) {
  make_copies();
  if (bytes > 0) std::memset(memory, 0xff, bytes);
  in_use_ -= bytes;
  gone_.emplace_back(memory, bytes);
  gone_bytes_ += bytes;
  while (gone_bytes_ > kMostGone) {
    gone_bytes_ -= gone_.front().second;
    ::operator delete(gone_.front().first);
    gone_.pop_front();
  }
}

void EmulatedDriver::make_copies() {
  for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, copy.bytes);
  copies_.clear();
}

Outcome<Done> EmulatedDriver::keep(std::function<Outcome<Done>(EmulatedDriver&)> launch) {
  recording_->push_back(std::move(launch));
  return Done{};
}

Outcome<Done> EmulatedDriver::record() {
  if (!options_.keeps_launches) return failed("recording of launches");
  recording_.emplace();
  return Done{};
}

Outcome<EmulatedDriver::Recording> EmulatedDriver::recorded() {
  Recording recording = std::move(*recording_);
  recording_.reset();
  if (fails(Failure::At::recording)) return failed("recording of launches");
  return recording;
}

Outcome<Done> EmulatedDriver::run(const Recording& recording) {
  for (const auto& launch : recording) {
    if (auto done = launch(*this); !done) return done;
  }
  return Done{};
}

namespace {

// A sum of products as tensor cores take it: blocks of so many products, from the last to the first, each with what was added up
// before. The terms of a block are cut off below the last place of the largest one, added up without rounding, and cut off again;
// double holds all of it.
class CutOffSum {
 public:
  void add(double term) {
    terms_.push_back(term);
    if (terms_.size() == kBlock) join();
  }
  [[nodiscard]] float take() {
    join();
    return sum_;
  }

 private:
  static constexpr std::size_t kBlock = 8;

  void join() {
    if (terms_.empty()) return;
    terms_.push_back(static_cast<double>(sum_));
    double most = 0, sum = 0;
    for (const double term : terms_) most = std::fmax(most, std::fabs(term));
    // Not finite, or nothing: as the formula.
    const double unit = most > 0 && std::isfinite(most) ? std::ldexp(1.0, std::max(std::ilogb(most), -126) - 23) : 0;
    for (const double term : terms_) sum += unit > 0 ? std::trunc(term / unit) * unit : term;
    sum_ = static_cast<float>(sum);
    if (std::isfinite(sum) && std::fabs(static_cast<double>(sum_)) > std::fabs(sum)) sum_ = std::nextafter(sum_, 0.0F);
    terms_.clear();
  }

  std::vector<double> terms_;
  float sum_ = 0;
};

}  // namespace

// The interface's meaning, from last to first: another order than that of our tiles.
Outcome<Done> EmulatedDriver::product(const LibraryProduct& product) {
  if (recording_) return keep([product](EmulatedDriver& driver) { return driver.product(product); });
  if (fails(Failure::At::launch)) return failed("library product");
  make_copies();
  const auto at = [](const LibraryFactor& factor, std::int64_t batch, std::int64_t i, std::int64_t k) {
    return factor.data[batch * factor.distance + (factor.is_transposed ? k + i * factor.leading : i + k * factor.leading)];
  };
  for (std::int64_t n = 0; n < product.batches; ++n) {
    for (std::int64_t j = 0; j < product.columns; ++j) {
      for (std::int64_t i = 0; i < product.rows; ++i) {
        float sum = 0;
        CutOffSum of_rounded;
        for (std::int64_t k = product.depth; k-- > 0;) {
          const float left = at(product.left, n, i, k), right = at(product.right, n, k, j);
          if (product.factors == Factors::none) sum += left * right;
          if (product.factors != Factors::none) of_rounded.add(static_cast<double>(left) * static_cast<double>(right));
        }
        if (product.factors != Factors::none) sum = of_rounded.take();
        product.y[(n * product.columns + j) * product.rows + i] = product.alpha == 1 ? sum : product.alpha * sum;
      }
    }
  }
  return Done{};
}

Outcome<Done> EmulatedDriver::copy_in(void* to, const void* from, std::size_t bytes) {
  if (fails(Failure::At::copy_in)) return failed("copy to the device");
  copies_.push_back({to, from, bytes});
  return Done{};
}

Outcome<Done> EmulatedDriver::copy_out(void* to, const void* from, std::size_t bytes) {
  if (fails(Failure::At::copy_out)) return failed("copy from the device");
  copies_.push_back({to, from, bytes});
  return Done{};
}

Outcome<Done> EmulatedDriver::copy(void* to, const void* from, std::size_t bytes) {
  copies_.push_back({to, from, bytes});
  return Done{};
}

Outcome<Done> EmulatedDriver::wait() {
  if (broken_) return failed(*broken_);
  make_copies();
  return Done{};
}

std::shared_ptr<runtime::Device> emulated_device_with(const EmulatedOptions& options) {
  return std::make_shared<StreamDevice<EmulatedDriver>>(kernel_model("glibc-2.36", options.factors, options.has_library),
                                                        std::make_shared<Stream<EmulatedDriver>>("emulation of CUDA on the CPU", options));
}

std::shared_ptr<runtime::Device> emulated_device(const Schedule& schedule) { return emulated_device_with({schedule}); }

ExecutionModel kernel_model(std::string math_table, ExecutionModel::InputRounding factors, bool has_library) {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  model.softmax = ExecutionModel::Softmax::online;
  model.math_table = std::move(math_table);
  model.input_rounding = factors;
  if (has_library && factors != Factors::none) model.accumulator_rounding = ExecutionModel::AccumulatorRounding::aligned;
  return model;
}

}  // namespace assay::gpu
