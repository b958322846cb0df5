#include "probes/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "kernel/contracts/contract.h"
#include "probes/draws.h"
#include "probes/layout.h"
#include "semantics/demand.h"
#include "semantics/graph/family.h"

namespace assay::probes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_real(Draw from) { return from != Draw::truth && from != Draw::whole && from != Draw::index; }

template <class T>
Tensor converted(DType dtype, const Shape& shape, const std::vector<std::int64_t>& values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<T>(values[i]);
    std::memcpy(bytes->data() + i * sizeof(T), &value, sizeof(T));
  }
  return Tensor(dtype, shape, std::move(bytes));
}

Tensor whole_numbers(DType dtype, const Shape& shape, const std::vector<std::int64_t>& values) {
  switch (byte_size(dtype)) {
    case 1:
      return converted<std::int8_t>(dtype, shape, values);
    case 2:
      return converted<std::int16_t>(dtype, shape, values);
    case 4:
      return converted<std::int32_t>(dtype, shape, values);
    default:
      return converted<std::int64_t>(dtype, shape, values);
  }
}

Tensor reals(const PlanOptions& options, const Shape& shape, std::vector<double> values) {
  if (options.dtype == DType::float64) return Tensor::of_doubles(shape, values);
  for (double& value : values) value = contracts::rounded_to(options.storage, value);
  return Tensor::of_floats(shape, std::vector<float>(values.begin(), values.end()));
}

// Terms of one element of the result, where the op sums or compares many.
std::size_t terms_of(const OpCase& one) {
  const auto product = [&](const std::vector<std::int64_t>& axes) {
    std::size_t terms = 1;
    for (const std::int64_t axis : axes) terms *= static_cast<std::size_t>(one.shapes[0][static_cast<std::size_t>(axis)]);
    return terms;
  };
  if (one.op == Op::matmul) return static_cast<std::size_t>(one.shapes[0].back());
  if (const auto* gemm = std::get_if<GemmAttributes>(&one.attributes))
    return static_cast<std::size_t>(one.shapes[0][gemm->transpose_a ? 0 : 1]);
  if (one.op == Op::conv) return element_count(one.shapes[1]) / static_cast<std::size_t>(std::max<std::int64_t>(1, one.shapes[1][0]));
  if (const auto* window = std::get_if<WindowAttributes>(&one.attributes)) return element_count(window->kernel);
  if (const auto* reduce = std::get_if<ReduceAttributes>(&one.attributes)) return product(reduce->axes);
  if (const auto* normalise = std::get_if<NormaliseAttributes>(&one.attributes)) return product(normalise->axes);
  if (const auto* softmax = std::get_if<SoftmaxAttributes>(&one.attributes)) return product({softmax->axis});
  if (const auto* masked = std::get_if<MaskedSoftmaxAttributes>(&one.attributes)) return product({masked->axis});
  if (const auto* arg = std::get_if<ArgAttributes>(&one.attributes)) return product({arg->axis});
  if (const auto* sort = std::get_if<SortAttributes>(&one.attributes)) return product({sort->axis});
  if (const auto* running = std::get_if<CumulativeAttributes>(&one.attributes)) return product({running->axis});
  return 1;
}

// The axes along which an exponential is divided by its sum, or summed.
std::vector<std::int64_t> exponential_axes(const OpCase& one) {
  if (const auto* softmax = std::get_if<SoftmaxAttributes>(&one.attributes)) return {softmax->axis};
  if (const auto* masked = std::get_if<MaskedSoftmaxAttributes>(&one.attributes)) return {masked->axis};
  const auto* reduce = std::get_if<ReduceAttributes>(&one.attributes);
  return reduce != nullptr ? reduce->axes : std::vector<std::int64_t>();
}

// The number of the row that an element of `shape` lies in, and its place there, where rows go along `axes`.
std::pair<std::size_t, std::size_t> row_and_place(const Shape& shape, const std::vector<std::int64_t>& axes, std::size_t element) {
  std::size_t row = 0, place = 0, rows = 1, places = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]), at = element % extent;
    const bool is_along = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
    (is_along ? place : row) += at * (is_along ? places : rows);
    (is_along ? places : rows) *= extent;
    element /= extent;
  }
  return {row, place};
}

