// Loops whose turns constants count: the body stands there once for each turn.
#include <algorithm>
#include <limits>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

constexpr std::size_t kMostUnrolled = 100'000;  // nodes in all turns of all loops

// A value whose type or shape is another than a body declares.
void check_declared(const Call& call, const ValueInfo& declared, const Value& value) {
  if (!declared.is_tensor) return;
  DType dtype = value.dtype;
  bool fits = !value.parts && (declared.element_type == 0 || dtype_of(declared.element_type, dtype)) && dtype == value.dtype &&
              (!declared.has_shape || declared.dims.size() == value.shape.size());
  for (std::size_t i = 0; fits && i < declared.dims.size(); ++i)
    fits = declared.dims[i].value.value_or(-1) < 0 || *declared.dims[i].value == value.shape[i];
  if (!fits)
    call.malformed("onnx.shape", "the type and the shape of " + in_quotes(declared.name) + " as its body declares",
                   std::string(value.parts ? "a sequence of " : "") + to_string(value.dtype) + to_string(value.shape));
}

void refuse_mask(const Call& call, const Operand& x) {
  if (x->open) call.unsupported("onnx.nonfinite", "numbers that a loop cuts or stacks", "a mask of -infinity", "mask them outside of it");
}

// Axes or directions of Scan; 0 where they are not given, and for Loop.
Ints numbers_of(const Call& call, const char* name, std::size_t count, bool is_flag) {
  Ints given = call.attribute_ints(name).value_or(Ints(count, 0));
  const std::int64_t least = is_flag || call.opset < 11 ? 0 : -kLargestExtent, most = is_flag ? 1 : kLargestExtent;
  if (given.size() != count || std::ranges::any_of(given, [&](std::int64_t one) { return one < least || one > most; }))
    call.malformed("onnx.attribute", std::to_string(count) + " numbers of " + name, to_string(given));
  return given;
}

// What a Scan cuts into the parts of its turns.
struct Cuts {
  Results operands;
  Ints axes, directions;
  std::int64_t turns = std::numeric_limits<std::int64_t>::max();
};

Cuts cuts_of(const Call& call) {
  const std::int64_t count = call.attribute("num_scan_inputs", std::int64_t{0});
  if (count < 1 || count > static_cast<std::int64_t>(call.inputs.size()))
    call.malformed("onnx.attribute", "num_scan_inputs from 1 to the inputs' number", std::to_string(count));
  Cuts cuts{{call.inputs.end() - count, call.inputs.end()},
            numbers_of(call, "scan_input_axes", static_cast<std::size_t>(count), false),
            numbers_of(call, "scan_input_directions", static_cast<std::size_t>(count), true)};
  for (std::size_t k = 0; k < cuts.operands.size(); ++k) {
    const Shape& shape = call.shape(call.inputs.size() - cuts.operands.size() + k);
    cuts.axes[k] = call.axis(cuts.axes[k], shape.size());
    const std::int64_t extent = shape[static_cast<std::size_t>(cuts.axes[k])];
    if (k > 0 && extent != cuts.turns)
      call.malformed("onnx.shape", std::to_string(cuts.turns) + " turns, as of the first operand", std::to_string(extent));
    cuts.turns = extent;
    refuse_mask(call, cuts.operands[k]);
  }
  return cuts;
}

Operand part_of(Call& call, const Cuts& cuts, std::size_t k, std::int64_t turn) {
  const std::int64_t at = cuts.directions[k] != 0 ? cuts.turns - 1 - turn : turn;
  const Operand part = slice_axis(call, cuts.operands[k], static_cast<std::size_t>(cuts.axes[k]), at, 1);
  Shape shape = part->shape;
  shape.erase(shape.begin() + cuts.axes[k]);
  return call.reshape(part, shape);
}

// The turns' results along a new axis.
Operand stacked(Call& call, Results parts, std::int64_t axis, bool backwards) {
  if (parts.empty()) call.unsupported("onnx.shape", "at least one turn, where results are stacked", "none", "remove the loop");
  const Shape shape = parts[0]->shape;
  Shape longer = shape;
  const std::int64_t place = call.axis(axis, shape.size() + 1);
  longer.insert(longer.begin() + place, 1);
  for (Operand& part : parts) {
    refuse_mask(call, part);
    if (part->shape != shape) call.malformed("onnx.shape", "stacked results of one shape, " + to_string(shape), to_string(part->shape));
    part = call.reshape(part, longer);
  }
  if (backwards) std::ranges::reverse(parts);
  return concat(call, parts, static_cast<std::size_t>(place));
}

}  // namespace

