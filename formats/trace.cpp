#include "formats/trace.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "formats/json.h"
#include "formats/trace_nodes.h"
#include "formats/trace_tensors.h"
#include "semantics/demand.h"

namespace assay::formats {

namespace {

constexpr const char* kKey = "assay.trace";
constexpr std::int64_t kVersion = 1;
std::uint32_t checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Outcome<Trace> read(const Safetensors& file) {
    auto done = read_tensors(file);
    if (done) done = read_regions();
    if (done) done = read_names("outputs", json_, "trace", trace_.outputs);
    if (done) done = read_names("detached", json_, "trace", trace_.detached);
    if (done) done = read_opaque();
    if (done) done = read_vjps();
    if (done) done = read_gradients();
    if (done) done = read_tangents();
    if (!done) return done.rejection();
    return std::move(trace_);
  }

 private:
  Outcome<Done> read_tensors(const Safetensors& file) {
    if (json_.contains("writer") && json_["writer"].is_string()) trace_.writer = json_["writer"].get<std::string>();
    for (const Safetensors::Entry& entry : file.entries) {
      auto tensor = trace_tensor(entry);
      if (!tensor) return tensor.rejection();
      ids_[entry.name] = static_cast<TraceTensorId>(trace_.tensors.size());
      trace_.tensors.push_back(std::move(tensor).value());
      if (auto same = compare_checksum(entry); !same) return same;
    }
    for (const auto& [field, origin] : {std::pair{"inputs", Trace::Origin::input}, std::pair{"parameters", Trace::Origin::parameter}}) {
      std::vector<TraceTensorId> named;
      if (auto done = read_names(field, json_, "trace", named); !done) return done;
      for (const TraceTensorId id : named) trace_.tensors[id].origin = origin;
    }
    return Done{};
  }

  Outcome<Done> compare_checksum(const Safetensors::Entry& entry) const {
    const std::string place = "tensor \"" + entry.name + "\"";
    const Json& sums = json_.contains("crc32") ? json_["crc32"] : Json::object();
    if (!sums.is_object() || !sums.contains(entry.name) || !sums[entry.name].is_number_unsigned())
      return trace_malformed("checksum", place, "its CRC-32 under \"crc32\"", "none");
    const std::uint32_t found = checksum(entry.bytes);
    if (sums[entry.name].get<std::uint64_t>() != found)
      return trace_malformed("checksum", place, "CRC-32 " + sums[entry.name].dump(), std::to_string(found));
    return Done{};
  }

  Outcome<TraceTensorId> id_of(const Json& name, const std::string& place) const {
    auto found = value_of(name, place);
    if (found && found.value() >= kFirstInner) return trace_malformed("name", place, "the name of a tensor of this file", shown(name));
    return found;
  }
  // A tensor, or a value inside a region.
  Outcome<TraceTensorId> value_of(const Json& name, const std::string& place) const {
    const auto found = name.is_string() ? ids_.find(name.get<std::string>()) : ids_.end();
    if (found == ids_.end()) return trace_malformed("name", place, "the name of a tensor of this file", shown(name));
    return found->second;
  }

  // A missing list is empty.
  Outcome<Done> read_names(const char* field, const Json& object, const std::string& place, std::vector<TraceTensorId>& result) const {
    if (!object.contains(field)) return Done{};
    if (!object[field].is_array())
      return trace_malformed("field", place, std::string("\"") + field + "\", a list of names", shown(object[field]));
    for (const Json& name : object[field]) {
      auto id = id_of(name, place + ", " + field);
      if (!id) return id.rejection();
      result.push_back(id.value());
    }
    return Done{};
  }

  static bool read_number(const Json& object, const char* field, std::uint32_t& value) {
    if (!object.contains(field) || !object[field].is_number_unsigned() || object[field].get<std::uint64_t>() > UINT32_MAX) return false;
    value = object[field].get<std::uint32_t>();
    return true;
  }