bool is_maximum(Op op) { return op == Op::reduce_max || op == Op::max || op == Op::arg_max || op == Op::max_pool || op == Op::max_weight; }
bool is_minimum(Op op) { return op == Op::reduce_min || op == Op::min || op == Op::arg_min; }
bool is_order(Op op) { return op == Op::sort || op == Op::arg_sort; }
bool is_exponential(Op op) { return contracts::family_of(op) == contracts::Family::softmax; }

class Planner {
 public:
  Planner(std::vector<Probe>& plan, const OpCase& one, const PlanOptions& options)
      : plan_(plan), one_(one), options_(options), random_(options.seed * 1000003 + static_cast<std::uint64_t>(one.op)) {}

  void add_all() {
    // A scalar shows little at once.
    const std::size_t count = elements();
    const int few = count <= 4 ? 24 : count <= 32 ? 8 : 1;
    for (int round = has_reals() ? few : 4 * few + kWideRounds; round > 0; --round) {
      is_wide_ = !has_reals() && round <= kWideRounds;
      add(ProbeKind::integers, [&](Draw from, std::size_t) { return static_cast<double>(draw(random_, from)); });
    }
    is_wide_ = false;
    if (!has_reals()) return;
    const std::size_t terms = terms_of(one_);
    for (int round = terms > 1 ? few : std::max(few, 6); round > 0; --round)
      add(ProbeKind::dense, [&](Draw from, std::size_t) { return number(random_, from); });
    if (terms > 16) add_sparse(terms);
    if (terms > 1 && count <= kSmall * 8) add_one_hot();
    if (terms > 16 && is_exponential(one_.op)) add_peaks();
    add_extremes(true);
    if (count > kSmall) return;  // the other probes do not depend on shapes
    for (const double shift : {300.0, -300.0}) {
      add(ProbeKind::shifted, [&](Draw from, std::size_t operand) {
        return from == Draw::any ? (operand == 0 ? shift : 0) + number(random_, from) : number(random_, from);
      });
    }
    for (int round = std::max(few, 2); round > 0; --round) {
      add(ProbeKind::ties, [&](Draw from, std::size_t) {
        constexpr std::array kTies = {-1.0, -0.0, 0.0, 1.0, 1.0, 0.5, -0.5, 2.5};
        return from == Draw::any ? kTies[random_() % kTies.size()] : number(random_, from);
      });
    }
    if (terms > 16) return;  // a line of such elements overflows
    for (int round = 0; round < 6; ++round)
      add(ProbeKind::range, [&](Draw from, std::size_t) { return of_any_size(random_, from, ends_); });
    add_borders();
    if (one_.op == Op::max_weight) return;  // NaN is outside its domain
    for (int round = 0; round < 6; ++round) {
      add(ProbeKind::special,
          [&](Draw from, std::size_t) { return round < 3 && random_() % 8 != 0 ? number(random_, from) : special(random_, ends_); });
    }
  }

  // Few probes of many elements: whole numbers, of which sums are exact in any order; what stands at the borders of blocks of 8,192 alone,
  // beside zeros or, before an exponential, beside -infinity; and full precision where the sets of long sums still mean something.
  void add_block() {
    const bool is_line = terms_of(one_) > 1, is_long = elements() > 1 << 16;
    const bool exponential = is_exponential(one_.op), is_masked = one_.op == Op::masked_softmax;  // its sums are those of softmax
    const bool is_broader = !is_line && is_long && has_reals();                                   // whole numbers have a broad shape below
    if (!is_masked && !is_broader && (!is_long || !(exponential || contracts::family_of(one_.op) == contracts::Family::normalise)))
      add(ProbeKind::integers, [&](Draw from, std::size_t) { return static_cast<double>(draw(random_, from)); });
    if (!has_reals()) return;
    for (const double sign : {1.0, -1.0}) {  // the last of them is the greatest, or the least
      std::size_t at = 0, edges = 0;
      const auto value = [&](Draw from, std::size_t operand) {
        if (from != Draw::any || operand > 0) return number(random_, from);
        const std::size_t place = at++ % (1 << 13);
        if (place == 0 || place == (1 << 13) - 1) return sign * (1 + 0.37 * static_cast<double>(++edges));
        return exponential ? -kInfinity : 0.0;
      };
      if (is_line) add(ProbeKind::one_hot, value);
    }
    if (exponential) add_peaks();
    if (is_line && !exponential) add_extremes(false);
    // A function of one operand may take another form wherever its argument is 10, 30 or 80.
    std::size_t at = 0;
    const auto reach = [&](Draw from) { return is_line || one_.shapes.size() > 1 || from != Draw::any ? 0 : static_cast<int>(at++ % 6); };
    if (!is_masked && (!is_line || !is_long))
      add(ProbeKind::dense, [&](Draw from, std::size_t) { return std::ldexp(number(random_, from), reach(from)); });
  }

