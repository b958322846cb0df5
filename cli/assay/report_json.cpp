// What the verbs report, as JSON; values that are read or evaluated stand in values_json.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/check/cost.h"
#include "api/check/vacuity.h"
#include "app/queries/verify.h"
#include "cli/assay/report.h"
#include "kernel/logic/theorem_text.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 8> kLists{"input", "output",   "opset", "sha256",
                                                 "note",  "metadata", "part",  "column"};  // facts of which a file may have several

std::string hex(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

Json double_json(double value) {
  Json object;
  object["value"] = std::isfinite(value) ? Json(value) : Json(nullptr);
  object["hex"] = hex(value);
  return object;
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(double_json(value));
  return list;
}

const char* kind_word(Rejection::Kind kind) {
  switch (kind) {
    case Rejection::Kind::rejected:
      return "rejected";
    case Rejection::Kind::declined:
      return "declined";
    case Rejection::Kind::malformed:
      return "malformed";
    case Rejection::Kind::unsupported:
      return "unsupported";
  }
  return "";
}

Json rejection(const Rejection& why) {
  return {{"kind", kind_word(why.kind)}, {"code", why.code},   {"place", why.place},
          {"required", why.required},    {"found", why.found}, {"advice", why.advice}};
}

Json opened(const std::string& schema) { return {{"schema", schema}, {"version", ASSAY_VERSION}}; }

// Text from files may hold any bytes; they come out as U+FFFD instead of an exception.
std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

Json statement(const kernel::Problem& problem) {
  Json json;
  json["digest"] = kernel::to_hex(problem.digest());
  json["graph_digest"] = kernel::to_hex(kernel::graph_digest(problem.graph()));
  json["graph"] = summary(problem.graph());
  json["semantics"] = to_string(problem.statement().semantics);
  json["cases"] = problem.statement().property.cases.size();
  json["groups"] = problem.group_count();
  for (const kernel::Source& source : problem.statement().sources)
    json["sources"].push_back({{"role", source.role}, {"name", source.name}, {"sha256", kernel::to_hex(source.sha256)}});
  return json;
}

Json tensors(const Graph& graph, const std::vector<NodeId>& ids, const std::vector<std::string>& names) {
  Json list = Json::array();
  for (std::size_t i = 0; i < ids.size(); ++i) list.push_back({{"name", names[i]}, {"shape", graph.node(ids[i]).shape}});
  return list;
}

Json row_json(const kernel::Row& row) {
  Json terms = Json::array();
  for (const kernel::Term& term : row.terms)
    terms.push_back({{"side", term.variable.side == kernel::Variable::Side::input ? "input" : "output"},
                     {"tensor", term.variable.tensor},
                     {"element", term.variable.element},
                     {"coefficient", term.coefficient.to_decimal()}});
  return {{"terms", terms}, {"relation", row.strict ? "<" : "<="}, {"bound", row.bound.to_decimal()}};
}

// All that another program needs to replay the witness: the point and its box, the tensors, and every case over the box.
Json witness_json(const kernel::Theorem& theorem) {
  const kernel::Problem& problem = *theorem.problem();
  const Graph& graph = problem.graph();
  const kernel::Witness& witness = theorem.witness();
  const std::vector<kernel::Case>& cases = problem.statement().property.cases;
  const kernel::InputBox& box = *cases[witness.case_index].box;
  Json json{{"case", witness.case_index}, {"inputs", Json::array()}, {"outputs", Json::array()}};
  for (std::size_t i = 0; i < witness.inputs.size(); ++i) {
    const Rational& input = witness.inputs[i];
    json["inputs"].push_back({{"exact", input.to_decimal()},
                              {"value", input.double_down()},
                              {"hex", hex(input.double_down())},
                              {"lo", box.lo[i].to_decimal()},
                              {"hi", box.hi[i].to_decimal()}});
  }
  for (const Interval& output : theorem.outputs())
    json["outputs"].push_back({{"lo", double_json(output.lo())}, {"hi", double_json(output.hi())}});
  json["input_tensors"] = tensors(graph, graph.inputs, graph.input_names);
  json["output_tensors"] = tensors(graph, graph.outputs, graph.output_names);
  json["cases"] = Json::array();
  for (const std::uint32_t index : problem.group_cases(problem.group_of_case(witness.case_index))) {
    Json rows = Json::array();
    for (const kernel::Row& row : cases[index].rows) rows.push_back(row_json(row));
    json["cases"].push_back({{"case", index}, {"rows", std::move(rows)}});
  }
  return json;
}

Json float_json(const queries::FloatRun& run) {
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

Json order_json(const queries::OrderRun& run) {
  Json json{{"order", run.order}, {"outputs", Json::array()}};
  for (const double output : run.outputs) json["outputs"].push_back(double_json(output));
  return json;
}

// The point at which executions differ, and two of them.
Json disputed_json(const kernel::Witness& point, const queries::OrderRuns& runs) {
  Json json{{"case", point.case_index}, {"inputs", Json::array()}, {"orders_tried", runs.tried}};
  for (const Rational& x : point.inputs) json["inputs"].push_back(x.to_string());
  if (runs.violating) json["violating"] = order_json(*runs.violating);
  if (runs.keeping) json["keeping"] = order_json(*runs.keeping);
  return json;
}

// What every case claims, in full: for each box the exact bounds of all inputs, one tensor after the other, and for each case the rows of its
// unsafe set. Left out where there are more numbers than that, unless all was asked for.
Json claims_json(const kernel::Problem& problem, bool all) {
  constexpr std::size_t kMostNumbers = 1 << 16;
  const std::vector<kernel::Case>& cases = problem.statement().property.cases;
  std::size_t numbers = 0;
  for (std::size_t g = 0; g < problem.group_count(); ++g) numbers += 2 * cases[problem.group_cases(g)[0]].box->lo.size();
  for (const kernel::Case& one : cases)
    for (const kernel::Row& row : one.rows) numbers += row.terms.size() + 1;
  if (numbers > kMostNumbers && !all) return {{"left_out", std::to_string(numbers) + " numbers; --statement full writes them"}};
  Json json{{"input_tensors", tensors(problem.graph(), problem.graph().inputs, problem.graph().input_names)},
            {"output_tensors", tensors(problem.graph(), problem.graph().outputs, problem.graph().output_names)},
            {"boxes", Json::array()},
            {"cases", Json::array()}};
  for (std::size_t g = 0; g < problem.group_count(); ++g) {
    const kernel::InputBox& box = *cases[problem.group_cases(g)[0]].box;
    Json bounds = Json::array();
    for (std::size_t i = 0; i < box.lo.size(); ++i) bounds.push_back({{"lo", box.lo[i].to_decimal()}, {"hi", box.hi[i].to_decimal()}});
    json["boxes"].push_back(std::move(bounds));
  }
  for (std::size_t index = 0; index < cases.size(); ++index) {
    Json rows = Json::array();
    for (const kernel::Row& row : cases[index].rows) rows.push_back(row_json(row));
    json["cases"].push_back(
        {{"case", index}, {"box", problem.group_of_case(static_cast<std::uint32_t>(index))}, {"rows", std::move(rows)}});
  }
  return json;
}

Json progress_json(const search::Progress& progress) {
  return {
      {"phase", progress.phase}, {"closed", progress.closed}, {"open", progress.open}, {"worst_bound", double_json(progress.worst_bound)}};
}

Json unfinished_json(const search::Unfinished& unfinished) {
  Json json{{"closed_share", double_json(unfinished.closed_share)}, {"cases", Json::array()}};
  const auto left = queries::seconds_left(unfinished);
  json["seconds_left"] = left ? Json(*left) : Json(nullptr);
  for (const search::Unfinished::Left& one : unfinished.cases)
    json["cases"].push_back({{"case", one.case_index}, {"bound", double_json(one.bound)}});
  return json;
}

Json scaled_json(const queries::Scaled& scaled, const std::string& proof) {
  Json json{{"scale", scaled.scale.to_decimal()}, {"tries", scaled.tries}, {"seconds", scaled.seconds}, {"proof", nullptr}};
  json["digest"] = scaled.problem ? Json(kernel::to_hex(scaled.problem->digest())) : Json(nullptr);
  if (scaled.bytes > 0)
    json["proof"] = {{"statement", queries::scaled_statement(proof)}, {"file", queries::scaled_proof(proof)}, {"bytes", scaled.bytes}};
  return json;
}

Json theorem_json(const kernel::Theorem& theorem, const StatementChoice& shown) {
  Json json;
  const bool sat = theorem.kind() == kernel::Theorem::Kind::satisfiable;
  json["kind"] = sat ? "satisfiable" : "unsatisfiable";
  const std::string why = check::vacuity(theorem);
  json["vacuous"] = !why.empty();
  if (!why.empty()) json["vacuous_since"] = why;
  json["assumptions"] = theorem.assumptions();
  json["text"] = kernel::theorem_text(theorem, is_full(shown));
  if (sat) json["witness"] = witness_json(theorem);
  return json;
}

Json options_json(const VerifyOptions& options) {
  return {{"timeout", options.timeout},     {"threads", options.threads},   {"seed", options.seed},
          {"branching", options.branching}, {"attack", !options.no_attack}, {"memory", memory_rule(options.limits).most}};
}

Json splits_json(const search::Statistics& s) {
  Json json = Json::array();
  if (s.splits_inputs) json.push_back("inputs");
  if (s.splits_activations) json.push_back("activations");
  return json;
}

Json facts_of(const std::string& schema, const Facts& facts) {
  Json json = opened(schema);
  for (const auto& [name, value] : facts) {
    if (std::ranges::find(kLists, name) != kLists.end())
      json[name].push_back(value);
    else
      json[name] = value;
  }
  return json;
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
  const search::Statistics& s = result.statistics;
  json["statistics"] = {{"wall_seconds", s.wall_seconds},
                        {"cpu_seconds", s.cpu_seconds},
                        {"attack_seconds", s.attack_seconds},
                        {"root_seconds", s.root_seconds},
                        {"branching_seconds", s.branching_seconds},
                        {"nodes", s.nodes},
                        {"leaves", s.leaves},
                        {"attack_steps", s.attack_steps},
                        {"splits", splits_json(s)},
                        {"free_inputs", s.free_inputs},
                        {"load_seconds", report.load_seconds},
                        {"total_seconds", report.total_seconds}};
  if (report.options != nullptr) json["options"] = options_json(*report.options);
  if (report.problem) {
    json["statement"] = statement(*report.problem);
    json["statement"]["claims"] = claims_json(*report.problem, report.options != nullptr && is_full(report.options->statement));
    json["notes"] = report.notes;
  }
  if (decision.progress) json["progress"] = progress_json(*decision.progress);
  if (result.unfinished) json["unfinished"] = unfinished_json(*result.unfinished);
  if (decision.scaled) json["scaled"] = scaled_json(*decision.scaled, report.proof);
  if (result.theorem) json["theorem"] = theorem_json(*result.theorem, report.options == nullptr ? "" : report.options->statement);
  if (decision.float_run) json["float32"] = float_json(*decision.float_run);
  if (result.nearest) json["disputed"] = disputed_json(*result.nearest, decision.orders);
  if (report.why) json["rejection"] = rejection(*report.why);
  return text_of(json);
}

std::string to_json(const CheckReport& report, const CheckOptions& options) {
  Json json = opened("assay.check/1");
  json["verdict"] = check::word(report.verdict);
  json["exit"] = exit_code(report);
  if (options.files[1].empty()) {
    json["statement_file"] = options.files[0];
  } else {
    json["model"] = options.files[0];
    json["property"] = options.files[1];
  }
  json["certificate"] = {{"file", options.files[2]}, {"bytes", report.certificate_bytes}};
  json["exact"] = options.exact;
  json["statistics"] = {{"cpu_seconds", report.cpu_seconds},
                        {"load_cpu_seconds", report.load_seconds},
                        {"steps", report.statistics.steps},
                        {"splits", report.statistics.splits},
                        {"conclusions", report.statistics.conclusions},
                        {"depth", report.statistics.depth},
                        {"multiply_adds", report.statistics.work},
                        {"budget", report.statistics.budget},
                        {"branch_bytes", report.statistics.memory}};
  if (report.theorem) {
    json["statement"] = statement(*report.theorem->problem());
    json["notes"] = report.notes;
    json["theorem"] = theorem_json(*report.theorem, options.statement);
  }
  if (report.why) json["rejection"] = rejection(*report.why);
  return text_of(json);
}

std::string bounds_json(const BoundsOptions& options, const std::vector<std::string>& notes,
                        const std::vector<queries::GroupBounds>& groups, const std::optional<Rejection>& why) {
  Json json = opened("assay.bounds/1");
  json["model"] = options.model;
  json["property"] = options.property;
  json["method"] = options.method;
  json["notes"] = notes;
  json["groups"] = Json::array();
  for (const queries::GroupBounds& group : groups) {
    Json entry{{"group", group.group},     {"cases", group.cases},  {"seconds", group.seconds}, {"cpu_seconds", group.cpu_seconds},
               {"stopped", group.stopped}, {"nodes", Json::array()}};
    for (const queries::NodeBounds& node : group.nodes)
      entry["nodes"].push_back({{"node", node.node},
                                {"op", node.op},
                                {"name", node.name},
                                {"shape", to_string(node.shape)},
                                {"output", node.output},
                                {"lo", numbers(node.lo)},
                                {"hi", numbers(node.hi)}});
    json["groups"].push_back(std::move(entry));
  }
  if (why) json["rejection"] = rejection(*why);
  return text_of(json);
}

std::string statement_json(const kernel::Problem& problem, const StatementOptions& options, std::uint64_t bytes) {
  Json json = opened("assay.statement/1");
  json["model"] = options.model;
  json["property"] = options.property;
  json["file"] = options.out;
  json["bytes"] = bytes;
  json["digest"] = kernel::to_hex(problem.digest());
  json["graph"] = kernel::to_hex(kernel::graph_digest(problem.graph()));
  return text_of(json);
}

std::string lint_json(const std::string& model, const std::vector<Rejection>& problems) {
  Json json = opened("assay.lint/1");
  json["model"] = model;
  json["supported"] = problems.empty();
  json["problems"] = Json::array();
  for (const Rejection& why : problems) json["problems"].push_back(rejection(why));
  return text_of(json);
}

std::string supports_json(const std::map<std::string, std::vector<std::string>>& answers) {
  Json json = opened("assay.supports/1");
  for (const auto& [question, lines] : answers) json["answers"][question] = lines;
  return text_of(json);
}

std::string certificate_json(const std::string& file, const certificate::Header& header, const certificate::Summary& summary) {
  Json json = opened("assay.inspect/1");
  json["file"] = file;
  json["kind"] = "certificate";
  json["format"] = header.version;
  json["semantics"] = header.semantics;
  json["statement_digest"] = kernel::to_hex(header.digest);
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
  return text_of(json);
}

std::string adjoint_json(const std::string& schema, const std::vector<OpAdjointness>& reports) {
  Json json = opened(schema);
  json["ops"] = Json::array();
  for (const OpAdjointness& report : reports) {
    Json cases = Json::array();
    for (const CaseAdjointness& each : report.cases) {
      Json one{{"name", each.name}, {"cpu_seconds", each.cpu_seconds}};
      if (each.outcome) {
        const kernel::Adjointness& found = each.outcome.value();
        one["method"] = method_words(found.method);
        one["points"] = found.points;
        one["entries"] = found.entries;
        one["kinks"] = found.kinks;
        one["directions"] = found.directions;
        if (found.method == kernel::AdjointMethod::probed) one["miss_log2"] = found.miss_log2;
      } else {
        one["rejection"] = rejection(each.outcome.rejection());
      }
      cases.push_back(one);
    }
    json["ops"].push_back({{"op", report.op}, {"verdict", report.verdict()}, {"cases", cases}});
  }
  return text_of(json);
}

std::string facts_json(const std::string& schema, const Facts& facts, const std::string& table, const std::vector<Facts>& rows) {
  Json json = facts_of(schema, facts);
  if (!table.empty()) json[table] = Json::array();
  for (const Facts& row : rows) {
    Json object;
    for (const auto& [name, value] : row) object[name] = value;
    json[table].push_back(std::move(object));
  }
  return text_of(json);
}

std::string sheet_json(const std::string& schema, const Facts& facts, const std::vector<pages::Table>& tables) {
  Json json = facts_of(schema, facts);
  for (const pages::Table& table : tables) {
    Json& list = json[table.name] = Json::array();
    for (const auto& row : table.rows) {
      Json object;
      for (std::size_t k = 0; k < row.size(); ++k) object[table.columns[k]] = row[k];
      list.push_back(std::move(object));
    }
  }
  return text_of(json);
}

std::string rejection_json(const std::string& schema, const Rejection& why) {
  Json json = opened(schema);
  json["exit"] = exit_code(why.kind);
  json["rejection"] = rejection(why);
  return text_of(json);
}

}  // namespace assay::cli
