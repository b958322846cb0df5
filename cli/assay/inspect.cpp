// `assay inspect`: what a file holds, as text, as JSON and as a page.
#include "app/views/sheet.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "api/check/cost.h"
#include "app/pages/exchange.h"
#include "app/queries/file_kind.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/inspect_certificate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/options.h"
#include "cli/assay/report.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

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
