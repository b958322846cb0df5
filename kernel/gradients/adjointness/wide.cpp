// Compares both sides over intervals, with doubles and then with 257 bits.

#include "kernel/gradients/adjointness/wide.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "semantics/ops/denote.h"

namespace assay::gradients::adjointness {

namespace {

constexpr int kMostDoubts = 8;
constexpr double kShown = 0x1p-44, kEqual = 0x1p-100;  // shares of a number

// differ: some element certainly differs, so far that the type may show it. near: it does not. agree: all are equal up to
// kEqual. open: some element is not known.
enum class Look : std::uint8_t { differ, near, agree, open };

WideInterval wide(const Interval& a) { return WideInterval(a); }
const WideInterval& wide(const WideInterval& a) { return a; }

template <class S>
Look compared(const S& rule, const S& right, bool is_short) {
  const WideInterval a = wide(rule), b = wide(right);
  if (a.is_undefined() || b.is_undefined() || !a.is_bounded() || !b.is_bounded()) return Look::open;
  const bool differ = certainly_less(a, b) || certainly_less(b, a);
  const double difference = (a - b).magnitude_up(), size = b.magnitude_up();
  if (differ) return is_short && difference <= size * kShown ? Look::near : Look::differ;
  return difference <= std::fmax(size, 0x1p-60) * kEqual ? Look::agree : Look::open;
}

template <class S>
Arrays<S> over(const Arrays<WideInterval>& inputs) {
  if constexpr (std::is_same_v<S, WideInterval>) return inputs;
  Arrays<S> result;
  for (const Array<WideInterval>& one : inputs) {
    result.push_back({one.shape, {}});
    for (const WideInterval& value : one.values) result.back().values.push_back(S(value.to_interval()));
  }
  return result;
}

template <class S>
Look compared(const Graph& rule, const Graph& right, const Arrays<WideInterval>& inputs, const Arrays<WideInterval>& read) {
  const auto found = evaluate<S>(rule, over<S>(inputs)), meant = evaluate<S>(right, over<S>(read));
  if (!found || !meant) return Look::open;
  Look result = Look::agree;
  for (std::size_t k = 0; k < rule.outputs.size(); ++k) {
    const auto &a = found.value()[rule.outputs[k]].values, &b = meant.value()[right.outputs[k]].values;
    const bool is_short = rule.node(rule.outputs[k]).dtype == DType::float32;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Look one = compared(a[i], b[i], is_short);
      if (one == Look::differ) return one;
      if (one == Look::open || (one == Look::near && result == Look::agree)) result = one;
    }
  }
  return result;
}

}  // namespace

std::optional<Rejection> Doubts::judged(Rejection why, const Arrays<WideInterval>& x, Random& random) {
  const bool is_identity = why.code == codes_.identity, is_domain = why.code == codes_.domain, is_entry = why.code == codes_.entry;
  if (!is_identity && !is_domain && !is_entry) return why;
  const auto right = right_();
  Look look = Look::open;
  if (right && !has_infinities(rule_) && !has_infinities(right.value())) {
    Arrays<WideInterval> inputs = x;
    for (std::size_t k = x.size(); k < rule_.inputs.size(); ++k) {  // cotangents or tangents: any numbers but 0
      inputs.push_back({rule_.node(rule_.inputs[k]).shape, {}});
      for (std::size_t i = 0; i < rule_.size(rule_.inputs[k]); ++i)
        inputs[k].values.emplace_back(static_cast<double>(2 * random.below(1 << 20) + 1 - (1 << 20)) * 0x1p-19);
    }
    Arrays<WideInterval> read;
    for (const std::size_t k : reads_) read.push_back(inputs[k]);
    if (reads_.empty()) read = inputs;
    look = compared<Interval>(rule_, right.value(), inputs, read);
    if (look != Look::differ) look = compared<WideInterval>(rule_, right.value(), inputs, read);
  }
  if ((is_domain && look != Look::agree) || (is_entry && look != Look::near)) return why;
  why.kind = look == Look::differ ? Rejection::Kind::rejected : Rejection::Kind::declined;
  why.code = look == Look::differ ? codes_.entry : codes_.identity;
  if (look == Look::differ) return why;
  if (look != Look::agree) open_ = why;
  return ++count_ < kMostDoubts ? std::nullopt : std::optional(std::move(why));
}

}  // namespace assay::gradients::adjointness
