// Buffers: aligned memory that is kept for the next request of its size, so that repeated work allocates nothing.
#pragma once

#include <cstddef>
#include <memory>

namespace assay::runtime {

inline constexpr std::size_t kAlignment = 64;  // bytes: a cache line, and the widest vector

// At least `bytes` bytes, aligned, not initialised; goes back to the pool when the last owner lets go. Any thread may ask.
[[nodiscard]] std::shared_ptr<void> acquire_buffer(std::size_t bytes);

// Scratch memory of one call: acquire_buffer with a type.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::size_t count) : buffer_(acquire_buffer(count * sizeof(T))) {}
  [[nodiscard]] T* data() const { return static_cast<T*>(buffer_.get()); }

 private:
  std::shared_ptr<void> buffer_;
};

// Gives the memory that is not in use back to the system.
void release_unused_buffers();

}  // namespace assay::runtime
