#include "probes/composites.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <utility>

#include "kernel/contracts/contract.h"
#include "kernel/gradients/adjointness/adjointness.h"
#include "probes/draws.h"
#include "probes/layout.h"
#include "semantics/compositions/compositions.h"
#include "semantics/demand.h"

namespace assay::probes {
namespace {

using gradients::derivatives::Builder;
using gradients::derivatives::Value;

struct Application {
  std::string region, name;
  Graph graph;
};

class Composing {
 public:
  Value input(const Shape& shape, DType dtype = DType::float32) {
    return builder_.node(graph_.append_input(dtype, shape, std::string("x").append(std::to_string(graph_.inputs.size()))));
  }
  Graph take(const Value& y) {
    demand(!builder_.rejection(), "composites: shapes that fit");
    graph_.mark_output(y.id(), "y");
    return std::move(graph_);
  }

 private:
  Graph graph_;
  Builder builder_{graph_};
};

// q [heads, s, d], k [heads, t, d], v [heads, t, e]; masked: a truth value per query and key.
Graph attention(std::int64_t heads, std::int64_t s, std::int64_t t, std::int64_t d, std::int64_t e, bool masked) {
  Composing c;
  const Value q = c.input({heads, s, d}), k = c.input({heads, t, d}), v = c.input({heads, t, e});
  const std::optional<Value> open = masked ? std::optional(c.input({s, t}, DType::boolean)) : std::nullopt;
  return c.take(compositions::attention(q, k, v, open));
}

// A third of it and two thirds: the value with a few roundings more, and its cotangent, too.
Value with_roundings(const Value& x) {
  const auto count = static_cast<std::int64_t>(element_count(x.shape()));
  const WeightedGatherAttributes thirds{1, {0, 2}, {0, 0}, {Rational(1, 3), Rational(2, 3)}};
  return reshaped(apply(Op::weighted_gather, reshaped(x, {count, 1}), thirds), x.shape());
}

// x [rows, n] over its last axis, times a weight, and for layer norm plus a bias. Backward kernels merge a mean from means of
// parts, which round where the sum is exact, and multiply by a rounded reciprocal of the root, where the derivative divides:
// those roundings are admitted.
Graph normalised(std::int64_t rows, std::int64_t n, NormaliseAttributes::Form form, bool for_backward = false) {
  Composing c;
  const Value x = c.input({rows, n}), weight = c.input({n});
  const Value y = apply(Op::normalise, for_backward ? with_roundings(x) : x, NormaliseAttributes{{1}, 1e-5, form}) * weight;
  return form == NormaliseAttributes::Form::centered ? c.take(y + c.input({n})) : c.take(y);
}

Graph softmax_of(std::int64_t rows, std::int64_t n, Op op) {
  Composing c;
  return c.take(apply(op, c.input({rows, n}), SoftmaxAttributes{1}));
}

Graph backward(const Graph& graph) {
  auto product = gradients::reverse_of(graph);
  demand(product.ok(), "composites: a derivative");
  return std::move(product).value();
}

// The applications of a region, smallest first; those with long rows apart.
std::vector<Application> applications_of(const std::string& region, std::initializer_list<std::int64_t> rows,
                                         std::initializer_list<std::tuple<const char*, int, int>> sizes) {
  using Form = NormaliseAttributes::Form;
  std::vector<Application> all;
  const auto add = [&](const std::string& name, const std::function<Graph()>& graph) {
    if (name.substr(0, name.find(',')) == region) all.push_back({region, name, graph()});
  };
  for (const auto& [size, s, t] : sizes) {
    const std::string where = std::string(", ") + size;
    add("attention" + where, [&, s = s, t = t] { return attention(s > 1 ? 2 : 1, s, t, 8, 6, false); });
    add("attention" + where + ", masked", [&, s = s, t = t] { return attention(s > 1 ? 2 : 1, s, t, 8, 6, true); });
    if (t < 60 || t > 8000) add("attention backward" + where, [&, s = s, t = t] { return backward(attention(1, s, t, 4, 3, false)); });
  }
  for (const std::int64_t n : rows) {
    const std::string where = ", " + std::to_string(n);
    const std::int64_t m = n < 8193 ? 3 : 1;
    add("layer norm" + where, [&] { return normalised(m, n, Form::centered); });
    add("rms norm" + where, [&] { return normalised(m, n, Form::root_mean); });
    if (n < 65537) add("layer norm backward" + where, [&] { return backward(normalised(m, n, Form::centered, true)); });
    add("rms norm backward" + where, [&] { return backward(normalised(m, n, Form::root_mean, true)); });
    add("softmax backward" + where, [&] { return backward(softmax_of(m, n, Op::softmax)); });
    add("log softmax backward" + where, [&] { return backward(softmax_of(m, n, Op::log_softmax)); });
  }
  return all;
}

// The applications of a region that are larger than usual tiles along several axes at once.
std::vector<Application> broad_applications_of(const std::string& region) {
  using Form = NormaliseAttributes::Form;
  std::vector<Application> all;
  const auto add = [&](const std::string& of, const std::string& what, const std::function<Graph()>& graph) {
    if (of == region) all.push_back({region, region + ", " + what, graph()});
  };
  add("attention", "3 heads of 64, 70 queries", [] { return attention(3, 70, 9, 64, 64, false); });
  add("attention", "head of 128", [] { return attention(1, 3, 67, 128, 128, false); });
  // Widths that are no power of two, since code may take the next one, and between two tiles of 128.
  for (const std::int64_t d : {20, 80, 192}) {
    const std::string head = "head of " + std::to_string(d);
    add("attention", head, [d] { return attention(1, 5, 9, d, d, false); });
    add("attention backward", head, [d] { return backward(attention(1, 5, 7, d, d, false)); });
  }
  add("attention", "3 heads, masked", [] { return attention(3, 35, 67, 16, 5, true); });
  add("attention backward", "3 heads, 35 queries", [] { return backward(attention(3, 35, 37, 17, 18, false)); });
  for (const std::int64_t n : {63, 64, 65})
    add("attention", std::to_string(n) + " queries, " + std::to_string(2 * n) + " keys",
        [n] { return attention(1, n, 2 * n, 16, 16, false); });
  constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{67, 70}, {9, 1030}, {2, 8195}, {128, 64}, {2, 2047}, {2, 2048}, {2, 2049}};
  for (const auto& [rows, n] : kSizes) {
    const std::string where = std::to_string(rows) + " rows of " + std::to_string(n);
    for (const bool is_root : {false, true}) {
      const std::string name = is_root ? "rms norm" : "layer norm";
      const Form form = is_root ? Form::root_mean : Form::centered;
      add(name, where, [&, rows = rows, n = n] { return normalised(rows, n, form); });
      if (n == 70) add(name, "65537 rows of 1", [&] { return normalised(65537, 1, form); });
      add(name + " backward", where, [&, rows = rows, n = n] { return backward(normalised(rows, n, form, true)); });
    }
    add("softmax backward", where, [rows = rows, n = n] { return backward(softmax_of(rows, n, Op::softmax)); });
    add("log softmax backward", where, [rows = rows, n = n] { return backward(softmax_of(rows, n, Op::log_softmax)); });
  }
  return all;
}

// The kinds of probes that an op gets (probes/plan.cpp), for a region. Its operands are all drawn as any real.
class RegionPlanner {
 public:
  RegionPlanner(std::vector<RegionProbe>& plan, const Application& one, const PlanOptions& options, std::mt19937_64& random)
      : plan_(plan), one_(one), options_(options), random_(random) {}

