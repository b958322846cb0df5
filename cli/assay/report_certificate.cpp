// `assay report CERTIFICATE`: what it proves, what that rests on, its tree; with the model, bounds beside sampled values, node by node.
#include <utility>

#include "api/assay/check.h"
#include "api/check/vacuity.h"
#include "app/pages/chart.h"
#include "app/views/proof_tree.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/report_pages.h"
#include "cli/check.h"

namespace assay::cli {
namespace {

// Mean widths, from the inputs down.
std::string width_chart(const pages::Table& nodes) {
  constexpr std::size_t kMostBars = 60;
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(nodes.columns, name) - nodes.columns.begin());
  };
  const std::size_t width = column("tightness"), op = column("op");
  std::vector<pages::NamedNumber> bars;
  for (const auto& row : nodes.rows)
    if (row[width].is_number() && bars.size() < kMostBars)
      bars.push_back({row[0].dump() + " " + row[op].get<std::string>(), row[width].get<double>()});
  return bars.empty()
             ? ""
             : pages::bar_chart("Tightness by node: the mean share of its proved range that an element takes at the sampled points", bars,
                                1) +
                   "<p class=\"quiet\">Tightness by node: the mean share of its proved range that an element takes at the sampled points. "
                   "At 1 the bounds are as tight as can be.</p>\n";
}

// The verdict, and the notes on the theorem that a reader needs. Without model and property nothing is checked, and the page says
// so.
void add_verdict(pages::Page& page, const ReportOptions& options, const CheckReport* report) {
  if (report == nullptr) {
    page.add(
        "<p><span class=\"verdict undecided\">not checked</span>: without the model and the property nothing is known of what the file "
        "proves. <code>assay report MODEL PROPERTY CERTIFICATE</code> checks it.</p>\n");
    return;
  }
  const std::string verdict = check::word(report->verdict);
  std::string text = "<p><span class=\"verdict " + verdict + "\">" + verdict + "</span>: ";
  if (report->theorem) {
    const std::string vacuous = check::vacuity(*report->theorem);
    const bool holds = report->theorem->kind() == logic::Theorem::Kind::unsatisfiable;
    text += std::string("the kernel has replayed the certificate when this page was made; the property ") +
            (!holds            ? "is violated at the witness"
             : vacuous.empty() ? "holds for every input of its boxes"
                               : "holds vacuously: " + vacuous) +
            ".</p>\n";
  } else {
    text += pages::html_text(report->why->to_text()) + "</p>\n";
  }
  page.add(text);
  if (!report->theorem) return;
  page.section("theorem", "Statement");
  page.add("<pre>" + pages::html_text(check::theorem_text(*report->theorem, false)) + "</pre>\n");
  page.section("assumptions", "What this rests on");
  std::string list = "<ul>\n";
  for (const std::string& one : report->theorem->assumptions()) list += "<li>" + pages::html_text(one) + "</li>\n";
  page.add(list + "</ul>\n");
  const logic::Problem& problem = *report->problem;
  Facts facts{{"model", options.model}, {"property", options.property}};
  for (const statement::Source& source : problem.statement().sources)
    facts.emplace_back("sha256", statement::to_hex(source.sha256) + "  " + source.role + " " + source.name);
  facts.emplace_back("graph digest", statement::to_hex(problem.graph_digest()));
  facts.emplace_back("statement", statement::to_hex(problem.digest()));
  for (const std::string& note : report->notes) facts.emplace_back("note", note);
  facts.emplace_back("replay", counted(report->statistics.steps, "step") + ", " + pages::shown(report->statistics.work) +
                                   " multiply-adds, " + pages::shown(report->cpu_seconds, "%.3f") + " s of processor time");
  facts.emplace_back("checked by", version_text("assay", libraries()));
  page.facts(facts);
}

}  // namespace

Outcome<ReportPage> page_of_certificate(const ReportOptions& options) {
  const auto tree = views::read_proof_tree(options.input);
  if (!tree) return tree.rejection();
  std::optional<CheckReport> report;
  if (!options.property.empty()) {
    LoadOptions load_options;
    load_options.semantics = options.semantics;
    load_options.limits = options.limits;
    report = options.model.empty() ? check_files(options.property, "", options.input, load_options)
                                   : check_files(options.model, options.property, options.input, load_options);
  }
  pages::Page page("assay.report/1", "certificate", "Certificate " + options.input);
  add_verdict(page, options, report ? &*report : nullptr);
  const views::Sheet sheet = views::sheet_of(tree.value(), options.input);
  page.section("tree", "Proof");
  page.facts(sheet.facts);
  for (const std::string& markup : sheet.charts) page.add(markup);
  ReportPage result;
  if (report && report->problem) {
    const Graph& graph = report->problem->graph();
    views::Sheet bounds;
    bounds.tables.push_back(views::node_table(graph));
    bounds.tables[0].title = "Bounds of the nodes";
    bounds.drawing = pages::drawing_of(graph);
    bounds.heats = {"parameters"};
    bounds.sums = {"parameters"};
    views::InspectRequest how;
    how.program = this_program();
    how.samples = options.samples;
    how.timeout = options.timeout;
    if (auto done = views::add_ranges(report->problem, how, bounds); !done) return done.rejection();
    page.section("tightness", "Bounds beside sampled values");
    page.facts(bounds.facts);
    page.add(width_chart(bounds.tables[0]));
    views::add_tables(page, bounds);
    result.model_explorer = pages::model_explorer(options.input, *bounds.drawing, bounds.tables[0]);
  }
  views::add_tables(page, sheet);
  result.html = page.html();
  result.summary = {
      {"verdict", report ? check::word(report->verdict) : "not checked"}, {"splits", tree.value().splits}, {"leaves", tree.value().leaves}};
  if (report)
    result.slices = {{"check", "reading model and property", 0, report->load_seconds, {}},
                     {"check", "replay", report->load_seconds, report->cpu_seconds, {}}};
  return result;
}

}  // namespace assay::cli
