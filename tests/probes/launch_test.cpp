// Launches beyond one op on dense operands: strides, long lines, regions of several ops, products and surrogates.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "kernel/audit/audit.h"
#include "kernel/audit/gradients.h"
#include "kernel/contracts/contract.h"
#include "kernel/gradients/adjointness/cases.h"
#include "probes/launch.h"
#include "probes/trial.h"
#include "runtime/recorder.h"
#include "tests/catch.h"

namespace assay::probes {
namespace {

const ExecutionModel kModel = runtime::execution_model(DType::float32);

audit::RegionAudit::Counts audited(const Trace& trace) {
  const auto whole = audit::check_continuity(trace);
  if (!whole) FAIL(whole.rejection().to_text());
  audit::RegionAudit::Counts counts;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto audit = audit::audit_region(trace, r);
    if (!audit) FAIL(trace.regions[r].name + ": " + audit.rejection().to_text());
    if (audit.value().first) UNSCOPED_INFO(trace.regions[r].name << ": " << audit.value().first->text);
    counts += audit.value().total();
  }
  return counts;
}

// A kernel of relu in float32 that reads element [i, j, ...] where `at` says.
using Place = std::function<std::int64_t(const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& strides)>;
Launcher relu_by(const Place& at) {
  return [at](const Launch& launch) -> Outcome<Done> {
    if (launch.dtype != DType::float32)
      return Rejection{Rejection::Kind::unsupported, "mine.type", "relu", "float32", to_string(launch.dtype), ""};
    const View& view = launch.views[0];
    std::vector<std::int64_t> index(launch.shape.size(), 0);
    for (std::size_t i = 0; i * 4 < launch.result.size(); ++i) {
      std::size_t rest = i;
      for (std::size_t axis = index.size(); axis-- > 0;) {
        index[axis] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(launch.shape[axis]));
        rest /= static_cast<std::size_t>(launch.shape[axis]);
      }
      float value = 0;
      std::memcpy(&value, view.data + 4 * at(index, view.strides), 4);
      value = value > 0 || std::isnan(value) ? value : 0;
      std::memcpy(launch.result.data() + 4 * i, &value, 4);
    }
    return Done{};
  };
}

std::int64_t strided(const std::vector<std::int64_t>& index, const std::vector<std::int64_t>& strides) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * strides[axis];
  return place;
}

TEST_CASE("what is written beside a result shows, whatever the byte", "[probes]") {
  std::vector<Probe> plan = probe_plan(Op::neg, {DType::float32, 1, false, false});
  plan.resize(2, Probe{});
  for (int byte = 0; byte < 256; ++byte) {
    const PlanRun run = run_plan(
        plan,
        [&](const Launch& launch) -> Outcome<Done> {
          std::memset(launch.result.data() + launch.result.size(), byte, 4);
          std::memset(launch.result.data() - 4, byte, 4);
          return eager_launcher()(launch);
        },
        kModel);
    INFO("byte " << byte);
    CHECK(std::ranges::any_of(run.faults, [](const PlanRun::Note& note) { return note.why.code == "probe.guard"; }));
  }
}

TEST_CASE("plans of 16 bits hold numbers of their format, to its ends, and our kernels pass them", "[probes]") {
  using Storage = ExecutionModel::Storage;
  for (const Storage storage : {Storage::binary16, Storage::bfloat16}) {
    PlanOptions options{DType::float32, 1, false, false};
    options.storage = storage;
    for (const Op op : {Op::exp, Op::softmax, Op::matmul, Op::reduce_sum}) {
      double least = 1, greatest = 0;
      const auto plan = probe_plan(op, options);
      for (const Probe& probe : plan) {
        for (const Tensor& operand : probe.operands) {
          for (std::size_t i = 0; operand.dtype() == DType::float32 && i < operand.size(); ++i) {
            const double size = std::fabs(operand.as_double(i));
            REQUIRE((std::isnan(size) || size == contracts::rounded_to(storage, size)));
            if (size > 0) least = std::fmin(least, size);
            if (size < HUGE_VAL) greatest = std::fmax(greatest, size);
          }
        }
      }
      CHECK(least <= (storage == Storage::binary16 ? 0x1p-20 : 0x1p-120));
      CHECK(greatest >= (storage == Storage::binary16 ? 0x1p+13 : 0x1p+100));
      PlanRun run = run_plan(plan, eager_launcher(), kModel);
      store(run.trace, storage);
      CHECK(run.faults.empty());
      CHECK(audited(run.trace).failed == 0);
    }
  }
}

