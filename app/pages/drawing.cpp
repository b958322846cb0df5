// A drawing has layers by the longest path, and orders by the mean place of neighbours (Sugiyama, Tagawa, Toda 1981). Places
// follow the same mean; isotonic regression keeps them apart.
#include "app/pages/drawing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "app/pages/page.h"
#include "semantics/printable.h"

namespace assay::pages {
namespace {

constexpr double kWide = 158, kHigh = 38, kGap = 18, kLayer = 72, kMargin = 8;  // pixels
constexpr double kThin = 14;                                                    // of the place where an edge passes a layer
constexpr std::size_t kMostPassed = 4000;                                       // such places; beyond, edges pass behind nodes
constexpr std::size_t kMostLetters = 24;

using Ids = std::vector<std::uint32_t>;

std::string cut(const std::string& text) { return text.size() <= kMostLetters ? text : text.substr(0, kMostLetters - 3) + "..."; }

// A place in a layer: a node, or where an edge passes.
struct Place {
  std::size_t layer = 0;
  double width = kThin, x = 0;
  Ids above, below;
};

class Layout {
 public:
  explicit Layout(const Drawing& drawing) : drawing_(drawing) {
    find_layers();
    add_edges();
    for (std::uint32_t i = 0; i < places_.size(); ++i) layers_[places_[i].layer].push_back(i);
    constexpr int kOrders = 8, kPlacings = 24;
    for (auto& layer : layers_) pack(layer);
    for (int sweep = 0; sweep < kOrders; ++sweep) {
      for (std::size_t k = 1; k < layers_.size(); ++k) order(layers_[k], true);
      for (std::size_t k = layers_.size(); k-- > 0;) order(layers_[k], false);
    }
    for (int sweep = 0; sweep < kPlacings; ++sweep) {
      for (std::size_t k = 0; k < layers_.size(); ++k) settle(layers_[sweep % 2 == 0 ? k : layers_.size() - 1 - k]);
    }
    double left = 0, right = 0;
    for (const Place& place : places_) left = std::min(left, place.x - place.width / 2);
    for (Place& place : places_) right = std::max(right, (place.x += kMargin - left) + place.width / 2);
    width_ = right + kMargin;
  }

  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] double height() const { return static_cast<double>(layers_.size() - 1) * kLayer + kHigh + 2 * kMargin; }
  [[nodiscard]] double x(std::uint32_t place) const { return places_[place].x; }
  [[nodiscard]] double top(std::uint32_t place) const { return kMargin + static_cast<double>(places_[place].layer) * kLayer; }
  [[nodiscard]] const std::vector<Ids>& paths() const { return paths_; }  // places of each edge

 private:
  void find_layers() {
    std::vector<std::size_t> layer(drawing_.nodes.size(), 0), least(drawing_.nodes.size(), SIZE_MAX);
    for (const auto& [from, to] : drawing_.edges) layer[to] = std::max(layer[to], layer[from] + 1);  // edges are sorted by `to`
    for (const auto& [from, to] : drawing_.edges) least[from] = std::min(least[from], layer[to]);
    std::vector<bool> is_read_only(drawing_.nodes.size(), true);
    for (const auto& edge : drawing_.edges) is_read_only[edge.second] = false;
    std::size_t count = 1;
    for (std::size_t i = 0; i < drawing_.nodes.size(); ++i) {
      if (is_read_only[i] && least[i] != SIZE_MAX && least[i] > 0) layer[i] = least[i] - 1;  // beside what reads it
      count = std::max(count, layer[i] + 1);
      places_.push_back({layer[i], kWide, 0, {}, {}});
    }
    layers_.resize(count);
  }

  void join(std::uint32_t above, std::uint32_t below) {
    places_[above].below.push_back(below);
    places_[below].above.push_back(above);
  }

  void add_edges() {
    std::size_t passed = 0;
    for (const auto& [from, to] : drawing_.edges) passed += places_[to].layer - places_[from].layer - 1;
    for (const auto& [from, to] : drawing_.edges) {
      Ids path{from};
      for (std::size_t layer = places_[from].layer + 1; passed <= kMostPassed && layer < places_[to].layer; ++layer) {
        places_.push_back({layer, kThin, 0, {}, {}});
        path.push_back(static_cast<std::uint32_t>(places_.size() - 1));
      }
      path.push_back(to);
      for (std::size_t i = 1; i < path.size(); ++i) join(path[i - 1], path[i]);
      paths_.push_back(std::move(path));
    }
  }

  [[nodiscard]] double apart(std::uint32_t left, std::uint32_t right) const {
    return places_[left].width / 2 + places_[right].width / 2 +
           (places_[left].width == kThin || places_[right].width == kThin ? kGap / 2 : kGap);
  }

