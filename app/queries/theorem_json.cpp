#include "app/queries/theorem_json.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "api/assay/check.h"
#include "api/check/vacuity.h"
#include "semantics/numbers/interval.h"

namespace assay::queries {
namespace {

std::string hex(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

Json tensors(const Graph& graph, const std::vector<NodeId>& ids, const std::vector<std::string>& names) {
  Json list = Json::array();
  for (std::size_t i = 0; i < ids.size(); ++i) list.push_back({{"name", names[i]}, {"shape", graph.node(ids[i]).shape}});
  return list;
}

Json row_json(const statement::Row& row) {
  Json terms = Json::array();
  for (const statement::Term& term : row.terms)
    terms.push_back({{"side", term.variable.side == statement::Variable::Side::input ? "input" : "output"},
                     {"tensor", term.variable.tensor},
                     {"element", term.variable.element},
                     {"coefficient", term.coefficient.to_decimal()}});
  return {{"terms", terms}, {"relation", row.strict ? "<" : "<="}, {"bound", row.bound.to_decimal()}};
}

// To replay the witness, another program needs the point and its box, the tensors, and every case over the box.
Json witness_json(const logic::Theorem& theorem) {
  const logic::Problem& problem = *theorem.problem();
  const Graph& graph = problem.graph();
  const logic::Witness& witness = theorem.witness();
  const std::vector<statement::Case>& cases = problem.statement().property.cases;
  const statement::InputBox& box = *cases[witness.case_index].box;
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
    for (const statement::Row& row : cases[index].rows) rows.push_back(row_json(row));
    json["cases"].push_back({{"case", index}, {"rows", std::move(rows)}});
  }
  return json;
}

}  // namespace

Json double_json(double value) {
  Json object;
  object["value"] = std::isfinite(value) ? Json(value) : Json(nullptr);
  object["hex"] = hex(value);
  return object;
}

Json statement_json(const logic::Problem& problem) {
  Json json;
  json["digest"] = statement::to_hex(problem.digest());
  json["graph_digest"] = statement::to_hex(problem.graph_digest());
  json["graph"] = summary(problem.graph());
  json["semantics"] = to_string(problem.statement().semantics);
  json["cases"] = problem.statement().property.cases.size();
  json["groups"] = problem.group_count();
  for (const statement::Source& source : problem.statement().sources)
    json["sources"].push_back({{"role", source.role}, {"name", source.name}, {"sha256", statement::to_hex(source.sha256)}});
  return json;
}

Json claims_json(const logic::Problem& problem, bool all) {
  constexpr std::size_t kMostNumbers = 1 << 16;
  const std::vector<statement::Case>& cases = problem.statement().property.cases;
  std::size_t numbers = 0;
  for (std::size_t g = 0; g < problem.group_count(); ++g) numbers += 2 * cases[problem.group_cases(g)[0]].box->lo.size();
  for (const statement::Case& one : cases)
    for (const statement::Row& row : one.rows) numbers += row.terms.size() + 1;
  if (numbers > kMostNumbers && !all) return {{"left_out", std::to_string(numbers) + " numbers; --statement full writes them"}};
  Json json{{"input_tensors", tensors(problem.graph(), problem.graph().inputs, problem.graph().input_names)},
            {"output_tensors", tensors(problem.graph(), problem.graph().outputs, problem.graph().output_names)},
            {"boxes", Json::array()},
            {"cases", Json::array()}};
  for (std::size_t g = 0; g < problem.group_count(); ++g) {
    const statement::InputBox& box = *cases[problem.group_cases(g)[0]].box;
    Json bounds = Json::array();
    for (std::size_t i = 0; i < box.lo.size(); ++i) bounds.push_back({{"lo", box.lo[i].to_decimal()}, {"hi", box.hi[i].to_decimal()}});
    json["boxes"].push_back(std::move(bounds));
  }
  for (std::size_t index = 0; index < cases.size(); ++index) {
    Json rows = Json::array();
    for (const statement::Row& row : cases[index].rows) rows.push_back(row_json(row));
    json["cases"].push_back(
        {{"case", index}, {"box", problem.group_of_case(static_cast<std::uint32_t>(index))}, {"rows", std::move(rows)}});
  }
  return json;
}

Json theorem_json(const logic::Theorem& theorem, bool full) {
  Json json;
  const bool sat = theorem.kind() == logic::Theorem::Kind::satisfiable;
  json["kind"] = sat ? "satisfiable" : "unsatisfiable";
  const std::string why = check::vacuity(theorem);
  json["vacuous"] = !why.empty();
  if (!why.empty()) json["vacuous_since"] = why;
  json["assumptions"] = theorem.assumptions();
  json["text"] = check::theorem_text(theorem, full);
  if (sat) json["witness"] = witness_json(theorem);
  return json;
}

}  // namespace assay::queries
