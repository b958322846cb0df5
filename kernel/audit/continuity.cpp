// Continuity: a region reads only values that an earlier one wrote, with the same type, and nothing is written twice.

#include <algorithm>
#include <utility>

#include "kernel/audit/audit.h"

namespace assay::audit {

namespace {

std::string type_of(const Tensor& tensor) { return std::string(to_string(tensor.dtype())) + " " + to_string(tensor.shape()); }
std::string type_of(const Node& node) { return std::string(to_string(node.dtype)) + " " + to_string(node.shape); }
bool same_type(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.shape() == b.shape(); }

class Continuity {
 public:
  explicit Continuity(const Trace& trace) : trace_(trace), given_(trace.tensors.size(), false) {}

  Outcome<Done> check() {
    for (std::size_t id = 0; id < trace_.tensors.size(); ++id) given_[id] = trace_.tensors[id].origin != Trace::Origin::result;
    for (const Trace::Entry& entry : trace_.tensors) {
      if (auto fine = check_storage(entry); !fine) return fine;
    }
    for (std::size_t r = 0; r < trace_.regions.size(); ++r) {
      if (auto fine = check_region(r); !fine) return fine;
    }
    for (const TraceTensorId id : trace_.outputs) {
      if (!exists(id) || !given_[id]) return broken("origin", "outputs", "a tensor that the run gave", name_of(id));
    }
    for (const TraceTensorId id : trace_.detached) {
      if (!exists(id)) return broken("gradient", "detached", "a tensor of the trace", name_of(id));
    }
    for (std::size_t id = 0; id < given_.size(); ++id) {
      if (!given_[id]) return broken("origin", name_of(id), "an input, a parameter or the result of a region", "none of them");
    }
    return check_gradients();
  }

 private:
  static std::string advice_on(const std::string& code) {
    if (code == "origin") return "record what computes it, or declare it as an input";
    if (code == "operand") return "record the regions in the order in which they ran";
    if (code == "result") return "give every result a name of its own";
    if (code == "storage") return "declare the storage that was used";
    return "record it as it was computed (docs/reference/trace-format.md)";
  }
  static Rejection broken(const char* code, std::string place, std::string required, std::string found, const std::string& advice = {}) {
    return {Rejection::Kind::rejected, std::string("audit.") + code,
            std::move(place),          std::move(required),
            std::move(found),          advice.empty() ? advice_on(code) : advice};
  }
  [[nodiscard]] bool exists(TraceTensorId id) const { return id < trace_.tensors.size(); }
  // In products an id names a tensor, or a value inside a region.
  [[nodiscard]] const Node* inner(TraceTensorId id) const {
    if (id < kFirstInner || id - kFirstInner >= trace_.inner.size()) return nullptr;
    const Trace::Inner& one = trace_.inner[id - kFirstInner];
    const bool fine = one.region < trace_.regions.size() && is_computed(trace_.regions[one.region].graph, one.node);
    return fine ? &trace_.regions[one.region].graph.node(one.node) : nullptr;
  }
  static bool is_computed(const Graph& graph, NodeId id) { return id < graph.nodes.size() && graph.node(id).op != Op::input; }
  [[nodiscard]] std::string name_of(std::size_t id) const {
    if (id >= kFirstInner && id - kFirstInner < trace_.inner.size()) return "value '" + trace_.inner[id - kFirstInner].name + "'";
    return id < trace_.tensors.size() ? "tensor '" + trace_.tensors[id].name + "'" : "tensor number " + std::to_string(id);
  }
  [[nodiscard]] std::string place_of(std::size_t r) const {
    const std::string& name = trace_.regions[r].name;
    return "region " + std::to_string(r) + (name.empty() ? "" : " (" + name + ")");
  }

  // A tensor that is stored in 16 bits must hold numbers of that format.
  static Outcome<Done> check_storage(const Trace::Entry& entry) {
    if (entry.storage == contracts::Storage::same) return Done{};
    const std::string place = "tensor '" + entry.name + "'", format = contracts::name_of(entry.storage);
    if (entry.value.dtype() != DType::float32) return broken("storage", place, "float32 that is stored in " + format, type_of(entry.value));
    for (std::size_t i = 0; i < entry.value.size(); ++i) {
      if (contracts::is_number_of(entry.storage, entry.value.as_double(i))) continue;
      return broken("storage", place + ", element " + std::to_string(i), "a number of " + format,
                    Rational::from_double(entry.value.as_double(i))->to_string());
    }
    return Done{};
  }

