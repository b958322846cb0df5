#include "app/queries/decision_json.h"

#include "app/queries/verify.h"

namespace assay::queries {
namespace {

Json float_json(const FloatRun& run) {
  Json json{{"run", run.not_run.empty()}, {"text", to_text(run)}};
  if (!run.not_run.empty()) return json;
  json["violates"] = run.violates;
  json["case"] = run.violates ? Json(run.case_index) : Json(nullptr);
  json["inside"] = run.inside;
  json["rounded_inputs"] = run.rounded_inputs;
  json["outputs"] = Json::array();
  for (const float output : run.outputs) json["outputs"].push_back(double_json(output));
  return json;
}

Json order_json(const OrderRun& run) {
  Json json{{"order", run.order}, {"outputs", Json::array()}};
  for (const double output : run.outputs) json["outputs"].push_back(double_json(output));
  return json;
}

// The point at which executions differ, and two of them.
Json disputed_json(const logic::Witness& point, const OrderRuns& runs) {
  Json json{{"case", point.case_index}, {"inputs", Json::array()}, {"orders_tried", runs.tried}};
  for (const Rational& x : point.inputs) json["inputs"].push_back(x.to_string());
  if (runs.violating) json["violating"] = order_json(*runs.violating);
  if (runs.keeping) json["keeping"] = order_json(*runs.keeping);
  return json;
}

Json progress_json(const search::Progress& progress) {
  return {
      {"phase", progress.phase}, {"closed", progress.closed}, {"open", progress.open}, {"worst_bound", double_json(progress.worst_bound)}};
}

Json unfinished_json(const search::Unfinished& unfinished) {
  Json json{{"closed_share", double_json(unfinished.closed_share)}, {"cases", Json::array()}};
  const auto left = seconds_left(unfinished);
  json["seconds_left"] = left ? Json(*left) : Json(nullptr);
  for (const search::Unfinished::Left& one : unfinished.cases)
    json["cases"].push_back({{"case", one.case_index}, {"bound", double_json(one.bound)}});
  return json;
}

Json scaled_json(const Scaled& scaled, const std::string& proof) {
  Json json{{"scale", scaled.scale.to_decimal()}, {"tries", scaled.tries}, {"seconds", scaled.seconds}, {"proof", nullptr}};
  json["digest"] = scaled.problem ? Json(statement::to_hex(scaled.problem->digest())) : Json(nullptr);
  if (scaled.bytes > 0) json["proof"] = {{"statement", scaled_statement(proof)}, {"file", scaled_proof(proof)}, {"bytes", scaled.bytes}};
  return json;
}

Json splits_json(const search::Statistics& s) {
  Json json = Json::array();
  if (s.splits_inputs) json.push_back("inputs");
  if (s.splits_activations) json.push_back("activations");
  return json;
}

}  // namespace

Json statistics_json(const search::Statistics& s) {
  return {{"wall_seconds", s.wall_seconds},
          {"cpu_seconds", s.cpu_seconds},
          {"attack_seconds", s.attack_seconds},
          {"root_seconds", s.root_seconds},
          {"branching_seconds", s.branching_seconds},
          {"nodes", s.nodes},
          {"leaves", s.leaves},
          {"attack_steps", s.attack_steps},
          {"splits", splits_json(s)},
          {"free_inputs", s.free_inputs}};
}

void add_decision(Json& json, const Decision& decision, const std::string& proof, bool full) {
  const search::Result& result = decision.result;
  if (decision.progress) json["progress"] = progress_json(*decision.progress);
  if (result.unfinished) json["unfinished"] = unfinished_json(*result.unfinished);
  if (decision.scaled) json["scaled"] = scaled_json(*decision.scaled, proof);
  if (result.theorem) json["theorem"] = theorem_json(*result.theorem, full);
  if (decision.float_run) json["float32"] = float_json(*decision.float_run);
  if (result.nearest) json["disputed"] = disputed_json(*result.nearest, decision.orders);
}

}  // namespace assay::queries
