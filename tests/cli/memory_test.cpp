// The memory of the programs: cli/memory.cpp before tcmalloc, in a program that is linked as they are.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"

namespace assay::test {
namespace {

constexpr std::size_t kPair = 128;  // bytes of two cache lines

// Returns true if blocks of the size share no pair of lines, one half of them taken by another thread.
bool lie_apart(std::size_t size) {
  std::vector<std::unique_ptr<char[]>> blocks(200);
  const auto take = [&](std::size_t from) {
    for (std::size_t k = from; k < blocks.size(); k += 2) blocks[k].reset(new char[size]);
  };
  std::thread other(take, 1);
  take(0);
  other.join();
  std::set<std::uintptr_t> used;
  for (const auto& block : blocks) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block.get());
    for (std::uintptr_t pair = begin / kPair; pair <= (begin + size - 1) / kPair; ++pair)
      if (!used.insert(pair).second) return false;
  }
  return true;
}

int handled = 0;

}  // namespace

TEST_CASE("small blocks share no pair of cache lines") {
  for (std::size_t size = 1; size <= kPair; ++size) {
    INFO(size);
    CHECK(lie_apart(size));
  }
}

TEST_CASE("blocks that the library took are given back here, and the other way round") {
  for (const std::size_t size : {20, 100, 127, 128, 129, 1000, 5000}) {
    std::stringstream stream(std::string(size, 'x') + "\n");
    std::string line;  // grows in the library, ends here
    std::getline(stream, line);
    CHECK(line == std::string(size, 'x'));
    std::string grown(size, 'x');  // grows here, ends in the library
    stream.str(std::move(grown));
    CHECK(stream.str() == line);
  }
  struct alignas(256) Aligned {
    char bytes[256];
  };
  const std::vector<Aligned> aligned(3);
  CHECK(reinterpret_cast<std::uintptr_t>(aligned.data()) % 256 == 0);
  const std::unique_ptr<char[]> quiet(new (std::nothrow) char[100]);
  CHECK(quiet != nullptr);
}

TEST_CASE("a block that cannot be had is refused, once the handler has been asked") {
  volatile std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t less : {0, 1, 127, 128, 129}) CHECK_THROWS_AS(::operator new(most - less), std::bad_alloc);
  handled = 0;
  std::set_new_handler([] {
    if (++handled == 3) std::set_new_handler(nullptr);
  });
  CHECK_THROWS_AS(::operator new(most), std::bad_alloc);
  CHECK(handled == 3);
}

}  // namespace assay::test
