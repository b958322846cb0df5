// Kernels with one fault each, and their twins without it. A twin computes something that the test can tell.
#pragma once

#include <cuda_runtime.h>

namespace assay::test {

// Runs in `stream`, of which most take no notice; `y` has kCount elements, `x` as many, of which x[i] = i.
inline constexpr int kCount = 128;
struct Run {
  bool wrong = false;
  const float* x = nullptr;
  float* y = nullptr;
};

void missing_barrier(const Run& run);          // y[i] = x[kCount - 1 - i], through shared memory
void missing_barrier_in_loop(const Run& run);  // y[i] = 4 x[(i + 1) % kCount]: a shared word is read and then written again
void missing_warp_barrier(const Run& run);     // y[i] = x[i ^ 1], through shared memory, inside of warps
void race_of_blocks(const Run& run);           // y[0] = the sum of x
void unfenced_hand_over(const Run& run);       // y[0] = the sum of sums of blocks, by the block that comes last
void early_return(const Run& run);             // y[i] = x[i], beyond 100 untouched
void barrier_in_branch(const Run& run);        // y[i] = x[i]
void different_barriers(const Run& run);       // y[i] = x[i]
void shuffle_from_ended_lane(const Run& run);  // y[i] = x[i + 1], at the end of a warp x[i]
void beyond_the_end(const Run& run);           // y[i] = x[i]
void before_the_beginning(const Run& run);     // y[i] = x[i - 1], y[0] = 0
void writes_beyond(const Run& run);            // y[i] = x[i]
void beyond_a_row(const Run& run);             // y[i] = x[i], through a shared array of rows
void beyond_dynamic(const Run& run);           // y[i] = x[i], through dynamic shared memory
void unwritten_shared(const Run& run);         // y[i] = x[i], through shared memory
void unwritten_buffer(const Run& run);         // y[i] = x[i], added to what was there
void writes_operand(const Run& run);           // y[i] = x[i]
void local_of_another(const Run& run);         // y[i] = x[i], through a pointer
void words_of_cuda(const Run& run);  // votes, shuffles, two-dimensional blocks, vectors: y[i] = i, or a number that says what is wrong
void order_of_sums(const Run& run);  // y[0] = a sum of numbers of many sizes, by atomic additions
void too_many_threads(const Run& run);
void too_much_shared(const Run& run);
void without_stream(const Run& run, cudaStream_t stream);
void host_reads_device(const Run& run);
void copy_beyond(const Run& run);

}  // namespace assay::test
