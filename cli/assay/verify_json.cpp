// The JSON of `assay verify`.
#include "api/check/cost.h"
#include "app/queries/decision_json.h"
#include "cli/assay/json.h"
#include "cli/assay/verify_text.h"

namespace assay::cli {
namespace {

Json options_json(const VerifyOptions& options) {
  return {{"timeout", options.timeout},     {"threads", options.threads},   {"seed", options.seed},
          {"branching", options.branching}, {"attack", !options.no_attack}, {"memory", memory_rule(options.limits).most}};
}

}  // namespace

std::string to_json(const VerifyReport& report) {
  Json json = opened("assay.verify/1");
  const queries::Decision& decision = report.decision;
  const search::Result& result = decision.result;
  json["answer"] = report.is_refused ? "" : search::word_of(result.answer);
  json["reason"] = result.reason;
  json["exit"] = report.exit;
  json["model"] = report.model;
  json["property"] = report.property;
  json["proof"] = decision.proof_bytes == 0 ? Json(nullptr) : Json{{"file", report.proof}, {"bytes", decision.proof_bytes}};
  if (decision.trim)
    json["trim"] = {{"trimmed", decision.trim->report.trimmed},
                    {"reason", decision.trim->report.reason},
                    {"bytes_before", decision.trim->report.bytes_before},
                    {"cpu_seconds", decision.trim->seconds}};
  json["statistics"] = queries::statistics_json(result.statistics);
  json["statistics"].update({{"load_seconds", report.load_seconds}, {"total_seconds", report.total_seconds}});
  if (report.options != nullptr) json["options"] = options_json(*report.options);
  if (report.problem) {
    json["statement"] = queries::statement_json(*report.problem);
    json["statement"]["claims"] = queries::claims_json(*report.problem, report.options != nullptr && is_full(report.options->statement));
    json["notes"] = report.notes;
  }
  queries::add_decision(json, decision, report.proof, report.options != nullptr && is_full(report.options->statement));
  if (report.why) json["rejection"] = rejection(*report.why);
  return json_text(json);
}

}  // namespace assay::cli
