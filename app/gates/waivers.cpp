// Waivers and the baseline, as they act on a report (docs/reference/gates.md).
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "app/gates/gate.h"
#include "formats/json.h"
#include "frontends/files.h"
#include "semantics/printable.h"

namespace assay::gates {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kRatchet = 1.25;    // growth of head-room that a baseline bears
constexpr double kLeastRoom = 0.05;  // below this share of the allowance growth says nothing

Rejection malformed(const char* code, const std::string& path, std::string required, std::string found) {
  return {Rejection::Kind::malformed, code, path, std::move(required), std::move(found), "docs/reference/gates.md"};
}

Outcome<Json> read_json(const char* code, const std::string& path) {
  const auto file = read_file(path);
  if (!file) return file.rejection();
  const auto& bytes = file.value().bytes;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Json json = formats::parse_json(text);
  if (!json.is_object()) return malformed(code, path, "a JSON object", json.is_discarded() ? formats::kNoJson : json.type_name());
  if (const auto twice = formats::repeated_name(text))
    return malformed(code, path, "each name once", "\"" + printable(*twice) + "\" twice");
  return json;
}

struct Waiver {
  std::string id, rule, op, subject, reason, owner, expires;
  std::size_t most_elements = SIZE_MAX;
  bool names_test = false;  // it is for findings of tests, of which a program's run has none
  bool used = false;
};

const std::set<std::string> kFields{"id", "rule", "op", "tensor", "reason", "owner", "expires", "most_elements", "test", "file", "dtype"};

Outcome<Waiver> read_waiver(const Json& json, const std::string& path) {
  Waiver waiver;
  std::size_t known = 0;
  for (const auto& [field, target] :
       {std::pair{"id", &waiver.id}, std::pair{"rule", &waiver.rule}, std::pair{"op", &waiver.op}, std::pair{"tensor", &waiver.subject},
        std::pair{"reason", &waiver.reason}, std::pair{"owner", &waiver.owner}, std::pair{"expires", &waiver.expires}}) {
    if (!json.is_object() || !json.contains(field)) continue;
    if (!json[field].is_string()) return malformed("waivers.field", path, std::string("text as \"") + field + "\"", json[field].dump());
    *target = json[field].get<std::string>();
    ++known;
  }
  for (const char* field : {"test", "file", "dtype"}) {
    if (!json.is_object() || !json.contains(field)) continue;
    if (!json[field].is_string() || json[field].get<std::string>().empty())
      return malformed("waivers.field", path, std::string("text as \"") + field + "\"", json[field].dump());
    waiver.names_test = true;
    ++known;
  }
  if (json.is_object() && json.contains("most_elements") && json["most_elements"].is_number_unsigned()) {
    waiver.most_elements = json["most_elements"].get<std::size_t>();
    ++known;
  }
  if (!json.is_object()) return malformed("waivers.field", path, "an object for each waiver", json.type_name());
  const std::string whose = waiver.id.empty() ? "a waiver" : "waiver " + waiver.id;
  for (const auto& [field, value] : {std::pair{"id", &waiver.id}, std::pair{"rule", &waiver.rule}, std::pair{"reason", &waiver.reason},
                                     std::pair{"owner", &waiver.owner}, std::pair{"op", &waiver.op}, std::pair{"tensor", &waiver.subject}})
    if (value->empty() && (json.contains(field) || (value != &waiver.op && value != &waiver.subject)))
      return malformed("waivers.field", path, std::string("text as \"") + field + "\" of " + whose, "none");
  if (waiver.rule == "gate.nothing" || waiver.rule == "gradient.nothing")
    return malformed("waivers.field", path, "a \"rule\" of " + whose + " by which something was judged",
                     waiver.rule + ", where there is nothing to accept");
  if (!is_date(waiver.expires))
    return malformed("waivers.field", path, "a day as YYYY-MM-DD as \"expires\" of " + whose,
                     waiver.expires.empty() ? "none" : "\"" + printable(waiver.expires) + "\"");
  if (json.contains("most_elements") && waiver.most_elements == SIZE_MAX)
    return malformed("waivers.field", path, "a number of elements as \"most_elements\" of " + whose, json["most_elements"].dump());
  if (known == json.size()) return waiver;
  for (const auto& [field, value] : json.items())
    if (!kFields.contains(field))
      return malformed("waivers.field", path,
                       whose + " with the fields id, rule, reason, owner, expires, op, tensor, test, file, dtype, most_elements",
                       "\"" + printable(field) + "\"");
  return waiver;
}

// A name with spaces between its words: "rms_norm" and "rms-norm" are other spellings of "rms norm".
std::string spaced(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '_' || c == '-'; }, ' ');
  return name;
}

