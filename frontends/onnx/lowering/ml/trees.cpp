// Ensembles of decision trees.
//
// All trees are lowered together, level by level: the value of a split is the value of one of its two children, chosen by its comparison.
// So the value of a level is one `where` over the splits of the level, and bounds of a tree are the hull of the leaves that it may reach.
// A comparison that several splits make is computed once.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "frontends/onnx/lowering/ml/ml.h"

namespace assay::onnx {
namespace {

enum class Mode : std::uint8_t { at_most, below, at_least, above, equal, unequal };
constexpr std::array<std::string_view, 6> kModes{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};

struct TreeNode {
  bool is_leaf = false;
  Mode mode = Mode::at_most;
  std::int64_t feature = 0;
  double threshold = 0;
  std::size_t yes = 0, no = 0;             // indices of nodes
  std::map<std::int64_t, double> weights;  // of a leaf, by target
};

enum class Aggregate : std::uint8_t { average, sum, min, max };

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<std::size_t> roots;
  std::int64_t targets = 1;
  Aggregate aggregate = Aggregate::sum;
  bool is_double = false;  // weights in float64
  bool weighs_splits = false;

  // The weights that a leaf holds: of all targets, or, where each tree has one target alone, of this one.
  [[nodiscard]] std::int64_t width() const { return owners.empty() ? targets : 1; }
  std::vector<std::int64_t> owners;  // of the trees, where each has one target alone
};

// A number per node, of float attributes or of a tensor of doubles in their place.
Reals floats_or_tensor(Call& call, const std::string& name, bool& is_double) {
  const AttributeProto* tensor = call.find(name + "_as_tensor", AttributeKind::tensor);
  if (tensor == nullptr) return reals_of(call, name);
  if (!reals_of(call, name).empty()) call.malformed("onnx.attribute", name + " once", "numbers and a tensor");
  const Tensor values = call.lowering.read(tensor->tensor);
  if (!is_float(values.dtype())) call.malformed("onnx.attribute", name + "_as_tensor of floats", to_string(values.dtype()));
  is_double = is_double || values.dtype() == DType::float64;
  return values.to_doubles();
}

// Children come from the nodes' numbers in their tree. Each node but one of a tree is the child of one node.
void find_roots(const Call& call, Forest& forest, const std::vector<std::size_t>& tree_starts) {
  std::vector<std::uint8_t> parents(forest.nodes.size(), 0);
  for (const TreeNode& node : forest.nodes) {
    if (node.is_leaf) continue;
    for (const std::size_t child : {node.yes, node.no})
      if (++parents[child] > 1) call.malformed("onnx.attribute", "trees, whose nodes have one parent", "a node with two");
  }
  for (std::size_t t = 0; t + 1 < tree_starts.size(); ++t) {
    const std::size_t first = tree_starts[t];
    if (parents[first] != 0 || std::count(parents.begin() + static_cast<std::ptrdiff_t>(first),
                                          parents.begin() + static_cast<std::ptrdiff_t>(tree_starts[t + 1]), 0) != 1)
      call.malformed("onnx.attribute", "trees, each of which begins with its only root", "another order of nodes");
    forest.roots.push_back(first);
  }
}

// The trees of TreeEnsembleRegressor and TreeEnsembleClassifier; `leaf` is the prefix of the attributes of leaves.
Forest forest_of(Call& call, const std::string& leaf) {
  Forest forest;
  const auto lists = [&](const char* name, const std::string& prefix = "nodes_") { return ints_of(call, prefix + name); };
  const Ints trees = lists("treeids"), numbers = lists("nodeids"), features = lists("featureids"), yes = lists("truenodeids"),
             no = lists("falsenodeids");
  const Reals thresholds = floats_or_tensor(call, "nodes_values", forest.is_double);
  const AttributeProto* modes = call.find("nodes_modes", AttributeKind::texts);
  const std::size_t count = trees.size();
  const auto all_have = [&](std::size_t length, const auto&... list) { return ((list.size() == length) && ...); };
  if (count == 0 || modes == nullptr || !all_have(count, numbers, features, yes, no, thresholds, modes->texts))
    call.malformed("onnx.attribute", "lists of one length for the nodes, at least one", std::to_string(count) + " and others");
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> place;
  std::vector<std::size_t> starts;
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0 || trees[i] != trees[i - 1]) {
      if (!seen.insert(trees[i]).second) call.malformed("onnx.attribute", "the nodes of a tree one after the other", "a tree in parts");
      starts.push_back(i);
    }
    if (!place.emplace(std::pair(trees[i], numbers[i]), i).second)
      call.malformed("onnx.attribute", "nodes with numbers of their own", "a number twice");
  }
  starts.push_back(count);
  const auto node_at = [&](std::int64_t tree, std::int64_t number) {
    const auto found = place.find({tree, number});
    if (found == place.end())
      call.malformed("onnx.attribute", "children and leaves among the nodes of the tree", "node " + std::to_string(number));
    return found->second;
  };
  for (std::size_t i = 0; i < count; ++i) {
    TreeNode node;
    node.is_leaf = modes->texts[i] == "LEAF";
    if (!node.is_leaf) {
      const auto mode = std::ranges::find(kModes, modes->texts[i]);
      if (mode == kModes.end()) call.malformed("onnx.attribute", "nodes_modes of the standard", printable(modes->texts[i]));
      node.mode = static_cast<Mode>(mode - kModes.begin());
      node.feature = features[i];
      node.threshold = thresholds[i];
      node.yes = node_at(trees[i], yes[i]);
      node.no = node_at(trees[i], no[i]);
    }
    forest.nodes.push_back(std::move(node));
  }
  const Ints leaf_trees = lists("treeids", leaf), leaf_numbers = lists("nodeids", leaf), leaf_targets = lists("ids", leaf);
  const Reals weights = floats_or_tensor(call, leaf + "weights", forest.is_double);
  if (!all_have(leaf_trees.size(), leaf_numbers, leaf_targets, weights))
    call.malformed("onnx.attribute", "lists of one length for the leaves", "lists of other lengths");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    TreeNode& node = forest.nodes[node_at(leaf_trees[i], leaf_numbers[i])];
    forest.weighs_splits = forest.weighs_splits || !node.is_leaf;
    if (!node.is_leaf) continue;  // programs pass over weights of splits, but not where they look for signs and classes
    if (!node.weights.emplace(leaf_targets[i], weights[i]).second)
      call.malformed("onnx.attribute", "one weight of a leaf for a target", "two");
  }
  find_roots(call, forest, starts);
  return forest;
}

