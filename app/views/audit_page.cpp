// The audit of a run as a page: head-room by operation and by region, where failures lie, gradients.
#include <algorithm>
#include <map>
#include <utility>

#include "app/pages/chart.h"
#include "app/views/report_page.h"
#include "app/views/sheet.h"
#include "app/words.h"
#include "semantics/printable.h"

namespace assay::views {
namespace {

using pages::Json;
using pages::Table;
using reports::Finding;
using reports::GateCase;
using reports::GateReport;

constexpr double kMostUndecided = 0.01;  // as the gates have it without an option

// By kind of operation: elements, and the largest share of its allowance that one uses.
Table head_room(const GateReport& report) {
  std::map<std::string, GateCase> sums;
  std::map<std::string, std::size_t> counts;
  for (const GateCase& one : report.cases) {
    sums[one.op].add(one);
    ++counts[one.op];
  }
  Table table{
      "ops", "Elements by operation", {"op", "cases", "passed", "failed", "vacuous", "unsupported", "allowance used", "seconds"}, {}};
  for (const auto& [op, sum] : sums)
    table.rows.push_back(
        {op, counts[op], sum.passed, sum.failed, sum.vacuous, sum.unsupported, pages::number(sum.head_room_used), sum.seconds});
  return table;
}

std::string head_room_chart(const Table& ops) {
  std::vector<pages::NamedNumber> bars;
  double most = 1;
  for (const auto& row : ops.rows) {
    const bool is_failed = row[3].get<std::size_t>() > 0;
    const double used = row[6].is_number() ? row[6].get<double>() : 0;
    bars.push_back({row[0].get<std::string>(), used, is_failed ? "no" : "yes"});
    most = std::max(most, used);
  }
  constexpr std::size_t kMostBars = 40;
  std::ranges::stable_sort(bars, std::greater<>(), &pages::NamedNumber::value);
  if (bars.size() > kMostBars) bars.resize(kMostBars);
  return pages::bar_chart("Largest share of its allowance that a passed element uses, by operation", bars, most) +
         pages::legend({{"yes", "no element failed"}, {"no", "with failed elements"}}) +
         "<p class=\"quiet\">The share of its allowance that the worst passed element uses: at 1 it would be the last one that its "
         "contract "
         "admits.</p>\n";
}

// The last two axes of a shape as a picture, one tile below the other for those before; cells stand for blocks of elements where
// there are many.
struct Map {
  std::size_t rows = 1, columns = 1;
  explicit Map(const Shape& shape) {
    if (!shape.empty()) columns = static_cast<std::size_t>(shape.back());
    for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= static_cast<std::size_t>(shape[axis]);
  }
  [[nodiscard]] std::string picture(const std::vector<std::size_t>& failed, const std::string& words) const {
    constexpr std::size_t kMost = 256;
    const std::size_t step = std::max<std::size_t>(1, (std::max(rows, columns) + kMost - 1) / kMost);
    const std::size_t high = (rows + step - 1) / step, wide = (columns + step - 1) / step;
    std::vector<std::uint8_t> pixels(3 * high * wide, 225);
    for (const std::size_t element : failed) {
      const std::size_t at = 3 * (element / columns / step * wide + element % columns / step);
      pixels[at] = 179;
      pixels[at + 1] = 71;
      pixels[at + 2] = 0;
    }
    return pages::image(static_cast<std::uint32_t>(wide), static_cast<std::uint32_t>(high), 3, pixels, words);
  }
};

const Tensor* tensor_named(const Trace& trace, const std::string& name) {
  for (const Trace::Entry& entry : trace.tensors)
    if (entry.name == name) return &entry.value;
  return nullptr;
}

std::string failure_maps(const Trace& trace, const GateReport& report) {
  constexpr std::size_t kMostMaps = 24;
  std::string text;
  std::size_t count = 0;
  for (const GateCase& one : report.cases) {
    for (const Finding& finding : one.findings) {
      const Tensor* tensor = finding.failed_at.empty() || count >= kMostMaps ? nullptr : tensor_named(trace, finding.subject);
      if (tensor == nullptr || tensor->size() == 0) continue;
      ++count;
      const std::string words = one.name + ": " + std::to_string(finding.elements) + " of " + counted(tensor->size(), "element") + " of '" +
                                printable(finding.subject) + "' " + to_string(tensor->shape()) + " failed";
      text += "<figure>" + Map(tensor->shape()).picture(finding.failed_at, "map of the failed elements") + "<figcaption>" +
              pages::html_text(printable(words, 400)) + "</figcaption></figure>\n";
    }
  }
  return text.empty()
             ? ""
             : "<div class=\"cards\">\n" + text +
                   "</div>\n<p class=\"quiet\">Columns are the last axis, rows all axes before it; a mark is a failed element, or a "
                   "block of a large tensor with one.</p>\n";
}

std::string findings(const GateReport& report) {
  constexpr std::size_t kMost = 200;
  std::string text;
  std::size_t count = 0;
  for (const GateCase& one : report.cases) {
    for (const Finding& finding : one.findings) {
      if (++count > kMost) continue;
      text += "<details" + std::string(count <= 3 ? " open" : "") + "><summary><strong class=\"" + finding.word() + "\">" + finding.word() +
              "</strong> " + pages::html_text(printable(one.name, 200)) + ", " + pages::html_text(finding.rule) + ": " +
              pages::html_text(printable(finding.headline(), 600)) + "</summary>\n<pre>";
      for (const std::string& line : finding.below()) text += pages::html_text(printable(line, 600)) + "\n";
      text += "</pre></details>\n";
    }
  }
  if (count > kMost) text += "<p>" + std::to_string(count - kMost) + " further findings; <code>assay audit --json</code> has all.</p>\n";
  return text;
}

// Adds the judgement of each region, as columns of the table of regions.
void add_judgements(const std::vector<GateCase>& cases, Sheet& sheet) {
  if (sheet.tables.empty() || sheet.tables[0].rows.size() != cases.size()) return;
  constexpr std::ptrdiff_t kOps = 2;  // columns in front: region, ops
  Table& table = sheet.tables[0];
  const std::vector<std::string> columns{"allowance used", "passed", "failed", "vacuous", "unsupported"};
  table.columns.insert(table.columns.begin() + kOps, columns.begin(), columns.end());
  for (std::size_t r = 0; r < cases.size(); ++r) {
    const GateCase& one = cases[r];
    const std::vector<Json> cells{pages::number(one.head_room_used), one.passed, one.failed, one.vacuous, one.unsupported};
    table.rows[r].insert(table.rows[r].begin() + kOps, cells.begin(), cells.end());
  }
  sheet.heats.insert(sheet.heats.begin(), {"allowance used", "failed"});
  sheet.sums.insert(sheet.sums.end(), {"failed", "passed", "vacuous", "unsupported"});
}

Table gradient_table(const std::vector<GateCase>& cases) {
  Table table{"gradient_steps", "Gradients: every product and every sum of cotangents", {"step", "op", "verdict", "finding"}, {}};
  for (const GateCase& one : cases)
    table.rows.push_back({printable(one.name, 200), one.op, one.findings.empty() ? "right" : one.findings[0].word(),
                          one.findings.empty() ? "" : printable(one.findings[0].headline(), 400)});
  return table;
}

// Processor times, end to end: the audit records no beginnings.
void add_slices(const std::string& track, const std::vector<GateCase>& cases, std::vector<pages::Slice>& slices) {
  double start = 0;
  for (const GateCase& one : cases) {
    slices.push_back({track, one.name, start, one.seconds, {{"op", one.op}}});
    start += one.seconds;
  }
}

}  // namespace

ReportPage page_of_audit(const AuditedTrace& audited) {
  const Trace& trace = audited.trace;
  const GateReport& report = audited.report;
  Sheet sheet = sheet_of(trace);
  add_judgements(audited.regions, sheet);
  const std::string verdict = report.verdict(kMostUndecided);
  pages::Page page("assay.report/1", "trace", "Audit of " + audited.file);
  const GateCase totals = report.totals();
  page.add("<p><span class=\"verdict " + verdict.substr(0, verdict.find(' ')) + "\">" + verdict +
           "</span>: of the elements that the run recorded " + std::to_string(totals.passed) + " are within their contracts, " +
           std::to_string(totals.failed) + " are not, " + std::to_string(totals.vacuous) + " have sets too wide to say anything, " +
           std::to_string(totals.unsupported) + " have no contract; cotangents that gradients were proved for are among them.</p>\n");
  const Table ops = head_room(report);
  page.section("head_room", "Head-room by operation");
  page.add(head_room_chart(ops));
  page.table(ops);
  if (const std::string maps = failure_maps(trace, report); !maps.empty()) {
    page.section("failures", "Where failures lie");
    page.add(maps);
  }
  if (const std::string text = findings(report); !text.empty()) {
    page.section("findings", "Findings");
    page.add(text);
  }
  if (!audited.gradients.empty()) sheet.tables.insert(sheet.tables.begin() + 1, gradient_table(audited.gradients));
  add_tables(page, sheet);
  page.section("basis", "What this rests on");
  page.paragraph(
      "The kernel has judged every recorded value by the contract of its region: an element that passed is one that the declared execution "
      "model admits, given the recorded operands. It says nothing about another run, and nothing about what was not recorded.");
  Facts facts{{"trace", audited.file}};
  facts.insert(facts.end(), report.facts.begin(), report.facts.end());
  facts.emplace_back("judged by", audited.judged_by);
  page.facts(facts);
  ReportPage result{page.html(), {{"verdict", verdict}, {"cases", report.cases.size()}, {"failed", totals.failed}}, {}, {}};
  add_slices("regions judged", audited.regions, result.slices);
  add_slices("gradients judged", audited.gradients, result.slices);
  if (sheet.drawing) result.model_explorer = pages::model_explorer(audited.file, *sheet.drawing, sheet.tables.front());
  return result;
}

}  // namespace assay::views
