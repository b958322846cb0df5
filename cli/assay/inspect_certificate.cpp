#include "cli/assay/inspect_certificate.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/queries/file_kind.h"
#include "app/views/certificate_steps.h"
#include "certificates/edit/dump.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "semantics/statement/words.h"

namespace assay::cli {
namespace {

using certificate::Record;
using views::CertificateSteps;

constexpr const char* kForeign = "the certificate proves another statement than these files make";

std::string certificate_json(const std::string& file, const certificate::Header& header, const certificate::Summary* summary,
                             CertificateSteps& view) {
  Json json = opened(kInspectSchema);
  json["file"] = file;
  json["kind"] = "certificate";
  json["format"] = header.version;
  json["semantics"] = header.semantics;
  json["statement_digest"] = statement::to_hex(header.digest);
  if (view.is_foreign()) json["note"] = {kForeign};
  if (view.has_more()) json["steps"] = std::move(view.steps());
  if (summary == nullptr) return json_text(json);
  json["records"] = Json::object();
  for (std::size_t type = 1; type <= certificate::kRecordTypes; ++type) {
    if (summary->records[type] == 0) continue;
    Json& entry = json["records"][to_string(static_cast<certificate::RecordType>(type))];
    if (entry.is_null()) entry = {{"count", std::uint64_t{0}}, {"bytes", std::uint64_t{0}}};  // the three forms of split count together
    entry["count"] = summary->records[type] + entry["count"].get<std::uint64_t>();
    entry["bytes"] = summary->bytes[type] + entry["bytes"].get<std::uint64_t>();
  }
  json["depth"] = summary->depth;
  json["frames"] = summary->frames;
  json["bytes"] = summary->file_bytes;
  return json_text(json);
}

// One step, and what a checker has there.
int inspect_step(const InspectOptions& options, certificate::Reader& reader, CertificateSteps& view) {
  std::uint64_t steps = 0;
  while (true) {
    const auto next = reader.next(view.graph());
    if (!next) return refuse(kInspectSchema, options.json, in_file(next.rejection(), options.file));
    if (next.value() == nullptr)
      return refuse(kInspectSchema, options.json,
                    {Rejection::Kind::malformed, "inspect.step", options.file, "a step from 1 to " + std::to_string(steps),
                     std::to_string(options.step), "count the lines of `assay inspect` after the first one"});
    const Record& record = *next.value();
    steps = record.number;
    const std::vector<std::string> lines = view.below(record);
    if (record.number != options.step) continue;
    if (options.json != "-") {
      std::printf("step %llu at byte %llu: %s\n", static_cast<unsigned long long>(record.number),
                  static_cast<unsigned long long>(record.offset), certificate::record_text(record).c_str());
      for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
    }
    return write_json(options.json, certificate_json(options.file, reader.header(), nullptr, view)) ? kExitYes : kExitUnwritten;
  }
}

std::optional<Rejection> wrong_use(const InspectOptions& options) {
  for (const std::string& name : options.show) {
    if (name != "values" && name != "all")
      return Rejection{Rejection::Kind::malformed,
                       "inspect.table",
                       name,
                       "values, the only table of a certificate's text",
                       name,
                       "--show values prints the numbers of each record, and -o FILE writes a page with tables"};
  }
  return std::nullopt;
}

}  // namespace

int inspect_certificate(const InspectOptions& options) {
  if (const auto wrong = wrong_use(options)) return refuse(kInspectSchema, options.json, *wrong);
  auto reader = certificate::Reader::open(options.file);
  if (!reader)
    return refuse(kInspectSchema, options.json, recognised(in_file(reader.rejection(), options.file), options.file, FileKind::certificate));
  if (!options.out.empty()) {
    const Outcome<views::Sheet> sheet = views::sheet_of_certificate(options.file);
    if (!sheet) return refuse(kInspectSchema, options.json, sheet.rejection());
    if (!write_file(options.out, views::page_of(sheet.value(), kInspectSchema).html())) return kExitUnwritten;
  }
  CertificateSteps view(
      {options.file, options.network, options.property, options.limits, options.step,
       options.step > 0 || std::ranges::any_of(options.show, [](const std::string& one) { return one == "values" || one == "all"; })});
  if (auto loaded = view.load(reader.value()->header()); !loaded) return refuse(kInspectSchema, options.json, loaded.rejection());
  const bool text = options.json != "-";
  if (text) std::printf("%s\n", certificate::header_text(reader.value()->header()).c_str());
  if (text && view.is_foreign()) std::printf("note: %s\n", kForeign);
  if (options.step > 0) return inspect_step(options, *reader.value(), view);
  const auto line = [text](const std::string& record) {
    if (text) std::printf("%s\n", record.c_str());
  };
  const auto below = [&view](const Record& record) { return view.below(record); };
  const bool has_lines = (text || view.has_more()) && !options.summary_only;
  auto summary = certificate::dump(*reader.value(), has_lines ? std::function<void(const std::string&)>(line) : nullptr, view.graph(),
                                   view.has_more() ? std::function<std::vector<std::string>(const Record&)>(below) : nullptr);
  if (!summary) return refuse(kInspectSchema, options.json, in_file(summary.rejection(), options.file));
  if (text) std::fputs(certificate::summary_text(summary.value()).c_str(), stdout);
  return write_json(options.json, certificate_json(options.file, reader.value()->header(), &summary.value(), view)) ? kExitYes
                                                                                                                    : kExitUnwritten;
}

}  // namespace assay::cli
