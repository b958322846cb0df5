#include "frontends/vnnlib/products.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace assay::vnnlib {
namespace {

constexpr std::size_t kMaxDegree = 32;
constexpr std::uint64_t kBytesPerProduct = 256;  // besides its factors, and of each product that it is computed from
constexpr std::size_t kMaxProducts = std::size_t{1} << 28;

// The nodes that products are read from and go to.
class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  // These elements, as a vector.
  NodeId gathered(const std::vector<statement::Variable>& variables) {
    std::map<NodeId, std::int64_t> starts;
    for (const statement::Variable& one : variables) starts.emplace(node_of(one), 0);
    std::vector<NodeId> flat;
    std::int64_t next = 0;
    for (auto& [node, start] : starts) {
      const auto size = static_cast<std::int64_t>(graph_.size(node));
      start = std::exchange(next, next + size);
      flat.push_back(append(Op::reshape, {node}, ShapeAttributes{{size}}));
    }
    GatherAttributes chosen;
    for (const statement::Variable& one : variables)
      chosen.indices.push_back(starts[node_of(one)] + static_cast<std::int64_t>(one.element));
    chosen.index_shape = {static_cast<std::int64_t>(variables.size())};
    return append(Op::gather, {flat.size() == 1 ? flat.front() : append(Op::concat, flat, ConcatAttributes{0})}, chosen);
  }

  NodeId append(Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
    auto node = graph_.append(op, std::move(operands), std::move(attributes));
    if (!node && !problem_) problem_ = node.rejection();
    return node ? node.value() : 0;
  }
  // Of the first node that the graph has no place for.
  [[nodiscard]] const std::optional<Rejection>& problem() const { return problem_; }

 private:
  [[nodiscard]] NodeId node_of(const statement::Variable& one) const {
    return one.side == statement::Variable::Side::input ? graph_.inputs[one.tensor] : graph_.outputs[one.tensor];
  }
  Graph& graph_;
  std::optional<Rejection> problem_;
};

}  // namespace

Products::Factors Products::factors_of(Scalar scalar) const {
  return scalar < first() ? Factors{scalar} : products_[scalar - first()].factors;
}

bool Products::multiply(Scalar a, Scalar b, Position at, Scalar& product) {
  const Factors left = factors_of(a), right = factors_of(b);
  Factors all;
  std::ranges::merge(left, right, std::back_inserter(all));
  if (all.size() > kMaxDegree)
    return diagnostics_.unsupported(at, "polynomial_degree", "products of at most " + std::to_string(kMaxDegree) + " variables",
                                    std::to_string(all.size()), "state the property with lower powers");
  if (products_.size() > kMaxProducts - kMaxDegree)
    return diagnostics_.unsupported(at, "file_too_large", "at most " + std::to_string(kMaxProducts) + " products of variables", "one more",
                                    "split the property into several files");
  if (!known_.contains(all) &&
      !(check(all, at) && room_.take(all.size() - 1, 2 * all.size() * sizeof(Scalar) + kBytesPerProduct, at, "products of variables")))
    return false;
  product = scalar_of(all);
  return true;
}

bool Products::check(const Factors& factors, Position at) {
  const auto type = [&](Scalar scalar) {
    const statement::Variable where = signature_.variable(scalar);
    const Graph& graph = signature_.graph();
    return graph.node(where.side == statement::Variable::Side::input ? graph.inputs[where.tensor] : graph.outputs[where.tensor]).dtype;
  };
  const DType wanted = type(products_.empty() ? factors.front() : products_.front().factors.front());
  for (const Scalar scalar : factors) {
    if (is_float(type(scalar)) && type(scalar) == wanted) continue;
    return diagnostics_.unsupported(at, "polynomial", "products of variables of one floating-point type",
                                    signature_.name(scalar) + " of type " + to_string(type(scalar)),
                                    "cast inside the model, or state the property without this product");
  }
  return true;
}

bool Products::comes_before(Scalar a, Scalar b) const {
  const Factors left = factors_of(a), right = factors_of(b);
  return left.size() != right.size() ? left.size() < right.size() : left < right;
}

Scalar Products::scalar_of(const Factors& factors) {
  if (factors.size() == 1) return factors.front();
  const auto [known, is_new] = known_.emplace(factors, first() + static_cast<Scalar>(products_.size()));
  if (is_new) products_.push_back({factors, std::nullopt});
  return known->second;
}

// A square is computed as one: its enclosures and lines are those of one variable. Other products take one variable at a time.
statement::Variable Products::variable(Scalar scalar) {
  if (scalar < first()) return signature_.variable(scalar);
  if (const auto& place = products_[scalar - first()].place) return *place;
  const Factors factors = factors_of(scalar);
  bool is_square = factors.size() % 2 == 0;
  for (std::size_t i = 0; is_square && i < factors.size(); i += 2) is_square = factors[i] == factors[i + 1];
  Factors rest;
  for (std::size_t i = 0; i < factors.size() - 1; i += is_square ? 2 : 1) rest.push_back(factors[i]);
  const statement::Variable left = variable(scalar_of(rest)), right = is_square ? left : signature_.variable(factors.back());
  const auto same = [&](const Group& one) { return one.degree == factors.size() && one.of_squares == is_square; };
  auto group = std::ranges::find_if(groups_, same);
  if (group == groups_.end()) group = groups_.insert(groups_.end(), {factors.size(), is_square, {}, {}});
  const auto tensor = signature_.graph().outputs.size() + static_cast<std::size_t>(group - groups_.begin());
  group->left.push_back(left);
  group->right.push_back(right);
  return *(
      products_[scalar - first()].place = {statement::Variable::Side::output, static_cast<std::uint32_t>(tensor), group->left.size() - 1});
}

// A group is computed from groups of lower degree, which come first; outputs are in the order of the groups.
Outcome<Graph> Products::graph() const {
  Graph graph = signature_.graph();
  const std::size_t own = graph.outputs.size();
  graph.outputs.resize(own + groups_.size());
  std::vector<std::size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t g) { return groups_[g].degree; });
  Builder builder(graph);
  for (const std::size_t g : order) {
    const NodeId left = builder.gathered(groups_[g].left), right = groups_[g].of_squares ? left : builder.gathered(groups_[g].right);
    graph.outputs[own + g] = builder.append(Op::mul, {left, right});
  }
  if (builder.problem()) return *builder.problem();
  for (const Group& group : groups_)
    graph.output_names.push_back(std::string(statement::kProductsName) + (group.of_squares ? "squares" : "products") + " of degree " +
                                 std::to_string(group.degree));
  return graph;
}

}  // namespace assay::vnnlib
