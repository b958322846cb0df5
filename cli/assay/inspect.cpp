// `assay inspect`: what a file holds, as text, as JSON and as a page.
#include "app/views/sheet.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "api/check/cost.h"
#include "app/pages/exchange.h"
#include "app/queries/file_kind.h"
#include "certificates/edit/dump.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/options.h"
#include "cli/assay/report.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr const char* kInspectSchema = "assay.inspect/1";

// The tables that are named, beside the first one; the others by name.
void print(const InspectOptions& options, const views::Sheet& sheet) {
  for (const auto& [name, value] : sheet.facts) std::printf("%-12s %s\n", name.c_str(), printable(value, SIZE_MAX).c_str());
  std::vector<std::string> others;
  for (std::size_t k = 0; k < sheet.tables.size() && !options.summary_only; ++k) {
    const pages::Table& table = sheet.tables[k];
    const bool is_named = std::ranges::any_of(options.show, [&](const std::string& name) { return name == table.name || name == "all"; });
    if (options.show.empty() ? k > 0 : !is_named) {
      others.push_back(table.name + " (" + std::to_string(table.rows.size()) + ")");
      continue;
    }
    if (!options.show.empty()) std::printf("\n%s\n", table.title.c_str());
    std::fputs(pages::table_text(table).c_str(), stdout);
  }
  if (!others.empty()) std::printf("further tables, by --show: %s\n", listed(others).c_str());
}

bool write_page(const InspectOptions& options, const views::Sheet& sheet) {
  return options.out.empty() || write_file(options.out, views::page_of(sheet, kInspectSchema).html());
}

bool write_exchange(const InspectOptions& options, const views::Sheet& sheet) {
  if (options.model_explorer.empty()) return true;
  const pages::Json json = pages::model_explorer(sheet.title, *sheet.drawing, sheet.tables.front());
  return write_file(options.model_explorer, json.dump(1, ' ', false, pages::Json::error_handler_t::replace) + "\n");
}

int show(const InspectOptions& options, const Outcome<views::Sheet>& outcome) {
  if (!outcome) return refuse(kInspectSchema, options.json, outcome.rejection());
  const views::Sheet& sheet = outcome.value();
  for (const std::string& name : options.show) {
    std::vector<std::string> known{"all"};
    for (const pages::Table& table : sheet.tables) known.push_back(table.name);
    if (std::ranges::find(known, name) == known.end())
      return refuse(kInspectSchema, options.json,
                    {Rejection::Kind::malformed, "inspect.table", name, "a table of this file", "the tables " + listed(known),
                     "--show all shows them"});
  }
  if (!options.model_explorer.empty() && !sheet.drawing)
    return refuse(
        kInspectSchema, options.json,
        {Rejection::Kind::unsupported, "inspect.graph", options.file, "a file with a graph: a model, a property, a statement or a trace",
         "a file without a graph", "leave --model-explorer out"});
  conclude();
  if (options.json != "-") print(options, sheet);
  const bool written = write_page(options, sheet) && write_exchange(options, sheet);
  const std::vector<pages::Table> none;
  return write_json(options.json, sheet_json(kInspectSchema, sheet.facts, options.summary_only ? none : sheet.tables)) && written
             ? kExitYes
             : kExitUnwritten;
}

std::string certificate_json(const std::string& file, const certificate::Header& header, const certificate::Summary& summary) {
  Json json = opened("assay.inspect/1");
  json["file"] = file;
  json["kind"] = "certificate";
  json["format"] = header.version;
  json["semantics"] = header.semantics;
  json["statement_digest"] = statement::to_hex(header.digest);
  json["records"] = Json::object();
  for (std::size_t type = 1; type <= certificate::kRecordTypes; ++type) {
    if (summary.records[type] == 0) continue;
    Json& entry = json["records"][to_string(static_cast<certificate::RecordType>(type))];
    if (entry.is_null()) entry = {{"count", std::uint64_t{0}}, {"bytes", std::uint64_t{0}}};  // the three forms of split count together
    entry["count"] = summary.records[type] + entry["count"].get<std::uint64_t>();
    entry["bytes"] = summary.bytes[type] + entry["bytes"].get<std::uint64_t>();
  }
  json["depth"] = summary.depth;
  json["frames"] = summary.frames;
  json["bytes"] = summary.file_bytes;
  return json_text(json);
}

// Record by record, for certificates of any length; the page has the tree.
int inspect_certificate(const InspectOptions& options) {
  auto reader = certificate::Reader::open(options.file);
  if (!reader)
    return refuse(kInspectSchema, options.json, recognised(in_file(reader.rejection(), options.file), options.file, FileKind::certificate));
  if (!options.out.empty()) {
    const Outcome<views::Sheet> sheet = views::sheet_of_certificate(options.file);
    if (!sheet) return refuse(kInspectSchema, options.json, sheet.rejection());
    if (!write_page(options, sheet.value())) return kExitUnwritten;
  }
  std::optional<Outcome<onnx::Model>> network;
  if (!options.network.empty()) network = queries::import_model_file(existing(options.network), options.limits);
  if (network && !*network) return refuse(kInspectSchema, options.json, network->rejection());
  const bool text = options.json != "-";
  const std::string header = certificate::header_text(reader.value()->header());
  if (text) std::printf("%s\n", header.c_str());
  const auto line = [](const std::string& record) { std::printf("%s\n", record.c_str()); };
  auto summary = certificate::dump(*reader.value(), text && !options.summary_only ? std::function<void(const std::string&)>(line) : nullptr,
                                   network ? &network->value().graph : nullptr);
  if (!summary) return refuse(kInspectSchema, options.json, in_file(summary.rejection(), options.file));
  if (text) std::fputs(certificate::summary_text(summary.value()).c_str(), stdout);
  return write_json(options.json, certificate_json(options.file, reader.value()->header(), summary.value())) ? kExitYes : kExitUnwritten;
}

}  // namespace

// By what the file holds; by its name where that says nothing.
int inspect(const InspectOptions& named) {
  InspectOptions options = named;
  if (!options.numbers.empty()) return show(options, views::sheet_of_numbers(options.numbers));
  options.file = existing(named.file);
  options.program = this_program();
  limit_memory(check::memory_rule(options.limits).most);
  const std::string& file = options.file;
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    return usage("inspect", file + " is a folder; `assay check FOLDER` checks the run in it, `assay report FOLDER -o PAGE.html` shows it");
  const FileKind kind = kind_of_file(file);
  if (kind == FileKind::certificate) return inspect_certificate(options);
  if (kind == FileKind::statement) return show(options, views::sheet_of_statement(options));
  if (kind == FileKind::trace) return show(options, views::sheet_of_trace(options));
  if (kind == FileKind::safetensors || kind == FileKind::npz || kind == FileKind::npy)
    return show(options, views::sheet_of_arrays(options));
  if (kind == FileKind::onnx || file.ends_with(".onnx") || file.ends_with(".onnx.gz")) return show(options, views::sheet_of_model(options));
  if (kind == FileKind::vnnlib || file.ends_with(".vnnlib") || file.ends_with(".vnnlib.gz"))
    return show(options, views::sheet_of_property(options));
  if (file.ends_with(".csv")) return show(options, views::sheet_of_log(options));
  return inspect_certificate(options);
}

}  // namespace assay::cli
