#include "runtime/kernels/onednn.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "semantics/demand.h"

namespace assay::runtime {

OneThread::OneThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

void multiply_floats(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k, const float* a, std::int64_t a_row,
                     const float* b, std::int64_t b_row, bool adds, float* y, std::size_t y_row) {
  const OneThread one;
  const dnnl_status_t status =
      dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', static_cast<dnnl_dim_t>(m), static_cast<dnnl_dim_t>(n),
                 static_cast<dnnl_dim_t>(k), 1.0F, a, a_row, b, b_row, adds ? 1.0F : 0.0F, y, static_cast<dnnl_dim_t>(y_row));
  demand(status == dnnl_success, "multiply_floats: dnnl_sgemm takes all shapes");
}

}  // namespace assay::runtime
