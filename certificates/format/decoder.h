// Decoder: decodes the records of a frame (FORMAT.md section 2). The content of a record depends on the hints and cuts
// that earlier records left in force. Used by the reader, and by replay, whose threads decode the records of their
// branches. Copies are cheap. A decoder that skims leaves arrays empty and reports no faults in them; the decoder that
// reads the record again reports them.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "certificates/format/cursor.h"
#include "certificates/format/reader.h"
#include "semantics/printable.h"

namespace assay::certificate {

class Decoder {
 public:
  Cursor cursor;  // over the payload of the current frame

  // Decodes one record, which is valid until the next call; cursor.fault() says whether it is well-formed.
  const Record* next(const Graph* graph, bool skims = false) {
    const std::uint64_t number = record_.number;
    graph_ = graph;
    skims_ = skims;
    record_ = Record{};
    record_.number = number + 1;
    record_.offset = cursor.offset();
    const std::uint8_t type = cursor.byte();
    record_.type = static_cast<RecordType>(type);
    if (!is_known(record_.type))
      cursor.fail("certificate.record", "a known record type (1.." + std::to_string(kRecordTypes) + ")", std::to_string(type));
    else
      visit(record_, Fields{*this});
    record_.bytes = cursor.offset() - record_.offset;
    if (cursor.fault()) cursor.locate(record_.number, is_known(record_.type) ? to_string(record_.type) : "of no known type");
    return &record_;
  }

  // The bytes in the file of the record that was decoded last.
  [[nodiscard]] std::string_view encoded() const { return cursor.since(record_.offset); }

  // Decodes a record at another place of the file.
  const Record* at(const Cursor& place, std::uint64_t number, const Graph* graph) {
    cursor = place;
    record_.number = number - 1;
    return next(graph);
  }

  // The decoder for the right branch of the open split at `depth` - 1, while this one is in its left branch.
  [[nodiscard]] Decoder right_branch(std::size_t depth) const {
    Decoder right = *this;
    right.forget(depth);
    right.depth_ = depth;
    return right;
  }

 private:
  struct Definition {
    std::uint32_t id;
    std::size_t depth;  // number of open splits at its definition
    std::shared_ptr<const logic::Hints> hints;
    std::uint64_t values;  // number of values in its arrays
  };

  // The fields after the type byte, for each kind of record.
  struct Fields {
    Decoder& of;
    void begin_group(const Record&) const { of.record_.group = of.cursor.varint(); }
    void end_group(const Record&) const { of.forget(0); }
    void sweep(const Record&) const {
      of.record_.round_to_float = of.cursor.byte() != 0;
      of.record_.node = of.node();
    }
    void boxes(const Record&) const { of.record_.node = of.node(); }
    void box(const Record&) const { of.record_.node = of.node(); }
    void tighten(const Record&) const { of.tighten(); }
    void tighten_by_cases(const Record&) const { of.tighten(); }
    void cut(const Record&) const { of.cut(); }
    void define_hints(const Record&) const { of.define(); }
    void conclude(const Record&) const {
      of.cases();
      of.hints(of.cursor.byte());
    }
    void conclude_with(const Record&) const {
      of.cases();
      of.defined();
    }
    void empty(const Record&) const {}
    void split(const Record&) const { of.split(); }
    void next(const Record&) const { of.forget(of.depth_); }
    void done(const Record&) const {
      of.forget(of.depth_);
      of.depth_ -= of.depth_ > 0 ? 1 : 0;
    }
    void witness(const Record&) const { of.witness(); }
  };

  // Ends a branch with this many open splits: removes the definitions of the branch and of its descendants.
  void forget(std::size_t depth) {
    for (; !definitions_.empty() && definitions_.back().depth >= depth; definitions_.pop_back()) held_ -= definitions_.back().values;
    while (!cuts_.empty() && cuts_.back() >= depth) cuts_.pop_back();
  }

