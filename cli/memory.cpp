// Blocks of whole pairs of cache lines, in the programs that take their memory from tcmalloc. Threads hand work to each other, and what one of them
// gives back the other one took: without this, small blocks of both soon lie on the same lines, which the processors then pass to and fro
// (docs/decisions/0091-threads-keep-apart.md). The functions here go before tcmalloc's of the same names; all others stay its own.

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kPair = 128;  // bytes of two lines, which processors fetch together

void* take(std::size_t size) {
  const std::size_t whole = (std::max<std::size_t>(size, 1) + kPair - 1) / kPair * kPair;
  while (true) {
    if (void* block = std::malloc(std::max(size, whole))) return block;  // `whole` may have wrapped around
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
// The size that was asked for is not the block's.
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
