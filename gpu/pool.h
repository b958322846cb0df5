// Pool: memory of a device that is kept for the next request of its size, since asking a driver for it stops the device.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace assay::gpu {

// Sizes are rounded up to powers of two from 256 bytes on. Memory comes back when its last owner lets go, which may be after the pool's
// own owner: the pool lives as long as any of its memory. One thread at a time.
template <class Source>  // void* take(bytes), null if there is none; void give(void*)
class Pool : public std::enable_shared_from_this<Pool<Source>> {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { release(); }

  // Null if the source has no more, also after what is kept went back to it.
  [[nodiscard]] std::shared_ptr<void> take(std::size_t bytes) {
    std::size_t size = 256;
    while (size < bytes) size *= 2;
    std::vector<void*>& list = free_[size];
    void* memory = nullptr;
    if (!list.empty()) {
      memory = list.back();
      list.pop_back();
    } else if (memory = Source::take(size); memory == nullptr) {
      release();
      memory = Source::take(size);
    }
    if (memory == nullptr) return nullptr;
    return {memory, [pool = this->shared_from_this(), size](void* freed) { pool->free_[size].push_back(freed); }};
  }
  // Gives memory that is not in use back to the source.
  void release() {
    for (auto& [size, list] : free_) {
      for (void* memory : list) Source::give(memory);
      list.clear();
    }
  }
  [[nodiscard]] std::size_t kept() const {
    std::size_t count = 0;
    for (const auto& [size, list] : free_) count += list.size();
    return count;
  }

 private:
  std::map<std::size_t, std::vector<void*>> free_;
};

}  // namespace assay::gpu