TEST_CASE("strided and broadcast operands reach a kernel, and show which strides it ignores", "[probes]") {
  std::vector<Probe> plan;
  std::set<Layout> layouts;
  for (Probe& probe : probe_plan(Op::relu, {DType::float32, 1, false, false, true})) {
    if (probe.layout == Layout::dense) continue;
    layouts.insert(probe.layout);
    plan.push_back(std::move(probe));
  }
  CHECK(layouts.size() == 5);
  const PlanRun right = run_plan(plan, relu_by(strided), kModel);
  CHECK((right.faults.empty() && right.declined.empty()));
  CHECK(audited(right.trace).failed == 0);

  // The layouts of the probes on which a kernel fails. Reads stay within the operand's memory.
  const auto fails_on = [&](const Place& at) {
    std::set<Layout> failed;
    const PlanRun run = run_plan(plan, relu_by(at), kModel);
    for (std::size_t r = 0; r < run.trace.regions.size(); ++r) {
      if (audit::audit_region(run.trace, r).value().total().failed > 0) failed.insert(plan[r].layout);
    }
    for (const auto& fault : run.faults) {  // the bytes in the gaps differ from round to round
      for (const Probe& probe : plan) {
        if (probe.name() == fault.probe) failed.insert(probe.layout);
      }
    }
    return failed;
  };
  CHECK(fails_on(strided).empty());
  // Whose last stride is taken to be 1.
  CHECK(fails_on([](auto& index, auto& strides) {
          return strided(index, strides) - index.back() * strides.back() + (strides.back() > 0 ? index.back() : 0);
        }).contains(Layout::stepped));
  // Which swaps the last two strides.
  const auto swapped = [](const std::vector<std::int64_t>& index, std::vector<std::int64_t> strides) {
    if (strides.size() >= 2 && strides.back() > 1 && strides[strides.size() - 2] == 1)
      std::swap(strides.back(), strides[strides.size() - 2]);
    return std::min(strided(index, strides), std::int64_t{0});
  };
  CHECK(fails_on(swapped).contains(Layout::transposed));
}

TEST_CASE("a kernel that writes into the gaps of an operand is noticed", "[probes]") {
  std::vector<Probe> plan;
  for (Probe& probe : probe_plan(Op::neg, {DType::float32, 1, false, false, true})) {
    if (probe.layout == Layout::stepped && probe.operands[0].dtype() == DType::float32) plan.push_back(std::move(probe));
  }
  REQUIRE_FALSE(plan.empty());
  plan.resize(1);
  const PlanRun run = run_plan(
      plan,
      [right = eager_launcher()](const Launch& launch) {
        const_cast<std::byte*>(launch.views[0].data)[4] ^= std::byte{1};  // behind the first element
        return right(launch);
      },
      kModel);
  REQUIRE(run.faults.size() == 2);
  CHECK(run.faults[0].why.code == "probe.operand");
}

// The right kernel on a line whose elements beyond the first `block` are left out: along the longest axis.
Launcher without_beyond(std::int64_t block, float left) {
  return [=, right = eager_launcher()](const Launch& launch) {
    std::vector<Tensor> operands(launch.operands.begin(), launch.operands.end());
    const Shape& shape = operands[0].shape();
    const auto longest = std::ranges::max_element(shape);
    if (operands[0].dtype() == DType::float32 && longest != shape.end() && *longest > block) {
      const auto inner = static_cast<std::int64_t>(element_count(Shape(longest + 1, shape.end())));
      std::vector<float> values;
      for (const double value : operands[0].to_doubles()) {
        const bool beyond = static_cast<std::int64_t>(values.size()) / inner % *longest >= block;
        values.push_back(beyond ? left : static_cast<float>(value));
      }
      operands[0] = Tensor::of_floats(shape, values);
    }
    return right({launch.op, launch.attributes, operands, launch.dtype, launch.shape, launch.result});
  };
}

