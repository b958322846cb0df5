// Fragment: writes the encodings of FORMAT.md, each array in the smallest encoding that reproduces the same bits.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "certificates/format/encode.h"
#include "certificates/format/format.h"
#include "certificates/format/writer.h"

namespace assay::certificate {
namespace {

using inspect::Selection;
using logic::CaseMultipliers;
using logic::Claims;
using logic::Hints;

constexpr std::size_t kImpossible = std::numeric_limits<std::size_t>::max();
// The number of latest definitions that are tried as the base of a difference.
constexpr int kBasesTried = 4;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
bool same_bits(float a, float b) { return bits_of(a) == bits_of(b); }

// k with value == k / 128 bit for bit, or -1.
int as_byte(float value) {
  if (!(value >= 0.0f && value <= 255.0f / 128.0f)) return -1;
  const auto k = static_cast<int>(value * 128.0f);
  return same_bits(static_cast<float>(k) / 128.0f, value) ? k : -1;
}

void put_floats(std::string& out, std::span<const float> values) {
  for (const float value : values) put_f32(out, value);
}

void put_bitmap(std::string& out, std::size_t count, auto&& is_set) {
  for (std::size_t start = 0; start < count; start += 8) {
    std::uint64_t byte = 0;
    for (std::size_t i = start; i < std::min(start + 8, count); ++i) byte |= is_set(i) ? std::uint64_t{1} << (i - start) : 0;
    put_byte(out, byte);
  }
}

// The place of an array within hints, so that the same array of an earlier definition can be its base.
struct Slot {
  enum class Side : std::uint8_t { lower, upper, beta, cuts } side;
  NodeId node = 0;
};

std::span<const float> find_slot(const Hints& hints, const Slot& slot) {
  if (slot.side == Slot::Side::beta) return hints.beta;
  if (slot.side == Slot::Side::cuts) return hints.cuts;
  return logic::proposed(slot.side == Slot::Side::lower ? hints.lower : hints.upper, slot.node);
}

// The entries of `values` that differ from `base` (all zeros if empty), and the size of their list.
struct Differences {
  std::vector<std::size_t> where;
  bool bytes = true;  // every listed value is some k / 128
  [[nodiscard]] std::size_t list_size(std::size_t value_bytes) const {
    std::size_t size = varint_size(where.size()), previous = 0;
    for (const std::size_t index : where) {
      size += varint_size(index - previous) + value_bytes;
      previous = index + 1;
    }
    return size;
  }
};

Differences differences(std::span<const float> values, std::span<const float> base) {
  Differences found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (same_bits(values[i], base.empty() ? 0.0f : base[i])) continue;
    found.where.push_back(i);
    found.bytes = found.bytes && as_byte(values[i]) >= 0;
  }
  return found;
}

void put_list(std::string& out, const Differences& list, std::span<const float> values, bool as_bytes) {
  put_varint(out, list.where.size());
  std::size_t previous = 0;
  for (const std::size_t index : list.where) {
    put_varint(out, index - previous);
    previous = index + 1;
    if (as_bytes)
      put_byte(out, static_cast<std::uint64_t>(as_byte(values[index])));
    else
      put_f32(out, values[index]);
  }
}

}  // namespace

// Encodes hints for one fragment, given the definitions that it may refer to.
class HintEncoder {
 public:
  HintEncoder(std::string& out, const Fragment::Definition* known) : out_(out), known_(known) {}

  void put_array(std::span<const float> values, const Slot& slot) {
    put_varint(out_, values.size());
    if (values.empty()) return;
    const Choice choice = choose(values, slot);
    put_byte(out_, static_cast<std::uint64_t>(choice.kind));
    switch (choice.kind) {
      case ArrayKind::fill:
        put_f32(out_, values[0]);
        return;
      case ArrayKind::bits:
        put_bitmap(out_, values.size(), [&](std::size_t i) { return as_byte(values[i]) == 128; });
        return;
      case ArrayKind::u8:
        for (const float value : values) put_byte(out_, static_cast<std::uint64_t>(as_byte(value)));
        return;
      case ArrayKind::f32:
        put_floats(out_, values);
        return;
      case ArrayKind::list_u8:
      case ArrayKind::list_f32:
        put_varint(out_, choice.base);
        put_list(out_, choice.list, values, choice.kind == ArrayKind::list_u8);
        return;
    }
  }