  Outcome<Done> check_region(std::size_t r) {
    const Region& region = trace_.regions[r];
    const Graph& graph = region.graph;
    if (const auto problems = validate(graph); !problems.empty())
      return broken("region", place_of(r), "a valid graph", problems.front().to_text());
    if (region.operands.size() != graph.inputs.size() || region.results.size() != graph.outputs.size()) {
      return broken("region", place_of(r),
                    std::to_string(graph.inputs.size()) + " operands, " + std::to_string(graph.outputs.size()) + " results",
                    std::to_string(region.operands.size()) + " and " + std::to_string(region.results.size()));
    }
    for (std::size_t i = 0; i < region.operands.size(); ++i) {
      const TraceTensorId id = region.operands[i];
      if (!exists(id) || !given_[id]) return broken("operand", place_of(r), "operands that were given before", name_of(id));
      const Node& input = graph.node(graph.inputs[i]);
      if (auto fine = check_type(r, id, input); !fine) return fine;
    }
    for (std::size_t i = 0; i < region.results.size(); ++i) {
      const TraceTensorId id = region.results[i];
      if (!exists(id) || given_[id]) return broken("result", place_of(r), "results that nothing gave before", name_of(id));
      if (auto fine = check_type(r, id, graph.node(graph.outputs[i])); !fine) return fine;
      given_[id] = true;
    }
    return Done{};
  }

  Outcome<Done> check_type(std::size_t r, TraceTensorId id, const Node& node) const {
    const Tensor& value = trace_.tensors[id].value;
    if (value.dtype() == node.dtype && value.shape() == node.shape) return Done{};
    const std::string shape = "shape " + to_string(node.shape), type = to_string(node.dtype);
    return broken("shape", place_of(r) + ", " + name_of(id), type_of(node), type_of(value),
                  "give a result of " + (value.dtype() == node.dtype ? shape : "type " + type + " and " + shape));
  }

  [[nodiscard]] Outcome<Done> check_vjp(std::size_t v) const {
    const Trace::Vjp& vjp = trace_.vjps[v];
    const auto wrong = [&](std::string required, std::string found) {
      return broken("vjp", "vjp " + std::to_string(v), std::move(required), std::move(found));
    };
    if (vjp.of >= trace_.regions.size()) return wrong("a product of a region", "region " + std::to_string(vjp.of));
    const Graph& forward = trace_.regions[vjp.of].graph;
    if (!vjp.node && vjp.result >= forward.outputs.size())
      return wrong("one of " + std::to_string(forward.outputs.size()) + " results", std::to_string(vjp.result));
    if (vjp.node && !is_computed(forward, *vjp.node)) return wrong("a node that computes", "value " + std::to_string(*vjp.node));
    if (speaks_of_nodes_[vjp.of] && !vjp.node)
      return wrong("products of nodes, as region " + std::to_string(vjp.of) + " is open", "of a result");
    const NodeId y = vjp.node ? *vjp.node : forward.outputs[vjp.result];
    const std::vector<NodeId>& operands = vjp.node ? forward.node(y).operands : forward.inputs;
    if (vjp.surrogate && !is_like(*vjp.surrogate, forward, operands, y))
      return wrong("a surrogate that is a valid graph with the operands' types and one result of type " + type_of(forward.node(y)),
                   "another graph");
    std::vector<std::pair<NodeId, TraceTensorId>> pairs = {{y, vjp.cotangent}};
    for (const auto* list : {&vjp.cotangents, &vjp.convention}) {
      std::vector<bool> seen(operands.size(), false);
      for (const auto& [operand, id] : *list) {
        if (operand >= seen.size() || seen[operand])
          return wrong("different ones of " + std::to_string(seen.size()) + " operands", std::to_string(operand));
        seen[operand] = true;
        pairs.emplace_back(operands[operand], id);
      }
    }
    for (const auto& [of, id] : pairs) {
      const Node* value = inner(id);
      if (!exists(id) && value == nullptr) return wrong("tensors of the trace", name_of(id));
      const std::string required = type_of(forward.node(of)),
                        found = value != nullptr ? type_of(*value) : type_of(trace_.tensors[id].value);
      if (required != found) return wrong("a cotangent of type " + required, found);
    }
    return Done{};
  }

