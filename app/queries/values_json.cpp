#include "app/queries/values_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/check/load.h"
#include "app/queries/file_kind.h"
#include "formats/json.h"
#include "frontends/files.h"
#include "semantics/printable.h"

namespace assay::queries {
namespace {

using Json = nlohmann::ordered_json;

Rejection malformed(std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, "values.json", std::move(place), std::move(required), std::move(found), "see assay eval --help"};
}

// False for an integer that no double holds, too.
bool is_finite_number(const Json& json) {
  const auto x = json.is_number() ? json.get<double>() : std::nan("");
  const auto whole = [&] { return Rational::from_double(x)->to_decimal(); };
  return std::isfinite(x) && (!json.is_number_integer() || std::fabs(x) < 0x1p53 || whole() == json.dump());
}

bool is_pair(const Json& json) {
  return json.is_object() && json.size() == 2 && json.contains("lo") && json.contains("hi") && is_finite_number(json["lo"]) &&
         is_finite_number(json["hi"]) && json["lo"].get<double>() <= json["hi"].get<double>();
}

std::optional<double> of_word(const Json& json) {
  for (const double x : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")}) {
    if (json.is_string() && json.get<std::string>() == word_of(x)) return x;
  }
  return std::nullopt;
}

// Shows the element that append() refuses, and its place.
std::string shown(const Json& json, std::size_t at) {
  std::string text = json.is_array() ? "lists nested more than 64 deep" : json.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return printable(text) + " at element " + std::to_string(at);
}

// JSON has no numbers NaN and Infinity, which some writers put down all the same.
bool has_bare_word(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && (text.compare(i, 3, "NaN") == 0 || text.compare(i, 3, "Inf") == 0 || text.compare(i, 3, "nan") == 0 ||
                         text.compare(i, 3, "inf") == 0))
      return true;
  }
  return false;
}

// False at the first element that is neither a number, a truth value, a word nor {"lo": a, "hi": b}. Lists are nested 64 deep at most.
bool append(const Json& json, std::vector<Interval>& values, int depth, std::string& found, std::optional<std::size_t>& truth) {
  if (is_finite_number(json)) {
    values.emplace_back(json.get<double>());
  } else if (json.is_boolean()) {
    if (!truth) truth = values.size();
    values.emplace_back(json.get<bool>() ? 1.0 : 0.0);
  } else if (const auto word = of_word(json)) {
    values.emplace_back(*word);
  } else if (is_pair(json)) {
    values.emplace_back(json["lo"].get<double>(), json["hi"].get<double>());
  } else {
    if (!json.is_array() || depth == 0) {
      found = shown(json, values.size());
      return false;
    }
    for (const Json& one : json) {
      if (!append(one, values, depth - 1, found, truth)) return false;
    }
  }
  return true;
}

Outcome<Done> read_part(const Json& json, const char* part, std::map<std::string, std::vector<Interval>>& values,
                        std::map<std::string, std::size_t>& truths) {
  if (!json.contains(part)) return Done{};
  if (!json[part].is_object()) return malformed(part, "an object from names to lists of numbers", json[part].type_name());
  for (const auto& [name, list] : json[part].items()) {
    std::string found;
    std::optional<std::size_t> truth;
    const bool fits = append(list, values[name], 64, found, truth);
    if (truth) truths.emplace(name, *truth);
    if (!fits)
      return malformed(std::string(part) + ", " + name,
                       "finite numbers, \"inf\", \"-inf\", \"nan\", or {\"lo\": a, \"hi\": b} with a <= b; integers that a double holds",
                       found);
  }
  return Done{};
}

Json set_json(const NamedSet& set) {
  Json object;
  object["shape"] = set.shape;
  for (const bool low : {true, false}) {
    Json list = Json::array();
    for (const Interval& value : set.values) {
      const double end = low ? value.lo() : value.hi();
      list.push_back(value.is_undefined() ? Json(nullptr) : std::isfinite(end) ? Json(end) : Json(word_of(end)));
    }
    object[low ? "lo" : "hi"] = std::move(list);
  }
  return object;
}

}  // namespace

std::string word_of(double value) { return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"; }

Outcome<EvaluationRequest> read_values(const std::string& text) {
  const Json json = formats::parse_json(text);
  if (json.is_discarded() && has_bare_word(text))
    return malformed("the values", "JSON", "NaN or Infinity without quotes: write the word \"nan\", \"inf\" or \"-inf\"");
  if (!json.is_object())
    return malformed("the values", "a JSON object with \"inputs\"", json.is_discarded() ? formats::kNoJson : json.type_name());
  if (!json.contains("inputs") && !json.contains("cotangents"))
    return malformed("the values", "an object with \"inputs\", an object from names to lists of numbers", "no \"inputs\"");
  if (const auto twice = formats::repeated_name(text))
    return malformed("the values", "each name once", "\"" + printable(*twice) + "\" twice");
  for (const auto& [name, part] : json.items()) {
    if (name != "inputs" && name != "cotangents") return malformed("the values", "\"inputs\" and \"cotangents\" alone", printable(name));
  }
  EvaluationRequest request;
  if (auto read = read_part(json, "inputs", request.inputs, request.truths); !read) return read.rejection();
  if (auto read = read_part(json, "cotangents", request.cotangents, request.truths); !read) return read.rejection();
  return request;
}

Outcome<EvaluationRequest> read_values_file(const std::string& path) {
  const auto file = read_file(path);
  if (!file) return file.rejection();
  const auto* text = reinterpret_cast<const char*>(file.value().bytes.data());
  auto request = read_values(std::string(text, file.value().bytes.size()));
  if (!request) return recognised(check::in_file(request.rejection(), path), path, FileKind::json);
  return request;
}

std::string to_json(const Evaluation& evaluation) {
  Json json;
  json["schema"] = "assay.eval/1";
  json["outputs"] = Json::object();
  for (const NamedSet& set : evaluation.outputs) json["outputs"][set.name] = set_json(set);
  json["gradients"] = Json::object();
  for (const NamedSet& set : evaluation.gradients) json["gradients"][set.name] = set_json(set);
  json["bits"] = evaluation.bits;
  json["vacuous"] = evaluation.vacuous;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::queries
