// `assay report`: a run, a trace or a certificate as a page.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "app/runs/report.h"
#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/report.h"
#include "cli/assay/report_pages.h"
#include "cli/load.h"

namespace assay::cli {
namespace {

constexpr const char* kReportSchema = "assay.report-verb/1";

Outcome<ReportPage> page_of(const ReportOptions& options) {
  if (std::filesystem::is_directory(options.input)) return page_of_run(options);
  const FileKind kind = kind_of_file(options.input);
  if (kind == FileKind::onnx || kind == FileKind::vnnlib)
    return Rejection{Rejection::Kind::malformed,
                     "files.kind",
                     options.input,
                     "the folder of a run, a trace or a certificate",
                     kind == FileKind::onnx ? "an ONNX model" : "a VNN-LIB property",
                     "`assay report MODEL PROPERTY CERTIFICATE` shows a check of the three, `assay inspect` shows one file"};
  return kind == FileKind::trace || kind == FileKind::safetensors ? page_of_trace(options) : page_of_certificate(options);
}

// The files of one check, in any order, since each shows what it is: MODEL PROPERTY CERTIFICATE or STATEMENT CERTIFICATE.
void take_files(ReportOptions& options) {
  const bool is_one = options.files.size() == 1, has_model = options.files.size() == 3;
  if (is_one) options.input = options.files[0];
  bool fits = is_one || (options.model.empty() && options.property.empty());
  for (std::size_t i = 0; !is_one && fits && i < options.files.size(); ++i) {
    const std::string& path = options.files[i];
    const FileKind kind = kind_of_file(existing(path));
    const bool is_claim = kind == FileKind::vnnlib || kind == FileKind::statement;
    std::string& place = kind == FileKind::certificate ? options.input : is_claim ? options.property : options.model;
    fits = place.empty();
    place = path;
  }
  if (!fits || options.input.empty() || (!is_one && (options.property.empty() || options.model.empty() == has_model)))
    throw CLI::ValidationError("report", "name one INPUT, or the files of one check: MODEL PROPERTY CERTIFICATE, or STATEMENT CERTIFICATE");
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
  if (page.value().summary.value("verdict", "") == "not checked")
    std::fprintf(stderr, "assay report: without model and property nothing is checked; `assay report MODEL PROPERTY %s` checks it\n",
                 options.input.c_str());
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
  return ReportPage{std::move(page.value().html),
                    {{"verdict", runs::word(runs::verdict_of(page.value().check))},
                     {"results", page.value().check.results},
                     {"accepted", page.value().check.accepted}},
                    std::move(slices),
                    {}};
}

int report(const ReportOptions& options) {
  return within_memory(kReportSchema, options.json, options.input, options.limits, [&] { return report_input(options); });
}

void add_report(CLI::App& app, int& exit) {
  static ReportOptions options;
  CLI::App* verb =
      app.add_subcommand("report", "Check a run, a trace or a certificate, and write the result as one self-contained HTML page");
  verb->add_option("INPUT", options.files,
                   "the folder of a run, a trace, or a certificate; or the files of one check: MODEL PROPERTY CERTIFICATE")
      ->required();
  verb->add_option("-o,--out", options.out, "the page to write")->type_name("FILE")->capture_default_str();
  verb->add_option("--model", options.model,
                   "for a certificate: its model; for a trace: decide also whether it is a run of this model; for a run: the model,\n"
                   "if it has moved")
      ->type_name("FILE");
  verb->add_option("--property", options.property, "for a certificate: its property, or without --model its statement file")
      ->type_name("FILE");
  add_semantics(verb, options.semantics, "for a certificate: its semantics, as for check");
  refuse_wrapped(verb->add_option("--samples", options.samples,
                                  "for a certificate: number of points at which values of nodes are shown beside their bounds"),
                 kMostSamples)
      ->type_name("N")
      ->capture_default_str();
  CLI::Option* images = verb->add_option("--images", options.images, "for a run: number of items to show with their witnesses");
  refuse_wrapped(images)->type_name("N")->capture_default_str();
  verb->add_option("--data", options.data, "for a run: the data set, if it has moved")->type_name("FILE");
  verb->add_option("--labels", options.labels, "for a run: the labels, if they have moved")->type_name("FILE");
  verb->add_option("--perfetto", options.perfetto, "write timings to FILE as Chrome trace events, which ui.perfetto.dev shows")
      ->type_name("FILE");
  verb->add_option("--model-explorer", options.model_explorer,
                   "for a trace or a certificate: write the graph to FILE as JSON for Model Explorer")
      ->type_name("FILE");
  verb->add_option("--jobs", options.jobs,
                   "certificates of a run, or regions (recorded computations) of a trace, to judge at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_edits(verb, options.limits);
  add_memory(verb, options.limits, "memory that the run may take, e.g. 512MiB; default: 8GiB");
  add_json(verb, options.json);
  verb->callback([&exit, verb] {
    take_files(options);
    refuse_unread_by_report(*verb, options.input, !options.model.empty(), !options.property.empty());
    exit = report(options);
  });
}

}  // namespace assay::cli
