// A report as JUnit XML and SARIF.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/reports/report.h"
#include "semantics/printable.h"

namespace assay::reports {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostResults = 5000;  // SARIF: what code scanning services take in

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f) ? c : '?';
    }
  }
  return out;
}

}  // namespace

std::string plain(const std::string& text) { return printable(text, SIZE_MAX); }

std::string plain_markdown(const std::string& text) {
  static constexpr std::string_view kMarkup = "&<>`|@";  // entities, tags, code, rows, mentions; and links
  const std::string line = plain(text);
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = std::string_view(line).substr(i);
    const bool is_link = rest.starts_with("](") || rest.starts_with("][") || rest.starts_with("://") ||
                         (i >= 3 && line[i] == '.' && line.substr(i - 3, 3) == "www");
    out += is_link || kMarkup.find(line[i]) != std::string_view::npos ? "&#" + std::to_string(static_cast<int>(line[i])) + ";"
                                                                      : std::string(1, line[i]);
  }
  return out;
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.3f", seconds))};
}

namespace {

// The finding by which a case fails.
const Finding& decisive(const GateCase& one) {
  const auto found = std::ranges::find_if(one.findings, [](const Finding& finding) {
    return finding.waiver.empty() && (finding.kind == Finding::Kind::failure || finding.kind == Finding::Kind::undecided);
  });
  return found == one.findings.end() ? one.findings.front() : *found;
}

// Regions of one execution model that fail by one rule in one operation have one cause: the first of them, and how many they are.
struct Cause {
  const GateCase* first = nullptr;
  std::size_t cases = 0;
};
std::map<std::string, Cause> causes_of(const GateReport& report) {
  std::map<std::string, Cause> causes;
  for (const GateCase& one : report.cases) {
    if (!one.is_failed() || one.model.empty()) continue;
    Cause& cause = causes[fingerprint(one, decisive(one))];
    if (cause.cases++ == 0) cause.first = &one;
  }
  return causes;
}

}  // namespace

namespace {

// Kinds of operations with too many undecided elements, of which no case says so by itself.
std::vector<std::string> untold_ops(const GateReport& report, double most_undecided) {
  std::vector<std::string> ops = report.undecided_ops(most_undecided);
  std::erase_if(ops, [&report](const std::string& op) {
    return std::ranges::any_of(report.cases, [&op](const GateCase& one) { return one.is_failed() && (one.op == op || one.share == op); });
  });
  return ops;
}

std::string words_of_undecided(const std::string& op) { return "undecided: too many elements of " + op + " are vacuous or unsupported"; }

}  // namespace

std::string junit_xml(const GateReport& report, double most_undecided) {
  std::size_t failures = report.troubles.size(), skipped = 0;
  std::map<std::string, Cause> causes = causes_of(report);
  std::string cases;
  for (const GateCase& one : report.cases) {
    cases += "    <testcase classname=\"assay." + report.verb + "." + xml(one.op) + "\" name=\"" + xml(one.name) + "\" time=\"" +
             seconds_text(one.seconds) + "\">\n";
    std::string body;
    for (const std::string& line : one.statement) body += plain(line) + "\n";
    for (const Finding& finding : one.findings) {
      body += finding.rule + ": " + plain(finding.headline()) + "\n";
      for (const std::string& line : finding.below()) body += "  " + plain(line) + "\n";
    }
    const bool only_unsupported = one.passed == 0 && one.unsupported > 0;
    const Cause cause = one.is_failed() && !one.model.empty() ? causes[fingerprint(one, decisive(one))] : Cause{&one, 1};
    if (one.is_failed() && cause.first != &one) {
      ++skipped;
      cases += "      <skipped message=\"" + xml("fails by the same cause as " + cause.first->name + ", " + decisive(one).rule) +
               "\"/>\n      <system-out>" + xml(body) + "</system-out>\n";
    } else if (one.is_failed()) {
      ++failures;
      const std::string more =
          cause.cases == 1 ? ""
                           : " (" + std::to_string(cause.cases) + " test cases fail by this rule and operation; the others are skipped)";
      const std::string verdict = decisive(one).kind == Finding::Kind::undecided ? "undecided: " : "";
      cases += "      <failure message=\"" + xml(verdict + decisive(one).headline() + more) + "\" type=\"" + xml(decisive(one).rule) +
               "\">" + xml(body) + "</failure>\n";
    } else if (only_unsupported) {
      ++skipped;
      cases += "      <skipped message=\"" + xml(one.findings.front().message) + "\"/>\n";
    } else if (!body.empty()) {
      cases += "      <system-out>" + xml(body) + "</system-out>\n";
    }
    cases += "    </testcase>\n";
  }
  for (const std::string& trouble : report.troubles)
    cases += "    <testcase classname=\"assay." + report.verb + "\" name=\"waivers and baseline\"><failure message=\"" + xml(trouble) +
             "\"/></testcase>\n";
  const std::vector<std::string> undecided = untold_ops(report, most_undecided);
  for (const std::string& op : undecided)
    cases += "    <testcase classname=\"assay." + report.verb + "." + xml(op) + "\" name=\"undecided elements\"><failure message=\"" +
             xml(words_of_undecided(op)) + "\" type=\"" + kVacuousRule + "\"/></testcase>\n";
  std::string properties;
  for (const auto& [name, fact] : report.facts) properties += "      <property name=\"" + xml(name) + "\" value=\"" + xml(fact) + "\"/>\n";
  if (!properties.empty()) properties = "    <properties>\n" + properties + "    </properties>\n";
  const std::string counts = "tests=\"" + std::to_string(report.cases.size() + report.troubles.size() + undecided.size()) +
                             "\" failures=\"" + std::to_string(failures + undecided.size()) + "\" errors=\"0\" skipped=\"" +
                             std::to_string(skipped) + "\" time=\"" + seconds_text(report.seconds) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts + ">\n  <testsuite name=\"assay " + report.verb + " " +
         xml(report.file) + "\" " + counts + ">\n" + properties + cases + "  </testsuite>\n</testsuites>\n";
}