  // Rows before an exponential that begin (or end) with -infinity, as those behind a mask do. A kernel that goes block by block subtracts
  // -infinity from itself where its first block holds nothing else. In every third row all elements but one are -infinity, so that blocks
  // of every length meet this; the next row has as many as a usual block. A mask closes half of them.
  void add_closed(bool is_first) {
    const std::size_t terms = terms_of(one_);
    if (!is_exponential(one_.op) || terms < 2) return;
    constexpr std::array<std::size_t, 5> kUsual = {8192, 128, 64, 32, 1};
    const std::array closed = {terms - 1, *std::ranges::find_if(kUsual, [&](std::size_t length) { return length < terms; }),
                               1 + random_() % (terms - 1)};
    const auto from_end = [&](std::size_t place) { return is_first ? place : terms - 1 - place; };
    const auto axes = exponential_axes(one_);
    std::size_t at = 0;
    const auto value = [&](Draw from, std::size_t operand) {
      if (operand > 0) return number(random_, from);
      const auto [row, place] = row_and_place(one_.shapes[0], axes, at++);
      return from_end(place) < closed[row % closed.size()] ? -kInfinity : number(random_, from);
    };
    put(ProbeKind::special, filled(value, [&](std::size_t i) { return from_end(i % terms) >= terms / 2; }));
  }

  // A row of which the mask lets nothing through: kernels differ there, since some give 0 and some NaN.
  void add_empty() {
    if (one_.op != Op::masked_softmax) return;
    put(ProbeKind::special, filled([&](Draw from, std::size_t) { return number(random_, from); }, [](std::size_t) { return false; }));
  }

  // Lines of one value, whose spread is 0 and in which each element is a maximum.
  void add_level() {
    if (!has_reals() || terms_of(one_) <= 1 || elements() > kSmall) return;
    for (const double level : {3.0, -0.75})
      add(ProbeKind::ties,
          [&](Draw from, std::size_t operand) { return operand == 0 && from == Draw::any ? level : number(random_, from); });
  }

  // Whole numbers on a shape that is broad along several axes, and numbers of full precision where they cost little.
  void add_broad() {
    const bool is_whole = draw_of(one_, 0) != Draw::fraction;  // of which 0 alone is whole
    if (is_whole) add(ProbeKind::integers, [&](Draw from, std::size_t) { return static_cast<double>(draw(random_, from)); });
    if (has_reals() && (!is_whole || elements() <= 1 << 13))
      add(ProbeKind::dense, [&](Draw from, std::size_t) { return number(random_, from); });
  }

  // The first probes of the application again, otherwise in memory.
  void add_strided() {
    const std::size_t first = plan_.size();
    add(ProbeKind::integers, [&](Draw from, std::size_t) { return static_cast<double>(draw(random_, from)); });
    if (has_reals()) add(ProbeKind::dense, [&](Draw from, std::size_t) { return number(random_, from); });
    const std::vector<Probe> dense(plan_.begin() + static_cast<std::ptrdiff_t>(first), plan_.end());
    plan_.resize(first, Probe{});
    for (const Probe& probe : dense) {
      const auto lay = [&](std::span<const Layout> layouts) {
        for (const Layout layout : layouts) {
          Probe strided = probe;
          strided.layout = layout;
          for (std::size_t k = 0; k < strided.operands.size(); ++k)
            strided.operands[k] = repeated(strided.operands[k], layout_of(layout, k));
          plan_.push_back(std::move(strided));
        }
      };
      lay(kLayouts);
      if (probe.operands.size() > 1) lay(kMixedLayouts);
    }
  }

