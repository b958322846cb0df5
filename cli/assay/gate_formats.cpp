// A gate's report as text, JSON, JUnit XML, SARIF and Markdown.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/assay/gate.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostResults = 5000;  // SARIF: what code scanning services take in
constexpr std::size_t kMostDetailed = 8;    // findings in the text; the other formats have the details of all
constexpr std::size_t kMostRows = 200;      // Markdown: the summary stays far below a mebibyte

const char* word(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::failure:
      return "fail";
    case Finding::Kind::undecided:
      return "undecided";
    case Finding::Kind::vacuous:
      return "vacuous";
    case Finding::Kind::unsupported:
      return "unsupported";
  }
  return "";
}

std::string percent(double share) {
  std::array<char, 32> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.3g %%", 100 * share))};
}

// JSON has no infinities and no NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"); }

Json place_json(const Finding::Place& place) {
  const kernel::Violation& one = place.violation;
  Json admitted = Json::object();
  if (one.admitted.has_finite()) admitted = {{"lo", number(one.admitted.lo)}, {"hi", number(one.admitted.hi)}};
  admitted["minus_infinity"] = one.admitted.minus_infinity;
  admitted["plus_infinity"] = one.admitted.plus_infinity;
  admitted["nan"] = one.admitted.nan;
  const Json exact = one.exact.is_undefined() ? Json() : Json{{"lo", number(one.exact.lo())}, {"hi", number(one.exact.hi())}};
  return {{"index", place.index}, {"received", number(one.received)}, {"admitted", admitted},
          {"exact", exact},       {"steps", number(one.steps)},       {"allowance_units", number(one.allowance_units)}};
}

std::string counts_of(const GateCase& one) {
  return std::to_string(one.passed) + " passed, " + std::to_string(one.failed) + " failed, " + std::to_string(one.vacuous) + " vacuous, " +
         std::to_string(one.unsupported) + " unsupported" +
         (one.unsampled == 0 ? std::string() : ", " + std::to_string(one.unsampled) + " unsampled");
}

struct OpTotals {
  GateCase sum;
  std::size_t cases = 0;
};

std::map<std::string, OpTotals> by_op(const GateReport& report) {
  std::map<std::string, OpTotals> totals;
  for (const GateCase& one : report.cases) {
    OpTotals& sum = totals[one.op];
    ++sum.cases;
    sum.sum.passed += one.passed;
    sum.sum.failed += one.failed;
    sum.sum.vacuous += one.vacuous;
    sum.sum.unsupported += one.unsupported;
    sum.sum.unsampled += one.unsampled;
    sum.sum.seconds += one.seconds;
    sum.sum.head_room_used = std::max(sum.sum.head_room_used, one.head_room_used);
  }
  return totals;
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.3f", seconds))};
}

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