TEST_CASE("kernels that lose what lies beyond a block are caught on lines beyond 8,192, 16,384 and 65,536", "[probes]") {
  const float lowest = -std::numeric_limits<float>::infinity();
  const std::vector<std::pair<Op, float>> ops = {{Op::reduce_sum, 0},
                                                 {Op::reduce_mean, 0},
                                                 {Op::reduce_max, lowest},
                                                 {Op::softmax, lowest},
                                                 {Op::log_softmax, lowest},
                                                 {Op::log_sum_exp, lowest},
                                                 {Op::cumsum, 0},
                                                 {Op::normalise, 0},
                                                 {Op::matmul, 0},
                                                 {Op::gemm, 0},
                                                 {Op::exp, 0},
                                                 {Op::arg_max, lowest},
                                                 {Op::max_pool, lowest},
                                                 {Op::slice, 0},
                                                 {Op::concat, 0},
                                                 {Op::permute, 0}};
  for (const auto& [op, left] : ops) {
    for (const std::int64_t block : {8192, 16384, 65536}) {
      CAPTURE(op_row(op).name, block);
      const auto failures = [&, op = op, left = left](bool blocks) {
        const PlanRun run = run_plan(probe_plan(op, {DType::float32, 1, true, blocks, false}), without_beyond(block, left), kModel);
        return audited(run.trace).failed;
      };
      CHECK(failures(false) == 0);
      CHECK(failures(true) > 0);
    }
  }
}

TEST_CASE("every family has applications with a trailing axis of 1 and lines beyond blocks", "[probes]") {
  for (const Op op : {Op::relu, Op::add, Op::reduce_sum, Op::softmax, Op::normalise, Op::gemm, Op::matmul, Op::conv, Op::max_pool,
                      Op::permute, Op::concat}) {
    CAPTURE(op_row(op).name);
    const auto all = applications(op, true);
    const auto is_column = [](const Shape& shape) { return shape.size() > 1 && shape.back() == 1 && element_count(shape) > 1; };
    CHECK(std::ranges::any_of(all, [&](const OpCase& one) { return std::ranges::any_of(one.shapes, is_column); }));
    for (const std::int64_t n : {8193, 16385, 65537}) {
      CHECK(std::ranges::any_of(block_applications(op), [&](const OpCase& one) {
        return std::ranges::any_of(one.shapes, [&](const Shape& shape) { return element_count(shape) >= static_cast<std::size_t>(n); });
      }));
    }
  }
}

TEST_CASE("composite regions pass on the runtime's kernels", "[probes]") {
  for (const std::string& region : composite_regions()) {
    CAPTURE(region);
    const auto plan = region_plan(region);
    REQUIRE(plan.size() >= 10);
    for (const RegionLauncher& launcher : {eager_region_launcher(), compiled_region_launcher()}) {
      const PlanRun run = run_regions(plan, launcher, kModel);
      CHECK((run.faults.empty() && run.declined.empty()));
      const auto counts = audited(run.trace);
      CHECK(counts.failed == 0);
      CHECK(counts.unsupported == 0);
      CHECK(counts.vacuous * 4 < counts.passed);
    }
  }
  CHECK(region_plan("no such region").empty());
  CHECK(region_plan("attention", {DType::float32, 1, true, true, true}).size() > region_plan("attention").size());
}

// The region with one of its nodes changed.
RegionLauncher mistaken(const std::function<void(Graph&)>& mistake) {
  return [mistake](const RegionLaunch& launch) -> Outcome<Done> {
    Graph graph = launch.graph;
    mistake(graph);
    return eager_region_launcher()({graph, launch.operands, launch.results});
  };
}

TEST_CASE("wrong attention and wrong products of normalisations are caught as regions", "[probes]") {
  const auto failures = [](const std::string& region, const std::function<void(Graph&)>& mistake) {
    return audited(run_regions(region_plan(region), mistaken(mistake), kModel).trace).failed;
  };
  const auto with = [](Op op, Op other) {
    return [=](Graph& graph) {
      for (Node& node : graph.nodes) node.op = node.op == op ? other : node.op;
    };
  };
  CHECK(failures("attention", with(Op::div, Op::mul)) > 0);  // scores times the root of the width
  CHECK(failures("layer norm backward", with(Op::sub, Op::add)) > 0);
  CHECK(failures("softmax backward", with(Op::sub, Op::add)) > 0);
  CHECK(failures("rms norm", [](Graph& graph) {
          for (Node& node : graph.nodes) {
            if (auto* one = std::get_if<NormaliseAttributes>(&node.attributes)) one->epsilon = 1e-2;
          }
        }) > 0);
}

