// A gate's report as text, JSON and Markdown; JUnit XML and SARIF are in api/reports.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/gates/gate.h"
#include "app/words.h"

namespace assay::gates {
namespace {

using Json = nlohmann::ordered_json;
using reports::plain;
using reports::plain_markdown;
using reports::seconds_text;

constexpr std::size_t kMostDetailed = 8;  // findings in the text; the other formats have the details of all
constexpr std::size_t kMostRows = 200;    // Markdown: the summary stays far below a mebibyte

// JSON has no infinities and no NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"); }

Json place_json(const Finding::Place& place) {
  const audit::Violation& one = place.violation;
  Json admitted = Json::object();
  if (one.admitted.has_finite()) admitted = {{"lo", number(one.admitted.lo)}, {"hi", number(one.admitted.hi)}};
  admitted["minus_infinity"] = one.admitted.minus_infinity;
  admitted["plus_infinity"] = one.admitted.plus_infinity;
  admitted["nan"] = one.admitted.nan;
  const Json exact = one.exact.is_undefined() ? Json() : Json{{"lo", number(one.exact.lo())}, {"hi", number(one.exact.hi())}};
  return {{"index", place.index}, {"received", number(one.received)}, {"admitted", admitted},
          {"exact", exact},       {"steps", number(one.steps)},       {"allowance_units", number(one.allowance_units)}};
}

// "3 cases; 37 elements: 36 passed, 1 failed, 0 vacuous, 0 unsupported". Of certificates each is one case, and nothing else is counted.
std::string counts_of(const GateReport& report, std::size_t cases, const GateCase& one) {
  const std::size_t elements = one.passed + one.failed + one.vacuous + one.unsupported + one.unsampled;
  const std::string what =
      report.schema.empty() ? counted(cases, "case") + "; " + counted(elements, "element") : counted(cases, "certificate");
  return what + ": " + std::to_string(one.passed) + " passed, " + std::to_string(one.failed) + " failed, " + std::to_string(one.vacuous) +
         " vacuous, " + std::to_string(one.unsupported) + " unsupported" +
         (one.unsampled == 0 ? std::string() : ", " + std::to_string(one.unsampled) + " unsampled");
}

// The operations of a case for people: without the digest, where no other case of the report reads the same.
class Ops {
 public:
  explicit Ops(const GateReport& report) {
    for (const GateCase& one : report.cases) all_[reports::without_digest(one.op)].insert(one.op);
  }
  [[nodiscard]] std::string operator()(const std::string& op) const {
    const std::string words = reports::without_digest(op);
    const auto same = all_.find(words);
    return same != all_.end() && same->second.size() > 1 ? op : words;
  }

