// oneDNN, one thread per call: this folder cuts the work, so that results do not depend on the number of threads. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::runtime {

// While it lives oneDNN uses the calling thread only.
class OneThread {
 public:
  OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread();

 private:
  int before_;
};

// y = a b, or y + a b if `adds`; row-major, leading dimensions count elements.
void multiply_floats(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, const float* a, std::int64_t a_row,
                     const float* b, std::int64_t b_row, bool adds, float* y, std::size_t y_row);

}  // namespace assay::runtime
