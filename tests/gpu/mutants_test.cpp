// Classical faults of kernels, each caught by the probe plan or by the emulation; twins made the same way pass.
#include "tests/gpu/mutants.h"

#include "mutants/batch_not_repeated.h"
#include "mutants/bias_twice.h"
#include "mutants/block_size_assumed.h"
#include "mutants/elementwise_twin.h"
#include "mutants/epsilon_outside.h"
#include "mutants/first_warp_only.h"
#include "mutants/lost_accumulation.h"
#include "mutants/mask_by_position.h"
#include "mutants/masked_greatest.h"
#include "mutants/missing_barrier.h"
#include "mutants/missing_second_barrier.h"
#include "mutants/narrow_index.h"
#include "mutants/no_maximum.h"
#include "mutants/normalise_twin.h"
#include "mutants/one_pass_variance.h"
#include "mutants/overflowing_sigmoid.h"
#include "mutants/overflowing_softplus.h"
#include "mutants/product_from_nothing.h"
#include "mutants/product_twin.h"
#include "mutants/ragged_tail.h"
#include "mutants/reduce_twin.h"
#include "mutants/result_forgotten.h"
#include "mutants/share_of_all.h"
#include "mutants/softmax_twin.h"
#include "mutants/stale_tail.h"
#include "mutants/undivided_weight.h"
#include "mutants/unguarded_infinity.h"
#include "mutants/weight_of_nan_lost.h"
#include "mutants/wrong_sign_of_mod.h"
#include "mutants/wrong_stride.h"

