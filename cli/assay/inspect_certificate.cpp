#include "cli/assay/inspect_certificate.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/file_kind.h"
#include "certificates/edit/dump.h"
#include "certificates/edit/numbers.h"
#include "certificates/edit/walk.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "kernel/floats/named_models.h"
#include "kernel/relax/box.h"
#include "semantics/statement/words.h"

namespace assay::cli {
namespace {

using certificate::Record;

std::string box_end(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

// The splits around a record, by the records before it.
struct Splits : certificate::StepsAlike<Splits> {
  std::vector<logic::Literal> around;
  void begin_group(const Record&) { around.clear(); }
  void end_group(const Record&) { around.clear(); }
  void split(const Record& record) { around.push_back(record.at_most()); }
  void next(const Record&) {
    if (!around.empty()) around.back().at_least = true;
  }
  void done(const Record&) {
    if (!around.empty()) around.pop_back();
  }
  static void witness(const Record&) {}
  static void step(const Record&) {}
};

// What is shown of a certificate beside its records: numbers, and by a walk through the proof boxes and refused steps.
class View {
 public:
  explicit View(const InspectOptions& options) : options_(options) {
    has_numbers_ =
        options.step > 0 || std::ranges::any_of(options.show, [](const std::string& one) { return one == "values" || one == "all"; });
  }

  // Reads the model, and the property if there is one.
  Outcome<Done> load(const certificate::Header& header) {
    if (options_.network.empty()) return Done{};
    const std::string network = existing(options_.network);
    if (options_.property.empty()) {
      auto model = queries::import_model_file(network, options_.limits);
      if (!model) return model.rejection();
      graph_ = std::make_shared<const Graph>(std::move(model).value().graph);
      return Done{};
    }
    check::LoadOptions load;
    load.limits = options_.limits;
    if (auto named = floats::semantics_named(header.semantics)) load.semantics = std::move(named).value();
    auto loaded = queries::load_files(network, existing(options_.property), load);
    if (!loaded) return loaded.rejection();
    problem_ = loaded.value().problem;
    graph_ = std::shared_ptr<const Graph>(problem_, &problem_->graph());
    const auto bytes = check::file_bytes(options_.file);
    const auto limits = check::replay_limits(loaded.value(), options_.limits, bytes);
    walk_.emplace(problem_, std::min(limits.work + limits.work_per_byte * static_cast<double>(bytes), limits.most_work));
    is_foreign_ = header.digest != problem_->digest();
    return Done{};
  }

  [[nodiscard]] const Graph* graph() const { return graph_.get(); }
  [[nodiscard]] bool is_foreign() const { return is_foreign_; }
  [[nodiscard]] bool has_more() const { return has_numbers_ || walk_; }
  [[nodiscard]] Json& steps() { return steps_; }

  // The lines below the line of a record. Takes the record.
  std::vector<std::string> below(const Record& record) {
    const bool is_shown = options_.step == 0 || options_.step == record.number;
    std::vector<std::string> lines;
    Json json = {
        {"step", record.number}, {"byte", record.offset}, {"record", to_string(record.type)}, {"text", certificate::record_text(record)}};
    if (is_shown && has_numbers_) add_numbers(record, lines, json);
    if (options_.step == record.number) add_branch(lines, json);
    visit(record, splits_);
    if (walk_) {
      if (const auto taken = walk_->take(record); !taken) {
        json["refused"] = taken.rejection().to_text();
        lines.push_back("refused: " + taken.rejection().to_text());
      }
    }
    if (is_shown && has_more() && !options_.json.empty()) steps_.push_back(std::move(json));
    return lines;
  }

 private:
  static void add_numbers(const Record& record, std::vector<std::string>& lines, Json& json) {
    json["numbers"] = Json::array();
    for (const certificate::Numbers& one : certificate::numbers_of(record)) {
      lines.push_back(certificate::numbers_text(one));
      json["numbers"].push_back({{"name", one.name}, {"values", one.texts.empty() ? Json(one.values) : Json(one.texts)}});
    }
  }

  // The splits around the step, and the boxes in force before it.
  void add_branch(std::vector<std::string>& lines, Json& json) const {
    json["splits"] = Json::array();
    for (const logic::Literal& one : splits_.around) {
      json["splits"].push_back(
          {{"node", one.node}, {"element", one.element}, {"half", one.at_least ? ">=" : "<="}, {"threshold", one.threshold}});
      const std::string node = graph_ ? statement::at(*graph_, one.node, one.element)
                                      : "node " + std::to_string(one.node) + ", element " + std::to_string(one.element);
      lines.push_back("where " + node + (one.at_least ? " >= " : " <= ") + box_end(one.threshold));
    }
    if (!walk_ || walk_->scope() == nullptr) return;
    json["boxes"] = Json::array();
    for (NodeId node = 0; node < graph_->nodes.size(); ++node) {
      if (problem_->is_constant(node) || !walk_->scope()->has_box(node)) continue;
      const relax::Box& box = walk_->scope()->box(node);
      json["boxes"].push_back({{"node", node}, {"name", graph_->node(node).name}, {"lo", box.lo}, {"hi", box.hi}});
      for (std::size_t i = 0; i < box.lo.size(); ++i)
        lines.push_back("box of " + statement::at(*graph_, node, i) + ": [" + box_end(box.lo[i]) + ", " + box_end(box.hi[i]) + "]");
    }
  }

  const InspectOptions& options_;
  bool has_numbers_ = false, is_foreign_ = false;
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const logic::Problem> problem_;
  std::optional<certificate::Walk> walk_;
  Splits splits_;
  Json steps_ = Json::array();
};

std::string certificate_json(const std::string& file, const certificate::Header& header, const certificate::Summary* summary, View& view) {
  Json json = opened(kInspectSchema);
  json["file"] = file;
  json["kind"] = "certificate";
  json["format"] = header.version;
  json["semantics"] = header.semantics;
  json["statement_digest"] = statement::to_hex(header.digest);
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
int inspect_step(const InspectOptions& options, certificate::Reader& reader, View& view) {
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
  View view(options);
  if (auto loaded = view.load(reader.value()->header()); !loaded) return refuse(kInspectSchema, options.json, loaded.rejection());
  const bool text = options.json != "-";
  if (text) std::printf("%s\n", certificate::header_text(reader.value()->header()).c_str());
  if (text && view.is_foreign()) std::printf("note: the certificate proves another statement than these files make\n");
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