bool holds(const std::string& text, const std::string& before, const std::string& name, const std::string& after) {
  return text.find(std::string(before).append(name).append(after)) != std::string::npos;
}

// The tensor of a finding, as its first line names it in quotes; else its subject, if that is no region.
std::string tensor_of(const GateCase& one, const Finding& finding) {
  const std::string line = finding.headline();
  const std::size_t open = line.find('\''), close = line.find('\'', open + 1);
  if (open != std::string::npos && close != std::string::npos) return line.substr(open + 1, close - open - 1);
  return finding.subject.starts_with(one.name) ? "" : finding.subject;
}

// The tensors that the lines of a finding are about, but `own`: a wrong product may give several wrong cotangents.
std::vector<std::string> other_tensors(const Finding& finding, const std::string& own) {
  constexpr std::string_view kStart = "the cotangent of '";
  std::vector<std::string> found;
  for (std::string line : finding.below()) {
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    const std::size_t close = line.find('\'', kStart.size());
    if (!line.starts_with(kStart) || close == std::string::npos) continue;
    if (const std::string name = line.substr(kStart.size(), close - kStart.size()); name != own) found.push_back(name);
  }
  return found;
}

// The name of a Function or kernel: "Own" of "region 2 (Own)", of "opaque (backward of Own)" and of "region 7 (backward of Own: mul)".
// Empty where there is none.
std::string own_name(const std::string& region) {
  constexpr std::string_view kBackward = "backward of ";
  const std::size_t open = region.find('(');
  if (open == std::string::npos || !region.ends_with(')')) return "";
  const std::string text = region.substr(open + 1, region.size() - open - 2);
  return text.starts_with(kBackward) ? text.substr(kBackward.size(), text.find(": ") - kBackward.size()) : text;
}

// A waiver matches by the fields that a finding prints: the operations, or the name of the region (of a Function, of a kernel),
// and the tensor that the finding or its first line names. Only findings about contracts and dead products count their elements:
// of others, such as gradients as functions, no number is certainly large enough. Elements that nobody looked at may be wrong,
// too. For a field that differs the result shows the value of the finding.
std::vector<std::string> differences(const Waiver& waiver, const GateCase& one, const Finding& finding) {
  const bool is_counted = finding.rule == "gradient.dead" || finding.rule.starts_with("contract.");
  const std::size_t unseen = finding.rule.starts_with("contract.") ? one.unsampled : 0, elements = finding.elements + unseen;
  const std::string tensor = tensor_of(one, finding), own = own_name(one.name);
  const std::string op = spaced(waiver.op), name = spaced(one.name), last = spaced(own);
  const bool is_op = op.empty() || op == spaced(one.op) || op == name || op == last || last.ends_with("." + op) ||
                     holds(name, "(", op, ")");  // a Function in whichever module it ran
  const std::vector<std::string> others = waiver.subject.empty() ? std::vector<std::string>() : other_tensors(finding, waiver.subject);
  const bool is_named = waiver.subject.empty() || waiver.subject == tensor || holds(finding.headline(), "'", waiver.subject, "'");
  const bool is_tensor = is_named && others.empty();
  const bool is_few = waiver.most_elements == SIZE_MAX || (is_counted && elements <= waiver.most_elements);
  std::vector<std::string> found;
  if (spaced(waiver.rule) != spaced(finding.rule)) found.push_back("\"rule\": it has " + finding.rule);
  if (!is_op) found.push_back("\"op\": it has " + one.op + (own.empty() || own == one.op ? "" : " or " + own));
  const std::string also = others.empty() || others.front() == tensor ? "" : " and " + others.front();
  if (!is_tensor) found.push_back(tensor.empty() ? "\"tensor\": it has none" : "\"tensor\": it has " + tensor + also);
  if (!is_few)
    found.push_back("\"most_elements\": it has " +
                    (is_counted ? std::to_string(elements) : "no number of elements, as those of this rule are not counted") +
                    (is_counted && unseen > 0 ? ", with " + std::to_string(unseen) + " that were not looked at" : ""));
  return found;
}

// Of a waiver that covers nothing: the finding from which it differs in one field alone.
std::string nearest(const Waiver& waiver, const GateReport& report) {
  for (const GateCase& one : report.cases) {
    for (const Finding& finding : one.findings) {
      const auto differs = differences(waiver, one, finding);
      if (differs.size() == 1 && finding.waiver.empty())
        return ": of the finding at " + one.name + " (" + finding.rule + ") it differs in " + differs[0] +
               "; mend that field, or remove it";
    }
  }
  return ": remove it";
}