// The trees of TreeEnsemble: splits and leaves have numbers of their own, and each leaf one target.
Forest forest_of_version_5(Call& call) {
  Forest forest;
  const Ints roots = ints_of(call, "tree_roots"), features = ints_of(call, "nodes_featureids"), yes = ints_of(call, "nodes_truenodeids"),
             no = ints_of(call, "nodes_falsenodeids"), yes_leaf = ints_of(call, "nodes_trueleafs"),
             no_leaf = ints_of(call, "nodes_falseleafs"), targets = ints_of(call, "leaf_targetids");
  const auto tensor = [&](const char* name) {
    const AttributeProto* found = call.find(name, AttributeKind::tensor);
    if (found == nullptr) call.malformed("onnx.attribute", std::string("a tensor ") + name, "none");
    return call.lowering.read(found->tensor);
  };
  const Tensor thresholds = tensor("nodes_splits"), weights = tensor("leaf_weights"), modes = tensor("nodes_modes");
  forest.is_double = weights.dtype() == DType::float64;
  const std::size_t splits = features.size(), leaves = targets.size();
  const auto all_have = [&](const auto&... list) { return ((list.size() == splits) && ...); };
  if (splits == 0 || roots.empty() || !all_have(yes, no, yes_leaf, no_leaf, thresholds, modes) || weights.size() != leaves ||
      is_float(modes.dtype()) || !is_float(weights.dtype()) || !is_float(thresholds.dtype()))
    call.malformed("onnx.attribute", "lists of one length for the splits, at least one, and for the leaves",
                   "lists of other lengths or types");
  forest.nodes.resize(splits);
  std::vector<std::uint8_t> has_parent(splits, 0);
  const auto enter = [&](std::int64_t number, bool is_leaf) -> std::size_t {
    const std::size_t most = is_leaf ? leaves : splits, at = static_cast<std::size_t>(number);
    if (number < 0 || at >= most) call.malformed("onnx.attribute", "children below " + std::to_string(most), std::to_string(number));
    if (!is_leaf && has_parent[at]++ != 0) call.malformed("onnx.attribute", "trees, whose splits have one parent", "a split with two");
    if (!is_leaf) return at;
    forest.nodes.push_back({true, Mode::at_most, 0, 0, 0, 0, {{targets[at], weights.as_double(at)}}});  // a leaf of its own for each parent
    return forest.nodes.size() - 1;
  };
  for (const std::int64_t root : roots) forest.roots.push_back(enter(root, false));
  for (std::size_t i = 0; i < splits; ++i) {
    const std::int64_t mode = modes.as_int(i);
    if (mode < 0 || mode > 5)
      call.unsupported("onnx.attribute", "splits that compare a feature with a number", "mode " + std::to_string(mode),
                       "write sets as comparisons");
    const std::size_t first = enter(yes[i], yes_leaf[i] != 0), second = enter(no[i], no_leaf[i] != 0);
    forest.nodes[i] = {false, static_cast<Mode>(mode), features[i], thresholds.as_double(i), first, second, {}};
  }
  return forest;
}