  // {"nodes": [...]}, numbered like a region's, on the operands of the region or node.
  Outcome<Graph> read_surrogate(const Json& json, const Trace::Vjp& vjp, const std::string& place) const {
    if (!json.is_object() || vjp.of >= trace_.regions.size()) return trace_malformed("field", place, "nodes, of a region", shown(json));
    const Graph& graph = trace_.regions[vjp.of].graph;
    if (vjp.node && *vjp.node >= graph.nodes.size()) return trace_malformed("field", place, "a node of the region", shown(json));
    std::vector<OperandType> types;
    for (const NodeId id : vjp.node ? graph.node(*vjp.node).operands : graph.inputs)
      types.push_back({graph.node(id).dtype, graph.node(id).shape, "x" + std::to_string(types.size())});
    return read_region_graph(json, types, 1, place);
  }

  // {"of": 3, "result": 0, "cotangent": "dy", "cotangents": {"0": "dx"}}
  Outcome<Trace::Vjp> read_vjp(const Json& json, const std::string& place) const {
    Trace::Vjp vjp;
    const bool has_numbers =
        json.is_object() && read_number(json, "of", vjp.of) && (!json.contains("result") || read_number(json, "result", vjp.result));
    if (!has_numbers || !json.contains("cotangent") || !json.contains("cotangents") || !json["cotangents"].is_object())
      return trace_malformed("field", place, "of, cotangent and cotangents", shown(json));
    std::uint32_t node = 0;
    if (json.contains("node") && !read_number(json, "node", node))
      return trace_malformed("field", place, "\"node\", a value number", shown(json["node"]));
    if (json.contains("node")) vjp.node = node;
    if (json.contains("surrogate")) {
      auto surrogate = read_surrogate(json["surrogate"], vjp, place + ", surrogate");
      if (!surrogate) return surrogate.rejection();
      vjp.surrogate = std::move(surrogate).value();
    }
    auto cotangent = value_of(json["cotangent"], place);
    if (!cotangent) return cotangent.rejection();
    vjp.cotangent = cotangent.value();
    if (auto done = read_positions(json["cotangents"], vjp.cotangents, place); !done) return done.rejection();
    if (!json.contains("convention")) return vjp;
    if (!json["convention"].is_object())
      return trace_malformed("field", place, "\"convention\", like cotangents", shown(json["convention"]));
    if (auto done = read_positions(json["convention"], vjp.convention, place + ", convention"); !done) return done.rejection();
    return vjp;
  }

  // {"0": "dx"}
  Outcome<Done> read_positions(const Json& json, std::vector<std::pair<std::uint32_t, TraceTensorId>>& pairs,
                               const std::string& place) const {
    for (const auto& [position, name] : json.items()) {
      std::uint32_t operand = 0;
      const auto [end, error] = std::from_chars(position.data(), position.data() + position.size(), operand);
      if (error != std::errc() || end != position.data() + position.size())
        return trace_malformed("field", place, "operand positions", "\"" + position + "\"");
      auto id = value_of(name, place);
      if (!id) return id.rejection();
      pairs.emplace_back(operand, id.value());
    }
    return Done{};
  }

  Outcome<Done> read_vjps() {
    if (!json_.contains("vjps")) return Done{};
    if (!json_["vjps"].is_array()) return trace_malformed("field", "vjps", "a list", shown(json_["vjps"]));
    for (std::size_t i = 0; i < json_["vjps"].size(); ++i) {
      auto vjp = read_vjp(json_["vjps"][i], "vjp " + std::to_string(i));
      if (!vjp) return vjp.rejection();
      trace_.vjps.push_back(std::move(vjp).value());
    }
    return Done{};
  }

  Outcome<ExecutionModel> read_model(const Json& json, const std::string& place) const {
    if (!json.contains("model") || !json["model"].is_string())
      return trace_malformed("field", place, "\"model\", an execution model", shown(json));
    std::string text = json["model"].get<std::string>();
    if (json_.contains("models") && json_["models"].is_object() && json_["models"].contains(text) && json_["models"][text].is_string())
      text = json_["models"][text].get<std::string>();
    auto model = parse_execution_model(text);
    if (model) return model;
    Rejection why = model.rejection();
    why.place = place + (why.place.empty() ? "" : ", " + why.place);
    return why;
  }