  // Side by side, around 0.
  void pack(const Ids& layer) {
    double x = 0;
    for (std::size_t k = 0; k < layer.size(); ++k) places_[layer[k]].x = x += k == 0 ? 0 : apart(layer[k - 1], layer[k]);
    for (const std::uint32_t i : layer) places_[i].x -= x / 2;
  }

  [[nodiscard]] double mean(const Ids& others, double otherwise) const {
    if (others.empty()) return otherwise;
    return std::accumulate(others.begin(), others.end(), 0.0, [&](double sum, std::uint32_t k) { return sum + places_[k].x; }) /
           static_cast<double>(others.size());
  }

  void order(Ids& layer, bool from_above) {
    for (const std::uint32_t i : layer) places_[i].x = mean(from_above ? places_[i].above : places_[i].below, places_[i].x);
    std::ranges::stable_sort(layer, {}, [&](std::uint32_t i) { return places_[i].x; });
    pack(layer);
  }

  // To the mean of the neighbours on both sides, as near as order and distances allow in the least squares: by pooling adjacent violators.
  void settle(const Ids& layer) {
    struct Pool {
      double sum = 0;
      std::size_t count = 0;
      [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
    };
    std::vector<Pool> pools;
    std::vector<double> offsets;
    for (std::size_t k = 0; k < layer.size(); ++k) {
      const Place& place = places_[layer[k]];
      Ids others = place.above;
      others.insert(others.end(), place.below.begin(), place.below.end());
      offsets.push_back(k == 0 ? 0 : offsets.back() + apart(layer[k - 1], layer[k]));
      pools.push_back({mean(others, place.x) - offsets.back(), 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back().sum += last.sum;
        pools.back().count += last.count;
      }
    }
    std::size_t k = 0;
    for (const Pool& pool : pools)
      for (std::size_t i = 0; i < pool.count; ++i, ++k) places_[layer[k]].x = pool.mean() + offsets[k];
  }

  const Drawing& drawing_;
  std::vector<Place> places_;  // the nodes' places first
  std::vector<Ids> layers_, paths_;
  double width_ = 0;
};

void sort_edges(Drawing& drawing) {
  std::ranges::sort(drawing.edges, {}, [](const auto& edge) { return std::pair(edge.second, edge.first); });
  drawing.edges.erase(std::unique(drawing.edges.begin(), drawing.edges.end()), drawing.edges.end());
}

// Of a block: the first and the last label, and how many.
Drawing merged(const Drawing& drawing, const Ids& block_of, std::size_t count) {
  Drawing result;
  result.nodes.resize(count);
  std::vector<Ids> inside(count);
  for (std::uint32_t i = 0; i < drawing.nodes.size(); ++i) inside[block_of[i]].push_back(i);
  for (std::size_t block = 0; block < count; ++block) {
    Drawing::Node& node = result.nodes[block];
    const auto& first = drawing.nodes[inside[block].front()];
    const auto& last = drawing.nodes[inside[block].back()];
    node = first;
    if (inside[block].size() > 1) {
      for (std::size_t k = 1; k < inside[block].size(); ++k) {
        const auto& more = drawing.nodes[inside[block][k]];
        node.members.insert(node.members.end(), more.members.begin(), more.members.end());
        node.is_leaf = node.is_leaf && more.is_leaf;
      }
      const auto head = first.label.substr(0, first.label.find(" .. ")), tail = last.label.substr(last.label.rfind(' ') + 1);
      node.label = head + " .. " + tail;
      node.detail = std::to_string(node.members.size()) + " nodes";
    }
    std::ranges::sort(node.members);
  }
  for (const auto& [from, to] : drawing.edges)
    if (block_of[from] != block_of[to]) result.edges.emplace_back(block_of[from], block_of[to]);
  sort_edges(result);
  return result;
}

}  // namespace

Drawing in_blocks(const Drawing& drawing, std::size_t most) {
  const std::size_t count = drawing.nodes.size();
  if (count <= most) return drawing;
  std::vector<std::uint32_t> into(count, 0), out(count, 0), before(count, 0), block_of(count, 0);
  for (const auto& [from, to] : drawing.edges) {
    ++out[from];
    ++into[to];
    before[to] = from;
  }
  // A node continues a chain where it reads one node, which nothing else reads. Blocks are numbered by their heads, so edges go forward.
  std::uint32_t blocks = 0;
  for (std::size_t i = 0; i < count; ++i) block_of[i] = into[i] == 1 && out[before[i]] == 1 ? block_of[before[i]] : blocks++;
  Drawing chains = merged(drawing, block_of, blocks);
  if (blocks <= most) return chains;
  block_of.resize(blocks);
  for (std::size_t i = 0; i < blocks; ++i) block_of[i] = static_cast<std::uint32_t>(i * most / blocks);
  return merged(chains, block_of, most);
}

Drawing drawing_of(const Graph& graph) {
  Drawing drawing;
  std::vector<std::uint32_t> place(graph.nodes.size(), 0);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::constant) continue;
    place[id] = static_cast<std::uint32_t>(drawing.nodes.size());
    const bool is_input = node.op == Op::input;
    drawing.nodes.push_back({is_input ? printable(node.name) : std::string(op_row(node.op).name), to_string(node.shape), {id}, is_input});
    for (const NodeId operand : node.operands)
      if (graph.node(operand).op != Op::constant) drawing.edges.emplace_back(place[operand], place[id]);
  }
  sort_edges(drawing);
  return drawing;
}