namespace assay::test {
namespace {

Run product(const Run& gemm, const Run& matmul) { return either(Op::gemm, gemm, matmul); }

std::vector<Family> families(const Draws& draw) {
  namespace g = assay::gpu;
  std::vector<Family> all;
  all.push_back(
      {"product",
       product_probes(draw),
       product(g::product_twin::run_gemm<EmulatedQueue>, g::product_twin::run_matmul<EmulatedQueue>),
       {{"missing barrier", product(g::missing_barrier::run_gemm<EmulatedQueue>, g::missing_barrier::run_matmul<EmulatedQueue>)},
        {"missing second barrier",
         product(g::missing_second_barrier::run_gemm<EmulatedQueue>, g::missing_second_barrier::run_matmul<EmulatedQueue>)},
        {"lost accumulation across tiles",
         product(g::lost_accumulation::run_gemm<EmulatedQueue>, g::lost_accumulation::run_matmul<EmulatedQueue>)},
        {"ragged tail", product(g::ragged_tail::run_gemm<EmulatedQueue>, g::ragged_tail::run_matmul<EmulatedQueue>)},
        {"wrong stride", product(g::wrong_stride::run_gemm<EmulatedQueue>, g::wrong_stride::run_matmul<EmulatedQueue>)},
        {"batch not repeated", product(g::batch_not_repeated::run_gemm<EmulatedQueue>, g::batch_not_repeated::run_matmul<EmulatedQueue>)},
        {"bias added twice", product(g::bias_twice::run_gemm<EmulatedQueue>, g::bias_twice::run_matmul<EmulatedQueue>)}}});
  all.push_back(
      {"softmax",
       softmax_probes(draw),
       either(Op::masked_softmax, g::softmax_twin::run_masked_softmax<EmulatedQueue>, g::softmax_twin::run_softmax<EmulatedQueue>),
       {{"unguarded exp(-inf + inf)", either(Op::masked_softmax, g::unguarded_infinity::run_masked_softmax<EmulatedQueue>,
                                             g::unguarded_infinity::run_softmax<EmulatedQueue>)},
        {"parts merged without rescaling",
         either(Op::masked_softmax, g::no_maximum::run_masked_softmax<EmulatedQueue>, g::no_maximum::run_softmax<EmulatedQueue>)},
        {"first warp only",
         either(Op::masked_softmax, g::first_warp_only::run_masked_softmax<EmulatedQueue>, g::first_warp_only::run_softmax<EmulatedQueue>)},
        {"mask not repeated", either(Op::masked_softmax, g::mask_by_position::run_masked_softmax<EmulatedQueue>,
                                     g::mask_by_position::run_softmax<EmulatedQueue>)},
        {"closed elements in the sum", either(Op::masked_softmax, g::masked_greatest::run_masked_softmax<EmulatedQueue>,
                                              g::masked_greatest::run_softmax<EmulatedQueue>)}}});
  all.push_back({"normalise",
                 normalise_probes(draw),
                 g::normalise_twin::run_normalise<EmulatedQueue>,
                 {{"one-pass variance", g::one_pass_variance::run_normalise<EmulatedQueue>},
                  {"epsilon outside the root", g::epsilon_outside::run_normalise<EmulatedQueue>},
                  {"block size assumed", g::block_size_assumed::run_normalise<EmulatedQueue>}}});
  std::vector<Probe> chains = elementwise_probes(draw);
  chains.push_back({Op::neg, NoAttributes{}, {draw({66000})}});  // more than 2^16 elements: int32 and 2^31, scaled
  chains.push_back({Op::sigmoid, NoAttributes{}, {Tensor::of_floats({3}, std::vector<float>{-100, -90, -2})}});
  chains.push_back({Op::softplus, NoAttributes{}, {Tensor::of_floats({3}, std::vector<float>{-30, 95, 2})}});
  all.push_back({"elementwise",
                 std::move(chains),
                 g::elementwise_twin::run_elementwise<EmulatedQueue>,
                 {{"narrow index", g::narrow_index::run_elementwise<EmulatedQueue>},
                  {"overflowing sigmoid", g::overflowing_sigmoid::run_elementwise<EmulatedQueue>},
                  {"overflowing softplus", g::overflowing_softplus::run_elementwise<EmulatedQueue>},
                  {"mod with the wrong sign", g::wrong_sign_of_mod::run_elementwise<EmulatedQueue>},
                  {"earlier operands forgotten", g::result_forgotten::run_elementwise<EmulatedQueue>}}});
  all.push_back({"reduce",
                 reduction_probes(draw),
                 g::reduce_twin::run_reduction<EmulatedQueue>,
                 {{"last group not written", g::stale_tail::run_reduction<EmulatedQueue>},
                  {"product that starts at 0", g::product_from_nothing::run_reduction<EmulatedQueue>},
                  {"share of all elements", g::share_of_all::run_reduction<EmulatedQueue>}}});
  return all;
}

TEST_CASE("gpu: classical faults of kernels are caught, and their twins pass", "[gpu]") {
  std::mt19937_64 random(41);
  const Draws draw = [&](const Shape& shape) { return gaussians(random, DType::float32, shape); };
  check_families(families(draw));
}

// At ties the contract admits any element of the Clarke set; the documented shares do not.
TEST_CASE("gpu: faults in the shares of a maximum are seen in the values themselves", "[gpu]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x{1, 3, 3, 0, -2, nan, -2, 5}, shares{0, 0.5F, 0.5F, 0};
  const auto weights = [&](const Run& run) {
    std::vector<float> y(8, -1);
    const Shape shape{2, 4};
    const std::vector<gpu::Operand> operands = {{{x.data(), x.size()}, &shape}};
    EmulatedQueue queue(schedules()[0]);
    const Attributes attributes = ReduceAttributes{{1}, true};
    REQUIRE(run(queue, {Op::max_weight, attributes, operands, {y.data(), y.size()}, shape}).ok());
    bool right = std::equal(shares.begin(), shares.end(), y.begin());
    for (std::size_t i = 4; i < 8; ++i) right = right && std::isnan(y[i]);
    return right;
  };
  CHECK(weights(gpu::reduce_twin::run_reduction<EmulatedQueue>));
  CHECK_FALSE(weights(gpu::undivided_weight::run_reduction<EmulatedQueue>));
  CHECK_FALSE(weights(gpu::weight_of_nan_lost::run_reduction<EmulatedQueue>));
}

// Without the search for races a missing barrier shows in results, but not under every schedule: that is what the search is for.
TEST_CASE("gpu: a missing barrier changes results under some schedules only", "[gpu]") {
  std::mt19937_64 random(42);
  const Probe probe{Op::gemm, GemmAttributes{}, {gaussians(random, DType::float32, {20, 40}), gaussians(random, DType::float32, {40, 20})}};
  std::size_t wrong = 0;
  for (const auto order : {Schedule::Order::forward, Schedule::Order::reverse, Schedule::Order::random}) {
    const auto second = fault_in(gpu::missing_second_barrier::run_gemm<EmulatedQueue>, probe, {order, 1, false});
    CHECK(second.find("between the same two barriers") == std::string::npos);
    if (!second.empty()) ++wrong;
    CHECK(fault_in(gpu::product_twin::run_gemm<EmulatedQueue>, probe, {order, 1, false}) == "");
    const auto found = fault_in(gpu::missing_second_barrier::run_gemm<EmulatedQueue>, probe, {order, 1, true});
    CHECK(found.find("between the same two barriers") != std::string::npos);
  }
  CHECK(wrong > 0);
}

}  // namespace
}  // namespace assay::test