  void add_all() {
    add(ProbeKind::integers, [&](std::size_t, std::size_t) { return whole(); });
    add(ProbeKind::dense, dense());
    if (row() > 16) {
      add(ProbeKind::sparse, [&](std::size_t k, std::size_t) { return k == 0 && random_() % row() >= 16 ? 0.0 : normal(); });
    }
    const std::size_t count = element_count(shape(0));
    for (const std::size_t hot : {random_() % count, std::size_t{0}, count - 1})
      add_with(ProbeKind::one_hot, 0, hot, 3 + std::fabs(normal()), 0);
    for (const double shift : {8.0, 300.0, -300.0})
      add(ProbeKind::shifted, [&](std::size_t k, std::size_t) { return (k == 0 ? shift : 0) + normal(); });
    add_with(ProbeKind::shifted, 0, random_() % count, 302, 300);  // a variance far below the square of the mean
    add(ProbeKind::ties, [&](std::size_t k, std::size_t i) { return k > 0 ? normal() : i % 2 == 0 ? 1.0 : -1.0; });
    add_range();
    if (count <= kSmall) add_special();
  }

  // What single ops have on long lines: whole numbers, elements at the borders of blocks of 8,192 beside zeros
  // or what an exponential makes 0, dense ones.
  void add_block() {
    if (row() <= 1 << 16) add(ProbeKind::integers, [&](std::size_t, std::size_t) { return whole(); });
    const bool is_softmax = one_.region.find("softmax") != std::string::npos;
    const double others = is_softmax ? -std::numeric_limits<double>::infinity() : 0.0;
    if (is_softmax) add_with(ProbeKind::range, 0, row() - 1, 300);
    for (const double sign : {1.0, -1.0}) {
      std::size_t edges = 0;
      add(ProbeKind::one_hot, [&](std::size_t k, std::size_t i) {
        if (is_attention() && k < 2) {  // one key has nearly all the weight: the last one, or the last of the first block
          const std::size_t key = i / static_cast<std::size_t>(shape(1).back()), wanted = sign > 0 ? row() - 1 : (1 << 13) - 1;
          return k == 0 ? 1.0 : key != wanted ? 0.0 : sign > 0 ? 60.0 : 6.0;  // without the last one in the maximum, exp overflows
        }
        if (k > 0) return normal();
        const std::size_t place = i % (1 << 13);
        return place == 0 || place == (1 << 13) - 1 ? sign * (1 + 0.37 * static_cast<double>(++edges)) : others;
      });
    }
    if (row() <= 1 << 16) add(ProbeKind::dense, dense());
  }

