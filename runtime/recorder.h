// Recorder: the ops of a session as a trace for the audit (docs/reference/trace-format.md). Each op is a region of its own, as it
// ran; so is each step of a compiled function, fused or not.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/gradient_notes.h"
#include "runtime/observer.h"
#include "runtime/session.h"
#include "semantics/graph/trace.h"

namespace assay::runtime {

// The model that the kernels promise to keep: any order of summation, products and sums perhaps fused, functions of the C library.
[[nodiscard]] ExecutionModel execution_model(DType dtype);
// Of these ops alone: with the height of the tree in which products of matrices and reductions add long sums (docs/contracts/sums.md).
[[nodiscard]] ExecutionModel execution_model(DType dtype, const Graph& graph);

class Recorder : public Observer {
 public:
  // Records what the session runs from now on; at most one recorder at a time. Parameters that exist already are recorded when they are
  // used.
  explicit Recorder(Session& session);
  ~Recorder() override;

  // Session::gradients, and the run returned them. `loss` has one element.
  Outcome<std::vector<Value>> gradients(const Value& loss, std::span<const Value> of);
  // The value is one that the run returned.
  void output(const Value& value);

  // Returns the trace; the recorder starts again.
  [[nodiscard]] Trace take();

  void given(Ref value, const Array& array, std::string_view name) override;
  bool kept(Ref from, Ref to) override;
  void ran(Op op, const Attributes& attributes, std::span<const Ref> operands, std::span<const Array* const> contents, Ref result,
           const Array& result_content, Role role) override;
  void sent(Ref node, std::size_t operand, Ref cotangent) override;
  void seeded(Ref output, Ref seed) override;
  void differentiated(Ref output, Ref seed, std::span<const Ref> leaves, std::span<const Ref> bars) override;
  void forgotten(Ref first) override;
  ProgramObserver* replaying(const Program& program, const GradientNotes<NodeId>& notes, std::span<const Ref> inputs,
                             std::span<const Array> contents) override;
  void replayed(std::span<const Ref> outputs) override;

 private:
  // The steps of one replay.
  class Replay : public ProgramObserver {
   public:
    explicit Replay(Recorder& recorder) : recorder_(recorder) {}
    void begin(const Program& program, const GradientNotes<NodeId>& notes, std::span<const TraceTensorId> inputs);
    void end();  // claims the products and gradients of the notes
    void held(ProgramValue value, const Array& content) override;
    void ran(const ProgramRegion& region, std::span<const Array> results) override;
    [[nodiscard]] TraceTensorId id_of(ProgramValue value) const { return ids_.at(value); }
    [[nodiscard]] const std::vector<ProgramValue>& outputs() const { return outputs_; }

   private:
    struct Place {
      std::uint32_t region = 0;
      NodeId node = 0;
    };
    [[nodiscard]] TraceTensorId named(ProgramValue value);  // a tensor, or a value inside a region
    [[nodiscard]] bool has_tensors(const GradientNotes<ProgramValue>::Gradient& gradient) const;

    Recorder& recorder_;
    GradientNotes<ProgramValue> notes_;
    std::map<ProgramValue, TraceTensorId> ids_;  // of tensors
    std::map<ProgramValue, Place> places_;       // of what regions compute, recorded or not
    std::vector<ProgramValue> outputs_;
  };

  [[nodiscard]] ExecutionModel model_of(const Graph& graph) const;  // the session's device's, if it has one
  TraceTensorId add(const Array& array, std::string name, Trace::Origin origin);
  TraceTensorId id_of(Ref ref);
  TraceTensorId id_of(Ref ref, const Array& content);

  Session& session_;
  Replay replay_{*this};
  Trace trace_;
  std::map<Ref, TraceTensorId> ids_;
  std::map<TraceTensorId, TraceTensorId> totals_;     // tensor, its cotangent as far as it was summed up
  std::map<TraceTensorId, std::uint32_t> producers_;  // tensor, region
  std::map<std::string, std::size_t> names_;          // how often each was given
};

}  // namespace assay::runtime