std::map<std::string, double> head_room_of(const GateReport& report) {
  std::map<std::string, double> used;
  for (const GateCase& one : report.cases) {
    if (one.passed == 0) continue;
    const double share = std::isfinite(one.head_room_used) ? one.head_room_used : INFINITY;  // no number keeps within no baseline
    used[one.op] = std::fmax(used[one.op], share);
  }
  return used;
}

// The shares of a baseline by operation.
Outcome<std::map<std::string, double>> read_baseline(const std::string& path) {
  const auto json = read_json("baseline.json", path);
  if (!json) return json.rejection();
  for (const auto& [field, value] : json.value().items())
    if (field != "head_room" && (field != "schema" || value != "assay.baseline/1"))
      return malformed("baseline.json", path, "the fields \"schema\", which is \"assay.baseline/1\", and \"head_room\"",
                       "\"" + printable(field) + "\": " + printable(value.dump()));
  if (!json.value().contains("head_room") || !json.value()["head_room"].is_object())
    return malformed("baseline.json", path, "\"head_room\", an object", "none");
  std::map<std::string, double> shares;
  for (const auto& [op, share] : json.value()["head_room"].items()) {
    if (!share.is_number() || !(share.get<double>() >= 0 && share.get<double>() <= 1))
      return malformed("baseline.json", path, "a share from 0 to 1 for " + printable(op), share.dump());
    shares[op] = share.get<double>();
  }
  return shares;
}

}  // namespace

bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  if (std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; }) != 8) return false;
  const auto part = [&text](std::size_t from, std::size_t size) { return std::stoi(text.substr(from, size)); };
  return part(0, 4) > 0 && std::chrono::year_month_day(std::chrono::year(part(0, 4)), std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                                       std::chrono::day(static_cast<unsigned>(part(8, 2))))
                               .ok();
}

std::string date_of_today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

Outcome<Done> apply_waivers(GateReport& report, const std::string& path, const std::string& today) {
  auto json = read_json("waivers.json", path);
  if (!json) return json.rejection();
  if (!json.value().contains("waivers") || !json.value()["waivers"].is_array())
    return malformed("waivers.json", path, "\"waivers\", a list", "none");
  std::vector<Waiver> waivers;
  for (const Json& one : json.value()["waivers"]) {
    auto waiver = read_waiver(one, path);
    if (!waiver) return waiver.rejection();
    if (std::ranges::find(waivers, waiver.value().id, &Waiver::id) != waivers.end())
      return malformed("waivers.field", path, "an \"id\" of its own for each waiver", "waiver " + printable(waiver.value().id) + " twice");
    waivers.push_back(std::move(waiver).value());
  }
  for (GateCase& one : report.cases) {
    for (Finding& finding : one.findings) {
      const auto waiver = std::ranges::find_if(waivers, [&](const Waiver& each) {
        return each.expires >= today && !each.names_test && differences(each, one, finding).empty();
      });
      if (waiver == waivers.end()) continue;
      waiver->used = true;
      finding.waiver = waiver->id;
      finding.details.push_back("waived by " + waiver->id + " (" + waiver->owner + ", until " + waiver->expires + "): " + waiver->reason);
      ++report.waived;
    }
  }
  for (const Waiver& waiver : waivers) {
    if (waiver.expires < today)
      report.troubles.push_back("waiver " + waiver.id + " expired on " + waiver.expires + ": mend what it covers, or ask " + waiver.owner);
    else if (!waiver.used && !waiver.names_test)
      report.troubles.push_back("waiver " + waiver.id + " covers nothing" + nearest(waiver, report));
  }
  return Done{};
}

Outcome<Done> compare_baseline(GateReport& report, const std::string& path) {
  const auto shares = read_baseline(path);
  if (!shares) return shares.rejection();
  for (const auto& [op, used] : head_room_of(report)) {
    const auto before = shares.value().find(op);
    const bool is_known = before != shares.value().end();
    const double limit = std::fmax(kLeastRoom, is_known ? kRatchet * before->second : 0);
    if (used <= limit) continue;
    report.troubles.push_back(
        op + " uses " + percent(used) + " of its allowance" +
        (is_known
             ? "; the baseline allows " + (limit > kLeastRoom ? percent(before->second) + " and a quarter more" : percent(kLeastRoom)) +
                   ": find out why, or write a new baseline"
             : ", and is not in the baseline " + path + ", so nothing holds it to what it was: write a new baseline"));
  }
  return Done{};
}

std::string baseline_json(const GateReport& report) {
  return Json{{"schema", "assay.baseline/1"}, {"head_room", head_room_of(report)}}.dump(2) + "\n";
}

}  // namespace assay::gates
