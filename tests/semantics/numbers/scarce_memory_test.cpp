// Memory that GMP and MPFR ask for and do not get: nothing is freed twice, and later numbers are right.
#include <gmp.h>
#include <mpfr.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <set>

#include "semantics/numbers/rational.h"
#include "semantics/numbers/wide_interval.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

// While it is there so many requests of GMP are granted, the next one is refused, and later ones are granted. Counts what GMP frees and
// does not have.
class ScarceMemory {
 public:
  explicit ScarceMemory(int granted) {
    mpfr_free_cache();
    left_ = granted;
    wrong_ = 0;
    mp_get_memory_functions(&allocate_, &reallocate_, &free_);
    mp_set_memory_functions([](std::size_t size) { return keep(allocate_(granted_or_refused(size))); },
                            [](void* old, std::size_t, std::size_t size) {
                              void* const block = reallocate_(old, 0, granted_or_refused(size));
                              return take(old), keep(block);
                            },
                            [](void* old, std::size_t) {
                              if (take(old)) std::free(old);
                            });
  }
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;
  ~ScarceMemory() {
    mpfr_free_cache();
    mp_set_memory_functions(allocate_, reallocate_, free_);
    for (void* const block : held_) std::free(block);  // of functions of GMP and MPFR that an exception left
    held_.clear();
  }
  static void grant_all() { left_ = -1; }
  [[nodiscard]] static int wrong() { return wrong_; }

 private:
  static std::size_t granted_or_refused(std::size_t size) { return left_-- == 0 ? SIZE_MAX / 4 : size; }
  static void* keep(void* block) { return held_.insert(block), block; }
  static bool take(void* block) {
    const bool held = held_.erase(block) > 0;
    wrong_ += held ? 0 : 1;
    return held;
  }
  inline static int left_ = 0, wrong_ = 0;
  inline static std::set<void*> held_;
  inline static void* (*allocate_)(std::size_t) = nullptr;
  inline static void* (*reallocate_)(void*, std::size_t, std::size_t) = nullptr;
  inline static void (*free_)(void*, std::size_t) = nullptr;
};

// Each request of `compute` is refused once, and `compute` called again at once.
template <class Compute>
void refuse_each_request(Compute compute) {
  const auto expected = compute();
  int refused = 0;
  for (bool ended = false; !ended; ++refused) {
    INFO("request " << refused << " is refused");
    REQUIRE(refused < 1000);
    bool right = false;
    {
      const ScarceMemory memory(refused);
      try {
        ended = compute() == expected;
      } catch (const std::bad_alloc&) {
      }
      ScarceMemory::grant_all();
      right = compute() == expected;
    }
    CHECK(right);
    CHECK(ScarceMemory::wrong() == 0);
  }
  CHECK(refused > 3);
}

}  // namespace

TEST_CASE("rational: memory that is refused in the middle of an operation is freed once", "[numbers]") {
  const auto compute = [](int operation) {
    const Rational a = pow(Rational(10, 7), 60), b = pow(Rational(-11, 13), 50);
    if (operation == 0) return a + b;
    if (operation == 1) return a - b;
    if (operation == 2) return a * b;
    if (operation == 3) return a / b;
    return Rational::parse((floor(a) * b).to_string()).value();
  };
  for (int operation = 0; operation < 5; ++operation) {
    INFO("operation " << operation);
    refuse_each_request([&] { return compute(operation); });
  }
}

TEST_CASE("wide interval: functions are right after memory was refused in the middle of one", "[numbers]") {
  for (const double x : {0.7, -0.3, 20.0}) {
    INFO("at " << x);
    refuse_each_request([&] { return exp(WideInterval(x)); });
    refuse_each_request([&] { return cos(WideInterval(x)); });
    refuse_each_request([&] { return tanh(WideInterval(x)); });
    refuse_each_request([&] { return log(WideInterval(x * x)); });
  }
}

}  // namespace assay::test