// The child that a comparison with an infinite threshold always chooses.
std::optional<std::size_t> certain_child(const TreeNode& node) {
  if (node.is_leaf || !std::isinf(node.threshold)) return std::nullopt;
  const bool is_up = node.threshold > 0, is_order_up = node.mode == Mode::at_most || node.mode == Mode::below;
  if (node.mode == Mode::equal || node.mode == Mode::unequal) return node.mode == Mode::unequal ? node.yes : node.no;
  return is_up == is_order_up ? node.yes : node.no;
}

// The levels of all trees, with the roots first: each node of a level that is a split has its children in the next one.
class Levels {
 public:
  Levels(const Call& call, const Forest& forest) : call_(call), forest_(forest) {
    std::vector<std::uint8_t> seen(forest.nodes.size(), 0);
    std::vector<std::size_t> level;
    for (const std::size_t root : forest.roots) level.push_back(enter(root, seen));
    while (!level.empty()) {
      std::vector<std::size_t> next;
      for (const std::size_t at : level) {
        const TreeNode& node = forest.nodes[at];
        if (node.is_leaf) continue;
        next.push_back(enter(node.yes, seen));
        next.push_back(enter(node.no, seen));
      }
      levels_.push_back(std::move(level));
      level = std::move(next);
    }
  }
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& all() const { return levels_; }

 private:
  std::size_t enter(std::size_t at, std::vector<std::uint8_t>& seen) const {
    for (;;) {
      if (seen[at]++ != 0) call_.malformed("onnx.attribute", "trees, whose nodes have one parent", "a node with two, or a cycle");
      if (!forest_.nodes[at].is_leaf && std::isnan(forest_.nodes[at].threshold))
        call_.malformed("onnx.attribute", "thresholds that are numbers", "NaN");
      const std::optional<std::size_t> next = certain_child(forest_.nodes[at]);
      if (!next) return at;
      at = *next;
    }
  }

  const Call& call_;
  const Forest& forest_;
  std::vector<std::vector<std::size_t>> levels_;
};

// The comparisons of the splits, each of them once: booleans [N, comparisons].
class Comparisons {
 public:
  Comparisons(Call& call, const Operand& x, const Forest& forest, const Levels& levels) : forest_(forest) {
    std::array<std::map<std::pair<std::int64_t, double>, std::int64_t>, kModes.size()> of_mode;
    for (const std::vector<std::size_t>& level : levels.all())
      for (const std::size_t at : level)
        if (const TreeNode& node = forest.nodes[at]; !node.is_leaf)
          of_mode[index_of(node.mode)].emplace(std::pair(node.feature, node.threshold), 0);
    std::vector<Operand> parts;
    for (std::size_t mode = 0; mode < of_mode.size(); ++mode) {
      if (of_mode[mode].empty()) continue;
      Ints features;
      Reals thresholds;
      for (auto& [key, place] : of_mode[mode]) {
        const auto& [feature, threshold] = key;
        const bool fits = x->dtype == DType::float64 || static_cast<double>(static_cast<float>(threshold)) == threshold;
        if (feature < 0 || feature >= x->shape[1])
          call.malformed("onnx.attribute", "features below " + std::to_string(x->shape[1]), std::to_string(feature));
        if (!fits) call.malformed("onnx.attribute", "thresholds of the operand's type, float32", std::to_string(threshold));
        place = static_cast<std::int64_t>(places_.size());
        places_.emplace(std::tuple(mode, feature, threshold), place);
        features.push_back(feature);
        thresholds.push_back(threshold);
      }
      const auto count = static_cast<std::int64_t>(features.size());
      parts.push_back(compare(call, static_cast<Mode>(mode), gather_axis(call, x, 1, features), reals_like(call, x, {count}, thresholds)));
    }
    if (!parts.empty()) booleans_ = concat(call, parts, 1);
  }

