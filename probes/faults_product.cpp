// Faults of matrix products.
#include "probes/sketch.h"

namespace assay::probes {
namespace {

void add_term_faults(Collector& c, std::size_t axis) {
  const std::int64_t terms = c.application().node(c.application().inputs[0]).shape[axis];
  c.add("without the last term of each sum", [&](Sketch& s) { return s.again(s.with(0, s.cleared_from(s.x(0), axis, terms - 1))); });
  if (terms > 16 && terms % 16 != 0)
    c.add("without the terms after the last full tile",
          [&](Sketch& s) { return s.again(s.with(0, s.cleared_from(s.x(0), axis, terms - terms % 16))); });
  if (terms > 16)
    c.add("with its first tile of terms alone", [&](Sketch& s) { return s.again(s.with(0, s.cleared_from(s.x(0), axis, 16))); });
}

// A matrix whose memory is read with its extents exchanged. Square ones are the fault "transposed the other way".
void add_reading_faults(Collector& c) {
  for (std::size_t k = 0; k < 2; ++k) {
    const Shape shape = c.application().node(c.application().inputs[k]).shape;
    if (shape.size() != 2 || shape[0] == shape[1]) continue;
    c.add("with operand " + std::to_string(k) + " read as if it lay transposed", [&](Sketch& s) {
      const NodeId other = s.put(Op::reshape, {s.x(k)}, ShapeAttributes{{shape[1], shape[0]}});
      return s.again(s.with(k, s.put(Op::permute, {other}, PermuteAttributes{{1, 0}})));
    });
  }
}

void add_gemm_faults(Collector& c, const GemmAttributes& gemm) {
  const auto changed = [&](const std::string& name, const auto& f) {
    GemmAttributes other = gemm;
    f(other);
    c.add(name, [other](Sketch& s) { return s.again(other); });
  };
  changed("with operand 0 transposed the other way", [](GemmAttributes& g) { g.transpose_a = !g.transpose_a; });
  changed("with operand 1 transposed the other way", [](GemmAttributes& g) { g.transpose_b = !g.transpose_b; });
  if (gemm.alpha != 1) changed("with alpha ignored", [](GemmAttributes& g) { g.alpha = 1; });
  if (c.application().inputs.size() < 3) return;
  if (gemm.beta != 1) changed("with beta ignored", [](GemmAttributes& g) { g.beta = 1; });
  if (gemm.alpha != 1) changed("with the addend times alpha", [](GemmAttributes& g) { g.beta *= g.alpha; });
  c.add("without the addend", [](Sketch& s) { return s.again(std::vector<NodeId>{s.x(0), s.x(1)}); });
  c.add("with the addend twice", [](Sketch& s) { return s.again(s.with(2, s.put(Op::add, {s.x(2), s.x(2)}))); });
  c.add("with the addend along the other axis", [](Sketch& s) {
    const Shape own = s.shape(s.x(2));
    const std::int64_t n = static_cast<std::int64_t>(element_count(own));
    return s.again(s.with(2, s.put(Op::reshape, {s.x(2)}, ShapeAttributes{own.size() == 2 ? Shape{1, n} : Shape{n, 1}})));
  });
}

}  // namespace

void add_product_faults(Collector& c) {
  if (c.node().op == Op::gemm || c.node().op == Op::matmul) add_reading_faults(c);
  if (const auto* gemm = std::get_if<GemmAttributes>(&c.node().attributes)) {
    add_term_faults(c, gemm->transpose_a ? 0 : 1);
    add_gemm_faults(c, *gemm);
  } else if (c.node().op == Op::matmul) {
    add_term_faults(c, c.application().node(c.application().inputs[0]).shape.size() - 1);
  }
}

}  // namespace assay::probes