Drawing drawing_of(const Trace& trace) {
  Drawing drawing;
  std::map<TraceTensorId, std::uint32_t> giver;
  for (std::uint32_t r = 0; r < trace.regions.size(); ++r) {
    const Region& region = trace.regions[r];
    Ids reads;
    for (const TraceTensorId id : region.operands) {
      const Trace::Entry& entry = trace.tensors[id];
      if (const auto found = giver.find(id); found != giver.end()) {
        reads.push_back(found->second);
      } else if (entry.origin == Trace::Origin::input) {
        giver[id] = static_cast<std::uint32_t>(drawing.nodes.size());
        reads.push_back(giver[id]);
        drawing.nodes.push_back({printable(entry.name), to_string(entry.value.shape()), {}, true});
      }
    }
    const auto place = static_cast<std::uint32_t>(drawing.nodes.size());
    for (const std::uint32_t from : reads) drawing.edges.emplace_back(from, place);
    std::string ops;
    for (const Node& node : region.graph.nodes)
      if (op_row(node.op).op_class != OpClass::leaf) ops += (ops.empty() ? "" : "+") + std::string(op_row(node.op).name);
    drawing.nodes.push_back({ops, region.results.empty() ? "" : to_string(trace.tensors[region.results[0]].value.shape()), {r}, false});
    for (const TraceTensorId id : region.results) giver[id] = place;
  }
  sort_edges(drawing);
  return drawing;
}

std::string svg_of(const Drawing& drawing, const std::string& description) {
  if (drawing.nodes.empty()) return "";
  const Layout layout(drawing);
  const auto at = [](double value) { return shown(value, "%.0f"); };
  std::string text = "<svg viewBox=\"0 0 " + at(layout.width()) + " " + at(layout.height()) + "\" width=\"" + at(layout.width()) +
                     "\" height=\"" + at(layout.height()) + "\" role=\"group\" aria-label=\"" + html_text(description) +
                     "\">\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
                     "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";
  for (const Ids& path : layout.paths()) {
    text += "<path class=\"edge\" marker-end=\"url(#tip)\" d=\"M" + at(layout.x(path[0])) + " " + at(layout.top(path[0]) + kHigh);
    for (std::size_t k = 1; k < path.size(); ++k) {
      const double from = layout.top(path[k - 1]) + kHigh, to = layout.top(path[k]) - (k + 1 == path.size() ? 1 : 0);
      const double middle = (from + to) / 2;
      text += "C" + at(layout.x(path[k - 1])) + " " + at(middle) + " " + at(layout.x(path[k])) + " " + at(middle) + " " +
              at(layout.x(path[k])) + " " + at(to);
      if (k + 1 < path.size()) text += "V" + at(to + kHigh);
    }
    text += "\"/>\n";
  }
  for (std::uint32_t i = 0; i < drawing.nodes.size(); ++i) {
    const Drawing::Node& node = drawing.nodes[i];
    const std::string words = html_text(node.label + (node.detail.empty() ? "" : " " + node.detail));
    const std::string box = "x=\"" + at(layout.x(i) - kWide / 2) + "\" y=\"" + at(layout.top(i)) + "\" width=\"" + at(kWide) +
                            "\" height=\"" + at(kHigh) + "\" rx=\"4\"";
    text += "<g class=\"node" + std::string(node.is_leaf ? " leaf" : "") + "\" data-words=\"" + words + "\" aria-label=\"" + words +
            "\"><title>" + words + "</title><rect " + box + "/><rect class=\"heat\" " + box + "/><text text-anchor=\"middle\" x=\"" +
            at(layout.x(i)) + "\" y=\"" + at(layout.top(i) + 16) + "\">" + html_text(cut(node.label)) +
            "</text><text class=\"small\" text-anchor=\"middle\" x=\"" + at(layout.x(i)) + "\" y=\"" + at(layout.top(i) + 31) + "\">" +
            html_text(cut(node.detail)) + "</text></g>\n";
  }
  return text + "</svg>\n";
}

}  // namespace assay::pages