std::string in_table(std::string text) {
  std::ranges::replace(text, '|', '/');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

std::string gate_text(const GateReport& report, double most_undecided) {
  std::string text;
  for (const auto& [name, fact] : report.facts) text += name + ": " + fact + "\n";
  std::size_t shown = 0;
  for (const GateCase& one : report.cases) {
    if (!one.statement.empty()) text += one.name + "\n";
    for (const std::string& line : one.statement) text += "  " + line + "\n";
    for (const Finding& finding : one.findings) {
      text += std::string(finding.waiver.empty() ? word(finding.kind) : "waived") + "  " + one.name + ", " + one.op + "\n  " +
              finding.rule + ": " + finding.headline() + "\n";
      const bool in_full = shown < kMostDetailed || !finding.waiver.empty();
      shown += finding.details.size() > 1 ? 1 : 0;
      const std::vector<std::string> details = finding.below();
      for (const std::string& detail : details) text += in_full ? "  " + detail + "\n" : "";
      if (!in_full && !details.empty()) text += "  (details: --json)\n";
    }
  }
  for (const std::string& trouble : report.troubles) text += "fail  " + trouble + "\n";
  for (const auto& [op, total] : by_op(report))
    text += op + ": " + counted(total.cases, "case") + ", " + counts_of(total.sum) +
            (report.schema.empty() ? "; at most " + percent(total.sum.head_room_used) + " of the allowance\n" : "\n");
  for (const std::string& op : report.undecided_ops(most_undecided))
    text +=
        "undecided  " + op + ": more than " + percent(most_undecided) + " of the elements are vacuous or unsupported (--most-undecided)\n";
  return text + report.verdict(most_undecided) + ": " + counted(report.cases.size(), "case") + ", " + counts_of(report.totals()) + "; " +
         seconds_text(report.seconds) + " s\n";
}

std::string gate_json(const GateReport& report, double most_undecided) {
  Json json{
      {"schema", report.schema_name()}, {"file", report.file}, {"verdict", report.verdict(most_undecided)}, {"seconds", report.seconds}};
  for (const auto& [name, fact] : report.facts) json["facts"][name] = fact;
  json["troubles"] = report.troubles;
  json["undecided_ops"] = report.undecided_ops(most_undecided);
  json["cases"] = Json::array();
  for (const GateCase& one : report.cases) {
    Json item{{"name", one.name},
              {"op", one.op},
              {"model", one.model},
              {"passed", one.passed},
              {"failed", one.failed},
              {"vacuous", one.vacuous},
              {"unsupported", one.unsupported},
              {"unsampled", one.unsampled},
              {"head_room_used", one.head_room_used},
              {"cpu_seconds", one.seconds}};
    if (!one.file.empty()) item["file"] = one.file;
    if (!one.statement.empty()) item["statement"] = one.statement;
    item["findings"] = Json::array();
    for (const Finding& finding : one.findings) {
      item["findings"].push_back({{"kind", word(finding.kind)},
                                  {"rule", finding.rule},
                                  {"subject", finding.subject},
                                  {"message", finding.message},
                                  {"details", finding.details},
                                  {"elements", finding.elements},
                                  {"waiver", finding.waiver}});
      if (finding.opening > 0) item["findings"].back()["opening"] = finding.headline();
      for (const Finding::Place& place : finding.places) item["findings"].back()[place.name] = place_json(place);
      if (!finding.failed_at.empty()) item["findings"].back()["failed_at"] = finding.failed_at;
    }
    json["cases"].push_back(std::move(item));
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string junit_xml(const GateReport& report) {
  std::size_t failures = report.troubles.size(), skipped = 0;
  std::string cases;
  for (const GateCase& one : report.cases) {
    cases += "    <testcase classname=\"assay." + report.verb + "." + xml(one.op) + "\" name=\"" + xml(one.name) + "\" time=\"" +
             seconds_text(one.seconds) + "\">\n";
    std::string body;
    for (const std::string& line : one.statement) body += line + "\n";
    for (const Finding& finding : one.findings) {
      body += finding.rule + ": " + finding.headline() + "\n";
      for (const std::string& line : finding.below()) body += "  " + line + "\n";
    }
    const bool only_unsupported = one.passed == 0 && one.unsupported > 0;
    if (one.is_failed()) {
      ++failures;
      cases += "      <failure message=\"" + xml(one.findings.front().headline()) + "\" type=\"" + xml(one.findings.front().rule) + "\">" +
               xml(body) + "</failure>\n";
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
  const std::string counts = "tests=\"" + std::to_string(report.cases.size() + report.troubles.size()) + "\" failures=\"" +
                             std::to_string(failures) + "\" errors=\"0\" skipped=\"" + std::to_string(skipped) + "\" time=\"" +
                             seconds_text(report.seconds) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + counts + ">\n  <testsuite name=\"assay " + report.verb + " " +
         xml(report.file) + "\" " + counts + ">\n" + cases + "  </testsuite>\n</testsuites>\n";
}

std::string sarif_json(const GateReport& report) {
  std::set<std::string> rules;
  Json results = Json::array();
  for (const GateCase& one : report.cases) {
    for (const Finding& finding : one.findings) {
      if (finding.kind == Finding::Kind::vacuous || results.size() == kMostResults) continue;
      rules.insert(finding.rule);
      const bool serious = finding.kind == Finding::Kind::failure || finding.kind == Finding::Kind::undecided;
      std::string text = finding.headline();
      for (const std::string& detail : finding.below()) text += "\n" + detail;
      Json result{{"ruleId", finding.rule},
                  {"level", serious ? "error" : "note"},
                  {"message", {{"text", text}}},
                  {"locations",
                   {{{"physicalLocation",
                      {{"artifactLocation", {{"uri", one.file.empty() ? report.file : one.file}}}, {"region", {{"startLine", 1}}}}},
                     {"logicalLocations", {{{"name", finding.subject}, {"fullyQualifiedName", one.name + " / " + finding.subject}}}}}}},
                  {"partialFingerprints", {{"assay/v1", fingerprint(one, finding)}}}};
      if (!finding.waiver.empty())
        result["suppressions"] = Json::array({{{"kind", "external"}, {"justification", finding.details.back()}}});
      results.push_back(std::move(result));
    }
  }
  for (const std::string& trouble : report.troubles) {
    rules.insert("gate.upkeep");
    results.push_back({{"ruleId", "gate.upkeep"},
                       {"level", "error"},
                       {"message", {{"text", trouble}}},
                       {"locations", {{{"physicalLocation", {{"artifactLocation", {{"uri", report.file}}}}}}}}});
  }
  Json ids = Json::array();
  for (const std::string& rule : rules) ids.push_back({{"id", rule}});
  Json driver{{"name", "Assay"}, {"version", ASSAY_VERSION}, {"rules", std::move(ids)}};
  Json run{{"tool", {{"driver", std::move(driver)}}}, {"results", std::move(results)}};
  return Json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({std::move(run)})}}
             .dump(2, ' ', true, Json::error_handler_t::replace) +
         "\n";
}

std::string markdown(const GateReport& report, double most_undecided) {
  std::string text = "## assay " + report.verb + ": " + report.verdict(most_undecided) + "\n\n" + in_table(report.file) + ": " +
                     counts_of(report.totals()) + "\n\n";
  text += "| op | cases | passed | failed | vacuous | unsupported | allowance used |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [op, total] : by_op(report)) {
    text += "| " + op + " | " + std::to_string(total.cases) + " | " + std::to_string(total.sum.passed) + " | " +
            std::to_string(total.sum.failed) + " | " + std::to_string(total.sum.vacuous) + " | " + std::to_string(total.sum.unsupported) +
            " | " + percent(total.sum.head_room_used) + " |\n";
  }
  std::size_t rows = 0;
  for (const GateCase& one : report.cases) {
    for (const Finding& finding : one.findings) {
      if (finding.kind == Finding::Kind::vacuous || finding.kind == Finding::Kind::unsupported) continue;
      if (rows++ == 0) text += "\n| finding | where | what |\n| --- | --- | --- |\n";
      if (rows <= kMostRows)
        text += "| " + std::string(finding.waiver.empty() ? word(finding.kind) : "waived") + " " + finding.rule + " | " +
                in_table(one.name) + " | " + in_table(finding.headline()) + " |\n";
    }
  }
  if (rows > kMostRows) text += "\n" + std::to_string(rows - kMostRows) + " more findings are in the full report.\n";
  for (const std::string& trouble : report.troubles) text += "\n- " + in_table(trouble) + "\n";
  return text;
}

}  // namespace assay::cli