const gradients::AdjointCase& application(const std::vector<gradients::AdjointCase>& cases, const std::string& name) {
  const auto found = std::ranges::find_if(cases, [&](const gradients::AdjointCase& one) { return one.name == name; });
  REQUIRE(found != cases.end());
  return *found;
}

std::set<std::string> codes(const Trace& trace) {
  std::set<std::string> found;
  if (audited(trace).failed > 0) found.insert("contract");
  for (std::size_t g = 0; g < trace.gradients.size(); ++g) {
    for (const audit::GradientStep& step : audit::check_gradient(trace, g, 3)) {
      if (step.failure) found.insert(step.failure->code);
    }
  }
  return found;
}

// The greatest of each row of x [rows, n]: its product hands the cotangent to all that tie, each with this share.
ProductLauncher product_of_max(bool divided) {
  return [divided](const ProductLaunch& launch) -> Outcome<std::vector<Tensor>> {
    const Tensor &x = launch.operands[0], &y_bar = launch.operands[1];
    const std::size_t n = static_cast<std::size_t>(x.shape()[1]);
    std::vector<float> x_bar;
    for (std::size_t row = 0; row < static_cast<std::size_t>(x.shape()[0]); ++row) {
      double top = x.as_double(row * n), count = 0;
      for (std::size_t i = 0; i < n; ++i) top = std::fmax(top, x.as_double(row * n + i));
      for (std::size_t i = 0; i < n; ++i) count += x.as_double(row * n + i) == top ? 1 : 0;
      for (std::size_t i = 0; i < n; ++i)
        x_bar.push_back(x.as_double(row * n + i) == top ? static_cast<float>(y_bar.as_double(row) / (divided ? count : 1)) : 0.0F);
    }
    return std::vector{Tensor::of_floats(x.shape(), x_bar)};
  };
}

TEST_CASE("a black-box product of a maximum whose shares do not sum to 1 at ties is caught", "[probes]") {
  gradients::AdjointCase one;
  one.name = "reduce_max, rows";
  const NodeId x = one.graph.append_input(DType::float32, {3, 4}, "x");
  one.graph.mark_output(one.graph.append(Op::reduce_max, {x}, ReduceAttributes{{1}, false}).value(), "y");
  one.domains = {{-3, 3}};
  one.kinks = {0, 1};
  const auto right = run_products(one, product_of_max(true), kModel, 5);
  REQUIRE(right.ok());
  CHECK(codes(right.value()).empty());
  const auto doubled = run_products(one, product_of_max(false), kModel, 5);  // every element that ties gets all of it
  REQUIRE(doubled.ok());
  CHECK(audited(doubled.value()).failed == 0);  // each alone is an element of the Clarke derivative
  CHECK(codes(doubled.value()) == std::set<std::string>{"gradient.kink"});
}

TEST_CASE("a product's kernel may declare a surrogate, and is judged by it", "[probes]") {
  gradients::AdjointCase one;
  one.name = "round";
  const NodeId x = one.graph.append_input(DType::float32, {4}, "x");
  one.graph.mark_output(one.graph.append(Op::round, {x}).value(), "y");
  one.domains = {{-3, 3}};
  Graph through, tanh;
  through.mark_output(through.append_input(DType::float32, {4}, "x"), "y");
  tanh.mark_output(tanh.append(Op::tanh, {tanh.append_input(DType::float32, {4}, "x")}).value(), "y");
  const ProductLauncher straight = [](const ProductLaunch& launch) -> Outcome<std::vector<Tensor>> {
    return std::vector{launch.operands[1]};
  };
  const auto declared = run_products(one, straight, kModel, 5, through);
  REQUIRE(declared.ok());
  CHECK(codes(declared.value()).empty());
  for (const audit::GradientStep& step : audit::check_gradient(declared.value(), 0, 3)) CHECK(step.is_surrogate);
  const auto other = run_products(one, straight, kModel, 5, tanh);
  REQUIRE(other.ok());
  CHECK(codes(other.value()).contains("contract"));
  const auto as_derivative = run_products(one, straight, kModel, 5);
  REQUIRE(as_derivative.ok());
  CHECK(codes(as_derivative.value()).contains("contract"));
  const auto misfit = run_products(
      one, [](const ProductLaunch&) { return std::vector<Tensor>{}; }, kModel, 5);
  REQUIRE_FALSE(misfit.ok());
  CHECK(misfit.rejection().code == "probe.product");
}

}  // namespace
}  // namespace assay::probes