 private:
  std::map<std::string, std::set<std::string>> all_;
};

// The kind of a case in the sums of the text: of an operation inside of somebody's own backward, the name of its region.
std::string kind_of(const GateCase& one) {
  const std::size_t own = one.name.find("(backward of ");
  return own == std::string::npos || !one.name.ends_with(')') ? one.op : one.name.substr(own + 1, one.name.size() - own - 2);
}

struct OpTotals {
  GateCase sum;
  std::size_t cases = 0;
};

std::map<std::string, OpTotals> by_op(const GateReport& report) {
  std::map<std::string, OpTotals> totals;
  for (const GateCase& one : report.cases) {
    OpTotals& sum = totals[kind_of(one)];
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

}  // namespace

std::string percent(double share) {
  std::array<char, 32> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.3g %%", 100 * share))};
}

std::string gate_text(const GateReport& report, double most_undecided) {
  std::string text;
  for (const auto& [name, fact] : report.facts) text += name + ": " + plain(fact) + "\n";
  std::size_t shown = 0;
  const Ops ops(report);
  for (const GateCase& one : report.cases) {
    if (!one.statement.empty()) text += plain(one.name) + "\n";
    for (const std::string& line : one.statement) text += "  " + plain(line) + "\n";
    for (const Finding& finding : one.findings) {
      text += std::string(finding.waiver.empty() ? finding.word() : "waived") + "  " + plain(one.name) + ", " + plain(ops(one.op)) +
              "\n  " + finding.rule + ": " + plain(finding.headline()) + "\n";
      const bool in_full = shown < kMostDetailed || !finding.waiver.empty();
      shown += finding.details.size() > 1 ? 1 : 0;
      const std::vector<std::string> details = finding.below();
      for (const std::string& detail : details) text += in_full ? "  " + plain(detail) + "\n" : "";
      if (!in_full && !details.empty()) text += "  (details: --json)\n";
    }
  }
  for (const std::string& trouble : report.troubles) text += "fail  " + plain(trouble) + "\n";
  for (const auto& [op, total] : by_op(report))
    text += plain(ops(op)) + ": " + counts_of(report, total.cases, total.sum) +
            (report.schema.empty() ? "; at most " + percent(total.sum.head_room_used) + " of the allowance\n" : "\n");
  for (const std::string& op : report.undecided_ops(most_undecided))
    text += "undecided  " + plain(ops(op)) + ": more than " + percent(most_undecided) +
            " of the elements are vacuous or unsupported (--most-undecided)\n";
  return text + report.verdict(most_undecided) + ": " + counts_of(report, report.cases.size(), report.totals()) + "; " +
         seconds_text(report.seconds) + " s\n";
}

std::string gate_json(const GateReport& report, double most_undecided) {
  Json json{
      {"schema", report.schema_name()}, {"file", report.file}, {"verdict", report.verdict(most_undecided)}, {"seconds", report.seconds}};
  for (const auto& [name, fact] : report.facts) json["facts"][name] = fact;
  if (report.kinks) json["kinks"] = *report.kinks;
  if (!report.limited.empty()) json["limited"] = report.limited;
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
      item["findings"].push_back({{"kind", finding.word()},
                                  {"rule", finding.rule},
                                  {"subject", finding.subject},
                                  {"message", finding.message},
                                  {"details", finding.details},
                                  {"elements", finding.elements},
                                  {"waiver", finding.waiver}});
      if (finding.opening > 0) item["findings"].back()["opening"] = finding.headline();
      for (const Finding::Place& place : finding.places) item["findings"].back()[place.name] = place_json(place);
      if (!finding.exact.empty()) item["findings"].back()["exact"] = finding.exact;
      if (!finding.failed_at.empty()) item["findings"].back()["failed_at"] = finding.failed_at;
    }
    json["cases"].push_back(std::move(item));
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string markdown(const GateReport& report, double most_undecided) {
  std::string text = "## assay " + report.verb + ": " + report.verdict(most_undecided) + "\n\n" + plain_markdown(report.file) + ": " +
                     counts_of(report, report.cases.size(), report.totals()) + "\n\n";
  const Ops ops(report);
  for (const auto& [name, fact] : report.facts) text += "- " + plain_markdown(name) + ": " + plain_markdown(fact) + "\n";
  if (!report.facts.empty()) text += "\n";
  text += "| op | cases | passed | failed | vacuous | unsupported | allowance used |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [op, total] : by_op(report)) {
    text += "| " + plain_markdown(ops(op)) + " | " + std::to_string(total.cases) + " | " + std::to_string(total.sum.passed) + " | " +
            std::to_string(total.sum.failed) + " | " + std::to_string(total.sum.vacuous) + " | " + std::to_string(total.sum.unsupported) +
            " | " + percent(total.sum.head_room_used) + " |\n";
  }
  std::size_t rows = 0;
  for (const GateCase& one : report.cases) {
    for (const Finding& finding : one.findings) {
      if (finding.kind == Finding::Kind::vacuous || finding.kind == Finding::Kind::unsupported) continue;
      if (rows++ == 0) text += "\n| finding | where | what |\n| --- | --- | --- |\n";
      if (rows <= kMostRows)
        text += "| " + std::string(finding.waiver.empty() ? finding.word() : "waived") + " " + finding.rule + " | " +
                plain_markdown(one.name) + " | " + plain_markdown(finding.headline()) + " |\n";
    }
  }
  if (rows > kMostRows) text += "\n" + std::to_string(rows - kMostRows) + " more findings are in the full report.\n";
  for (const std::string& trouble : report.troubles) text += "\n- " + plain_markdown(trouble) + "\n";
  return text;
}

}  // namespace assay::gates
