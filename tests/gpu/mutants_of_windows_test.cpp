// Classical faults of kernels that move, choose and slide windows, each caught by the probe plan or by the emulation.
#include "tests/gpu/mutants.h"

#include "mutants/batch_norm_twin.h"
#include "mutants/batch_of_the_first.h"
#include "mutants/carry_lost.h"
#include "mutants/channel_of_the_element.h"
#include "mutants/channels_beyond.h"
#include "mutants/comparison_twin.h"
#include "mutants/condition_not_repeated.h"
#include "mutants/convolution_twin.h"
#include "mutants/divisor_of_the_dividend.h"
#include "mutants/find_twin.h"
#include "mutants/first_not_written.h"
#include "mutants/gather_twin.h"
#include "mutants/group_ignored.h"
#include "mutants/integers_twin.h"
#include "mutants/kernel_not_flipped.h"
#include "mutants/last_found.h"
#include "mutants/last_one_wins.h"
#include "mutants/layout_twin.h"
#include "mutants/less_for_less_equal.h"
#include "mutants/mean_over_the_kernel.h"
#include "mutants/negative_index.h"
#include "mutants/no_barrier_after_the_tile.h"
#include "mutants/no_dilation.h"
#include "mutants/one_buffer.h"
#include "mutants/order_twin.h"
#include "mutants/padding_as_a_number.h"
#include "mutants/padding_at_the_end_uncounted.h"
#include "mutants/padding_is_zero.h"
#include "mutants/parts_over_each_other.h"
#include "mutants/pool_twin.h"
#include "mutants/position_of_the_element.h"
#include "mutants/product_from_zero.h"
#include "mutants/product_of_nothing.h"
#include "mutants/read_before_the_start.h"
#include "mutants/rounded_cast.h"
#include "mutants/scan_twin.h"
#include "mutants/step_of_the_other_factor.h"
#include "mutants/stride_not_divided.h"
#include "mutants/ties_by_thread.h"
#include "mutants/ties_unbroken.h"
#include "mutants/whole_product_from_zero.h"