  // Rows that begin with -infinity, or with closed elements of a mask (probes/plan.cpp): all but the last, half of them, one of them.
  void add_closed() {
    const bool is_softmax = one_.region.find("softmax") != std::string::npos, is_masked = is_attention() && one_.name.ends_with("masked");
    if ((!is_softmax && !is_masked) || row() > 1 << 16) return;
    const auto is_closed = [&](std::size_t i) {
      const std::array closed = {row() - 1, row() / 2, std::size_t{1}};
      return i % row() < closed[i / row() % closed.size()];
    };
    add(
        ProbeKind::special,
        [&](std::size_t k, std::size_t i) {
          return is_softmax && k == 0 && is_closed(i) ? -std::numeric_limits<double>::infinity() : normal();
        },
        Layout::dense, [&](std::size_t i) { return !is_closed(i); });
  }
  void add_broad() { add(ProbeKind::dense, dense()); }
  void add_strided() {
    for (const Layout layout : kLayouts) add(ProbeKind::dense, dense(), layout);
    for (const Layout layout : kMixedLayouts) add(ProbeKind::dense, dense(), layout);
  }

 private:
  using Value = std::function<double(std::size_t, std::size_t)>;  // of an operand's element
  static constexpr std::size_t kSmall = 1 << 9;

  [[nodiscard]] const Shape& shape(std::size_t k) const { return one_.graph.node(one_.graph.inputs[k]).shape; }
  [[nodiscard]] bool is_attention() const { return one_.region.starts_with("attention"); }
  // The elements that are summed or compared: the last axis of the first operand, or the keys.
  [[nodiscard]] std::size_t row() const { return static_cast<std::size_t>(is_attention() ? shape(1)[1] : shape(0).back()); }
  double normal() { return std::normal_distribution<double>()(random_); }
  double whole() { return static_cast<double>(random_() % 5) - 2; }
  Value dense() {
    return [this](std::size_t, std::size_t) { return normal(); };
  }

  // One operand at a time of one size, beside ordinary ones, then elements of any size: accumulators of another format
  // overflow, or lose all that is small. Steps are in float32. From where one of them overflows or rounds as a subnormal
  // number, the contract admits only the steps as they are written, and right kernels take others. So numbers of float16
  // go to both ends of their range, and those of wider formats up to there.
  void add_range() {
    for (std::size_t operand = 0; operand < one_.graph.inputs.size(); ++operand) {
      if (one_.graph.node(one_.graph.inputs[operand]).dtype == DType::boolean) continue;
      const bool is_squared = operand == 0 || (operand == 1 && is_attention());
      const bool is_product = one_.region.ends_with("backward");  // which has the third power of a reciprocal
      const int low = is_squared && !is_product ? -132 : -100, high = !is_squared ? 116 : is_product ? 30 : 59;
      for (const int size : {std::max(ends_.least + 3, low), std::max(ends_.normal, low), -9, 9, 12, std::min(ends_.top - 2, high)}) {
        add(ProbeKind::range,
            [&](std::size_t k, std::size_t) { return std::ldexp(std::clamp(normal(), -3.0, 3.0), k == operand ? size : 0); });
      }
    }
    const Ends within{std::max(ends_.least, -40), std::max(ends_.normal, -30), std::min(ends_.top, 40), 0, 0, 0};
    for (int round = element_count(shape(0)) > kSmall ? 6 : 0; round < 6; ++round)
      add(ProbeKind::range, [&](std::size_t, std::size_t) { return of_any_size(random_, Draw::any, within); });
  }

