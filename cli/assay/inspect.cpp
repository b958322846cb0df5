#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "assay/check/cost.h"
#include "certificates/format/dump.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/report.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr const char* kInspectSchema = "assay.inspect/1";

// The facts, then the rows in columns as wide as their texts, headed by the names in the first row.
int show(const InspectOptions& options, const Facts& facts, const std::string& table = "", const std::vector<Facts>& rows = {}) {
  if (options.json != "-") {
    for (const auto& [name, value] : facts) std::printf("%-12s %s\n", name.c_str(), value.c_str());
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; !rows.empty() && column < rows[0].size(); ++column) {
      widths.push_back(rows[0][column].first.size());
      for (const Facts& row : rows) widths[column] = std::max(widths[column], row[column].second.size());
    }
    for (std::size_t r = 0; !rows.empty() && r <= rows.size(); ++r) {
      std::string line;
      for (std::size_t column = 0; column < widths.size(); ++column) {
        std::string cell = r == 0 ? rows[0][column].first : rows[r - 1][column].second;
        if (column + 1 < widths.size()) cell.resize(widths[column] + 2, ' ');
        line += cell;
      }
      std::printf("%s\n", line.c_str());
    }
  }
  return write_json(options.json, facts_json(kInspectSchema, facts, table, rows)) ? kExitYes : kExitUnwritten;
}

int inspect_certificate(const InspectOptions& options) {
  auto reader = certificate::Reader::open(options.file);
  if (!reader)
    return refuse(kInspectSchema, options.json, recognised(in_file(reader.rejection(), options.file), options.file, FileKind::certificate));
  const bool text = options.json != "-";
  const std::string header = certificate::header_text(reader.value()->header());
  if (text) std::printf("%s\n", header.c_str());
  const auto line = [](const std::string& record) { std::printf("%s\n", record.c_str()); };
  auto summary =
      certificate::dump(*reader.value(), text && !options.summary_only ? std::function<void(const std::string&)>(line) : nullptr);
  if (!summary) return refuse(kInspectSchema, options.json, in_file(summary.rejection(), options.file));
  if (text) std::fputs(certificate::summary_text(summary.value()).c_str(), stdout);
  return write_json(options.json, certificate_json(options.file, reader.value()->header(), summary.value())) ? kExitYes : kExitUnwritten;
}

std::string ops_text(const Graph& graph) {
  std::map<std::string, std::size_t> counts;
  for (const Node& node : graph.nodes) ++counts[std::string(op_row(node.op).name)];
  std::string text;
  for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return text;
}

void add_tensors(Facts& facts, const Graph& graph) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    facts.emplace_back("input", printable(graph.input_names[i]) + " " + to_string(graph.node(graph.inputs[i]).shape));
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    facts.emplace_back("output", printable(graph.output_names[i]) + " " + to_string(graph.node(graph.outputs[i]).shape));
}

std::vector<Facts> node_rows(const Graph& graph) {
  std::vector<Facts> rows;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    std::string operands;
    for (const NodeId operand : node.operands) operands += (operands.empty() ? "" : ", ") + std::to_string(operand);
    rows.push_back({{"node", std::to_string(id)},
                    {"op", std::string(op_row(node.op).name)},
                    {"dtype", to_string(node.dtype)},
                    {"shape", to_string(node.shape)},
                    {"operands", operands.empty() ? "-" : operands},
                    {"name", printable(node.name)}});
  }
  return rows;
}

int inspect_model(const InspectOptions& options) {
  auto model = import_model_file(options.file, options.limits);
  if (!model) return refuse(kInspectSchema, options.json, model.rejection());
  const onnx::Model& found = model.value();
  Facts facts{{"file", options.file}, {"kind", "model"}, {"graph", summary(found.graph)}, {"ops", ops_text(found.graph)}};
  add_tensors(facts, found.graph);
  facts.emplace_back("ir_version", std::to_string(found.ir_version));
  for (const auto& [domain, version] : found.opsets)
    facts.emplace_back("opset", (domain.empty() ? "ai.onnx" : domain) + " " + std::to_string(version));
  if (!found.producer.empty()) facts.emplace_back("producer", found.producer);
  for (const kernel::Source& source : found.sources) facts.emplace_back("sha256", kernel::to_hex(source.sha256) + "  " + source.name);
  for (const std::string& note : found.notes) facts.emplace_back("note", note);
  facts.emplace_back("digest", kernel::to_hex(kernel::graph_digest(found.graph)));
  return options.summary_only ? show(options, facts) : show(options, facts, "nodes", node_rows(found.graph));
}

