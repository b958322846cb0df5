#include <algorithm>
#include <utility>

#include "kernel/audit/audit.h"

namespace assay::kernel {

namespace {

std::string type_of(const Tensor& tensor) { return std::string(to_string(tensor.dtype())) + " " + to_string(tensor.shape()); }
std::string type_of(const Node& node) { return std::string(to_string(node.dtype)) + " " + to_string(node.shape); }
bool same_type(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.shape() == b.shape(); }

class Continuity {
 public:
  explicit Continuity(const Trace& trace) : trace_(trace), given_(trace.tensors.size(), false) {}

  Outcome<Done> check() {
    for (std::size_t id = 0; id < trace_.tensors.size(); ++id) given_[id] = trace_.tensors[id].origin != Trace::Origin::result;
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
  static Rejection broken(const char* code, std::string place, std::string required, std::string found) {
    return {Rejection::Kind::rejected, std::string("audit.") + code, std::move(place), std::move(required),
            std::move(found),          "kernel/audit/audit.h"};
  }
  [[nodiscard]] bool exists(TraceTensorId id) const { return id < trace_.tensors.size(); }
  [[nodiscard]] std::string name_of(std::size_t id) const {
    return id < trace_.tensors.size() ? "tensor '" + trace_.tensors[id].name + "'" : "tensor number " + std::to_string(id);
  }
  [[nodiscard]] std::string place_of(std::size_t r) const {
    const std::string& name = trace_.regions[r].name;
    return "region " + std::to_string(r) + (name.empty() ? "" : " (" + name + ")");
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
    return broken("shape", place_of(r) + ", " + name_of(id), type_of(node), type_of(value));
  }

  [[nodiscard]] Outcome<Done> check_vjp(std::size_t v) const {
    const Trace::Vjp& vjp = trace_.vjps[v];
    const auto wrong = [&](std::string required, std::string found) {
      return broken("vjp", "vjp " + std::to_string(v), std::move(required), std::move(found));
    };
    if (vjp.of >= trace_.regions.size()) return wrong("a product of a region", "region " + std::to_string(vjp.of));
    const Region& forward = trace_.regions[vjp.of];
    if (vjp.result >= forward.results.size())
      return wrong("one of " + std::to_string(forward.results.size()) + " results", std::to_string(vjp.result));
    std::vector<std::pair<TraceTensorId, TraceTensorId>> pairs = {{forward.results[vjp.result], vjp.cotangent}};
    std::vector<bool> seen(forward.operands.size(), false);
    for (const auto& [operand, id] : vjp.cotangents) {
      if (operand >= seen.size() || seen[operand])
        return wrong("different ones of " + std::to_string(seen.size()) + " operands", std::to_string(operand));
      seen[operand] = true;
      pairs.emplace_back(forward.operands[operand], id);
    }
    for (const auto& [of, id] : pairs) {
      if (!exists(id)) return wrong("tensors of the trace", name_of(id));
      const Tensor &value = trace_.tensors[of].value, &cotangent = trace_.tensors[id].value;
      if (!same_type(value, cotangent)) return wrong("a cotangent like " + name_of(of) + ", " + type_of(value), type_of(cotangent));
    }
    return Done{};
  }

  [[nodiscard]] Outcome<Done> check_gradients() const {
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
    return Done{};
  }

  const Trace& trace_;
  std::vector<bool> given_;
};

}  // namespace

Outcome<Done> check_continuity(const Trace& trace) { return Continuity(trace).check(); }

}  // namespace assay::kernel
