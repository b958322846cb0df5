#include "frontends/vnnlib/cases.h"

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

namespace assay::vnnlib {
namespace {

// Besides the digits of long numbers.
constexpr std::uint64_t kBytesPerCopy = 8;     // of a bound of the common box, for a case with bounds of its own: for the time it takes
constexpr std::uint64_t kBytesPerNumber = 48;  // in distinct boxes
constexpr std::uint64_t kBytesPerTerm = 64;    // of a row, its bound included
constexpr std::size_t kMaxNotes = 8;           // about single boxes

// Bounds gathered so far; tightened one by one.
struct OpenBox {
  statement::InputBox box;
  std::vector<bool> has_lo, has_hi;
  std::uint64_t hash = 0;   // sum over the bounds, so that tightening can exchange one summand
  std::uint64_t bytes = 0;  // of the digits of long numbers, those that were tightened included

  explicit OpenBox(std::size_t inputs) : has_lo(inputs, false), has_hi(inputs, false) {
    box.lo.resize(inputs);
    box.hi.resize(inputs);
  }
};

// A well-mixed word from a bound's place and the hash of its value (finaliser of SplitMix64, Steele et al. 2014).
std::uint64_t mix(std::uint64_t place, std::uint64_t value_hash) {
  std::uint64_t z = value_hash + (place + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::string shown(const Rational& value) {
  constexpr std::size_t kShownCharacters = 60;  // of a number, in a note
  const std::string text = value.to_decimal();
  return text.size() <= kShownCharacters ? text : text.substr(0, kShownCharacters) + "...";
}

class CaseBuilder {
 public:
  CaseBuilder(const Literals& literals, const Signature& signature, Diagnostics& diagnostics, Room& room, std::vector<std::string>& notes)
      : literals_(literals),
        signature_(signature),
        diagnostics_(diagnostics),
        room_(room),
        notes_(notes),
        common_(signature.input_count()),
        hashes_(2 * std::size_t{signature.input_count()}) {}

  bool build(const Conjunction& formula, statement::Property& property);

 private:
  void gather_common(const std::vector<LiteralId>& common);
  bool build_case(std::span<const LiteralId> own, statement::Case& result);
  bool add_row(const statement::Row& row, std::uint64_t bytes, statement::Case& result);
  bool build_contradiction(statement::Property& property);
  bool find_box(std::span<const LiteralId> own, statement::Case& result);
  void tighten(OpenBox& open, const Literals::Bound& bound);
  bool check_bounded(const OpenBox& open);
  std::shared_ptr<const statement::InputBox> share(OpenBox open);  // null where there is no room for it
  void note_if_empty(const std::shared_ptr<const statement::InputBox>& box);

  const Literals& literals_;
  const Signature& signature_;
  Diagnostics& diagnostics_;
  Room& room_;
  std::vector<std::string>& notes_;
  // The bounds that hold in every case.
  OpenBox common_;
  std::shared_ptr<const statement::InputBox> common_box_;  // once a case has needed it
  std::vector<LiteralId> common_rows_;
  // By place (2 * input + is_lower): hash of the current value. `touched_` undoes a case's changes to the common box's.
  std::vector<std::uint64_t> hashes_;
  std::vector<std::pair<std::size_t, std::uint64_t>> touched_;
  std::unordered_multimap<std::uint64_t, std::shared_ptr<const statement::InputBox>> known_;
  std::size_t empty_boxes_ = 0;
};

void CaseBuilder::tighten(OpenBox& open, const Literals::Bound& bound) {
  Rational& current = bound.is_lower ? open.box.lo[bound.scalar] : open.box.hi[bound.scalar];
  auto has = bound.is_lower ? open.has_lo[bound.scalar] : open.has_hi[bound.scalar];
  if (has && (bound.is_lower ? current >= bound.value : current <= bound.value)) return;
  const std::size_t place = 2 * std::size_t{bound.scalar} + (bound.is_lower ? 1 : 0);
  open.hash -= has ? hashes_[place] : 0;
  touched_.emplace_back(place, hashes_[place]);
  hashes_[place] = mix(place, bound.hash);
  open.hash += hashes_[place];
  open.bytes += bound.bytes;
  current = bound.value;
  has = true;
}

bool CaseBuilder::check_bounded(const OpenBox& open) {
  for (Scalar input = 0; input < signature_.input_count(); ++input) {
    if (open.has_lo[input] && open.has_hi[input]) continue;
    const std::string required = "a lower and an upper bound on every input, in every case";
    const std::string found = "input " + signature_.name(input) + " has no " + (open.has_lo[input] ? "upper" : "lower") + " bound";
    const std::string advice = "assert bounds of " + signature_.name(input) + " that do not depend on other variables";
    // The standard of version 2 allows unbounded inputs; only the statement cannot express them.
    return signature_.is_version_1() ? diagnostics_.malformed_file("unbounded_input", required, found, advice)
                                     : diagnostics_.unsupported_file("unbounded_input", required, found, advice);
  }
  return true;
}

void CaseBuilder::note_if_empty(const std::shared_ptr<const statement::InputBox>& box) {
  const std::shared_ptr<const statement::InputBox> inside = values_in(signature_.graph(), box);
  for (Scalar input = 0; input < box->lo.size(); ++input) {
    if (inside->lo[input] > inside->hi[input]) {
      if (++empty_boxes_ <= kMaxNotes) {
        notes_.push_back("empty input box: " + signature_.name(input) + " >= " + shown(box->lo[input]) + " and <= " +
                         shown(box->hi[input]) + (box->lo[input] > box->hi[input] ? "" : ", which holds no value of the input's type"));
      }
      return;
    }
  }
}

std::shared_ptr<const statement::InputBox> CaseBuilder::share(OpenBox open) {
  const auto [from, to] = known_.equal_range(open.hash);
  for (auto it = from; it != to; ++it)
    if (it->second->lo == open.box.lo && it->second->hi == open.box.hi) return it->second;
  if (!room_.take(kBytesPerNumber * 2 * open.box.lo.size() + open.bytes, 1, std::nullopt, "distinct input boxes")) return nullptr;
  auto shared = std::make_shared<const statement::InputBox>(std::move(open.box));
  note_if_empty(shared);
  known_.emplace(open.hash, shared);
  return shared;
}

void CaseBuilder::gather_common(const std::vector<LiteralId>& common) {
  for (const LiteralId id : common)
    if (Literals::is_row(id))
      common_rows_.push_back(id);
    else
      tighten(common_, literals_.bound(id));
}

bool CaseBuilder::add_row(const statement::Row& row, std::uint64_t bytes, statement::Case& result) {
  if (!room_.take(kBytesPerTerm * (row.terms.size() + 1) + bytes, 1, std::nullopt, "the rows of all cases")) return false;
  result.rows.push_back(row);
  return true;
}

// The common box, tightened by the case's own bounds.
bool CaseBuilder::find_box(std::span<const LiteralId> own, statement::Case& result) {
  if (std::all_of(own.begin(), own.end(), Literals::is_row)) {
    if (!common_box_ && check_bounded(common_)) common_box_ = share(common_);
    result.box = common_box_;
    return common_box_ != nullptr;
  }
  if (!room_.take(kBytesPerCopy * 2 * common_.box.lo.size() + common_.bytes, 1, std::nullopt, "the input boxes of all cases")) return false;
  OpenBox box = common_;
  touched_.clear();
  for (const LiteralId id : own)
    if (!Literals::is_row(id)) tighten(box, literals_.bound(id));
  for (auto change = touched_.rbegin(); change != touched_.rend(); ++change) hashes_[change->first] = change->second;
  if (!check_bounded(box)) return false;
  result.box = share(std::move(box));
  return result.box != nullptr;
}

bool CaseBuilder::build_case(std::span<const LiteralId> own, statement::Case& result) {
  for (const LiteralId id : common_rows_)
    if (!add_row(literals_.row(id), literals_.row_bytes(id), result)) return false;
  for (const LiteralId id : own)
    if (Literals::is_row(id) && !add_row(literals_.row(id), literals_.row_bytes(id), result)) return false;
  return find_box(own, result);
}

// No disjunct is left. One case with the row 0 <= -1 says so in the statement itself, over the box that was asserted.
bool CaseBuilder::build_contradiction(statement::Property& property) {
  notes_.push_back("the assertions contradict each other, whatever the input: one case with the row 0 <= -1 stands for them");
  statement::Case& only = property.cases.emplace_back();
  return find_box({}, only) && add_row({{}, Rational(-1), false}, 0, only);
}

bool CaseBuilder::build(const Conjunction& formula, statement::Property& property) {
  const Dnf& rest = formula.rest;
  gather_common(formula.common);
  property.cases.resize(rest.size());
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::size_t begin = rest.begin_of(i);
    if (!build_case(std::span(rest.literals).subspan(begin, rest.ends[i] - begin), property.cases[i])) return false;
  }
  if (empty_boxes_ > kMaxNotes) notes_.push_back(std::to_string(empty_boxes_) + " input boxes are empty");
  return rest.size() > 0 || build_contradiction(property);
}

}  // namespace

bool build_cases(const Conjunction& formula, const Literals& literals, const Signature& signature, Diagnostics& diagnostics, Room& room,
                 statement::Property& property, std::vector<std::string>& notes) {
  return CaseBuilder(literals, signature, diagnostics, room, notes).build(formula, property);
}

}  // namespace assay::vnnlib