  // Of these splits, [N, splits, 1]. `unequal` is `equal` with the children exchanged.
  [[nodiscard]] Operand of(Call& call, const std::vector<std::size_t>& splits) const {
    Ints places;
    for (const std::size_t at : splits) {
      const TreeNode& node = forest_.nodes[at];
      places.push_back(places_.at({index_of(node.mode), node.feature, node.threshold}));
    }
    const auto count = static_cast<std::int64_t>(splits.size());
    return call.reshape(gather_axis(call, booleans_, 1, std::move(places)), {booleans_->shape[0], count, 1});
  }

 private:
  static std::size_t index_of(Mode mode) { return static_cast<std::size_t>(mode == Mode::unequal ? Mode::equal : mode); }
  static Operand compare(Call& call, Mode mode, const Operand& x, const Operand& threshold) {
    if (mode == Mode::at_most) return call.emit(Op::less_equal, {x, threshold});
    if (mode == Mode::below) return call.emit(Op::less, {x, threshold});
    if (mode == Mode::at_least) return call.emit(Op::less_equal, {threshold, x});
    if (mode == Mode::above) return call.emit(Op::less, {threshold, x});
    return call.emit(Op::equal, {x, threshold});
  }

  const Forest& forest_;
  std::map<std::tuple<std::size_t, std::int64_t, double>, std::int64_t> places_;
  Operand booleans_;
};

// The values of all trees, [N, trees, width].
Operand values_of_trees(Call& call, const Operand& x, const Forest& forest) {
  const Levels levels(call, forest);
  const Comparisons comparisons(call, x, forest, levels);
  const std::int64_t rows = x->shape[0], width = forest.width();
  const Operand like = call.cast(call.make_real_like(x, 0), forest.is_double ? DType::float64 : DType::float32);
  Operand below;  // the values of the next level
  for (auto level = levels.all().rbegin(); level != levels.all().rend(); ++level) {
    std::vector<std::size_t> splits;
    Reals leaves;
    Ints order;  // of the level's nodes: leaves first, then splits
    const auto leaf_count = std::ranges::count_if(*level, [&](std::size_t at) { return forest.nodes[at].is_leaf; });
    call.limit_fold({leaf_count, width}, DType::float64);
    for (const std::size_t at : *level) {
      const TreeNode& node = forest.nodes[at];
      order.push_back(node.is_leaf ? static_cast<std::int64_t>(leaves.size()) / width
                                   : leaf_count + static_cast<std::int64_t>(splits.size()));
      if (!node.is_leaf) splits.push_back(at);
      for (std::int64_t target = 0; node.is_leaf && target < width; ++target) {
        const auto weight = forest.owners.empty() ? node.weights.find(target) : node.weights.begin();
        leaves.push_back(weight == node.weights.end() ? 0 : weight->second);
      }
    }
    std::vector<Operand> parts;
    if (leaf_count > 0) parts.push_back(expand(call, reals_like(call, like, {1, leaf_count, width}, leaves), {rows, leaf_count, width}));
    if (!splits.empty()) {
      Ints yes, no;
      for (std::size_t i = 0; i < splits.size(); ++i) {
        const bool is_turned = forest.nodes[splits[i]].mode == Mode::unequal;
        const auto first = static_cast<std::int64_t>(2 * i);
        yes.push_back(is_turned ? first + 1 : first);
        no.push_back(is_turned ? first : first + 1);
      }
      parts.push_back(
          call.emit(Op::where, {comparisons.of(call, splits), gather_axis(call, below, 1, yes), gather_axis(call, below, 1, no)}));
    }
    below = gather_axis(call, concat(call, parts, 1), 1, std::move(order));
  }
  return below;
}

