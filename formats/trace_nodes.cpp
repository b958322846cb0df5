#include "formats/trace_nodes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "formats/json.h"
#include "formats/trace.h"
#include "semantics/graph/attribute_fields.h"

namespace assay::formats {

namespace {

constexpr std::array kForms = {std::pair{NormaliseAttributes::Form::centered, "centered"},
                               std::pair{NormaliseAttributes::Form::deviation, "deviation"},
                               std::pair{NormaliseAttributes::Form::root_mean, "root_mean"}, std::pair{NormaliseAttributes::Form::l2, "l2"},
                               std::pair{NormaliseAttributes::Form::l1, "l1"}};
constexpr int kDTypes = static_cast<int>(DType::uint64) + 1;

// Values of fields; false where the JSON is something else.
bool read_field(const Json& json, std::int64_t& value) {
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)) return false;
  value = json.get<std::int64_t>();
  return true;
}
bool read_field(const Json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}
bool read_field(const Json& json, double& value) {
  if (json.is_string() && (json == "inf" || json == "-inf")) {
    value = json == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    return true;
  }
  if (!json.is_number()) return false;
  value = json.get<double>();
  return std::isfinite(value);
}
bool read_field(const Json& json, Rational& value) {
  constexpr std::size_t kMostDigits = 4000;
  if (json.is_number_integer()) {
    std::int64_t integer = 0;
    if (!read_field(json, integer)) return false;
    value = Rational(integer);
    return true;
  }
  if (json.is_number()) {
    auto exact = Rational::from_double(json.get<double>());
    if (exact) value = std::move(*exact);
    return exact.has_value();
  }
  if (!json.is_string() || json.get_ref<const std::string&>().size() > kMostDigits) return false;
  auto parsed = Rational::parse(json.get<std::string>());
  if (!parsed) return false;
  value = std::move(*parsed);
  return true;
}
bool read_field(const Json& json, NormaliseAttributes::Form& value) {
  for (const auto& [form, word] : kForms) {
    if (json != word) continue;
    value = form;
    return true;
  }
  return false;
}
bool read_field(const Json& json, std::uint8_t& value) {  // CastAttributes: a type
  for (int code = 0; code < kDTypes; ++code) {
    if (json != to_string(static_cast<DType>(code))) continue;
    value = static_cast<std::uint8_t>(code);
    return true;
  }
  return false;
}
template <class T>
bool read_field(const Json& json, std::vector<T>& values) {
  if (!json.is_array()) return false;
  values.clear();
  for (const Json& one : json) {
    T value{};
    if (!read_field(one, value)) return false;
    values.push_back(std::move(value));
  }
  return true;
}

template <class T>
Json field_json(const T& value) {
  return value;
}
Json field_json(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}
Json field_json(const Rational& value) { return value.to_string(); }
Json field_json(const std::vector<Rational>& values) {
  Json list = Json::array();
  for (const Rational& value : values) list.push_back(value.to_string());
  return list;
}
Json field_json(NormaliseAttributes::Form value) {
  for (const auto& [form, word] : kForms) {
    if (form == value) return word;
  }
  return nullptr;
}
Json field_json(std::uint8_t type) { return to_string(static_cast<DType>(type)); }

// Fields that are left out keep their defaults, but a clip needs both its ends.
Outcome<Attributes> read_attributes(const OpRow& row, const Json& json, const std::string& place) {
  static const std::vector<Attributes> kEmpty = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<Attributes>{Attributes(std::in_place_index<I>)...};
  }
  (std::make_index_sequence<std::variant_size_v<Attributes>>());
  Attributes attributes = kEmpty[row.attributes];
  if (auto* clip = std::get_if<ClipAttributes>(&attributes))
    *clip = {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  std::optional<Rejection> wrong;
  std::size_t known = 0;
  std::visit(
      [&](auto& alternative) {
        visit_fields(alternative, [&](const char* name, auto& field) {
          if (!json.contains(name)) return;
          ++known;
          if (!wrong && !read_field(json[name], field))
            wrong = trace_malformed("attribute", place, std::string("a value of the attribute \"") + name + "\"", shown(json[name]));
        });
      },
      attributes);
  if (wrong) return *wrong;
  if (known == json.size()) return attributes;
  std::string names;
  std::visit([&](auto& alternative) { visit_fields(alternative, [&](const char* name, auto&) { names += std::string(" ") + name; }); },
             attributes);
  return trace_malformed("attribute", place, "attributes of " + std::string(row.name) + ":" + (names.empty() ? " none" : names),
                         shown(json));
}