  [[nodiscard]] bool is_tiny() const { return elements() <= 128; }
  // Integer types, for ops that take them.
  void add_integers(DType dtype) {
    if (!has_reals()) return;  // the operands have types of their own
    const contracts::Family family = contracts::family_of(one_.op);
    const bool computes = family == contracts::Family::integers || family == contracts::Family::product ||
                          family == contracts::Family::sum || family == contracts::Family::elementwise;
    for (int round = 0, rounds = elements() <= 32 ? 30 : 12; round < rounds; ++round)
      add_integers(dtype, computes || round > 3 ? 0 : round % 2 == 0 ? 60 : -60, {});
    for (int round = reach_of(dtype) > 0 ? kWideRounds : 0; round > 0; --round) add_integers(dtype, kWide, {});
    const std::size_t count = element_count(one_.shapes[0]);
    if (terms_of(one_) <= 1 || count == 0) return;
    for (const std::size_t hot : {std::size_t{0}, count - 1, random_() % count}) {
      for (const std::int64_t value : {0, 2}) add_integers(dtype, 0, std::pair(hot, value));
    }
  }

 private:
  // `reach` draws from -reach .. reach, or if negative from reach .. -1, not from the application's own few; kWide from far more. With
  // `hot` the first operand is 1 but for one element; of truth values, the opposite of that element.
  void add_integers(DType dtype, std::int64_t reach, std::optional<std::pair<std::size_t, std::int64_t>> hot) {
    std::vector<Tensor> operands;
    for (std::size_t k = 0; k < one_.shapes.size(); ++k) {
      const Draw from = draw_of(one_, k);
      std::vector<std::int64_t> values;
      for (std::size_t i = 0; i < element_count(one_.shapes[k]); ++i) {
        std::int64_t value = draw(random_, from);
        if (hot && k == 0 && from == Draw::any)
          value = dtype == DType::boolean ? ((i == hot->first) == (hot->second > 0) ? 1 : 0) : i == hot->first ? hot->second : 1;
        if (reach != 0 && from == Draw::any)
          value = reach == kWide ? wide(dtype)
                  : reach > 0    ? within(reach)
                                 : reach + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(-reach));
        if (is_real(from) && dtype == DType::boolean) value = value > 0 ? 1 : 0;
        if (is_real(from) && (is_unsigned(dtype) || one_.op == Op::power)) value = std::abs(value);
        values.push_back(value);
      }
      operands.push_back(whole_numbers(own_type(from).value_or(dtype), one_.shapes[k], values));
    }
    put(ProbeKind::integers, std::move(operands));
  }

  static constexpr std::size_t kSmall = 1 << 9;
  static constexpr int kWideRounds = 3;
  static constexpr std::int64_t kWide = std::int64_t{1} << 60;

  // Half of the wide integers differ from each other in their upper half alone, which a kernel of a narrower type cuts off.
  std::int64_t wide(DType dtype) {
    const std::int64_t reach = reach_of(dtype), upper = std::int64_t{1} << (4 * byte_size(dtype));
    return reach <= 4 * upper || random_() % 2 == 0 ? within(reach) : upper * within(2);
  }
  std::int64_t within(std::int64_t reach) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(2 * reach + 1)) - reach;
  }
  // Integers up to which results stay in their type and below 2^53, and are beyond the next narrower type, which a kernel may take.
  // 0: none, as of powers.
  [[nodiscard]] std::int64_t reach_of(DType dtype) const {
    const int bits = std::min(static_cast<int>(8 * byte_size(dtype)), 52);
    const OpKind kind = kind_of(one_.op);
    const bool multiplies = one_.op == Op::mul || kind == OpKind::product || kind == OpKind::convolution;
    const bool is_open = kind == OpKind::power || contracts::family_of(one_.op) == contracts::Family::product;
    if (dtype == DType::boolean || bits < 16 || is_open) return 0;
    return std::int64_t{1} << (multiplies ? bits / 2 - 4 : bits - 5);
  }
  bool is_wide_ = false;  // integers of types of their own are drawn from all of those

  static std::optional<DType> own_type(Draw from) {
    if (from == Draw::truth) return DType::boolean;
    return from == Draw::whole || from == Draw::index ? std::optional(DType::int64) : std::nullopt;
  }
  [[nodiscard]] bool has_reals() const {
    for (std::size_t k = 0; k < one_.shapes.size(); ++k) {
      if (is_real(draw_of(one_, k))) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t elements() const {
    std::size_t all = 0;
    for (const Shape& shape : one_.shapes) all += element_count(shape);
    return all;
  }

  // `open` says which elements of a mask are open; without it they are drawn.
  template <class F>
  std::vector<Tensor> filled(const F& value, const std::function<bool(std::size_t)>& open = {}) {
    std::vector<Tensor> operands;
    for (std::size_t k = 0; k < one_.shapes.size(); ++k) {
      const Draw from = draw_of(one_, k);
      if (const auto own = own_type(from)) {
        std::vector<std::int64_t> whole(element_count(one_.shapes[k]));
        for (std::size_t i = 0; i < whole.size(); ++i)
          whole[i] = open ? static_cast<std::int64_t>(open(i)) : is_wide_ && from == Draw::whole ? wide(DType::int64) : draw(random_, from);
        operands.push_back(whole_numbers(*own, one_.shapes[k], whole));
        continue;
      }
      std::vector<double> values(element_count(one_.shapes[k]));
      for (double& each : values) each = value(from, k);
      operands.push_back(reals(options_, one_.shapes[k], std::move(values)));
    }
    return operands;
  }
  template <class F>
  void add(ProbeKind kind, const F& value) {
    put(kind, filled(value));
  }
  // Shape inference has the last word: a cast of truth values, an op that takes no such type.
  void put(ProbeKind kind, std::vector<Tensor> operands) {
    if (!graph_of(one_.op, one_.attributes, operands)) return;
    plan_.push_back({one_.name, kind, one_.op, one_.attributes, std::move(operands), Layout::dense, options_.storage});
  }

  // 16 terms or so that are not 0.
  void add_sparse(std::size_t terms) {
    add(ProbeKind::sparse, [&](Draw from, std::size_t operand) {
      return operand == 0 && from == Draw::any && random_() % terms >= 16 ? 0.0 : number(random_, from);
    });
  }

  // One element of the first operand at a time, above the others and below; the other operands dense.
  void add_one_hot() {
    const std::size_t count = element_count(one_.shapes[0]);
    if (count == 0) return;
    for (const std::size_t hot : {std::size_t{0}, count - 1, random_() % count, random_() % count}) {
      for (const double sign : {1.0, -1.0}) {
        std::size_t at = 0;
        add(ProbeKind::one_hot, [&](Draw from, std::size_t operand) {
          if (operand > 0 || from != Draw::any) return number(random_, from);
          return at++ == hot ? sign * (1 + number(random_, Draw::positive)) : 0.0;
        });
      }
    }
  }

  // Where functions with exponentials are about to overflow, and just beyond.
  void add_borders() {
    if (one_.shapes.size() != 1 || terms_of(one_) > 1) return;
    for (int round = 0; round < 2; ++round) {
      add(ProbeKind::range, [&](Draw from, std::size_t) {
        const double size = ends_.edge + (static_cast<double>(random_() % 1025) / 1024 * 1.7 - 0.6);
        return from == Draw::any ? (random_() % 2 == 0 ? size : -size) : number(random_, from);
      });
    }
  }

  // One element by some hundred above all others: without it in the maximum, its exponential overflows. The others are ordinary, or so far
  // below that a maximum that starts at a finite number is above them.
  void add_peaks() {
    const std::size_t count = element_count(one_.shapes[0]), half = (count + 1) / 2;
    if (count == 0) return;
    bool is_deep = false;
    for (const std::size_t peak : {count - 1, random_() % half, count - 1 - random_() % half}) {
      std::size_t at = 0;
      add(ProbeKind::range, [&](Draw from, std::size_t operand) {
        if (operand > 0 || from != Draw::any) return number(random_, from);
        if (at++ == peak) return options_.dtype == DType::float64 ? 1000.0 : 300.0;
        return is_deep ? -ends_.largest / 4 : number(random_, from);
      });
      is_deep = !is_deep;
    }
  }

  // Lines and windows that hold nothing but the ends of the range: a maximum that starts at a finite number, or a pad that is one, is wrong
  // only there. Contracts leave positions, weights and exponentials of infinities open; a quarter leaves room for a factor before exp.
  void add_extremes(bool with_finite) {
    const bool is_finite = is_exponential(one_.op) || contracts::family_of(one_.op) == contracts::Family::positions;
    const double largest = ends_.largest / (is_exponential(one_.op) ? 4 : 1);
    for (const double sign : {-1.0, 1.0}) {
      if (!is_order(one_.op) && !(sign > 0 ? is_minimum(one_.op) : is_maximum(one_.op) || is_exponential(one_.op))) continue;
      const auto add_drawn = [&](ProbeKind kind, const auto& size) {
        add(kind, [&](Draw from, std::size_t) { return from == Draw::any ? sign * size() : number(random_, from); });
      };
      if (!is_finite) {
        add_drawn(ProbeKind::special, [] { return kInfinity; });
        add_drawn(ProbeKind::special, [&] { return random_() % 2 == 0 ? largest : kInfinity; });
      }
      if (with_finite || is_finite)
        add_drawn(ProbeKind::range, [&] { return largest * (0.5 + static_cast<double>(random_() % 1025) / 2048); });
    }
  }

  std::vector<Probe>& plan_;
  const OpCase& one_;
  const PlanOptions& options_;
  const Ends ends_ = ends_of(options_.dtype, options_.storage);
  std::mt19937_64 random_;
};

}  // namespace