  [[nodiscard]] const Definition* find(std::uint64_t id) const {
    const auto found = std::ranges::lower_bound(definitions_, id, {}, &Definition::id);
    return found != definitions_.end() && found->id == id ? &*found : nullptr;
  }

  NodeId node() {
    const NodeId id = cursor.varint32();
    const std::uint64_t nodes = graph_ != nullptr ? graph_->nodes.size() : kMaxNodes;
    if (!(id < nodes))
      misfit("certificate.value", "a node of the model, whose numbers are below " + std::to_string(nodes), "node " + std::to_string(id));
    return id;
  }

  // Reports a number that does not fit the model's nodes.
  void misfit(const char* code, std::string required, std::string found) {
    cursor.fail(code, std::move(required), std::move(found), Rejection::Kind::malformed,
                "number nodes as `assay inspect MODEL` lists them, with their sizes");
  }
  static std::string counted(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " value" : " values"); }
  // "node 3 'z', which has 2 elements".
  [[nodiscard]] std::string described(NodeId id) const {
    const bool known = graph_ != nullptr && id < graph_->nodes.size();
    const std::uint64_t size = elements(id);
    return "node " + std::to_string(id) + (known ? " '" + printable(graph_->node(id).name) + "'" : "") + ", which has " +
           std::to_string(size) + (size == 1 ? " element" : " elements");
  }

  [[nodiscard]] std::uint64_t elements(NodeId id) const { return graph_ == nullptr || cursor.fault() ? kMaxElements : graph_->size(id); }

  std::uint32_t element(NodeId of) {
    const std::uint32_t at = cursor.varint32();
    const std::uint64_t size = elements(of);
    if (!(at < size)) misfit("certificate.value", "an element of " + described(of), "element " + std::to_string(at));
    return at;
  }

  void split() {
    ++depth_;
    const logic::Literal at_most = literal(record_.type);
    record_.node = at_most.node;
    record_.element = at_most.element;
    record_.threshold = at_most.threshold;
  }

  logic::Literal literal(RecordType type) {
    logic::Literal at_most{node(), 0, false, 0};
    at_most.element = element(at_most.node);
    if (type == RecordType::split_f32) at_most.threshold = static_cast<double>(cursor.f32());
    if (type == RecordType::split_f64) at_most.threshold = cursor.f64();
    if (!std::isfinite(at_most.threshold)) cursor.fail("certificate.value", "a finite threshold", "NaN or an infinity");
    return at_most;
  }

  // In preorder. The tree ends with the leaf that leaves no half open.
  void tree() {
    std::vector<bool> open;  // by open split: whether its left half has ended
    do {
      if (!(record_.tree.size() < kMaxCaseSteps)) return cursor.fail("certificate.length", "a tree of at most 2^16 steps", "one more");
      const std::uint8_t tag = cursor.byte();
      if (is_split(static_cast<RecordType>(tag))) {
        record_.tree.push_back({literal(static_cast<RecordType>(tag)), {}});
        open.push_back(false);
        continue;
      }
      if (tag != kLeaf) return cursor.fail("certificate.value", "a leaf (0) or a split (10..12)", std::to_string(tag));
      literals_ = open.size();
      hints(cursor.byte());
      literals_ = 0;
      record_.tree.push_back({std::nullopt, std::exchange(record_.hints, {})});
      while (!open.empty() && open.back()) open.pop_back();
      if (!open.empty()) open.back() = true;
    } while (!open.empty() && !cursor.fault());
  }

  void cut() {
    // Bytes of the shortest term; and the memory of a term, in units of four bytes.
    constexpr std::uint64_t kLeastTerm = 6, kValuesPerTerm = sizeof(logic::Cut::Term) / sizeof(float);
    const std::uint64_t count = cursor.count(kLeastTerm);
    if (!has_room_for(kValuesPerTerm * count)) return;
    for (std::uint64_t left = count; left > 0 && !cursor.fault(); --left) {
      logic::Cut::Term term{node(), 0, 0};
      term.element = element(term.node);
      term.coefficient = cursor.f32();
      if (!std::isfinite(term.coefficient)) cursor.fail("certificate.value", "a finite coefficient", "NaN or an infinity");
      record_.terms.push_back(term);
    }
    tree();
    cuts_.push_back(depth_);
  }

