#include "app/views/certificate_steps.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/file_kind.h"
#include "certificates/edit/dump.h"
#include "certificates/edit/numbers.h"
#include "kernel/floats/named_models.h"
#include "kernel/relax/box.h"
#include "semantics/statement/words.h"

namespace assay::views {
namespace {

using certificate::Record;
using Json = nlohmann::ordered_json;

std::string box_end(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void add_numbers(const Record& record, std::vector<std::string>& lines, Json& json) {
  json["numbers"] = Json::array();
  for (const certificate::Numbers& one : certificate::numbers_of(record)) {
    lines.push_back(certificate::numbers_text(one));
    json["numbers"].push_back({{"name", one.name}, {"values", one.texts.empty() ? Json(one.values) : Json(one.texts)}});
  }
}

}  // namespace

Outcome<Done> CertificateSteps::load(const certificate::Header& header) {
  if (request_.network.empty()) return Done{};
  const std::string network = check::existing(request_.network);
  if (request_.property.empty()) {
    auto model = queries::import_model_file(network, request_.limits);
    if (!model) return model.rejection();
    graph_ = std::make_shared<const Graph>(std::move(model).value().graph);
    return Done{};
  }
  check::LoadOptions load;
  load.limits = request_.limits;
  if (auto named = floats::semantics_named(header.semantics)) load.semantics = std::move(named).value();
  auto loaded = queries::load_files(network, check::existing(request_.property), load);
  if (!loaded) return loaded.rejection();
  problem_ = loaded.value().problem;
  graph_ = std::shared_ptr<const Graph>(problem_, &problem_->graph());
  const auto bytes = check::file_bytes(request_.file);
  const auto limits = check::replay_limits(loaded.value(), request_.limits, bytes);
  walk_.emplace(problem_, std::min(limits.work + limits.work_per_byte * static_cast<double>(bytes), limits.most_work));
  is_foreign_ = header.digest != problem_->digest();
  return Done{};
}

std::vector<std::string> CertificateSteps::below(const Record& record) {
  const bool is_shown = request_.step == 0 || request_.step == record.number;
  std::vector<std::string> lines;
  Json json = {
      {"step", record.number}, {"byte", record.offset}, {"record", to_string(record.type)}, {"text", certificate::record_text(record)}};
  if (is_shown && request_.numbers) add_numbers(record, lines, json);
  if (request_.step == record.number) add_branch(lines, json);
  visit(record, splits_);
  if (walk_) {
    if (const auto taken = walk_->take(record); !taken) {
      json["refused"] = taken.rejection().to_text();
      lines.push_back("refused: " + taken.rejection().to_text());
    }
  }
  if (is_shown && has_more()) steps_.push_back(std::move(json));
  return lines;
}

// The splits around the step, and the boxes in force before it.
void CertificateSteps::add_branch(std::vector<std::string>& lines, Json& json) const {
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

}  // namespace assay::views
