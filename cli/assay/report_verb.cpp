// `assay report`: a run, a trace or a certificate as a page.
#include <cstdio>
#include <filesystem>

#include "app/runs/report.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/report_pages.h"

namespace assay::cli {
namespace {

constexpr const char* kReportSchema = "assay.report-verb/1";

Outcome<ReportPage> page_of(const ReportOptions& options) {
  if (std::filesystem::is_directory(options.input)) return page_of_run(options);
  const FileKind kind = kind_of_file(options.input);
  return kind == FileKind::trace || kind == FileKind::safetensors ? page_of_trace(options) : page_of_certificate(options);
}

bool write(const std::string& path, const pages::Json& json) {
  return path.empty() || write_file(path, json.dump(1, ' ', false, pages::Json::error_handler_t::replace) + "\n");
}

int report_input(const ReportOptions& options) {
  const Outcome<ReportPage> page = page_of(options);
  if (is_interrupted()) return refuse(kReportSchema, options.json, interruption());
  if (!page) return refuse(kReportSchema, options.json, page.rejection());
  if (!options.model_explorer.empty() && page.value().model_explorer.is_null())
    return refuse(kReportSchema, options.json,
                  {Rejection::Kind::unsupported, "report.graph", options.input, "a trace, or a certificate with its model and property",
                   "no graph", "leave --model-explorer out"});
  conclude();
  if (!write_file(options.out, page.value().html) || !write(options.model_explorer, page.value().model_explorer) ||
      !write(options.perfetto, pages::trace_events(page.value().slices)))
    return kExitUnwritten;
  pages::Json summary{{"schema", kReportSchema}, {"out", options.out}, {"bytes", page.value().html.size()}};
  summary.update(page.value().summary);
  std::string words;
  for (const auto& [name, value] : page.value().summary.items()) words += ", " + name + " " + pages::cell_text(value);
  if (options.json != "-") std::printf("%s: %zu bytes%s\n", options.out.c_str(), page.value().html.size(), words.c_str());
  return write_json(options.json, summary.dump(2)) ? kExitYes : kExitUnwritten;
}

}  // namespace

Outcome<ReportPage> page_of_run(const ReportOptions& options) {
  runs::PageRequest request;
  request.check.model = options.model;
  request.check.data = options.data;
  request.check.labels = options.labels;
  request.check.jobs = options.jobs;
  request.check.load.limits = options.limits;
  request.images = options.images;
  request.version = version_text("assay", libraries());
  auto semantics = semantics_of_run(options.input);
  if (!semantics) return semantics.rejection();
  request.check.load.semantics = semantics.value();
  auto page = runs::report_page(options.input, std::move(request), interruption_token());
  if (!page) return page.rejection();
  auto slices = options.perfetto.empty() ? std::vector<pages::Slice>() : runs::time_slices(options.input);
  const runs::RunVerdict found = runs::verdict_of(page.value().check);
  return ReportPage{std::move(page.value().html),
                    {{"verdict", found == runs::RunVerdict::rejected   ? "rejected"
                                 : found == runs::RunVerdict::accepted ? "accepted"
                                                                       : "declined"},
                     {"results", page.value().check.results},
                     {"accepted", page.value().check.accepted}},
                    std::move(slices),
                    {}};
}

int report(const ReportOptions& options) {
  return within_memory(kReportSchema, options.json, options.input, options.limits, [&] { return report_input(options); });
}

}  // namespace assay::cli