Outcome<Graph> graph_of(Op op, const Attributes& attributes, const std::vector<Tensor>& operands) {
  Graph graph;
  std::vector<NodeId> ids;
  for (std::size_t k = 0; k < operands.size(); ++k)
    ids.push_back(graph.append_input(operands[k].dtype(), operands[k].shape(), std::string("x").append(std::to_string(k))));
  const auto result = graph.append(op, ids, attributes);
  if (!result) return result.rejection();
  graph.mark_output(result.value(), "y");
  return graph;
}

std::vector<Probe> probe_plan(Op op, const PlanOptions& options) {
  demand(options.dtype == DType::float32 || options.dtype == DType::float64, "probe_plan: reals of float32 or float64");
  std::vector<Probe> plan;
  std::size_t index = 0;
  for (const OpCase& one : applications(op, options.large)) {
    PlanOptions own = options;
    own.seed += 7919 * ++index;
    Planner planner(plan, one, own);
    planner.add_all();
    if (options.strided && element_count(one.shapes[0]) > 1) planner.add_strided();
    for (const bool is_first : {true, false}) planner.add_closed(is_first);
    planner.add_empty();
    planner.add_level();
    if (!planner.is_tiny() || op == Op::pad) continue;  // pads have values that not every type has
    for (const DType dtype :
         {DType::int64, DType::int32, DType::int16, DType::int8, DType::uint64, DType::uint32, DType::uint16, DType::uint8, DType::boolean})
      planner.add_integers(dtype);
  }
  for (const OpCase& one : options.blocks&& options.large ? block_applications(op) : std::vector<OpCase>()) {
    PlanOptions own = options;
    own.seed += 7919 * ++index;
    Planner planner(plan, one, own);
    planner.add_block();
    if (one.shapes[0].back() <= 1 << 16) planner.add_closed(true);
  }
  for (const OpCase& one : options.blocks&& options.large ? broad_applications(op) : std::vector<OpCase>()) {
    PlanOptions own = options;
    own.seed += 7919 * ++index;
    Planner(plan, one, own).add_broad();
  }
  return plan;
}

}  // namespace assay::probes
