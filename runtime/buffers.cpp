#include "runtime/buffers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

namespace assay::runtime {

namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 31;  // bytes in the pool beyond which memory goes back to the system
constexpr std::size_t kClasses = 512;                    // eight sizes per power of two: at most an eighth is lost

std::size_t class_of(std::size_t bytes) {
  const std::size_t lines = std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment, 1);
  if (lines <= 8) return lines - 1;
  const auto exponent = static_cast<std::size_t>(std::bit_width(lines - 1) - 1);  // 2^exponent < lines <= 2^(exponent+1)
  const std::size_t step = std::size_t{1} << (exponent - 3);
  return 8 * (exponent - 3) + (lines - 1 - (std::size_t{1} << exponent)) / step + 8;
}
std::size_t bytes_of(std::size_t size_class) {
  if (size_class < 8) return (size_class + 1) * kAlignment;
  const std::size_t exponent = (size_class - 8) / 8 + 3, position = (size_class - 8) % 8;
  return ((std::size_t{1} << exponent) + (position + 1) * (std::size_t{1} << (exponent - 3))) * kAlignment;
}

class Pool {
 public:
  void* take(std::size_t size_class) {
    {
      const std::lock_guard lock(mutex_);
      std::vector<void*>& list = free_[size_class];
      if (!list.empty()) {
        void* buffer = list.back();
        list.pop_back();
        kept_ -= bytes_of(size_class);
        return buffer;
      }
    }
    return ::operator new (bytes_of(size_class), std::align_val_t{kAlignment});
  }
  void give(void* buffer, std::size_t size_class) {
    {
      const std::lock_guard lock(mutex_);
      if (kept_ + bytes_of(size_class) <= kMostKept) {
        free_[size_class].push_back(buffer);
        kept_ += bytes_of(size_class);
        return;
      }
    }
    ::operator delete (buffer, std::align_val_t{kAlignment});
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    for (std::vector<void*>& list : free_) {
      for (void* buffer : list) ::operator delete (buffer, std::align_val_t{kAlignment});
      list.clear();
    }
    kept_ = 0;
  }

 private:
  std::mutex mutex_;
  std::array<std::vector<void*>, kClasses> free_;
  std::size_t kept_ = 0;
};

Pool& pool() {
  static Pool* const kPool = new Pool;  // never destroyed: buffers may outlive every static object
  return *kPool;
}

}  // namespace

std::shared_ptr<void> acquire_buffer(std::size_t bytes) {
  const std::size_t size_class = class_of(bytes);
  return {pool().take(size_class), [size_class](void* buffer) { pool().give(buffer, size_class); }};
}

void release_unused_buffers() { pool().clear(); }

}  // namespace assay::runtime