  // Whether a declared surrogate has the same operands and the same type of result.
  static bool is_like(const Graph& surrogate, const Graph& forward, const std::vector<NodeId>& operands, NodeId y) {
    if (!validate(surrogate).empty() || surrogate.inputs.size() != operands.size() || surrogate.outputs.size() != 1) return false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (type_of(surrogate.node(surrogate.inputs[k])) != type_of(forward.node(operands[k]))) return false;
    }
    return type_of(surrogate.node(surrogate.outputs[0])) == type_of(forward.node(y));
  }

  // A region is opened if something refers to a value inside it (kernel/audit/opened.h).
  [[nodiscard]] Outcome<Done> check_inner() {
    speaks_of_nodes_.assign(trace_.regions.size(), false);
    for (std::size_t i = 0; i < trace_.inner.size(); ++i) {
      if (inner(kFirstInner + static_cast<TraceTensorId>(i)) == nullptr)
        return broken("vjp", "value '" + trace_.inner[i].name + "'", "what a node of a region computes", "none of them");
      speaks_of_nodes_[trace_.inner[i].region] = true;
    }
    for (const Trace::Vjp& vjp : trace_.vjps) {
      if (vjp.of < speaks_of_nodes_.size() && vjp.node) speaks_of_nodes_[vjp.of] = true;
    }
    return Done{};
  }

  [[nodiscard]] Outcome<Done> check_gradients() {
    if (auto fine = check_inner(); !fine) return fine;
    for (std::size_t v = 0; v < trace_.vjps.size(); ++v) {
      if (auto fine = check_vjp(v); !fine) return fine;
    }
    for (const Trace::Gradient& gradient : trace_.gradients) {
      std::vector<std::pair<TraceTensorId, TraceTensorId>> pairs = gradient.of;
      pairs.emplace_back(gradient.output, gradient.seed);
      for (const auto& [tensor, value] : pairs) {
        if (!exists(tensor) || !exists(value))
          return broken("gradient", "gradients", "tensors of the trace", name_of(exists(tensor) ? value : tensor));
        const Tensor &a = trace_.tensors[tensor].value, &b = trace_.tensors[value].value;
        if (!same_type(a, b)) return broken("gradient", name_of(value), "like " + name_of(tensor) + ", " + type_of(a), type_of(b));
      }
    }
    for (const Trace::Tangents& claim : trace_.tangents) {
      if (auto fine = check_tangents(claim); !fine) return fine;
    }
    return Done{};
  }

  // Tensors that move are real, and move once; those of `to` follow from others.
  [[nodiscard]] Outcome<Done> check_tangents(const Trace::Tangents& claim) const {
    const auto wrong = [](std::string place, std::string required, std::string found) {
      return broken("tangent", "tangents, " + place, std::move(required), std::move(found));
    };
    std::vector<bool> moves(trace_.tensors.size(), false);
    for (const auto* pairs : {&claim.from, &claim.to}) {
      for (const auto& [tensor, tangent] : *pairs) {
        if (!exists(tensor) || !exists(tangent)) return wrong("pairs", "tensors of the trace", name_of(exists(tensor) ? tangent : tensor));
        const Trace::Entry& entry = trace_.tensors[tensor];
        if (!same_type(entry.value, trace_.tensors[tangent].value))
          return wrong(name_of(tangent), "like " + name_of(tensor) + ", " + type_of(entry.value), type_of(trace_.tensors[tangent].value));
        if (!is_float(entry.value.dtype())) return wrong(name_of(tensor), "real elements", type_of(entry.value));
        if (moves[tensor]) return wrong(name_of(tensor), "one tangent", "two");
        if (pairs == &claim.to && entry.origin != Trace::Origin::result) return wrong(name_of(tensor), "the result of a region", "given");
        moves[tensor] = true;
      }
    }
    for (const TraceTensorId id : claim.detached) {
      if (!exists(id)) return wrong("detached", "a tensor of the trace", name_of(id));
      if (moves[id]) return wrong(name_of(id), "detached, or with a tangent", "a tensor that is both");
    }
    return Done{};
  }

  const Trace& trace_;
  std::vector<bool> given_, speaks_of_nodes_;
};

}  // namespace

Outcome<Done> check_continuity(const Trace& trace) { return Continuity(trace).check(); }

}  // namespace assay::audit