// Empty where a walk that continues behind problems does not know a result.
Results Importer::results_of_turn(Inside& inside, const Call& call, const GraphProto& body, const Results& operands) {
  unrolled_ += body.nodes.size() + 1;
  if (unrolled_ > kMostUnrolled)
    call.unsupported("onnx.limit", "loops whose turns have at most " + std::to_string(kMostUnrolled) + " nodes together",
                     std::to_string(unrolled_), "give them fewer turns");
  for (std::size_t i = 0; i < operands.size(); ++i) check_declared(call, body.inputs[i], *operands[i]);
  Results results = results_of(inside, call.node, body, operands);
  if (std::ranges::count(results, nullptr) != 0) return {};
  for (std::size_t i = 0; i < results.size(); ++i) check_declared(call, body.outputs[i], *results[i]);
  return results;
}

// Operands of Loop: the most turns, the condition of the first, the state; the body reads the turn's number and condition before the
// state, and gives the next condition, the state and results that are stacked. Operands of Scan: the state, then what is cut.
void Importer::lower_loop(const NodeProto& node) {
  const bool is_scan = node.op_type == "Scan";
  const std::size_t skipped = is_scan ? 0 : 1;
  Results operands;
  for (const std::string& name : node.inputs) operands.push_back(name.empty() ? nullptr : entry_of(name, place_of(node)).operand);
  operands.resize(std::max(operands.size(), 2 * skipped));
  Call call(lowering_, node, operators_of(node).opset, operands);
  Cuts cuts = is_scan ? cuts_of(call) : Cuts{};
  if (!is_scan && operands[0]) {
    if (!operands[0]->constant) refuse_condition(node, node.inputs[0], "a trip count");
    const Ints most = call.ints(0, "a trip count");
    if (most.size() != 1 || operands[0]->dtype != DType::int64) call.malformed("onnx.input", "one trip count of int64", to_string(most));
    cuts.turns = most[0];
  }
  const bool has_condition = !is_scan && operands[1];
  Operand condition = has_condition ? operands[1] : call.make_ints(DType::boolean, {}, {1});
  Results state;
  for (std::size_t i = 2 * skipped; i < operands.size() - cuts.operands.size(); ++i) state.push_back(call.in(i));
  const GraphProto& body = graph_of(node, "body", operands.size(), node.outputs.size() + skipped);
  if (node.outputs.size() < state.size()) call.malformed("onnx.arity", "a result for each state", std::to_string(node.outputs.size()));
  std::vector<Results> stacks(node.outputs.size() - state.size());
  std::int64_t turn = 0;
  for (bool goes_on = decided(node, condition, has_condition ? node.inputs[1] : ""); goes_on && turn < cuts.turns; ++turn) {
    Results given = is_scan ? Results{} : Results{call.make_ints(DType::int64, {}, {turn}), condition};
    given.insert(given.end(), state.begin(), state.end());
    for (std::size_t k = 0; k < cuts.operands.size(); ++k) given.push_back(part_of(call, cuts, k, turn));
    Inside inside(values_);
    const Results results = results_of_turn(inside, call, body, given);
    if (results.empty()) return define(node, {});
    for (std::size_t i = 0; i < state.size(); ++i) {
      const Value &old = *state[i], &now = *results[i + skipped];
      if (old.dtype != now.dtype || !old.parts != !now.parts || (is_scan && old.shape != now.shape))
        call.malformed("onnx.shape", "a state of the type that it had, and in Scan of the shape",
                       to_string(now.dtype) + to_string(now.shape));
      state[i] = results[i + skipped];
    }
    for (std::size_t k = 0; k < stacks.size(); ++k) stacks[k].push_back(results[k + skipped + state.size()]);
    if (is_scan || turn + 1 == cuts.turns) continue;
    condition = results[0];
    goes_on = decided(node, condition, body.outputs[0].name);
    if (!goes_on && !has_condition)  // the standard passes over it, and ONNX Runtime does not
      call.unsupported("onnx.condition", "a body's condition that stays true, where the node has none", "one that ends the loop",
                       "give the loop the condition true");
  }
  const Ints axes = numbers_of(call, "scan_output_axes", stacks.size(), false),
             directions = numbers_of(call, "scan_output_directions", stacks.size(), true);
  const std::size_t states = state.size();
  for (std::size_t k = 0; k < stacks.size(); ++k) state.push_back(stacked(call, std::move(stacks[k]), axes[k], directions[k] != 0));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const bool is_half = halves_.contains(body.outputs[i + skipped].name) || (i < states && halves_.contains(node.inputs[i + 2 * skipped]));
    if (is_half) halves_.insert(node.outputs[i]);
  }
  define(node, state);
  lowering_.note(place_of(node) + " is unrolled: " + std::to_string(turn) + " turns");
}

}  // namespace assay::onnx
