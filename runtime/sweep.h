// The state of a reverse pass over a session's tape. Private to the session.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/autodiff/rules.h"
#include "runtime/kernels/composed.h"
#include "runtime/tape_emitter.h"

namespace assay::runtime {

// The state of one reverse pass over the entries floor .. top - 1 and the kept values.
struct Session::Sweep {
  Sweep(Session& owner, Ref first, Ref last, bool keep_all)
      : session(owner),
        floor(first),
        top(last),
        born(owner.tape_.size()),
        differentiable(keep_all),
        emitter(owner),
        marks(last - first),
        kept_marks(owner.tape_.kept_size()) {}

  struct Mark {
    Ref bar = kNone;
    bool depends = false;  // on a leaf
    bool is_leaf = false;
    bool is_sum = false;     // the bar is a sum that accumulate() made: elements of its own, and no part of another array
    std::uint32_t uses = 0;  // by entries that depend on a leaf
    std::vector<std::pair<PadAttributes, Ref>> parts = {};  // cotangents of slices, which wait for the others
    GemmAttributes product = {};                            // of these, which wait as well: two factors each
    std::vector<Ref> factors = {};
    [[nodiscard]] bool is_reached() const { return bar != kNone || !parts.empty() || !factors.empty(); }
  };
  Session& session;
  Ref floor, top, born;  // values from `born` on are made by this pass
  bool differentiable;
  TapeEmitter emitter;
  std::vector<Mark> marks, kept_marks;
  std::vector<std::pair<Ref, Mark>> below;  // leaves below the floor
  std::vector<std::uint16_t> holders;       // of values made by this pass: how many bars are this value
  std::vector<bool> wanted;
  std::vector<Ref> operands;

  // The mark of a value, or null for one that no leaf is reached from.
  Mark* find(Ref ref) {
    if (ref >= kFirstKept) return ref - kFirstKept < kept_marks.size() ? &kept_marks[ref - kFirstKept] : nullptr;
    if (ref >= floor) return ref < top ? &marks[ref - floor] : nullptr;
    for (auto& [leaf, mark] : below) {
      if (leaf == ref) return &mark;
    }
    return nullptr;
  }
  bool depends(Ref ref) {
    const Mark* mark = find(ref);
    return mark != nullptr && mark->depends;
  }
  void add_leaf(Ref ref) {
    if (ref < floor && find(ref) == nullptr) below.emplace_back(ref, Mark{});
    Mark* mark = find(ref);
    if (mark != nullptr) mark->depends = mark->is_leaf = true;
  }
  void find_dependants() {
    for (Ref ref = floor; ref < top; ++ref) {
      const Entry& entry = session.tape_[ref];
      if (!is_float(entry.value.dtype()) || entry.kind == Entry::Kind::detached) continue;
      for (const Ref operand : session.tape_.operands(entry)) {
        Mark* const mark = find(operand);
        if (mark == nullptr || !mark->depends) continue;
        marks[ref - floor].depends = true;
        ++mark->uses;
      }
    }
  }

  void hold(Ref bar) {
    if (bar < born || bar >= kFirstKept) return;
    if (holders.size() <= bar - born) holders.resize(bar - born + 1, 0);
    ++holders[bar - born];
  }
  // One holder less; a value without a holder gives its memory back.
  void let_go(Ref bar) {
    if (differentiable || bar < born || bar >= kFirstKept) return;
    if (--holders[bar - born] == 0) release(bar);
  }
  void release(Ref ref) { const Array gone = std::move(session.tape_[ref].value); }
  void release_unheld(Ref from) {
    if (differentiable) return;
    holders.resize(session.tape_.size() - born, 0);
    for (Ref ref = from; ref < session.tape_.size(); ++ref) {
      if (holders[ref - born] == 0) release(ref);
    }
  }

  // Returns true if ops may be done in another way that gives the same bits: there is no observer, nothing is differentiated
  // again, and results are stored as they were computed.
  [[nodiscard]] bool free() const { return !differentiable && session.is_plain(); }

  // The cotangent of a slice waits, so that those of several slices are put together at once.
  bool keep_part(const Entry& entry, Ref operand, Ref bar) {
    if (entry.op != Op::slice || !free()) return false;
    Mark& mark = *find(operand);  // which depends on a leaf, as the only operand of a slice
    if (mark.bar != kNone || !mark.factors.empty()) return false;
    const Shape& shape = session.tape_[operand].value.shape();
    auto pad = pad_of(std::get<SliceAttributes>(entry.attributes), shape);
    if (!pad || !part_of(*pad, shape)) return false;
    mark.parts.emplace_back(*std::move(pad), bar);
    hold(bar);
    return true;
  }
  // For kernels that are called without an op: what was not kept is computed.
  [[nodiscard]] const Array& elements(Ref ref) const {
    const Array& array = session.tape_[ref].value;
    if (!session.fetched(array)) throw TapeEmitter::Refused();
    return array;
  }
  // Adds the waiting cotangents to the bar.
  void settle(Ref node) {
    put_parts_together(node);
    add_products_up(node);
  }
  // The waiting parts become the bar: at once if they lie apart, else padded and added one after the other.
  void put_parts_together(Ref node) {
    const auto waiting = std::exchange(find(node)->parts, {});
    if (waiting.empty()) return;
    const Array like = session.tape_[node].value;
    std::vector<Part> parts;
    std::vector<const Array*> values;
    for (const auto& [pad, bar] : waiting) {
      parts.push_back(*part_of(pad, like.shape()));
      values.push_back(&elements(bar));
    }
    if (are_apart(parts)) {
      Array sum = Array::empty(like.dtype(), like.shape());
      put_together(parts, values, sum);
      accumulate(node, session.leaf(std::move(sum), {}));
    } else {
      for (const auto& [pad, bar] : waiting) {
        const Ref padded = emitter.op(Op::pad, std::span(&bar, 1), pad);
        accumulate(node, padded);
      }
    }
    for (const auto& [pad, bar] : waiting) let_go(bar);
  }