namespace assay::test {
namespace {

namespace g = assay::gpu;

std::vector<Family> windows(const Draws& draw) {
  return {{"pool",
           pool_probes(draw),
           g::pool_twin::run_pool<EmulatedQueue>,
           {{"padding is zero", g::padding_is_zero::run_pool<EmulatedQueue>},
            {"dilation ignored", g::no_dilation::run_pool<EmulatedQueue>},
            {"mean over the whole kernel", g::mean_over_the_kernel::run_pool<EmulatedQueue>},
            {"padding at the end uncounted", g::padding_at_the_end_uncounted::run_pool<EmulatedQueue>}}},
          {"convolution",
           convolution_probes(draw),
           g::convolution_twin::run_convolution<EmulatedQueue>,
           {{"missing barrier", g::no_barrier_after_the_tile::run_convolution<EmulatedQueue>},
            {"padding is a number", g::padding_as_a_number::run_convolution<EmulatedQueue>},
            {"group ignored", g::group_ignored::run_convolution<EmulatedQueue>},
            {"kernel the other way round", g::kernel_not_flipped::run_convolution<EmulatedQueue>},
            {"positions between strides", g::stride_not_divided::run_convolution<EmulatedQueue>}}},
          {"batch_norm",
           batch_norm_probes(draw),
           either(Op::batch_norm, g::batch_norm_twin::run_batch_norm<EmulatedQueue>, g::batch_norm_twin::run_local_response<EmulatedQueue>),
           {{"channel of the element", either(Op::batch_norm, g::channel_of_the_element::run_batch_norm<EmulatedQueue>,
                                              g::channel_of_the_element::run_local_response<EmulatedQueue>)},
            {"channels beyond the last", either(Op::batch_norm, g::channels_beyond::run_batch_norm<EmulatedQueue>,
                                                g::channels_beyond::run_local_response<EmulatedQueue>)}}}};
}

template <class Take, class Sort, class Position>
Run orders(Take take, Sort sort, Position position) {
  return either(Op::take, take, either(Op::arg_max, position, either(Op::arg_min, position, sort)));
}

template <class Where, class Cast, class Comparison>
Run choices(Where where, Cast cast, Comparison comparison) {
  return either(Op::where, where, either(Op::cast, cast, comparison));
}

std::vector<Family> movers(const Draws& draw) {
  using Queue = EmulatedQueue;
  std::vector<Probe> integers = integer_probes();
  integers.push_back({Op::reduce_prod, ReduceAttributes{{1}, false}, {whole_numbers({9, 3})}});
  const auto gathers = [](const Run& gather, const Run& weighted, const Run& place) {
    return either(Op::gather, gather, either(Op::place, place, weighted));
  };
  return {{"layout",
           layout_probes(draw),
           g::layout_twin::run_layout<Queue>,
           {{"parts over each other", g::parts_over_each_other::run_layout<Queue>},
            {"read before the start", g::read_before_the_start::run_layout<Queue>}}},
          {"gather",
           gather_probes(draw),
           gathers(g::gather_twin::run_gather<Queue>, g::gather_twin::run_weighted_gather<Queue>, g::gather_twin::run_place<Queue>),
           {{"position of the element",
             gathers(g::position_of_the_element::run_gather<Queue>, g::position_of_the_element::run_weighted_gather<Queue>,
                     g::position_of_the_element::run_place<Queue>)},
            {"the last one wins", gathers(g::last_one_wins::run_gather<Queue>, g::last_one_wins::run_weighted_gather<Queue>,
                                          g::last_one_wins::run_place<Queue>)}}},
          {"scan",
           scan_probes(draw),
           g::scan_twin::run_scan<Queue>,
           {{"one buffer", g::one_buffer::run_scan<Queue>},
            {"carry lost", g::carry_lost::run_scan<Queue>},
            {"first one not written", g::first_not_written::run_scan<Queue>},
            {"product that starts at 0", g::product_from_zero::run_scan<Queue>}}},
          {"order",
           order_probes(draw),
           orders(g::order_twin::run_take<Queue>, g::order_twin::run_sort<Queue>, g::order_twin::run_position<Queue>),
           {{"ties unbroken",
             orders(g::ties_unbroken::run_take<Queue>, g::ties_unbroken::run_sort<Queue>, g::ties_unbroken::run_position<Queue>)},
            {"ties by thread",
             orders(g::ties_by_thread::run_take<Queue>, g::ties_by_thread::run_sort<Queue>, g::ties_by_thread::run_position<Queue>)},
            {"index from the end",
             orders(g::negative_index::run_take<Queue>, g::negative_index::run_sort<Queue>, g::negative_index::run_position<Queue>)}}},
          {"comparison",
           choice_probes(draw),
           choices(g::comparison_twin::run_where<Queue>, g::comparison_twin::run_cast<Queue>, g::comparison_twin::run_comparison<Queue>),
           {{"cast that rounds",
             choices(g::rounded_cast::run_where<Queue>, g::rounded_cast::run_cast<Queue>, g::rounded_cast::run_comparison<Queue>)},
            {"less for less_equal", choices(g::less_for_less_equal::run_where<Queue>, g::less_for_less_equal::run_cast<Queue>,
                                            g::less_for_less_equal::run_comparison<Queue>)},
            {"condition not repeated", choices(g::condition_not_repeated::run_where<Queue>, g::condition_not_repeated::run_cast<Queue>,
                                               g::condition_not_repeated::run_comparison<Queue>)}}},
          {"integers",
           integers,
           either(Op::reduce_prod, g::integers_twin::run_integer_reduction<Queue>, g::integers_twin::run_integers<Queue>),
           {{"mod with the dividend's sign", either(Op::reduce_prod, g::divisor_of_the_dividend::run_integer_reduction<Queue>,
                                                    g::divisor_of_the_dividend::run_integers<Queue>)},
            {"product that starts at 0",
             either(Op::reduce_prod, g::product_of_nothing::run_integer_reduction<Queue>, g::product_of_nothing::run_integers<Queue>)}}}};
}

// The kernel of a family on y [2, 3, 4] = a [2, 3, 5] b [5, 4]: matmul of gpu/kernels/product.h launches that of gpu/kernels/integers.h.
template <template <class> class Kernel>
Outcome<Done> integer_product(EmulatedQueue& queue, const Call& call) {
  using T = std::int64_t;
  const Kernel<T> kernel{call.operands[0].data.as<T>(),
                         call.operands[1].data.as<T>(),
                         call.result.as<T>(),
                         3,
                         4,
                         5,
                         *gpu::strided(std::vector<std::size_t>{2}, std::vector<std::size_t>{15}),
                         *gpu::strided(std::vector<std::size_t>{2}, std::vector<std::size_t>{0})};
  return queue.launch({Kernel<T>::kName, 1, Kernel<T>::kThreads, 0}, kernel);
}

TEST_CASE("gpu: faults of products of integers are caught, and their twin passes", "[gpu]") {
  const Probe probe = integer_sum_probes().front();
  check_families({{"integer product",
                   {probe},
                   integer_product<g::integers_twin::IntegerProductKernel>,
                   {{"batch of the first", integer_product<g::batch_of_the_first::IntegerProductKernel>},
                    {"step of the other factor", integer_product<g::step_of_the_other_factor::IntegerProductKernel>}}}});
}

TEST_CASE("gpu: classical faults of windows and of what moves elements are caught, and their twins pass", "[gpu]") {
  std::mt19937_64 random(43);
  const Draws draw = [&](const Shape& shape) { return gaussians(random, DType::float32, shape); };
  check_families(windows(draw));
  check_families(movers(draw));
}

// The contract of integers decides nothing here; the values do.
TEST_CASE("gpu: faults in running products of integers are seen in the values themselves", "[gpu]") {
  const std::vector<std::int64_t> whole{2, -3, 4, 5}, products{1, 2, -6, -24};
  const auto scanned = [&](const Run& run) {
    std::vector<std::int64_t> y(4, -1);
    const Shape shape{4};
    const std::vector<gpu::Operand> operands = {{{whole.data(), whole.size(), DType::int64}, &shape}};
    EmulatedQueue queue(schedules()[0]);
    const Attributes attributes = CumulativeAttributes{0, true, false};
    REQUIRE(run(queue, {Op::cumprod, attributes, operands, {y.data(), y.size(), DType::int64}, shape}).ok());
    return y == products;
  };
  CHECK(scanned(g::scan_twin::run_scan<EmulatedQueue>));
  CHECK_FALSE(scanned(g::whole_product_from_zero::run_scan<EmulatedQueue>));
}

TEST_CASE("gpu: the first operand without a result is found, and a search that finds another is noticed", "[gpu]") {
  std::vector<std::int64_t> numbers(300, 1);
  numbers[200] = numbers[290] = 7;
  const gpu::View<const std::int64_t> x{numbers.data(), numbers.size()};
  EmulatedQueue queue(schedules()[2]);
  const auto found = g::find_twin::check_numbers(queue, Op::take, "index", x, {0, 6, false});
  REQUIRE_FALSE(found.ok());
  CHECK(found.rejection().place == "take, index, element 200");
  CHECK(g::find_twin::check_numbers(queue, Op::take, "index", x, {0, 7, false}).ok());
  CHECK(g::last_found::check_numbers(queue, Op::take, "index", x, {0, 6, false}).ok());
}

}  // namespace
}  // namespace assay::test
