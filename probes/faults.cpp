#include "probes/faults.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "kernel/audit/audit.h"
#include "probes/launch.h"
#include "probes/mistakes.h"
#include "probes/narrow_sums.h"
#include "probes/sketch.h"

namespace assay::probes {
namespace {

Fault of_graph(std::string name, Graph graph) {
  Fault fault{std::move(name), {}, false, std::move(graph), {}};
  return fault;
}

// Programs are compiled when they are needed, once.
void bind(Faults& faults) {
  for (Fault& fault : faults) {
    if (fault.graph) fault.run = Evaluation(*fault.graph);
  }
}

// Each real operand read backwards along the axis that is summed: the same terms, last first.
void add_reordered(Collector& c) {
  const Node& node = c.node();
  const auto backwards = [&](std::size_t axis) { return [axis](Sketch& s) { return s.again(s.with(0, s.reversed(s.x(0), axis))); }; };
  const auto pair = [&](std::size_t first, std::size_t second) {
    c.add("with its terms last first", [=](Sketch& s) {
      std::vector<NodeId> of = s.with(0, s.reversed(s.x(0), first));
      of[1] = s.reversed(s.x(1), second);
      return s.again(of);
    });
  };
  if (const auto* reduce = std::get_if<ReduceAttributes>(&node.attributes)) {
    for (const std::int64_t axis : reduce->axes) {
      if (node.op != Op::max_weight) c.add("with its terms last first", backwards(static_cast<std::size_t>(axis)));
    }
  }
  if (const auto* gemm = std::get_if<GemmAttributes>(&node.attributes)) pair(gemm->transpose_a ? 0 : 1, gemm->transpose_b ? 1 : 0);
  if (node.op == Op::matmul && c.application().node(c.application().inputs[0]).shape.size() == 2 &&
      c.application().node(c.application().inputs[1]).shape.size() == 2)
    pair(1, 0);
  if (node.op == Op::conv && std::get<WindowAttributes>(node.attributes).groups == 1) pair(1, 1);
  if (const auto* softmax = std::get_if<SoftmaxAttributes>(&node.attributes)) {
    const auto axis = static_cast<std::size_t>(softmax->axis);
    c.add("with its line backwards", [axis](Sketch& s) { return s.reversed(s.again(s.with(0, s.reversed(s.x(0), axis))), axis); });
  }
  if (const auto* normalise = std::get_if<NormaliseAttributes>(&node.attributes)) {
    const auto axis = static_cast<std::size_t>(normalise->axes.back());
    c.add("with its line backwards", [axis](Sketch& s) {
      const NodeId y = s.again(s.with(0, s.reversed(s.x(0), axis)));
      return s.shape(y) != s.shape(s.x(0)) ? y : s.reversed(y, axis);
    });
  }
  if (node.op == Op::reduce_mean) {
    const double count = c.count_along(std::get<ReduceAttributes>(node.attributes).axes);
    if (count > 0)
      c.add("with the reciprocal of the count", [&](Sketch& s) {
        return s.put(Op::mul, {s.put(Op::reduce_sum, {s.x(0)}, s.node().attributes), s.number(1 / count)});
      });
  }
}

// The words that continue "equals the reference": a preposition of the mistake's own, or "with".
std::string words_of(const std::string& mistake) {
  for (const char* const own : {"as ", "along ", "over "})
    if (mistake.starts_with(own)) return mistake;
  return "with " + mistake;
}

// In double precision, rounded once.
void add_in_double(Collector& c) {
  const auto to = [](DType dtype) { return CastAttributes{static_cast<std::uint8_t>(dtype)}; };
  if (c.node().dtype != DType::float32 || c.node().op == Op::cast) return;
  c.add("in double precision", [&](Sketch& s) {
    std::vector<NodeId> wide;
    for (std::size_t k = 0; k < s.arity(); ++k) {
      const bool real = c.application().node(c.application().inputs[k]).dtype == DType::float32;
      wide.push_back(real ? s.put(Op::cast, {s.x(k)}, to(DType::float64)) : s.x(k));
    }
    return s.put(Op::cast, {s.again(wide)}, to(DType::float32));
  });
}

// A region of one op in the form of the bank, each operand an input of its own, and the operands' values.
struct OneOp {
  Graph graph;
  std::vector<Tensor> operands;
};

// Returns nothing for a region that computes more. An operand may be a constant of the region, or be read at several positions.
std::optional<OneOp> one_op_of(const Trace& trace, const Region& region) {
  const Graph& graph = region.graph;
  const auto is_leaf = [](const Node& node) { return node.op == Op::input || node.op == Op::constant; };
  if (graph.outputs.size() != 1 || region.results.size() != 1) return std::nullopt;
  const Node& node = graph.node(graph.outputs[0]);
  if (is_leaf(node) || std::ranges::count_if(graph.nodes, is_leaf) + 1 != std::ssize(graph.nodes)) return std::nullopt;
  OneOp one;
  for (const NodeId id : node.operands) {
    const auto input = std::ranges::find(graph.inputs, id);
    if (input == graph.inputs.end() && graph.node(id).op != Op::constant) return std::nullopt;
    one.operands.push_back(input == graph.inputs.end()
                               ? graph.node(id).value
                               : trace.tensors[region.operands[static_cast<std::size_t>(input - graph.inputs.begin())]].value);
  }
  auto application = graph_of(node.op, node.attributes, one.operands);
  if (!application) return std::nullopt;
  one.graph = std::move(application).value();
  return one;
}

// Within the sets that the wrong computation would have.
bool admits(const Graph& graph, const ExecutionModel& model, const std::vector<Tensor>& operands, const Trace::Entry& received) {
  Trace other;
  append_region(other, "", graph, model, operands, received.value);
  other.tensors[other.regions[0].results[0]].storage = received.storage;
  const auto audit = audit::audit_region(other, 0);
  if (!audit) return false;
  const auto counts = audit.value().total();
  return counts.failed == 0 && counts.unsupported == 0 && counts.passed > 0 && counts.vacuous * 10 < counts.passed;
}

// Bit for bit, once the computed result is stored as the received one is; a NaN is a NaN, since processors choose its sign.
bool equals(const Tensor& computed, const Trace::Entry& received) {
  if (computed.dtype() != received.value.dtype() || computed.shape() != received.value.shape()) return false;
  if (!is_float(computed.dtype())) return std::ranges::equal(computed.bytes(), received.value.bytes());
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const double x = contracts::rounded_to(received.storage, computed.as_double(i)), y = received.value.as_double(i);
    if (!(std::isnan(x) && std::isnan(y)) && (x != y || std::signbit(x) != std::signbit(y))) return false;
  }
  return true;
}

// Many faults give NaN where they give nothing else: without a number beside it NaN tells none of them.
bool is_nan_alone(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return false;
  for (std::size_t i = 0; i < tensor.size(); ++i)
    if (!std::isnan(tensor.as_double(i))) return false;
  return true;
}

}  // namespace