int inspect_statement(const InspectOptions& options) {
  LoadOptions load_options;
  load_options.limits = options.limits;
  const auto loaded = check::load_statement(options.file, limiting(load_options));
  if (!loaded) return refuse(kInspectSchema, options.json, loaded.rejection());
  const kernel::Problem& problem = *loaded.value().problem;
  Facts facts{{"file", options.file},
              {"kind", "statement"},
              {"semantics", to_string(problem.statement().semantics)},
              {"graph", summary(problem.graph())},
              {"ops", ops_text(problem.graph())},
              {"cases", std::to_string(problem.statement().property.cases.size())},
              {"boxes", std::to_string(problem.group_count())}};
  for (const kernel::Source& source : problem.statement().sources)
    facts.emplace_back("sha256", kernel::to_hex(source.sha256) + "  " + source.role + " " + printable(source.name));
  facts.emplace_back("graph digest", kernel::to_hex(kernel::graph_digest(problem.graph())));
  facts.emplace_back("digest", kernel::to_hex(problem.digest()));
  return options.summary_only ? show(options, facts) : show(options, facts, "nodes", node_rows(problem.graph()));
}

int inspect_trace(const InspectOptions& options) {
  GateReport report;
  const auto opened = open_trace(options.file, options.limits, report);
  if (!opened) return refuse(kInspectSchema, options.json, opened.rejection());
  const Trace& trace = opened.value();
  Facts facts{{"file", options.file}, {"kind", "trace"}};
  facts.insert(facts.end(), report.facts.begin(), report.facts.end());
  facts.emplace_back("products", std::to_string(trace.vjps.size()));
  facts.emplace_back("gradients", std::to_string(trace.gradients.size()));
  if (!trace.tangents.empty()) facts.emplace_back("tangents", std::to_string(trace.tangents.size()));
  for (const TraceTensorId id : trace.outputs)
    facts.emplace_back("output", trace.tensors[id].name + " " + to_string(trace.tensors[id].value.shape()));
  std::vector<Facts> rows;
  for (std::size_t r = 0; r < trace.regions.size() && !options.summary_only; ++r) {
    const Region& region = trace.regions[r];
    rows.push_back({{"region", std::to_string(r)},
                    {"ops", ops_of(region.graph)},
                    {"shapes", shapes_of(trace, region)},
                    {"model", to_string(region.model)},
                    {"name", region.name}});
  }
  return show(options, facts, options.summary_only ? "" : "region_list", rows);
}

int inspect_property(const InspectOptions& options) {
  if (options.network.empty())
    return refuse(kInspectSchema, options.json,
                  {Rejection::Kind::unsupported, "inspect.network", options.file, "the model that the property speaks about", "none",
                   "assay inspect " + options.file + " --network MODEL.onnx"});
  LoadOptions load_options;
  load_options.semantics = ExecutionModel{};
  load_options.limits = options.limits;
  auto loaded = load_files(options.network, options.file, load_options);
  if (!loaded) return refuse(kInspectSchema, options.json, loaded.rejection());
  const vnnlib::PropertyFile& property = loaded.value().property;
  const kernel::Problem& problem = *loaded.value().problem;
  std::size_t rows = 0, empty_groups = 0;
  for (const kernel::Case& each : problem.statement().property.cases) rows += each.rows.size();
  for (std::size_t group = 0; group < problem.group_count(); ++group) empty_groups += problem.group_is_empty(group) ? 1 : 0;
  Facts facts{{"file", options.file}, {"kind", "property"}, {"vnnlib", property.version}, {"type", property.declared_type}};
  facts.emplace_back(
      "cases", counted(problem.statement().property.cases.size(), "case") + " over " + counted(problem.group_count(), "input box", "es"));
  facts.emplace_back("rows", std::to_string(rows));
  if (empty_groups > 0) facts.emplace_back("empty", counted(empty_groups, "empty input box", "es"));
  for (const std::string& note : property.notes) facts.emplace_back("note", note);
  facts.emplace_back("sha256", kernel::to_hex(property.source.sha256) + "  " + property.source.name);
  facts.emplace_back("digest", kernel::to_hex(problem.digest()));
  return show(options, facts);
}

}  // namespace

// By what the file holds; by its name where that says nothing.
int inspect(const InspectOptions& named) {
  InspectOptions options = named;
  options.file = existing(named.file);
  limit_memory(memory_rule(options.limits).most);
  const std::string& file = options.file;
  const FileKind kind = kind_of_file(file);
  if (kind == FileKind::certificate) return inspect_certificate(options);
  if (kind == FileKind::statement) return inspect_statement(options);
  if (kind == FileKind::trace || kind == FileKind::safetensors) return inspect_trace(options);
  if (kind == FileKind::onnx || file.ends_with(".onnx") || file.ends_with(".onnx.gz")) return inspect_model(options);
  if (kind == FileKind::vnnlib || file.ends_with(".vnnlib") || file.ends_with(".vnnlib.gz")) return inspect_property(options);
  return inspect_certificate(options);
}

}  // namespace assay::cli