// Which target each tree has, if each of its leaves has a weight for this one alone.
void find_owners(const Call& call, Forest& forest) {
  for (const TreeNode& node : forest.nodes)
    for (const auto& [target, weight] : node.weights)
      if (target < 0 || target >= forest.targets || !std::isfinite(weight))
        call.malformed("onnx.attribute", "finite weights of targets below " + std::to_string(forest.targets),
                       std::to_string(weight) + " of target " + std::to_string(target));
  if (forest.targets == 1) return;
  std::vector<std::int64_t> owners;
  for (const std::size_t root : forest.roots) {
    std::set<std::int64_t> targets;
    std::vector<std::size_t> open{root};
    while (!open.empty() && targets.size() < 2) {
      const TreeNode& node = forest.nodes[open.back()];
      open.pop_back();
      for (const auto& [target, weight] : node.weights) targets.insert(target);
      if (node.is_leaf && node.weights.size() != 1) return;
      if (!node.is_leaf) open.insert(open.end(), {node.yes, node.no});
    }
    if (targets.size() != 1) return;
    owners.push_back(*targets.begin());
  }
  forest.owners = std::move(owners);
}

// Whether each target has a weight at all leaves of some tree, or of all of them.
bool covers(const Forest& forest, bool of_every_tree) {
  std::vector<std::set<std::int64_t>> have;
  for (const std::size_t root : forest.roots) {
    std::optional<std::set<std::int64_t>> of_tree;
    std::vector<std::size_t> open{root};
    while (!open.empty()) {
      const TreeNode& node = forest.nodes[open.back()];
      open.pop_back();
      if (!node.is_leaf) {
        open.insert(open.end(), {node.yes, node.no});
        continue;
      }
      std::set<std::int64_t> kept;
      for (const auto& [target, weight] : node.weights)
        if (!of_tree || of_tree->contains(target)) kept.insert(target);
      of_tree = std::move(kept);
    }
    have.push_back(std::move(*of_tree));
  }
  for (std::int64_t target = 0; target < forest.targets; ++target) {
    const auto has = [&](const std::set<std::int64_t>& targets) { return targets.contains(target); };
    if (of_every_tree ? !std::ranges::all_of(have, has) : std::ranges::none_of(have, has)) return false;
  }
  return true;
}

// The scores [N, targets], before base values.
Operand scores_of(Call& call, const Operand& x, Forest& forest) {
  const std::int64_t trees = static_cast<std::int64_t>(forest.roots.size());
  const bool is_extreme = forest.aggregate == Aggregate::min || forest.aggregate == Aggregate::max;
  if (is_extreme && !covers(forest, true))
    call.unsupported("onnx.attribute", "a weight for each target at every leaf, whose minimum or maximum is taken", "leaves without one",
                     "take SUM or AVERAGE");
  find_owners(call, forest);
  forest.is_double = forest.is_double || x->dtype == DType::float64;
  const Operand values = values_of_trees(call, x, forest);
  const ReduceAttributes over_trees{{1}, false};
  Operand scores;
  if (is_extreme) {
    scores = call.emit(forest.aggregate == Aggregate::min ? Op::reduce_min : Op::reduce_max, {values}, over_trees);
  } else if (forest.owners.empty()) {
    scores = call.emit(Op::reduce_sum, {values}, over_trees);
  } else {
    call.limit_fold({trees, forest.targets}, DType::float64);
    Reals ones(static_cast<std::size_t>(trees * forest.targets), 0);
    for (std::size_t t = 0; t < forest.owners.size(); ++t)
      ones[t * static_cast<std::size_t>(forest.targets) + static_cast<std::size_t>(forest.owners[t])] = 1;
    scores = call.emit(Op::matmul, {call.reshape(values, {x->shape[0], trees}), reals_like(call, values, {trees, forest.targets}, ones)});
  }
  if (forest.aggregate == Aggregate::average)
    scores = call.emit(Op::div, {scores, call.make_real_like(scores, static_cast<double>(trees))});
  return scores;
}

// Programs leave out the base value of a target for which no leaf has a weight.
Operand with_base(Call& call, const Operand& scores, const Forest& forest, const Reals& base) {
  if (base.empty()) return scores;
  if (forest.targets > 1 && !covers(forest, false))
    call.unsupported("onnx.attribute", "base values of targets that have a weight at all leaves of some tree", "a target without one",
                     "leave the target out, or give its leaves weights of 0");
  if (static_cast<std::int64_t>(base.size()) != scores->shape[1])
    call.unsupported("onnx.attribute", "a base value for each score", std::to_string(base.size()) + " for " + to_string(scores->shape),
                     "give a base value for each");
  return call.emit(Op::add, {scores, reals_like(call, scores, {static_cast<std::int64_t>(base.size())}, base)});
}

