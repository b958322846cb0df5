// A limit on the cost of exact fractions, whose length may double with each product.
#pragma once

#include <functional>

namespace assay {

// Runs `body`. Each use of a number beyond 64 bits on this thread is charged the approximate number of word operations
// of a product. False if the numbers needed more than `work`, or more memory than there is; `body` was then left early.
[[nodiscard]] bool within_exact_work(double work, const std::function<void()>& body);

}  // namespace assay
