// Emitter: where the gradient rules put their ops. One implementation appends to a graph, another one executes at once.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "semantics/graph/graph.h"

namespace assay::runtime::autodiff {

using Ref = std::uint32_t;  // a value of the emitter; a node of the graph, an entry of the tape
inline constexpr Ref kNone = std::numeric_limits<Ref>::max();

// Numbers that rules need and no float holds: written as ops, so that exact arithmetic gives the number itself.
enum class Fixed : std::uint8_t {
  two_over_root_pi,        // 2 / sqrt(pi), the slope of erf at 0
  root_half,               // sqrt(1/2)
  normal_peak,             // 1 / sqrt(2 pi), the density of the normal distribution at 0
  twice_root_two_over_pi,  // 2 sqrt(2 / pi), of gelu's tanh form
  gelu_cubic,              // 0.044715, of gelu's tanh form
};
inline constexpr int kFixedCount = static_cast<int>(Fixed::gelu_cubic) + 1;

class Emitter {
 public:
  Emitter() = default;
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  virtual ~Emitter() = default;

  // The op on values of this emitter. Rules give operands that fit.
  virtual Ref op(Op op, std::span<const Ref> operands, Attributes attributes) = 0;
  [[nodiscard]] virtual const Shape& shape(Ref value) const = 0;  // valid until the next op
  [[nodiscard]] virtual DType dtype(Ref value) const = 0;
  virtual Ref constant(Tensor value) = 0;

  // A scalar. A float32 one holds the nearest float: see exact() in term.h.
  virtual Ref number(double value, DType dtype);
  virtual Ref fixed(Fixed which, DType dtype);
};

// Appends to a graph that is valid; a Ref is a NodeId.
class GraphEmitter final : public Emitter {
 public:
  explicit GraphEmitter(Graph& graph) : graph_(graph) {}
  Ref op(Op op, std::span<const Ref> operands, Attributes attributes) override;
  [[nodiscard]] const Shape& shape(Ref value) const override { return graph_.node(value).shape; }
  [[nodiscard]] DType dtype(Ref value) const override { return graph_.node(value).dtype; }
  Ref constant(Tensor value) override { return graph_.append_constant(std::move(value)); }

 private:
  Graph& graph_;
};

}  // namespace assay::runtime::autodiff