  [[nodiscard]] static std::uint64_t flags(const Hints& hints) {
    const auto any = [](const logic::Slopes& side) {
      return std::ranges::any_of(side, [](const auto& one) { return !one.second.empty(); });
    };
    const std::uint64_t lower = any(hints.lower) ? kHasLower : 0, upper = any(hints.upper) ? kHasUpper : 0;
    return lower | upper | (hints.beta.empty() ? 0u : std::uint64_t{kHasBeta}) | (hints.cuts.empty() ? 0u : std::uint64_t{kHasCuts});
  }

  // Everything after the flag byte.
  void put_body(const Hints& hints) {
    put_side(hints.lower, Slot::Side::lower);
    put_side(hints.upper, Slot::Side::upper);
    if (!hints.beta.empty()) put_array(hints.beta, {Slot::Side::beta});
    if (!hints.cuts.empty()) put_array(hints.cuts, {Slot::Side::cuts});
  }

 private:
  struct Choice {
    ArrayKind kind = ArrayKind::f32;
    std::size_t size = kImpossible;
    std::uint64_t base = 0;  // 0: zeros; otherwise id + 1
    Differences list;
  };

  static void consider(Choice& best, ArrayKind kind, std::size_t size) {
    if (size < best.size) best = {kind, size, 0, {}};
  }

  static void consider_list(Choice& best, std::uint64_t base, Differences list) {
    const ArrayKind kind = list.bytes ? ArrayKind::list_u8 : ArrayKind::list_f32;
    const std::size_t size = varint_size(base) + list.list_size(list.bytes ? 1 : 4);
    if (size < best.size) best = {kind, size, base, std::move(list)};
  }

  Choice choose(std::span<const float> values, const Slot& slot) const {
    Choice best;
    bool uniform = true, bits = true, bytes = true;
    for (const float value : values) {
      const int k = as_byte(value);
      uniform = uniform && same_bits(value, values[0]);
      bits = bits && (k == 0 || k == 128);
      bytes = bytes && k >= 0;
    }
    if (uniform) consider(best, ArrayKind::fill, 4);
    if (bits) consider(best, ArrayKind::bits, (values.size() + 7) / 8);
    if (bytes) consider(best, ArrayKind::u8, values.size());
    consider(best, ArrayKind::f32, 4 * values.size());
    consider_list(best, 0, differences(values, {}));
    int tried = 0;
    for (const auto* known = known_; known != nullptr && tried < kBasesTried; known = known->previous.get(), ++tried) {
      const std::span<const float> base = find_slot(*known->hints, slot);
      if (base.size() == values.size()) consider_list(best, std::uint64_t{known->id} + 1, differences(values, base));
    }
    return best;
  }

  void put_side(const logic::Slopes& slopes, Slot::Side side) {
    const auto present = static_cast<std::uint64_t>(std::ranges::count_if(slopes, [](const auto& one) { return !one.second.empty(); }));
    if (present == 0) return;
    put_varint(out_, present);
    for (const auto& [node, array] : slopes) {
      if (array.empty()) continue;
      put_varint(out_, node);
      put_array(array, {side, node});
    }
  }

  std::string& out_;
  const Fragment::Definition* known_;
};

namespace {

// Absent multipliers mean a single row with multiplier 1.
bool is_default(const std::vector<float>& rows) { return rows.empty() || (rows.size() == 1 && same_bits(rows[0], 1.0f)); }

// Writes 2 * count + 1 if the cases are positions 0 .. count - 1 without multipliers; otherwise 2 * count and the list.
void put_cases(std::string& out, std::span<const CaseMultipliers> cases) {
  bool plain = true;
  for (std::size_t i = 0; i < cases.size(); ++i) plain = plain && cases[i].position == i && is_default(cases[i].rows);
  put_varint(out, 2 * static_cast<std::uint64_t>(cases.size()) + (plain ? 1 : 0));
  if (plain) return;
  for (const CaseMultipliers& entry : cases) {
    put_varint(out, 2 * static_cast<std::uint64_t>(entry.position) + (is_default(entry.rows) ? 0 : 1));
    if (!is_default(entry.rows)) HintEncoder(out, nullptr).put_array(entry.rows, {Slot::Side::beta});
  }
}

}  // namespace

void Fragment::may_end_frame() {
  const std::size_t last = frame_ends_.empty() ? 0 : frame_ends_.back();
  if (bytes_.size() - last >= kFrameTarget) frame_ends_.push_back(bytes_.size());
}

void Fragment::copy(std::string_view record) {
  may_end_frame();
  bytes_ += record;
  ++records_;
}