std::vector<Fault> faults_of(const Graph& application) {
  Collector c(application);
  add_common_faults(c);
  add_window_faults(c);
  add_product_faults(c);
  add_reduction_faults(c);
  add_function_faults(c);
  add_choice_faults(c);
  Faults faults = c.take();
  bind(faults);
  return faults;
}

std::vector<Fault> faults_by_rule(const Graph& application) {
  Faults faults;
  for (Mutant& mutant : mutants_of(application)) {
    const std::size_t colon = mutant.name.find(": ");
    faults.push_back(of_graph(words_of(mutant.name.substr(colon + 2)), std::move(mutant.graph)));
  }
  bind(faults);
  return faults;
}

std::vector<Fault> twins_of(const Graph& application) {
  Collector c(application);
  add_reordered(c);
  add_in_double(c);
  Faults twins = c.take();
  bind(twins);
  return twins;
}

std::vector<std::string> explanations(const Trace& trace, const Region& region) {
  constexpr std::size_t kMostElements = 1 << 18, kMost = 3;
  static std::mutex one_at_a_time;  // the runtime that tries the faults takes one caller at a time
  const std::lock_guard lock(one_at_a_time);
  const std::optional<OneOp> one = one_op_of(trace, region);
  if (!one) return {};
  std::size_t elements = 0;
  for (const Tensor& operand : one->operands) elements += operand.size();
  const Trace::Entry& received = trace.tensors[region.results[0]];
  if (elements + received.value.size() > kMostElements || received.value.size() == 0) return {};
  // A fault that changes nothing here explains nothing.
  const auto right = Evaluation(one->graph)(one->operands);
  if (right && equals(right.value(), received)) {
    return {"equals what this project's runtime gives, bit for bit: the execution model promises more than such a library keeps"};
  }
  const bool is_nan = is_nan_alone(received.value);
  if (is_nan && one->graph.node(one->graph.outputs[0]).op != Op::masked_softmax) return {};
  std::vector<std::string> equal, admitted;
  Faults faults = faults_of(one->graph);
  const bool is_named = std::ranges::any_of(faults, [](const Fault& fault) { return fault.name == kOtherConvention; });
  for (Fault& fault : faults_by_rule(one->graph))
    if (!is_named || fault.name != kOtherConvention) faults.push_back(std::move(fault));
  if (is_nan) std::erase_if(faults, [](const Fault& fault) { return fault.name != kOtherConvention; });
  for (const Fault& fault : faults) {
    if (equal.size() == kMost) break;
    const auto y = fault.run(one->operands);
    if (!y) continue;
    const std::string source = fault.seen_in.empty() ? "" : " (seen in " + fault.seen_in + ")";
    if (equals(y.value(), received)) {
      equal.push_back("equals the reference " + fault.name + source + ", bit for bit");
    } else if (admitted.size() < kMost && fault.graph && elements < kMostElements / 16 &&
               admits(*fault.graph, region.model, one->operands, received)) {
      admitted.push_back("is what the reference " + fault.name + source + " may give");
    }
  }
  std::vector<std::string>& told = equal.empty() ? admitted : equal;
  const bool is_rounded =
      std::ranges::any_of(equal, [](const std::string& line) { return line.find(" rounded to b") != std::string::npos; });
  // Of results in 16 bits a small error says little: any computation of the bank that explains it comes before.
  if (told.empty() || received.storage == ExecutionModel::Storage::same)
    if (const std::string format = narrow_sums(one->graph, one->operands, received, is_rounded); !format.empty())
      told.push_back("is what the reference with sums in " + format + " may give");
  return told;
}

}  // namespace assay::probes