// Two classes, all of whose weights are those of the first one: its score stands for the second class.
Results two_classes(Call& call, const Operand& score, const Forest& forest, const Ints& labels, const std::string& transform) {
  bool positive = true;
  for (const TreeNode& node : forest.nodes)
    for (const auto& [target, weight] : node.weights) positive = positive && weight >= 0;
  if (transform != (positive ? "NONE" : "LOGISTIC"))
    call.unsupported("onnx.attribute", "post_transform LOGISTIC of one score, or NONE if no weight is negative", printable(transform),
                     "give scores of both classes");
  const Operand both = both_scores(call, score, positive ? Second::complement : Second::logistic);
  return {label_above(call, score, positive ? 0.5 : 0, labels), as_float32(call, both)};
}

}  // namespace

Results lower_tree_ensemble_regressor(Call& call) {
  static const std::array<std::string_view, 4> kAggregates{"AVERAGE", "SUM", "MIN", "MAX"};
  const Operand x = rows_of(call, call.in(0));
  Forest forest = forest_of(call, "target_");
  const Reals base = floats_or_tensor(call, "base_values", forest.is_double);
  const std::string aggregate = call.attribute("aggregate_function", "SUM");
  const auto found = std::ranges::find(kAggregates, aggregate);
  forest.targets = call.attribute("n_targets", std::int64_t{1});
  if (found == kAggregates.end() || forest.targets < 1 || forest.targets > kLargestExtent)
    call.malformed("onnx.attribute", "aggregate_function of the standard, and n_targets of at least 1", printable(aggregate));
  forest.aggregate = static_cast<Aggregate>(found - kAggregates.begin());
  const Operand scores = with_base(call, scores_of(call, x, forest), forest, base);
  return {as_float32(call, transformed(call, scores, call.attribute("post_transform", "NONE")))};
}

Results lower_tree_ensemble_classifier(Call& call) {
  const Operand x = rows_of(call, call.in(0));
  Forest forest = forest_of(call, "class_");
  const Reals base = floats_or_tensor(call, "base_values", forest.is_double);
  const Ints labels = ints_of(call, "classlabels_int64s");
  forest.targets = static_cast<std::int64_t>(class_count_of(call, "classlabels_int64s"));
  const std::string transform = call.attribute("post_transform", "NONE");
  std::set<std::int64_t> classes;
  for (const TreeNode& node : forest.nodes)
    for (const auto& [target, weight] : node.weights) classes.insert(target);
  if (forest.targets == 2 && classes == std::set<std::int64_t>{0} && base.size() < 2 && !forest.weighs_splits) {
    forest.targets = 1;
    return two_classes(call, with_base(call, scores_of(call, x, forest), forest, base), forest, labels, transform);
  }
  const bool is_covered = covers(forest, false);
  if (forest.targets == 2 && (classes.size() != 2 || !base.empty() || !is_covered))
    call.unsupported("onnx.attribute", "two classes with weights of both and without base values, or with weights of the first alone",
                     "other weights", "convert the model to several classes, or to a regressor");
  const Operand scores = with_base(call, scores_of(call, x, forest), forest, base);
  return {forest.targets > 2 && is_covered ? label_of_largest(call, scores, labels) : nullptr,
          as_float32(call, transformed(call, scores, transform))};
}

Results lower_tree_ensemble(Call& call) {
  const Operand x = rows_of(call, call.in(0));
  Forest forest = forest_of_version_5(call);
  const std::int64_t aggregate = call.attribute("aggregate_function", std::int64_t{1}),
                     transform = call.attribute("post_transform", std::int64_t{0});
  forest.targets = call.attribute("n_targets", std::int64_t{1});
  if (aggregate < 0 || aggregate > 3 || forest.targets < 1 || forest.targets > kLargestExtent)
    call.malformed("onnx.attribute", "aggregate_function from 0 to 3, and n_targets of at least 1", std::to_string(aggregate));
  if (transform != 0)
    call.unsupported("onnx.attribute", "post_transform 0: of 1 and 2, ONNX Runtime takes each for the other", std::to_string(transform),
                     "transform the scores behind the trees");
  forest.aggregate = static_cast<Aggregate>(aggregate);
  return {call.cast(scores_of(call, x, forest), x->dtype)};
}

}  // namespace assay::onnx