  // One special value in each operand in turn, so that other rows stay numbers; then many.
  void add_special() {
    for (std::size_t operand = 0; operand < one_.graph.inputs.size(); ++operand) {
      const std::size_t count = element_count(shape(operand));
      for (int round = 0; round < 6; ++round) add_with(ProbeKind::special, operand, random_() % count, special_value());
    }
    for (int round = 0; round < 3; ++round) {
      add(ProbeKind::special, [&](std::size_t, std::size_t) { return random_() % 8 != 0 ? normal() : special_value(); });
    }
  }
  // Without the numbers whose squares overflow in float32 or whose products are subnormal there, see add_range.
  double special_value() {
    for (;;) {
      const double value = special(random_, ends_), size = std::fabs(value);
      if (!(size > 0x1p59 && std::isfinite(size)) && !(size > 0 && size < 0x1p-100)) return value;
    }
  }
  // One element of an operand, beside others of one value or ordinary ones.
  void add_with(ProbeKind kind, std::size_t operand, std::size_t at, double value, std::optional<double> others = std::nullopt) {
    add(kind, [&](std::size_t k, std::size_t i) { return k != operand ? normal() : i == at ? value : others ? *others : normal(); });
  }

  // `open` says which elements of a mask are open; without it they are drawn.
  void add(ProbeKind kind, const Value& value, Layout layout = Layout::dense, const std::function<bool(std::size_t)>& open = {}) {
    std::string name = one_.name + ": " + to_string(kind) + " " + contracts::name_of(options_.storage);
    if (layout != Layout::dense) name += std::string(", ") + to_string(layout) + " in memory";
    RegionProbe probe{one_.region, std::move(name), one_.graph, {}, layout};
    for (std::size_t k = 0; k < one_.graph.inputs.size(); ++k)
      probe.operands.push_back(repeated(drawn(k, value, open), layout_of(layout, k)));
    plan_.push_back(std::move(probe));
  }
  Tensor drawn(std::size_t k, const Value& value, const std::function<bool(std::size_t)>& open) {
    const Node& node = one_.graph.node(one_.graph.inputs[k]);
    const std::size_t count = element_count(node.shape);
    if (node.dtype == DType::boolean) {
      auto bytes = std::make_shared<std::vector<std::byte>>();
      for (std::size_t i = 0; i < count; ++i) bytes->push_back(static_cast<std::byte>(open ? open(i) : random_() % 4 != 0));
      return {DType::boolean, node.shape, std::move(bytes)};
    }
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(contracts::rounded_to(options_.storage, value(k, i))));
    return Tensor::of_floats(node.shape, values);
  }

  std::vector<RegionProbe>& plan_;
  const Application& one_;
  const PlanOptions& options_;
  const Ends ends_ = ends_of(options_.dtype, options_.storage);
  std::mt19937_64& random_;
};

}  // namespace

std::vector<std::string> composite_regions() {
  return {"attention", "attention backward", "layer norm",       "layer norm backward",
          "rms norm",  "rms norm backward",  "softmax backward", "log softmax backward"};
}

std::string composite_named(const std::string& name) {
  const auto joined = [](const std::string& words) {
    std::string letters;
    for (const char c : words)
      if (c != ' ' && c != '_' && c != '-') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return letters;
  };
  for (const std::string& known : composite_regions())
    if (joined(known) == joined(name)) return known;
  return "";
}

std::vector<RegionProbe> region_plan(const std::string& name, const PlanOptions& options) {
  demand(options.dtype == DType::float32, "region_plan: float32");
  const std::string region = composite_named(name);
  std::vector<RegionProbe> plan;
  std::mt19937_64 random(options.seed * 1000003);
  std::vector<Application> short_ones = applications_of(region, {5, 33}, {{"small", 3, 5}, {"one query", 1, 7}});
  if (options.large) {
    for (Application& one : applications_of(region, {129}, {{"beyond a tile", 33, 65}})) short_ones.push_back(std::move(one));
  }
  for (const Application& one : short_ones) {
    RegionPlanner planner(plan, one, options, random);
    planner.add_all();
    if (options.strided) planner.add_strided();
  }
  std::vector<Application> long_ones;
  if (options.blocks && options.large) long_ones = applications_of(region, {8193, 16385, 65537}, {{"8193 keys", 1, 8193}});
  for (const Application& one : long_ones) RegionPlanner(plan, one, options, random).add_block();
  for (const auto& some : {short_ones, long_ones})
    for (const Application& one : some) RegionPlanner(plan, one, options, random).add_closed();
  for (const Application& one : options.blocks&& options.large ? broad_applications_of(region) : std::vector<Application>())
    RegionPlanner(plan, one, options, random).add_broad();
  return plan;
}

}  // namespace assay::probes