const OpRow* row_of(const std::string& name) {
  static const std::map<std::string_view, const OpRow*> kRows = [] {
    std::map<std::string_view, const OpRow*> rows;
    for (int op = 0; op < kOpCount; ++op) rows[op_row(static_cast<Op>(op)).name] = &op_row(static_cast<Op>(op));
    return rows;
  }();
  const auto found = kRows.find(name);
  return found == kRows.end() || found->second->op == Op::input ? nullptr : found->second;
}

template <class T>
Tensor tensor_of(DType dtype, const Shape& shape, const std::vector<T>& values) {
  auto bytes = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes->data(), values.data(), bytes->size());
  return {dtype, shape, std::move(bytes)};
}

// {"op": "constant", "dtype": "float32", "shape": [], "data": [...]}: reals, integers, or truth values as 0 and 1. float32 data has to be
// exactly representable.
Outcome<Tensor> read_constant(const Json& json, const std::string& place) {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  std::uint8_t code = 0;
  Shape shape;
  std::size_t count = 0;
  if (!json.contains("dtype") || !read_field(json["dtype"], code) || !json.contains("shape") || !read_field(json["shape"], shape) ||
      !checked_element_count(shape, kMost, count) || !json.contains("data"))
    return trace_malformed("field", place, "a constant's dtype, shape and data", shown(json));
  const auto dtype = static_cast<DType>(code);
  std::vector<double> reals;
  if (is_float(dtype) && read_field(json["data"], reals) && reals.size() == count) {
    if (dtype == DType::float64) return tensor_of(dtype, shape, reals);
    const std::vector<float> narrow(reals.begin(), reals.end());
    if (std::vector<double>(narrow.begin(), narrow.end()) == reals) return tensor_of(dtype, shape, narrow);
    return trace_malformed("field", place, "numbers that are float32", shown(json["data"]));
  }
  std::vector<std::int64_t> integers;
  if (!is_float(dtype) && read_field(json["data"], integers) && integers.size() == count) {
    if (dtype == DType::int64) return tensor_of(dtype, shape, integers);
    if (dtype == DType::int32) {
      const std::vector<std::int32_t> narrow(integers.begin(), integers.end());
      if (std::vector<std::int64_t>(narrow.begin(), narrow.end()) == integers) return tensor_of(dtype, shape, narrow);
    }
    if (dtype == DType::boolean) {
      const std::vector<std::uint8_t> narrow(integers.begin(), integers.end());
      if (std::ranges::all_of(integers, [](std::int64_t one) { return one == 0 || one == 1; })) return tensor_of(dtype, shape, narrow);
    }
  }
  return trace_malformed("field", place, "data of a constant: one number of float32, float64, int64, int32 or boolean per element",
                         shown(json["data"]));
}

Outcome<Done> append_node(Graph& graph, const Json& json, const std::string& place) {
  const OpRow* row = json.is_object() && json.contains("op") && json["op"].is_string() ? row_of(json["op"].get<std::string>()) : nullptr;
  if (row == nullptr) return trace_malformed("op", place, "an op of the table (assay ops)", shown(json));
  if (row->op == Op::constant) {
    auto value = read_constant(json, place);
    if (!value) return value.rejection();
    graph.append_constant(std::move(value).value());
    return Done{};
  }
  std::vector<std::int64_t> operands;
  if (!json.contains("operands") || !read_field(json["operands"], operands))
    return trace_malformed("field", place, "\"operands\", a list of value numbers", shown(json));
  std::vector<NodeId> ids;
  for (const std::int64_t operand : operands) {
    if (operand < 0 || operand >= static_cast<std::int64_t>(graph.nodes.size()))
      return trace_malformed("field", place, "operands below " + std::to_string(graph.nodes.size()), std::to_string(operand));
    ids.push_back(static_cast<NodeId>(operand));
  }
  const Json given = json.contains("attributes") ? json["attributes"] : Json::object();
  if (!given.is_object()) return trace_malformed("field", place, "\"attributes\", an object", shown(given));
  auto attributes = read_attributes(*row, given, place);
  if (!attributes) return attributes.rejection();
  auto added = graph.append(row->op, std::move(ids), std::move(attributes).value());
  if (!added) {
    Rejection why = added.rejection();
    why.place = place + (why.place.empty() ? "" : ", " + why.place);
    return why;
  }
  return Done{};
}

}  // namespace

