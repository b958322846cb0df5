// Recorder: what a session runs, as a trace for the audit (docs/trace-format.md). Each op is a region of its own, as it ran.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/observer.h"
#include "runtime/session.h"
#include "semantics/graph/trace.h"

namespace assay::runtime {

// The model that the kernels promise to keep: any order of summation, products and sums perhaps fused, functions of the C library.
[[nodiscard]] ExecutionModel execution_model(DType dtype);

class Recorder : public Observer {
 public:
  // Records what the session runs from now on; at most one recorder at a time. Parameters that exist already are recorded when they are
  // used.
  explicit Recorder(Session& session);
  ~Recorder() override;

  // Session::gradients with a cotangent of 1 that is recorded, and the claim that these are the gradients. `loss` has one element.
  Outcome<std::vector<Value>> gradients(const Value& loss, std::span<const Value> of);
  // The value is one that the run returned.
  void output(const Value& value);

  // What was recorded; the recorder starts again.
  [[nodiscard]] Trace take();

  void given(Ref value, const Array& array, std::string_view name) override;
  bool kept(Ref from, Ref to) override;
  void ran(Op op, const Attributes& attributes, std::span<const Ref> operands, std::span<const Array* const> contents, Ref result,
           const Array& result_content, Role role) override;
  void sent(Ref node, std::size_t operand, Ref cotangent) override;
  void forgotten(Ref first) override;

 private:
  [[nodiscard]] ExecutionModel model_of(DType dtype) const;  // the session's device's, if it has one
  TraceTensorId add(Ref ref, const Array& array, std::string name, Trace::Origin origin);
  TraceTensorId id_of(Ref ref, const Array& content);
  // The cotangent of a tensor as far as it was summed up.
  [[nodiscard]] TraceTensorId total_of(TraceTensorId tensor) const;

  Session& session_;
  Trace trace_;
  std::map<Ref, TraceTensorId> ids_;
  std::map<TraceTensorId, TraceTensorId> totals_;     // tensor, its cotangent
  std::map<TraceTensorId, std::uint32_t> producers_;  // tensor, region
  std::map<std::string, std::size_t> names_;          // how often each was given
};

}  // namespace assay::runtime
