#include "cli/assay/json.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace assay::cli {
namespace {

constexpr std::array<std::string_view, 8> kLists{"input", "output",   "opset", "sha256",
                                                 "note",  "metadata", "part",  "column"};  // facts of which a file may have several

const char* kind_word(Rejection::Kind kind) {
  switch (kind) {
    case Rejection::Kind::rejected:
      return "rejected";
    case Rejection::Kind::declined:
      return "declined";
    case Rejection::Kind::malformed:
      return "malformed";
    case Rejection::Kind::unsupported:
      return "unsupported";
  }
  return "";
}

Json facts_of(const std::string& schema, const Facts& facts) {
  Json json = opened(schema);
  for (const auto& [name, value] : facts) {
    if (std::ranges::find(kLists, name) != kLists.end())
      json[name].push_back(value);
    else
      json[name] = value;
  }
  return json;
}

}  // namespace

Json rejection(const Rejection& why) {
  return {{"kind", kind_word(why.kind)}, {"code", why.code},   {"place", why.place},
          {"required", why.required},    {"found", why.found}, {"advice", why.advice}};
}

Json opened(const std::string& schema) { return {{"schema", schema}, {"version", ASSAY_VERSION}}; }

std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

std::string facts_json(const std::string& schema, const Facts& facts, const std::string& table, const std::vector<Facts>& rows) {
  Json json = facts_of(schema, facts);
  if (!table.empty()) json[table] = Json::array();
  for (const Facts& row : rows) {
    Json object;
    for (const auto& [name, value] : row) object[name] = value;
    json[table].push_back(std::move(object));
  }
  return json_text(json);
}

std::string sheet_json(const std::string& schema, const Facts& facts, const std::vector<pages::Table>& tables) {
  Json json = facts_of(schema, facts);
  for (const pages::Table& table : tables) {
    Json& list = json[table.name] = Json::array();
    for (const auto& row : table.rows) {
      Json object;
      for (std::size_t k = 0; k < row.size(); ++k) object[table.columns[k]] = row[k];
      list.push_back(std::move(object));
    }
    if (!table.note.empty()) json["note"].push_back(table.title + ": " + table.note);
  }
  return json_text(json);
}

std::string rejection_json(const std::string& schema, const Rejection& why) {
  Json json = opened(schema);
  json["exit"] = exit_code(why.kind);
  json["rejection"] = rejection(why);
  return json_text(json);
}

}  // namespace assay::cli