  void tighten() {
    const bool by_cases = record_.type == RecordType::tighten_by_cases;
    record_.node = node();
    const std::uint8_t flags = cursor.byte();
    if (by_cases && (flags & (kHintFlags | kHasClaims)) != 0)
      return cursor.fail("certificate.value", "only known flags", std::to_string(flags));
    record_.selection.kind = static_cast<inspect::Selection::Kind>(flags >> kSelectionShift & 3);
    record_.claimed = (flags & kHasClaims) != 0;
    record_.round_to_float = (flags & kRoundToFloat) != 0;
    if (record_.selection.kind > inspect::Selection::Kind::mask) return cursor.fail("certificate.value", "a known selection (0..2)", "3");
    if (record_.selection.kind == inspect::Selection::Kind::mask) {
      for (const float value : node_array(record_.node, no_base)) record_.selection.mask.push_back(value != 0.0f);
    }
    hints(flags & ~(3 << kSelectionShift | kHasClaims | kRoundToFloat));
    if (by_cases) return tree();
    if (!record_.claimed) return;
    const std::uint64_t count = cursor.count(8);
    record_.claims.lo = floats(count);
    record_.claims.hi = floats(count);
  }

  void cases() {
    const std::uint64_t head = cursor.varint(), count = head >> 1;
    if (!(count <= kMaxCases)) return cursor.fail("certificate.length", "at most 2^20 cases", std::to_string(count));
    for (std::uint32_t i = 0; i < count && !cursor.fault(); ++i) {
      logic::CaseMultipliers entry{i, {}};
      if ((head & 1) == 0) {
        const std::uint64_t code = cursor.varint();
        if (code >> 33 != 0) return cursor.fail("certificate.value", "a case position below 2^32", std::to_string(code >> 1));
        entry.position = static_cast<std::uint32_t>(code >> 1);
        const std::uint64_t left = kMaxMultipliers - std::min(record_.values, kMaxMultipliers);
        if ((code & 1) != 0) entry.rows = array(std::min(kMaxCases, left), no_base, "multipliers of rows");
      }
      record_.cases.push_back(std::move(entry));
    }
  }

  void hints(int flags) {
    if ((flags & ~kHintFlags) != 0) return cursor.fail("certificate.value", "only known flags", std::to_string(flags));
    if ((flags & kHasLower) != 0) slopes(&logic::Hints::lower);
    if ((flags & kHasUpper) != 0) slopes(&logic::Hints::upper);
    if ((flags & kHasBeta) != 0) record_.hints.beta = beta();
    if ((flags & kHasCuts) != 0)
      record_.hints.cuts = multipliers(cuts_.size(), &logic::Hints::cuts, "multipliers of cuts, one for each cut in force");
  }

  void define() {
    record_.hints_id = cursor.varint32();
    hints(cursor.byte());
    if (!definitions_.empty() && !(definitions_.back().id < record_.hints_id))
      return cursor.fail("certificate.hint", "an id above those in force", std::to_string(record_.hints_id));
    held_ += record_.values;
    definitions_.push_back({record_.hints_id, depth_, std::make_shared<const logic::Hints>(record_.hints), record_.values});
  }

  void defined() {
    record_.hints_id = cursor.varint32();
    const Definition* definition = find(record_.hints_id);
    if (definition == nullptr) return cursor.fail("certificate.hint", "an id of hints in force", std::to_string(record_.hints_id));
    record_.hints = *definition->hints;
    record_.values += definition->values;
    record_.hints.beta = beta();
  }