  // Returns true if only this mark holds its sum, or elements of it.
  [[nodiscard]] bool is_alone(const Mark& mark) const {
    return mark.is_sum && mark.parts.empty() && holders[mark.bar - born] == 1 && session.tape_[mark.bar].value.buffer().use_count() == 1;
  }

  // The cotangent of a factor that several products used is one product each. They wait for each other, so that their sum stays
  // in the cache while all are added to it, in place, if that gives the same bits.
  class Adding final : public autodiff::Emitter {
   public:
    Adding(Sweep& sweep, Ref node) : sweep_(sweep), node_(node) {}
    // No value for a product that waits.
    Ref op(Op op, std::span<const Ref> operands, Attributes attributes) override {
      const auto* const gemm = operands.size() == 2 ? std::get_if<GemmAttributes>(&attributes) : nullptr;
      if (gemm != nullptr && sweep_.keep_product(node_, *gemm, operands[0], operands[1])) return kNone;
      return sweep_.emitter.op(op, operands, std::move(attributes));
    }
    [[nodiscard]] const Shape& shape(Ref value) const override { return sweep_.emitter.shape(value); }
    [[nodiscard]] DType dtype(Ref value) const override { return sweep_.emitter.dtype(value); }
    Ref constant(Tensor value) override { return sweep_.emitter.constant(std::move(value)); }

   private:
    Sweep& sweep_;
    Ref node_;
  };
  void keep_products(Ref id, Ref bar) {
    const Entry& entry = session.tape_[id];
    if (entry.op != Op::gemm || !free() || !session.hooks_.empty()) return;
    for (std::size_t k = 0; k < 2; ++k) {
      if (!wanted[k] || find(operands[k])->uses < 2) continue;
      std::vector<bool> this_one(operands.size(), false);
      this_one[k] = true;
      Adding adding(*this, operands[k]);
      const Ref sent = autodiff::cotangents_of({adding, entry.op, entry.attributes, operands, id, bar, this_one})[k];
      if (sent != kNone) accumulate(operands[k], sent);
      wanted[k] = false;
    }
  }
  bool keep_product(Ref node, const GemmAttributes& product, Ref a, Ref b) {
    constexpr std::size_t kMostFactors = 16;  // that wait, as their memory does
    const auto shape = [&](Ref ref) -> const Shape& { return session.tape_[ref].value.shape(); };
    if (!can_add_products(product, shape(a), shape(b))) return false;
    put_parts_together(node);
    Mark& mark = *find(node);
    const bool fits = mark.factors.empty() || (mark.factors.size() < kMostFactors && transpose_alike(mark.product, product) &&
                                               shape(mark.factors[0]) == shape(a) && shape(mark.factors[1]) == shape(b));
    if (!fits) add_products_up(node);
    mark.product = product;
    for (const Ref factor : {a, b}) {
      mark.factors.push_back(factor);
      hold(factor);
    }
    return true;
  }
  void add_products_up(Ref node) {
    const auto waiting = std::exchange(find(node)->factors, {});
    if (waiting.empty()) return;
    const GemmAttributes product = find(node)->product;
    std::vector<const Array*> factors;
    for (const Ref factor : waiting) factors.push_back(&elements(factor));
    if (const Mark& mark = *find(node); is_alone(mark)) {
      runtime::add_products(product, factors, true, session.tape_[mark.bar].value);
    } else {
      const Array& like = session.tape_[node].value;
      Array sum = Array::empty(like.dtype(), like.shape());
      const std::size_t first = mark.bar == kNone ? factors.size() : 2;  // a sum of others is added to one product
      runtime::add_products(product, std::span(factors).first(first), false, sum);
      accumulate(node, session.leaf(std::move(sum), {}));
      find(node)->is_sum = true;
      if (first < factors.size()) runtime::add_products(product, std::span(factors).subspan(first), true, session.tape_[mark.bar].value);
    }
    for (const Ref factor : waiting) let_go(factor);
  }

  void accumulate(Ref node, Ref more) {
    settle(node);
    Mark& mark = *find(node);
    if (mark.bar == kNone) {
      mark.bar = more;
      return hold(more);
    }
    session.role_ = {Role::Kind::accumulate, node};
    const Ref both[] = {mark.bar, more};
    const Ref sum = emitter.op(Op::add, both, NoAttributes{});
    hold(sum);
    hold(more);
    let_go(more);
    let_go(mark.bar);
    mark.bar = sum;
    mark.is_sum = true;
  }
};

}  // namespace assay::runtime
