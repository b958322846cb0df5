// A limit on what exact fractions may take: their length may double with each product.
#pragma once

#include <functional>

namespace assay {

// Runs `body`, in which this thread's numbers beyond 64 bits pay for each use: about as many word operations as a product takes. False
// where they needed more than `work`, or more memory than there is; `body` was left early then.
[[nodiscard]] bool within_exact_work(double work, const std::function<void()>& body);

}  // namespace assay