  std::vector<float> beta() { return multipliers(depth_ + literals_, &logic::Hints::beta, "values of beta, one for each open split"); }

  std::vector<float> multipliers(std::uint64_t limit, std::vector<float> logic::Hints::*of, const char* what) {
    return array(
        limit, [of](const logic::Hints& base) { return std::span(base.*of); }, what);
  }

  void slopes(logic::Slopes logic::Hints::*side) {
    for (std::uint64_t left = cursor.count(2); left > 0 && !cursor.fault(); --left) {
      const NodeId id = node();
      auto& arrays = record_.hints.*side;
      if (!arrays.empty() && id <= arrays.rbegin()->first)
        cursor.fail("certificate.hint", "node numbers in ascending order", std::to_string(id));
      if (cursor.fault() || !has_room_for(kValuesPerNode)) return;
      arrays[id] = node_array(id, [&](const logic::Hints& base) { return logic::proposed(base.*side, id); });
    }
  }

  std::vector<float> floats(std::uint64_t count) {
    Cursor numbers(cursor.take(sizeof(float) * count));
    std::vector<float> values(skims_ ? 0 : count);
    for (float& value : values) value = numbers.f32();
    if (std::ranges::any_of(values, [](float value) { return std::isnan(value); })) cursor.fail("certificate.value", "no NaN", "NaN");
    return values;
  }

  // One value per element of the node.
  std::vector<float> node_array(NodeId id, auto&& base_of) {
    const std::uint64_t size = elements(id);
    std::vector<float> values = array(size, base_of, "values", &id);
    if (!skims_ && graph_ != nullptr && values.size() != size)
      misfit("certificate.hint", "as many values as " + described(id), counted(values.size()));
    return values;
  }

  // For an array that definitions do not contain.
  static std::span<const float> no_base(const logic::Hints&) { return {}; }

  // An array of at most `limit` elements, which are `what`; `of` is its node, if any. base_of(hints) is the same array
  // of defined hints, or empty.
  std::vector<float> array(std::uint64_t limit, auto&& base_of, const char* what, const NodeId* of = nullptr) {
    const std::uint64_t count = cursor.varint();
    if (!(count <= limit) && of != nullptr && graph_ != nullptr)
      misfit("certificate.hint", "as many values as " + described(*of), counted(count));
    if (!(count <= limit)) cursor.fail("certificate.hint", "at most " + std::to_string(limit) + " " + what, std::to_string(count));
    if (count == 0 || cursor.fault() || !has_room_for(count)) return {};
    const std::uint8_t kind = cursor.byte();
    if (kind >= static_cast<std::uint8_t>(ArrayKind::list_u8)) return list(kind, count, base_of);
    const std::string_view bytes = cursor.take(bytes_of(static_cast<ArrayKind>(kind), count));
    if (skims_ || cursor.fault()) return {};
    std::vector<float> values(count);
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    Cursor numbers(bytes);
    switch (static_cast<ArrayKind>(kind)) {
      case ArrayKind::fill:
        std::ranges::fill(values, finite(numbers));
        break;
      case ArrayKind::bits:
        for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(byte(i / 8) >> (i % 8) & 1);
        break;
      case ArrayKind::u8:
        for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(byte(i)) / 128.0f;
        break;
      default:
        for (float& value : values) value = finite(numbers);
    }
    return values;
  }