Rejection trace_malformed(const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, std::string("trace.") + code,    std::move(place), std::move(required),
          std::move(found),           "docs/reference/trace-format.md"};
}

std::string shown(const Json& json) {
  constexpr std::size_t kMost = 160;
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

Outcome<Graph> read_region_graph(const Json& region, std::span<const OperandType> operands, std::size_t results, const std::string& place) {
  Graph graph;
  for (const OperandType& operand : operands) graph.append_input(operand.dtype, operand.shape, operand.name);
  if (!region.contains("nodes") || !region["nodes"].is_array()) return trace_malformed("field", place, "\"nodes\", a list", shown(region));
  for (std::size_t i = 0; i < region["nodes"].size(); ++i) {
    auto added = append_node(graph, region["nodes"][i], place + ", node " + std::to_string(i));
    if (!added) return added.rejection();
  }
  std::vector<std::int64_t> outputs;
  if (region.contains("outputs")) {
    if (!read_field(region["outputs"], outputs))
      return trace_malformed("field", place, "\"outputs\", a list of value numbers", shown(region["outputs"]));
  } else {
    for (std::size_t i = results; i > 0; --i)
      outputs.push_back(static_cast<std::int64_t>(graph.nodes.size()) - static_cast<std::int64_t>(i));
  }
  for (const std::int64_t output : outputs) {
    if (output < 0 || output >= static_cast<std::int64_t>(graph.nodes.size()))
      return trace_malformed("field", place, "outputs below " + std::to_string(graph.nodes.size()), std::to_string(output));
    graph.mark_output(static_cast<NodeId>(output), std::string("y").append(std::to_string(graph.outputs.size())));
  }
  return graph;
}

std::vector<std::size_t> value_numbers(const Graph& graph) {
  std::vector<std::size_t> number(graph.nodes.size(), 0);
  std::size_t next = 0;
  for (const NodeId input : graph.inputs) number[input] = next++;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (graph.node(id).op != Op::input) number[id] = next++;
  }
  return number;
}

void write_region_graph(const Graph& graph, Json& region) {
  const std::vector<std::size_t> number = value_numbers(graph);
  Json nodes = Json::array();
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op == Op::input) continue;
    Json json{{"op", op_row(node.op).name}};
    if (node.op == Op::constant) {
      json["dtype"] = to_string(node.dtype);
      json["shape"] = node.shape;
      json["data"] = Json::array();
      for (std::size_t i = 0; i < node.value.size(); ++i)
        json["data"].push_back(is_float(node.dtype) ? field_json(node.value.as_double(i)) : Json(node.value.as_int(i)));
    } else {
      json["operands"] = Json::array();
      for (const NodeId operand : node.operands) json["operands"].push_back(number[operand]);
      Json attributes = Json::object();
      std::visit(
          [&](const auto& a) { visit_fields(a, [&](const char* name, const auto& field) { attributes[name] = field_json(field); }); },
          node.attributes);
      if (!attributes.empty()) json["attributes"] = std::move(attributes);
    }
    nodes.push_back(std::move(json));
  }
  region["nodes"] = std::move(nodes);
  region["outputs"] = Json::array();
  for (const NodeId output : graph.outputs) region["outputs"].push_back(number[output]);
}

Outcome<Graph> read_region(std::string_view json, std::span<const ResultType> operands, std::size_t results) {
  const Json region = parse_json<Json>(json);
  if (!region.is_object())
    return trace_malformed("json", "the region", "an object with \"nodes\"", region.is_discarded() ? kNoJson : shown(region));
  std::vector<OperandType> types;
  for (const ResultType& operand : operands)
    types.push_back({operand.dtype, operand.shape, std::string("x").append(std::to_string(types.size()))});
  return read_region_graph(region, types, results, "the region");
}

std::string write_region(const Graph& graph) {
  Json region;
  write_region_graph(graph, region);
  return region.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace assay::formats