void Fragment::append(const Fragment& more) {
  may_end_frame();
  for (const std::size_t end : more.frame_ends_) frame_ends_.push_back(bytes_.size() + end);
  bytes_ += more.bytes_;
  records_ += more.records_;
}

void Fragment::begin(RecordType type) {
  may_end_frame();
  put_byte(bytes_, static_cast<std::uint64_t>(type));
  ++records_;
}

void Fragment::sweep(NodeId first, bool round_to_float) {
  begin(RecordType::sweep);
  put_byte(bytes_, round_to_float ? 1 : 0);
  put_varint(bytes_, first);
}

void Fragment::boxes(NodeId first) {
  begin(RecordType::boxes);
  put_varint(bytes_, first);
}

void Fragment::box(NodeId node) {
  begin(RecordType::box);
  put_varint(bytes_, node);
}

void Fragment::tighten(NodeId node, const Selection& selection, const Hints& hints, const Claims* claims, bool round_to_float) {
  begin(RecordType::tighten);
  put_varint(bytes_, node);
  const std::uint64_t claimed = claims != nullptr ? kHasClaims : 0, rounded = round_to_float ? kRoundToFloat : 0;
  put_byte(bytes_, HintEncoder::flags(hints) | static_cast<std::uint64_t>(selection.kind) << kSelectionShift | claimed | rounded);
  put_selection(selection);
  HintEncoder(bytes_, known_.get()).put_body(hints);
  if (claims == nullptr) return;
  put_varint(bytes_, claims->lo.size());
  put_floats(bytes_, claims->lo);
  put_floats(bytes_, claims->hi);
}

void Fragment::put_selection(const Selection& selection) {
  if (selection.kind != Selection::Kind::mask) return;
  const std::vector<float> mask(selection.mask.begin(), selection.mask.end());
  HintEncoder(bytes_, nullptr).put_array(mask, {Slot::Side::beta});
}

void Fragment::tighten_by_cases(NodeId node, const Selection& selection, std::span<const certificate::CaseStep> tree, bool round_to_float) {
  begin(RecordType::tighten_by_cases);
  put_varint(bytes_, node);
  put_byte(bytes_, static_cast<std::uint64_t>(selection.kind) << kSelectionShift | (round_to_float ? kRoundToFloat : 0U));
  put_selection(selection);
  put_tree(tree);
}

void Fragment::cut(std::span<const logic::Cut::Term> terms, std::span<const certificate::CaseStep> tree) {
  begin(RecordType::cut);
  put_varint(bytes_, terms.size());
  for (const logic::Cut::Term& term : terms) {
    put_varint(bytes_, term.node);
    put_varint(bytes_, term.element);
    put_f32(bytes_, term.coefficient);
  }
  put_tree(tree);
}

void Fragment::put_tree(std::span<const certificate::CaseStep> tree) {
  for (const certificate::CaseStep& step : tree) {
    if (step.split) {
      put_split(bytes_, step.split->node, step.split->element, step.split->threshold);
      continue;
    }
    put_byte(bytes_, kLeaf);
    put_byte(bytes_, HintEncoder::flags(step.hints));
    HintEncoder(bytes_, known_.get()).put_body(step.hints);
  }
}

void Fragment::conclude(std::span<const CaseMultipliers> cases, const Hints& hints) {
  begin(RecordType::conclude);
  put_cases(bytes_, cases);
  put_byte(bytes_, HintEncoder::flags(hints));
  HintEncoder(bytes_, known_.get()).put_body(hints);
}

void Fragment::empty() { begin(RecordType::empty); }

void Fragment::refer_to(std::uint32_t id, std::shared_ptr<const Hints> hints) {
  known_ = std::make_shared<const Definition>(Definition{id, std::move(hints), known_});
}

void Fragment::define_hints(std::uint32_t id, const Hints& hints) {
  begin(RecordType::define_hints);
  put_varint(bytes_, id);
  put_byte(bytes_, HintEncoder::flags(hints));
  HintEncoder(bytes_, known_.get()).put_body(hints);
  refer_to(id, std::make_shared<const Hints>(hints));
}

void Fragment::conclude_with(std::span<const CaseMultipliers> cases, std::uint32_t hints_id, std::span<const float> beta) {
  begin(RecordType::conclude_with);
  put_cases(bytes_, cases);
  put_varint(bytes_, hints_id);
  HintEncoder(bytes_, known_.get()).put_array(beta, {Slot::Side::beta});
}

}  // namespace assay::certificate