  std::vector<float> list(std::uint8_t kind, std::uint64_t count, auto&& base_of) {
    if (kind >= kArrayKinds) cursor.fail("certificate.hint", "a known array encoding (0..5)", std::to_string(kind));
    const std::uint64_t base = cursor.varint();  // 0: zeros; otherwise id + 1
    const bool in_bytes = kind == static_cast<std::uint8_t>(ArrayKind::list_u8);
    if (skims_) return cursor.skip_listed(cursor.count(2), in_bytes ? 1 : sizeof(float)), std::vector<float>();
    const Definition* definition = base > 0 ? find(base - 1) : nullptr;
    const std::span<const float> start = definition != nullptr ? base_of(*definition->hints) : std::span<const float>();
    if (base > 0 && start.size() != count)
      cursor.fail("certificate.hint", "hints in force with this array in this length", "hints " + std::to_string(base - 1) + " have none");
    if (cursor.fault()) return {};
    std::vector<float> values(start.begin(), start.end());
    values.resize(count);
    std::uint64_t index = 0;
    for (std::uint64_t left = cursor.count(2); left > 0 && !cursor.fault(); --left, ++index) {
      const std::uint64_t gap = cursor.varint();
      if (!(index < count && gap < count - index))
        cursor.fail("certificate.hint", "listed elements below " + std::to_string(count), "an element beyond them");
      if (cursor.fault()) return {};
      index += gap;
      values[index] = in_bytes ? static_cast<float>(cursor.byte()) / 128.0f : finite(cursor);
    }
    return values;
  }

  // The number of bytes of an array's values, for kinds other than lists.
  static std::uint64_t bytes_of(ArrayKind kind, std::uint64_t count) {
    if (kind == ArrayKind::bits || kind == ArrayKind::u8) return kind == ArrayKind::u8 ? count : (count + 7) / 8;
    return sizeof(float) * (kind == ArrayKind::fill ? 1 : count);
  }

  float finite(Cursor& numbers) {
    const float value = numbers.f32();
    if (!std::isfinite(value)) cursor.fail("certificate.hint", "finite hints", "NaN or an infinity");
    return value;
  }

  // Whether the arrays of this record may hold `more` values; for a definition, together with all definitions in force.
  [[nodiscard]] bool has_room_for(std::uint64_t more) {
    record_.values += more;
    const std::uint64_t values = record_.values + (record_.type == RecordType::define_hints ? held_ : 0);
    if (values <= kMaxHeldValues) return true;
    std::uint64_t elements = 0;
    for (NodeId node = 0; graph_ != nullptr && node < graph_->nodes.size(); ++node) elements += graph_->size(node);
    if (values <= 4 * elements) return true;
    cursor.fail("certificate.memory", "arrays of as many values as four per element of the graph", "one more", Rejection::Kind::declined,
                "write smaller records");
    return false;
  }

  void witness() {
    std::uint64_t digits = 0;
    record_.witness.case_index = cursor.varint32();
    for (std::uint64_t left = cursor.count(1); left > 0 && !cursor.fault(); --left) {
      const std::uint64_t length = cursor.count(1, "a witness of numbers as texts, each behind its length, within the frame");
      if (!(length <= kMaxRationalBytes))
        return cursor.fail("certificate.length", "a number of at most 20000 characters", std::to_string(length));
      const std::string_view text = cursor.take(length);
      digits += length + (text.find_first_of("eE") != std::string_view::npos ? kExponentDigits : 0);
      if (!(digits <= kMaxDigits)) return cursor.fail("certificate.length", "numbers of at most 10^8 digits in all", "more digits");
      auto value = Rational::parse(text);
      if (!value) return cursor.fail("certificate.value", "a witness of texts such as -12, 3/8 or 0.125", "'" + printable(text, 40) + "'");
      record_.witness.inputs.push_back(*std::move(value));
    }
  }

  Record record_;
  const Graph* graph_ = nullptr;
  bool skims_ = false;
  static constexpr std::uint64_t kValuesPerNode = 20;  // memory of a node's slopes beside their values, in values
  std::size_t depth_ = 0;                              // number of open splits, as far as the records say
  std::size_t literals_ = 0;                           // number of literals that the tree adds at the leaf being read
  // Cuts in force: the number of open splits at each one's derivation.
  std::vector<std::size_t> cuts_;
  std::vector<Definition> definitions_;  // definitions in force, ids ascending
  std::uint64_t held_ = 0;               // number of values in their arrays
};

}  // namespace assay::certificate