namespace {

Json sarif_result(const GateReport& report, const GateCase& one, const Finding& finding) {
  const bool serious = finding.kind == Finding::Kind::failure || finding.kind == Finding::Kind::undecided;
  std::string text = finding.headline();
  for (const std::string& detail : finding.below()) text += "\n" + detail;
  Json result{
      {"ruleId", finding.rule},
      {"level", serious ? "error" : "note"},
      {"message", {{"text", text}}},
      {"locations",
       {{{"physicalLocation", {{"artifactLocation", {{"uri", one.file.empty() ? report.file : one.file}}}, {"region", {{"startLine", 1}}}}},
         {"logicalLocations", {{{"name", finding.subject}, {"fullyQualifiedName", one.name + " / " + finding.subject}}}}}}},
      {"partialFingerprints", {{"assay/v1", fingerprint(one, finding)}}}};
  if (!finding.waiver.empty()) result["suppressions"] = Json::array({{{"kind", "external"}, {"justification", finding.details.back()}}});
  return result;
}

}  // namespace

std::string sarif_json(const GateReport& report, double most_undecided) {
  std::set<std::string> rules;
  Json results = Json::array();
  for (const bool is_waived : {false, true}) {  // so that waived findings do not use up the places of others
    for (const GateCase& one : report.cases) {
      for (const Finding& finding : one.findings) {
        if (finding.kind == Finding::Kind::vacuous || finding.waiver.empty() == is_waived || results.size() == kMostResults) continue;
        rules.insert(finding.rule);
        results.push_back(sarif_result(report, one, finding));
      }
    }
  }
  for (const std::string& trouble : report.troubles) {
    rules.insert("gate.upkeep");
    results.push_back({{"ruleId", "gate.upkeep"},
                       {"level", "error"},
                       {"message", {{"text", trouble}}},
                       {"locations", {{{"physicalLocation", {{"artifactLocation", {{"uri", report.file}}}}}}}}});
  }
  for (const std::string& op : untold_ops(report, most_undecided)) {
    rules.insert(kVacuousRule);
    results.push_back({{"ruleId", kVacuousRule},
                       {"level", "error"},
                       {"message", {{"text", words_of_undecided(op)}}},
                       {"locations", {{{"physicalLocation", {{"artifactLocation", {{"uri", report.file}}}}}}}}});
  }
  Json ids = Json::array();
  for (const std::string& rule : rules) ids.push_back({{"id", rule}});
  Json driver{{"name", "Assay"}, {"version", ASSAY_VERSION}, {"rules", std::move(ids)}};
  Json run{{"tool", {{"driver", std::move(driver)}}}, {"results", std::move(results)}};
  for (const auto& [name, fact] : report.facts) run["properties"][name] = fact;
  return Json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}}
             .dump(2, ' ', true, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace assay::reports