  Outcome<Region> read_region(const Json& json, std::string place) const {
    Region region;
    if (!json.is_object()) return trace_malformed("field", place, "an object", shown(json));
    if (json.contains("name") && json["name"].is_string()) region.name = json["name"].get<std::string>();
    if (!region.name.empty()) place += " (" + region.name + ")";
    auto model = read_model(json, place);
    if (!model) return model.rejection();
    region.model = std::move(model).value();
    for (const auto& done : {read_names("operands", json, place, region.operands), read_names("results", json, place, region.results)}) {
      if (!done) return done.rejection();
    }
    if (region.results.empty()) return trace_malformed("field", place, "at least one result", "none");
    std::vector<OperandType> types;
    for (const TraceTensorId id : region.operands) {
      const Trace::Entry& entry = trace_.tensors[id];
      types.push_back({entry.value.dtype(), entry.value.shape(), entry.name});
    }
    auto graph = read_region_graph(json, types, region.results.size(), place);
    if (!graph) return graph.rejection();
    region.graph = std::move(graph).value();
    return region;
  }

  Outcome<Done> read_regions() {
    if (!json_.contains("regions") || !json_["regions"].is_array()) return trace_malformed("field", "trace", "\"regions\", a list", "none");
    for (std::size_t i = 0; i < json_["regions"].size(); ++i) {
      auto region = read_region(json_["regions"][i], "region " + std::to_string(i));
      if (!region) return region.rejection();
      trace_.regions.push_back(std::move(region).value());
      if (auto done = read_inner(json_["regions"][i]["nodes"], "region " + std::to_string(i)); !done) return done;
    }
    return Done{};
  }

