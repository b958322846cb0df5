#include "app/pages/exchange.h"

#include <map>

namespace assay::pages {

Json model_explorer(const std::string& name, const Drawing& drawing, const Table& table) {
  std::vector<Json> incoming(drawing.nodes.size(), Json::array());
  for (const auto& [from, to] : drawing.edges)
    incoming[to].push_back(
        {{"sourceNodeId", std::to_string(from)}, {"sourceNodeOutputId", "0"}, {"targetNodeInputId", std::to_string(incoming[to].size())}});
  Json nodes = Json::array();
  for (std::size_t i = 0; i < drawing.nodes.size(); ++i) {
    const Drawing::Node& node = drawing.nodes[i];
    Json attributes = Json::array();
    for (std::size_t k = 0; node.members.size() == 1 && k < table.columns.size(); ++k) {
      const std::string text = cell_text(table.rows[node.members[0]][k]);
      if (!text.empty()) attributes.push_back({{"key", table.columns[k]}, {"value", text}});
    }
    nodes.push_back({{"id", std::to_string(i)},
                     {"label", node.label},
                     {"namespace", ""},
                     {"attrs", std::move(attributes)},
                     {"incomingEdges", std::move(incoming[i])},
                     {"outputsMetadata", {{{"id", "0"}, {"attrs", {{{"key", "tensor_shape"}, {"value", node.detail}}}}}}}});
  }
  return {{"label", name}, {"graphs", {{{"id", name}, {"nodes", std::move(nodes)}}}}};
}

// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: complete events, in microseconds.
Json trace_events(const std::vector<Slice>& slices) {
  constexpr double kMicroseconds = 1e6;
  Json events = Json::array({{{"ph", "M"}, {"name", "process_name"}, {"pid", 1}, {"args", {{"name", "assay"}}}}});
  std::map<std::string, int> tracks;
  for (const Slice& slice : slices) {
    const auto [track, is_new] = tracks.emplace(slice.track, static_cast<int>(tracks.size()) + 1);
    if (is_new)
      events.push_back({{"ph", "M"}, {"name", "thread_name"}, {"pid", 1}, {"tid", track->second}, {"args", {{"name", slice.track}}}});
    Json more = Json::object();
    for (const auto& [name, value] : slice.more) more[name] = value;
    events.push_back({{"ph", "X"},
                      {"name", slice.name},
                      {"pid", 1},
                      {"tid", track->second},
                      {"ts", slice.start * kMicroseconds},
                      {"dur", slice.seconds * kMicroseconds},
                      {"args", std::move(more)}});
  }
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

}  // namespace assay::pages
