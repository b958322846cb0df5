// Models, statements and properties: nodes with inferred types and shapes, proved bounds beside sampled values, a data set's confusions.
#include <algorithm>
#include <map>
#include <utility>

#include "api/check/cost.h"
#include "app/models/recorded_run.h"
#include "app/queries/file_kind.h"
#include "app/runs/balls.h"
#include "app/views/sheet.h"
#include "app/words.h"
#include "semantics/printable.h"
#include "semantics/statement/statement_text.h"

namespace assay::views {

using pages::Json;
using pages::Table;

std::string ops_text(const Graph& graph) {
  std::map<std::string, std::size_t> counts;
  for (const Node& node : graph.nodes) ++counts[std::string(op_row(node.op).name)];
  std::string text;
  for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return text;
}

std::string operands_text(const Node& node) {
  std::string text;
  for (const NodeId operand : node.operands) text += (text.empty() ? "" : ", ") + std::to_string(operand);
  return text;
}

Table node_table(const Graph& graph) {
  Table table{"nodes", "Nodes", {"node", "op", "dtype", "shape", "elements", "parameters", "operands", "name"}, {}};
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    std::size_t parameters = 0;  // elements of the constants that it reads
    for (const NodeId operand : node.operands) parameters += graph.node(operand).op == Op::constant ? graph.size(operand) : 0;
    table.rows.push_back({id, op_row(node.op).name, to_string(node.dtype), to_string(node.shape), graph.size(id), parameters,
                          operands_text(node), printable(node.name)});
  }
  return table;
}

namespace {

// Facts on the tensors of a graph, its nodes, and its drawing.
Sheet graph_sheet(std::string title, Facts facts, const Graph& graph) {
  Sheet sheet;
  sheet.title = std::move(title);
  sheet.facts = std::move(facts);
  sheet.tables.push_back(node_table(graph));
  sheet.drawing = pages::drawing_of(graph);
  sheet.heats = {"parameters", "elements"};
  sheet.sums = {"parameters", "elements"};
  return sheet;
}

void add_tensors(Facts& facts, const Graph& graph) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    facts.emplace_back("input", printable(graph.input_names[i]) + " " + to_string(graph.node(graph.inputs[i]).shape));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    facts.emplace_back("output", printable(graph.output_names[i]) + " " + to_string(graph.node(graph.outputs[i]).shape));
}

// The statement as a table, case by case: the rows of the unsafe sets.
Table case_table(const logic::Problem& problem) {
  constexpr std::size_t kMostRelations = 20000, kMostTerms = 6;
  Table table{"case_list", "Cases: the property fails where every row of one holds", {"case", "box", "row", "relation"}, {}};
  const Graph& graph = problem.graph();
  const std::vector<statement::Case>& cases = problem.statement().property.cases;
  for (std::uint32_t k = 0; k < cases.size(); ++k) {
    for (std::size_t r = 0; r < cases[k].rows.size() && table.rows.size() < kMostRelations; ++r) {
      const statement::Row& row = cases[k].rows[r];
      std::string text;
      for (std::size_t i = 0; i < std::min(row.terms.size(), kMostTerms); ++i) {
        const statement::Variable& variable = row.terms[i].variable;
        const bool is_input = variable.side == statement::Variable::Side::input;
        text += (i == 0 ? "" : " + ") + row.terms[i].coefficient.to_decimal() + " " +
                printable(is_input ? graph.input_names[variable.tensor] : graph.output_names[variable.tensor]) + "[" +
                std::to_string(variable.element) + "]";
      }
      if (row.terms.size() > kMostTerms) text += " + ... (" + std::to_string(row.terms.size()) + " terms)";
      table.rows.push_back({k, problem.group_of_case(k), r, text + (row.strict ? " < " : " <= ") + row.bound.to_decimal()});
    }
  }
  return table;
}

// One case over a box without a row: what bounds are derived on.
Outcome<std::shared_ptr<const logic::Problem>> problem_on(Graph graph, const std::vector<double>& ends) {
  auto box = std::make_shared<statement::InputBox>();
  for (const NodeId input : graph.inputs) {
    box->lo.resize(box->lo.size() + graph.size(input), *Rational::from_double(ends[0]));
    box->hi.resize(box->hi.size() + graph.size(input), *Rational::from_double(ends[1]));
  }
  statement::Statement statement;
  statement.graph = std::move(graph);
  statement.property.cases.push_back({std::move(box), {}});
  return logic::Problem::open(std::move(statement));
}