  // The names of nodes of the last region.
  Outcome<Done> read_inner(const Json& nodes, const std::string& place) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!nodes[i].contains("name")) continue;
      const Json& name = nodes[i]["name"];
      if (!name.is_string() || ids_.contains(name.get<std::string>()))
        return trace_malformed("name", place + ", node " + std::to_string(i), "a name that nothing else has", shown(name));
      const Region& region = trace_.regions.back();
      ids_[name.get<std::string>()] = kFirstInner + static_cast<TraceTensorId>(trace_.inner.size());
      trace_.inner.push_back({name.get<std::string>(), static_cast<std::uint32_t>(trace_.regions.size() - 1),
                              static_cast<NodeId>(region.operands.size() + i)});
    }
    return Done{};
  }

  // [{"name": "lib::solve", "results": ["z"]}]
  Outcome<Done> read_opaque() {
    if (!json_.contains("opaque")) return Done{};
    if (!json_["opaque"].is_array()) return trace_malformed("field", "opaque", "a list", shown(json_["opaque"]));
    for (std::size_t i = 0; i < json_["opaque"].size(); ++i) {
      const Json& one = json_["opaque"][i];
      const std::string place = "opaque " + std::to_string(i);
      if (!one.is_object() || !one.contains("name") || !one["name"].is_string() || !one.contains("results"))
        return trace_malformed("field", place, "name and results", shown(one));
      Trace::Opaque opaque{one["name"].get<std::string>(), {}};
      if (auto done = read_names("results", one, place, opaque.results); !done) return done;
      if (opaque.results.empty()) return trace_malformed("field", place, "at least one result", "none");
      trace_.opaque.push_back(std::move(opaque));
    }
    return Done{};
  }

  Outcome<Done> read_gradients() {
    if (!json_.contains("gradients")) return Done{};
    const std::string place = "gradients";
    if (!json_[place].is_array()) return trace_malformed("field", place, "a list", shown(json_[place]));
    for (const Json& one : json_[place]) {
      if (!one.is_object() || !one.contains("output") || !one.contains("seed") || !one.contains("of") || !one["of"].is_object())
        return trace_malformed("field", place, "output, seed and of", shown(one));
      Trace::Gradient gradient;
      for (auto& [field, target] : {std::pair{"output", &gradient.output}, std::pair{"seed", &gradient.seed}}) {
        auto id = id_of(one[field], place);
        if (!id) return id.rejection();
        *target = id.value();
      }
      for (const auto& [name, value] : one["of"].items()) {
        auto from = id_of(Json(name), place), to = id_of(value, place);
        if (!from || !to) return (from ? to : from).rejection();
        gradient.of.emplace_back(from.value(), to.value());
      }
      trace_.gradients.push_back(std::move(gradient));
    }
    return Done{};
  }

  // [{"from": {"x": "x_dot"}, "to": {"y": "y_dot"}, "detached": ["z"]}]
  Outcome<Done> read_tangents() {
    if (!json_.contains("tangents")) return Done{};
    if (!json_["tangents"].is_array()) return trace_malformed("field", "tangents", "a list", shown(json_["tangents"]));
    for (std::size_t i = 0; i < json_["tangents"].size(); ++i) {
      const Json& one = json_["tangents"][i];
      const std::string place = "tangents " + std::to_string(i);
      if (!one.is_object()) return trace_malformed("field", place, "from and to", shown(one));
      Trace::Tangents claim;
      for (auto& [field, pairs] : {std::pair{"from", &claim.from}, std::pair{"to", &claim.to}}) {
        if (!one.contains(field) || !one[field].is_object()) return trace_malformed("field", place, "from and to", shown(one));
        for (const auto& [name, tangent] : one[field].items()) {
          auto tensor = id_of(Json(name), place), moved = id_of(tangent, place);
          if (!tensor || !moved) return (tensor ? moved : tensor).rejection();
          pairs->emplace_back(tensor.value(), moved.value());
        }
      }
      if (auto done = read_names("detached", one, place, claim.detached); !done) return done;
      trace_.tangents.push_back(std::move(claim));
    }
    return Done{};
  }

  const Json& json_;
  Trace trace_;
  std::map<std::string, TraceTensorId> ids_;
};

Json region_json(const Trace& trace, const Region& region) {
  const auto names = [&](const std::vector<TraceTensorId>& ids) {
    Json list = Json::array();
    for (const TraceTensorId id : ids) list.push_back(trace.tensors[id].name);
    return list;
  };
  Json json;
  if (!region.name.empty()) json["name"] = region.name;
  json["model"] = to_string(region.model);
  json["operands"] = names(region.operands);
  json["results"] = names(region.results);
  write_region_graph(region.graph, json);
  return json;
}

