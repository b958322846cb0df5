// TapeEmitter: gradient rules executed at once on a session's tape. Private to the session.
#pragma once

#include <utility>

#include "runtime/session.h"

namespace assay::runtime {

class Session::TapeEmitter final : public autodiff::Emitter {
 public:
  struct Refused {};  // thrown after an op failed and the session has its failure; the reverse pass catches it

  explicit TapeEmitter(Session& session) : session_(session) {}
  Ref op(Op op, std::span<const Ref> operands, Attributes attributes) override {
    const Ref ref = session_.execute(op, operands, std::move(attributes));
    if (ref == kNone) throw Refused();
    return ref;
  }
  [[nodiscard]] const Shape& shape(Ref value) const override { return session_.tape_[value].value.shape(); }
  [[nodiscard]] DType dtype(Ref value) const override { return session_.tape_[value].value.dtype(); }
  Ref constant(Tensor value) override { return session_.leaf(Array::from(value), {}); }
  Ref number(double value, DType dtype) override { return session_.kept_number(value, dtype); }
  Ref fixed(autodiff::Fixed which, DType dtype) override { return session_.kept_fixed(which, dtype); }

 private:
  Session& session_;
};

}  // namespace assay::runtime