Outcome<Done> add_confusions(const InspectRequest& options, Sheet& sheet) {
  constexpr std::size_t kMostClasses = 200;
  runs::BallSetting setting;
  setting.model = options.file;
  setting.data = options.data;
  setting.labels = options.labels;
  setting.edits = options.limits.edits;
  check::LoadOptions load_options;
  load_options.semantics = ExecutionModel{};
  load_options.limits = options.limits;
  const auto balls = runs::Balls::load(setting, load_options);
  if (!balls) return balls.rejection();
  if (!balls.value().has_labels())
    return Rejection{
        Rejection::Kind::malformed, "inspect.labels", options.data, "labels, with which predictions are compared", "none", "--labels FILE"};
  const std::size_t classes = balls.value().classes(), items = std::min(options.items, balls.value().size());
  if (classes > kMostClasses)
    return Rejection{Rejection::Kind::unsupported, "inspect.classes", options.file, "at most " + std::to_string(kMostClasses) + " classes",
                     std::to_string(classes),      "leave --data out"};
  std::vector<std::vector<std::size_t>> counts(classes,
                                               std::vector<std::size_t>(classes + 1, 0));  // the last column: two classes may be equal
  std::size_t right = 0, judged = 0;
  for (std::size_t item = 0; item < items && !options.program.stop(); ++item) {
    const auto scores = balls.value().scores(item);
    if (!scores) return scores.rejection();
    const std::int64_t label = balls.value().label(item), predicted = scores.value().predicted;
    if (label < 0 || label >= static_cast<std::int64_t>(classes)) continue;
    ++counts[static_cast<std::size_t>(label)][predicted < 0 ? classes : static_cast<std::size_t>(predicted)];
    right += predicted == label ? 1 : 0;
    ++judged;
    options.program.on_progress(std::to_string(item + 1) + " of " + counted(items, "item") + " classified");
  }
  Table table{"confusions", "Confusions: items of each label, by the class that the model gives them", {"label"}, {}};
  for (std::size_t k = 0; k < classes; ++k) table.columns.push_back(std::to_string(k));
  table.columns.insert(table.columns.end(), {"undecided", "items", "right"});
  for (std::size_t k = 0; k < classes; ++k) {
    std::vector<Json> row{k};
    std::size_t all = 0;
    for (const std::size_t count : counts[k]) {
      row.emplace_back(count);
      all += count;
    }
    row.emplace_back(all);
    row.push_back(all > 0 ? Json(static_cast<double>(counts[k][k]) / static_cast<double>(all)) : Json());
    table.rows.push_back(std::move(row));
  }
  sheet.facts.emplace_back("data",
                           options.data + ": " + std::to_string(right) + " of " + counted(judged, "item") + " are classified as labelled");
  for (const std::string& note : balls.value().notes()) sheet.facts.emplace_back("note", note);
  sheet.tables.push_back(std::move(table));
  return Done{};
}

// The run of the model on values, forward and backward: its regions are the model's nodes, one by one.
Outcome<Sheet> sheet_of_run(const InspectRequest& options) {
  models::ModelRunRequest record;
  record.model = options.file;
  record.values = options.values;
  record.limits = options.limits;
  const auto run = models::run_model(record, options.program);
  if (!run) return run.rejection();
  Sheet sheet = sheet_of(run.value().trace);
  sheet.title = "A run of " + options.file;
  Facts facts{{"file", options.file}, {"kind", "run"}, {"values", options.values}};
  facts.insert(facts.end(), sheet.facts.begin(), sheet.facts.end());
  sheet.facts = std::move(facts);
  return sheet;
}

Outcome<Done> add_elements(const InspectRequest& options, const Graph& graph, Sheet& sheet) {
  for (const Node& node : graph.nodes) {
    if (node.op != Op::constant || node.name != options.tensor || node.dtype == DType::complex64) continue;
    sheet.tables.push_back(
        element_table(printable(node.name), node.shape, to_string(node.dtype), numbers_of(node.value), options.elements));
    return Done{};
  }
  return Rejection{Rejection::Kind::malformed, "inspect.tensor",    options.tensor,
                   "a constant of the model",  "none of that name", "assay inspect " + options.file + " lists the names"};
}

Facts statement_facts(const InspectRequest& options, const logic::Problem& problem) {
  Facts facts{{"file", options.file},
              {"kind", "statement"},
              {"semantics", to_string(problem.statement().semantics)},
              {"graph", summary(problem.graph())},
              {"ops", ops_text(problem.graph())},
              {"cases", std::to_string(problem.statement().property.cases.size())},
              {"boxes", std::to_string(problem.group_count())}};
  for (const statement::Source& source : problem.statement().sources)
    facts.emplace_back("sha256", statement::to_hex(source.sha256) + "  " + source.role + " " + printable(source.name));
  facts.emplace_back("graph digest", statement::to_hex(problem.graph_digest()));
  facts.emplace_back("digest", statement::to_hex(problem.digest()));
  return facts;
}

}  // namespace

