// To avoid false sharing, programs with tcmalloc take each small block as a pair of cache lines of its own. Threads hand work to
// each other, and one thread frees blocks that another allocated. Without this, small blocks of both soon share lines, which the
// processors then pass to and fro (docs/decisions/0091-threads-keep-apart.md). The functions here replace tcmalloc's of the same
// names; all others stay its own.

#include <gperftools/tcmalloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kPair = 128;  // bytes of two lines, which processors fetch together

void* take(std::size_t size) {
  while (true) {
    if (void* block = std::malloc(std::max(size, kPair))) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

// A small block may be of a pair, or of its size where tcmalloc's own functions took it (`nothrow`): it is looked up.
void give_back(void* block, std::size_t size) { size <= kPair ? std::free(block) : tc_delete_sized(block, size); }

}  // namespace

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsized-deallocation"  // those without a size stay tcmalloc's, which look the block up
#endif
void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void operator delete(void* block, std::size_t size) noexcept { give_back(block, size); }
void operator delete[](void* block, std::size_t size) noexcept { give_back(block, size); }
