#include "certificates/edit/numbers.h"

#include <cstdio>

namespace assay::certificate {
namespace {

void add(std::vector<Numbers>& all, std::string name, const auto& values) {
  if (!values.empty()) all.push_back({std::move(name), std::vector<double>(values.begin(), values.end()), {}});
}

void add_hints(std::vector<Numbers>& all, const std::string& before, const logic::Hints& hints) {
  for (const auto& [node, slopes] : hints.lower) add(all, before + "lower slopes of node " + std::to_string(node), slopes);
  for (const auto& [node, slopes] : hints.upper) add(all, before + "upper slopes of node " + std::to_string(node), slopes);
  add(all, before + "beta", hints.beta);
  add(all, before + "multipliers of cuts", hints.cuts);
}

}  // namespace

std::vector<Numbers> numbers_of(const Record& record) {
  std::vector<Numbers> all;
  add(all, "mask", record.selection.mask);
  add_hints(all, "", record.hints);
  add(all, "claimed lower bounds", record.claims.lo);
  add(all, "claimed upper bounds", record.claims.hi);
  for (const logic::CaseMultipliers& one : record.cases) add(all, "multipliers of case " + std::to_string(one.position), one.rows);
  for (const logic::Cut::Term& term : record.terms)
    all.push_back({"coefficient of node " + std::to_string(term.node) + "[" + std::to_string(term.element) + "]", {term.coefficient}, {}});
  std::size_t leaf = 0;
  for (const CaseStep& step : record.tree) {
    const std::string name = "leaf " + std::to_string(leaf) + ": ";
    if (step.split)
      all.push_back({"split of node " + std::to_string(step.split->node) + "[" + std::to_string(step.split->element) + "] at",
                     {step.split->threshold},
                     {}});
    else
      add_hints(all, name, step.hints);
    leaf += step.split ? 0 : 1;
  }
  if (record.type == RecordType::witness) {
    all.push_back({"coordinates", {}, {}});
    for (const Rational& one : record.witness.inputs) all.back().texts.push_back(one.to_decimal());
  }
  return all;
}

std::string numbers_text(const Numbers& numbers) {
  std::string text = numbers.name + ":";
  char number[40];
  for (const double value : numbers.values) {
    const bool is_float = static_cast<double>(static_cast<float>(value)) == value;
    std::snprintf(number, sizeof number, is_float ? " %.9g," : " %.17g,", value);
    text += number;
  }
  for (const std::string& one : numbers.texts) text.append(" ").append(one).append(",");
  if (text.ends_with(',')) text.pop_back();
  return text;
}

}  // namespace assay::certificate
