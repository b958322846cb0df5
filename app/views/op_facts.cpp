// What a page of the op reference says of an op, by the op table, its contract and the front end's table of operators.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "app/views/op_reference.h"
#include "frontends/onnx/import.h"
#include "kernel/contracts/contract.h"

namespace assay::views {
namespace {

// In the order of the alternatives of Attributes.
constexpr std::array<std::string_view, std::variant_size_v<Attributes>> kAttributes = {
    "none",
    "`axes`: result axis i is operand axis axes[i]",
    "`starts`, `steps`, `extents` per axis; steps are not 0",
    "`axis`",
    "`before`, `after` per axis, perhaps negative; `value`",
    "`axis`, `indices`, `index_shape`",
    "`factor`",
    "`alpha`, `beta`, `transpose_a`, `transpose_b`",
    "`kernel`, `strides`, `dilations`, `pads_begin`, `pads_end` per spatial axis, `output_padding`, `groups`, `count_include_pad`, "
    "`ceil_mode`",
    "`epsilon`",
    "`axes`, `keep_dims`",
    "`slope`",
    "`lo`, `hi`, perhaps infinite",
    "`exponent`, a rational number",
    "`axis`",
    "`shape`",
    "`alpha`, `beta`",
    "`tanh_form`",
    "`truncated`",
    "`positive`, `negative`",
    "`to`",
    "`axis`, `exclusive`, `reverse`",
    "`axis`, `keep_dims`, `last`",
    "`axes`, `epsilon`, `form` (centered, deviation, root_mean, l2, l1)",
    "`size`, `alpha`, `beta`, `bias`",
    "`axis`, `empty_is_zero`",
    "`indices`, `shape`",
    "`axis`, `starts`, `indices`, `weights`",
    "`axis`, `count`, `descending`",
};

std::string_view text_of(Smoothness smoothness) {
  switch (smoothness) {
    case Smoothness::smooth:
      return "smooth";
    case Smoothness::kink:
      return "kinks: the derivative there is the Clarke set";
    case Smoothness::jump:
      return "jumps, or a derivative that is 0 by convention";
    case Smoothness::singular:
      return "singular at the edge of its domain";
  }
  return "";
}

std::string_view text_of(Elements elements) {
  switch (elements) {
    case Elements::reals:
      return "float";
    case Elements::numbers:
      return "float, integer";
    case Elements::integers:
      return "integer";
    case Elements::booleans:
      return "bool";
    case Elements::any:
      return "float, integer, bool";
  }
  return "";
}

std::string_view text_of(Bound bound) {
  switch (bound) {
    case Bound::leaf:
      return "where it ends";
    case Bound::exact:
      return "exactly linear where its other operands are constants";
    case Bound::line:
      return "a line of any slope below and above, its intercept derived by the kernel";
    case Bound::product:
      return "exactly linear where its other operands are constants, else a plane below and above, its intercept derived by the kernel";
    case Bound::plane:
      return "a plane in its operands below and above, its intercept derived by the kernel";
    case Bound::box:
      return "stops at the op's own box";
  }
  return "";
}

// The values that a float execution may give (docs/contracts).
std::string_view contract_text(Op op) {
  using contracts::Family;
  if (op == Op::pow || op == Op::power) return "by the math table's row for pow, or by products, a root or a reciprocal";
  switch (contracts::family_of(op)) {
    case Family::none:
      return "none: a value, not a computation";
    case Family::layout:
    case Family::choice:
      return "equal bits, zeros with their signs; a conversion rounds once, to nearest";
    case Family::integers:
    case Family::comparison:
      return "the exact value; a comparison with NaN is false";
    case Family::positions:
    case Family::extremum:
      return "the exact value; a zero of either sign; beside NaN either convention of IEEE 754";
    case Family::elementwise:
      return "one value: the exact one, or the nearest number";
    case Family::function:
      return "as many steps from the nearest number as its row in the declared math table says";
    case Family::product:
      return "relative error gamma_(n-1), in any order";
    case Family::sum:
      return "error gamma_k S + underflow in any order, k for the terms not 0; equal bits where none rounds ([sums](../contracts/sums.md))";
    case Family::activation:
    case Family::batch_norm:
    case Family::local_response:
      return "its usual forms, step by step, each step with its own contract ([defined ops](../contracts/defined-ops.md))";
    case Family::softmax:
      return "its algorithm class, step by step ([softmax](../contracts/softmax.md))";
    case Family::normalise:
      return "its algorithm class, step by step ([normalise](../contracts/normalise.md))";
  }
  return "";
}

std::string onnx_text(const OpReference& reference) {
  std::string text;
  for (const std::string& name : onnx_names(reference)) {
    for (const onnx::OperatorSupport& support : onnx::supported_operators()) {
      if (support.op != name) continue;
      text += text.empty() ? "" : ", ";
      text += name + " (" + std::to_string(support.first_opset) + " to " + std::to_string(support.last_opset) + ")";
    }
  }
  if (!text.empty()) return text;
  return reference.op == Op::input ? "none: it is an input of the model" : "none: it stems from gradients";
}

std::string arity_text(const OpRow& row) {
  if (row.arity_max < 0) return std::to_string(row.arity_min) + " or more";
  if (row.arity_min == row.arity_max) return std::to_string(row.arity_min);
  return std::to_string(row.arity_min) + " to " + std::to_string(row.arity_max);
}

}  // namespace

std::string_view word_of(OpClass op_class) {
  switch (op_class) {
    case OpClass::leaf:
      return "leaf";
    case OpClass::layout:
      return "layout";
    case OpClass::linear:
      return "linear";
    case OpClass::bilinear:
      return "bilinear";
    case OpClass::elementwise:
      return "elementwise";
    case OpClass::selection:
      return "selection";
    case OpClass::defined:
      return "defined";
  }
  return "";
}

Facts op_facts(const OpReference& reference) {
  const OpRow& row = op_row(reference.op);
  return {{"class", std::string(word_of(row.op_class)) + "; " + std::string(text_of(row.smoothness))},
          {"operands", arity_text(row) + " of " + std::string(text_of(row.elements))},
          {"attributes", std::string(kAttributes[row.attributes])},
          {"shapes", std::string(reference.shapes)},
          {"domain", std::string(reference.domain)},
          {"cotangents, from g", std::string(reference.derivative)},
          {"enclosure", std::string(reference.enclosure)},
          {"back-substitution", std::string(text_of(bound_of(reference.op)))},
          {"contract", std::string(contract_text(reference.op))},
          {"ONNX (opsets)", onnx_text(reference)}};
}

}  // namespace assay::views
