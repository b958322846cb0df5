#include "runtime/rule_programs.h"

#include <utility>

#include "runtime/autodiff/rules.h"
#include "semantics/graph/family.h"

namespace assay::runtime {

namespace {

constexpr std::size_t kLeast = 1 << 11;   // elements of a result below which a replay costs more than its ops
constexpr std::size_t kMostRules = 1024;  // kept; beyond, all are made anew

bool has_program(OpKind kind) {
  switch (kind) {
    case OpKind::pool:
    case OpKind::piecewise:
    case OpKind::min_max:
    case OpKind::function:
    case OpKind::power:
    case OpKind::activation:
    case OpKind::softmax:
    case OpKind::masked_softmax:
    case OpKind::normalise:
    case OpKind::batch_norm:
    case OpKind::local_response:
      return true;
    default:
      return false;
  }
}

// Operands, result and cotangent as inputs; the rule's cotangents as outputs.
struct RuleGraph {
  explicit RuleGraph(const AppliedArrays& applied) {
    std::vector<autodiff::Ref> operands;
    for (const Array* operand : applied.operands) operands.push_back(input(*operand));
    const autodiff::Ref result = input(applied.result), cotangent = input(applied.cotangent);
    autodiff::GraphEmitter emitter(graph);
    sent = autodiff::cotangents_of({emitter, applied.op, applied.attributes, operands, result, cotangent, applied.wanted});
    for (std::size_t k = 0; k < sent.size(); ++k) {
      if (applied.wanted[k] && sent[k] != autodiff::kNone) graph.mark_output(sent[k], "bar");
    }
  }
  Graph graph;
  autodiff::Cotangents sent;

 private:
  autodiff::Ref input(const Array& array) { return graph.append_input(array.dtype(), array.shape(), "x"); }
};

// The key of the rule's graph: everything that decides it.
std::string key_of(const AppliedArrays& applied) {
  std::string key(applied.wanted.begin(), applied.wanted.end());
  if (std::holds_alternative<NoAttributes>(applied.attributes)) {  // quick: the op and the operands' types
    key.push_back(static_cast<char>(applied.op));
    for (const Array* operand : applied.operands) {
      const Shape& shape = operand->shape();
      key.push_back(static_cast<char>(operand->dtype()));
      key.push_back(static_cast<char>(shape.size()));
      key.append(reinterpret_cast<const char*>(shape.data()), shape.size() * sizeof(shape[0]));
    }
    return key;
  }
  Graph graph;
  std::vector<NodeId> operands;
  for (const Array* operand : applied.operands) operands.push_back(graph.append_input(operand->dtype(), operand->shape(), "x"));
  const auto node = graph.append(applied.op, std::move(operands), applied.attributes);
  if (node) graph.mark_output(node.value(), "y");
  const std::vector<std::byte> bytes = canonical_bytes(graph);
  return key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

std::optional<std::vector<std::optional<Array>>> RulePrograms::run(const AppliedArrays& applied) {
  if (applied.result.size() < kLeast || !has_program(kind_of(applied.op))) return std::nullopt;
  if (rules_.size() == kMostRules) rules_.clear();
  const auto [found, is_new] = rules_.try_emplace(key_of(applied));
  Rule& rule = found->second;
  if (is_new) {
    const RuleGraph made(applied);
    for (std::size_t k = 0; k < made.sent.size(); ++k) rule.sends.push_back(applied.wanted[k] && made.sent[k] != autodiff::kNone);
    auto program = Program::compile(made.graph);
    if (program && program.value().summary().fused + program.value().summary().composed > 0) rule.program = std::move(program).value();
  }
  if (!rule.program) return std::nullopt;
  std::vector<Array> inputs;
  for (const Array* operand : applied.operands) inputs.push_back(*operand);
  inputs.insert(inputs.end(), {applied.result, applied.cotangent});
  auto outputs = rule.program->replay(inputs);
  if (!outputs) return std::nullopt;  // the ops say why
  std::vector<std::optional<Array>> bars(rule.sends.size());
  for (std::size_t k = 0, output = 0; k < bars.size(); ++k) {
    if (rule.sends[k]) bars[k] = std::move(outputs.value()[output++]);
  }
  return bars;
}

}  // namespace assay::runtime