Json trace_json(const Trace& trace, std::span<const StoredTensor> tensors) {
  Json json{{"version", kVersion},
            {"writer", trace.writer},
            {"inputs", Json::array()},
            {"parameters", Json::array()},
            {"outputs", Json::array()}};
  for (const Trace::Entry& entry : trace.tensors) {
    if (entry.origin != Trace::Origin::result) json[entry.origin == Trace::Origin::input ? "inputs" : "parameters"].push_back(entry.name);
  }
  for (const TraceTensorId id : trace.outputs) json["outputs"].push_back(trace.tensors[id].name);
  json["regions"] = Json::array();
  for (const Region& region : trace.regions) json["regions"].push_back(region_json(trace, region));
  const auto number_of = [&](std::uint32_t region, NodeId node) { return value_numbers(trace.regions[region].graph)[node]; };
  for (const Trace::Inner& inner : trace.inner)
    json["regions"][inner.region]["nodes"][number_of(inner.region, inner.node) - trace.regions[inner.region].operands.size()]["name"] =
        inner.name;
  const auto name_of = [&](TraceTensorId id) { return id < kFirstInner ? trace.tensors[id].name : trace.inner[id - kFirstInner].name; };
  json["vjps"] = Json::array();
  for (const Trace::Vjp& vjp : trace.vjps) {
    Json one{{"of", vjp.of}};
    if (vjp.node) {
      one["node"] = number_of(vjp.of, *vjp.node);
    } else {
      one["result"] = vjp.result;
    }
    one["cotangent"] = name_of(vjp.cotangent);
    one["cotangents"] = Json::object();
    for (const auto& [operand, id] : vjp.cotangents) one["cotangents"][std::to_string(operand)] = name_of(id);
    for (const auto& [operand, id] : vjp.convention) one["convention"][std::to_string(operand)] = name_of(id);
    if (vjp.surrogate) write_region_graph(*vjp.surrogate, one["surrogate"]);
    json["vjps"].push_back(std::move(one));
  }
  json["detached"] = Json::array();
  for (const TraceTensorId id : trace.detached) json["detached"].push_back(trace.tensors[id].name);
  json["gradients"] = Json::array();
  for (const Trace::Gradient& gradient : trace.gradients) {
    Json of = Json::object();
    for (const auto& [tensor, value] : gradient.of) of[trace.tensors[tensor].name] = trace.tensors[value].name;
    json["gradients"].push_back(
        {{"output", trace.tensors[gradient.output].name}, {"seed", trace.tensors[gradient.seed].name}, {"of", std::move(of)}});
  }
  if (!trace.tangents.empty()) json["tangents"] = Json::array();
  for (const Trace::Tangents& claim : trace.tangents) {
    Json one{{"from", Json::object()}, {"to", Json::object()}};
    for (const auto& [field, pairs] : {std::pair{"from", &claim.from}, std::pair{"to", &claim.to}}) {
      for (const auto& [tensor, tangent] : *pairs) one[field][trace.tensors[tensor].name] = trace.tensors[tangent].name;
    }
    if (!claim.detached.empty()) one["detached"] = Json::array();
    for (const TraceTensorId id : claim.detached) one["detached"].push_back(trace.tensors[id].name);
    json["tangents"].push_back(std::move(one));
  }
  if (!trace.opaque.empty()) json["opaque"] = Json::array();
  for (const Trace::Opaque& opaque : trace.opaque) {
    Json results = Json::array();
    for (const TraceTensorId id : opaque.results) results.push_back(trace.tensors[id].name);
    json["opaque"].push_back({{"name", opaque.name}, {"results", std::move(results)}});
  }
  json["crc32"] = Json::object();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    json["crc32"][trace.tensors[i].name] = checksum(tensor_bytes(trace.tensors[i], tensors[i]));
  return json;
}

}  // namespace

Outcome<Trace> read_trace(std::span<const std::byte> file) {
  auto content = read_safetensors(file);
  if (!content) return content.rejection();
  const auto text = content.value().metadata.find(kKey);
  if (text == content.value().metadata.end())
    return trace_malformed("json", "__metadata__", std::string("\"") + kKey + "\"", "none: no trace of a run");
  const Json json = parse_json<Json>(text->second);
  if (!json.is_object()) return trace_malformed("json", "__metadata__", "a JSON object", json.is_discarded() ? kNoJson : json.type_name());
  if (!json.contains("version") || json["version"] != kVersion)
    return trace_malformed("version", "trace", std::to_string(kVersion), json.contains("version") ? shown(json["version"]) : "none");
  return Reader(json).read(content.value());
}

void write_trace(const Trace& trace, const std::function<void(std::span<const std::byte>)>& write) {
  Safetensors content;
  std::vector<StoredTensor> tensors;
  for (const Trace::Entry& entry : trace.tensors) tensors.push_back(stored_tensor(entry));
  content.metadata[kKey] = trace_json(trace, tensors).dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Trace::Entry& entry = trace.tensors[i];
    content.entries.push_back({entry.name, tensors[i].type, entry.value.shape(), tensor_bytes(entry, tensors[i])});
  }
  const std::string header = safetensors_header(content);
  write(std::as_bytes(std::span(header)));
  for (const Safetensors::Entry& entry : content.entries) write(entry.bytes);
}

}  // namespace assay::formats