Outcome<Sheet> sheet_of_model(const InspectRequest& options) {
  if (!options.values.empty()) return sheet_of_run(options);
  auto model = queries::import_model_file(options.file, options.limits);
  if (!model) return model.rejection();
  onnx::Model& found = model.value();
  Facts facts{{"file", options.file}, {"kind", "model"}, {"graph", summary(found.graph)}, {"ops", ops_text(found.graph)}};
  add_tensors(facts, found.graph);
  facts.emplace_back("ir_version", std::to_string(found.ir_version));
  for (const auto& [domain, version] : found.opsets)
    facts.emplace_back("opset", (domain.empty() ? "ai.onnx" : domain) + " " + std::to_string(version));
  if (!found.producer.empty()) facts.emplace_back("producer", found.producer);
  for (const statement::Source& source : found.sources) facts.emplace_back("sha256", statement::to_hex(source.sha256) + "  " + source.name);
  for (const std::string& note : found.notes) facts.emplace_back("note", note);
  facts.emplace_back("digest", statement::to_hex(statement::graph_digest(found.graph)));
  Sheet sheet = graph_sheet("Model " + options.file, std::move(facts), found.graph);
  if (!options.tensor.empty())
    if (auto done = add_elements(options, found.graph, sheet); !done) return done.rejection();
  if (!options.data.empty())
    if (auto done = add_confusions(options, sheet); !done) return done.rejection();
  if (!options.property.empty()) {
    check::LoadOptions load_options;
    load_options.limits = options.limits;
    load_options.limit_memory = options.program.limit_memory;
    load_options.polynomials = vnnlib::Polynomials::leave_out;
    const auto loaded = queries::load_files(options.file, options.property, load_options);
    if (!loaded) return loaded.rejection();
    if (auto done = add_ranges(loaded.value().problem, options, sheet); !done) return done.rejection();
  } else if (!options.box.empty()) {
    const auto problem = problem_on(std::move(found.graph), options.box);
    if (!problem) return problem.rejection();
    if (auto done = add_ranges(problem.value(), options, sheet); !done) return done.rejection();
  }
  return sheet;
}

Outcome<Sheet> sheet_of_statement(const InspectRequest& options) {
  check::LoadOptions load_options;
  load_options.limits = options.limits;
  load_options.limit_memory = options.program.limit_memory;
  const auto loaded = check::load_statement(options.file, load_options);
  if (!loaded) return loaded.rejection();
  const logic::Problem& problem = *loaded.value().problem;
  Sheet sheet = graph_sheet("Statement " + options.file, statement_facts(options, problem), problem.graph());
  sheet.tables.push_back(case_table(problem));
  if (options.bounds)
    if (auto done = add_ranges(loaded.value().problem, options, sheet); !done) return done.rejection();
  return sheet;
}

Outcome<Sheet> sheet_of_property(const InspectRequest& options) {
  if (options.network.empty())
    return Rejection{Rejection::Kind::unsupported,
                     "inspect.network",
                     options.file,
                     "the model that the property speaks about",
                     "none",
                     "assay inspect " + options.file + " --network MODEL.onnx"};
  check::LoadOptions load_options;
  load_options.semantics = ExecutionModel{};
  load_options.limits = options.limits;
  load_options.limit_memory = options.program.limit_memory;
  auto loaded = queries::load_files(options.network, options.file, load_options);
  if (!loaded) return loaded.rejection();
  const vnnlib::PropertyHeader& property = loaded.value().property;
  const logic::Problem& problem = *loaded.value().problem;
  std::size_t rows = 0, empty_groups = 0;
  for (const statement::Case& each : problem.statement().property.cases) rows += each.rows.size();
  for (std::size_t group = 0; group < problem.group_count(); ++group) empty_groups += problem.group_is_empty(group) ? 1 : 0;
  Facts facts{{"file", options.file}, {"kind", "property"}, {"vnnlib", property.version}, {"type", property.declared_type}};
  facts.emplace_back(
      "cases", counted(problem.statement().property.cases.size(), "case") + " over " + counted(problem.group_count(), "input box", "es"));
  facts.emplace_back("rows", std::to_string(rows));
  if (empty_groups > 0) facts.emplace_back("empty", counted(empty_groups, "empty input box", "es"));
  for (const std::string& note : property.notes) facts.emplace_back("note", note);
  facts.emplace_back("sha256", statement::to_hex(property.source.sha256) + "  " + property.source.name);
  facts.emplace_back("digest", statement::to_hex(problem.digest()));
  Sheet sheet = graph_sheet("Property " + options.file, std::move(facts), problem.graph());
  sheet.tables.push_back(case_table(problem));
  if (options.bounds)
    if (auto done = add_ranges(loaded.value().problem, options, sheet); !done) return done.rejection();
  return sheet;
}

}  // namespace assay::views
