// Failed sums in words. Formulas: docs/contracts/sums.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "explain/terms.h"
#include "explain/text.h"
#include "explain/view.h"
#include "kernel/contracts/arithmetic.h"

namespace assay::explain {

namespace {

constexpr std::size_t kMostTerms = 5;

std::string op_word(const Node& node) { return std::string(op_row(node.op).name); }

std::string rounding_word(const ExecutionModel& model) {
  switch (model.input_rounding) {
    case ExecutionModel::InputRounding::none:
      return "nothing";
    case ExecutionModel::InputRounding::tf32:
      return "tf32, by truncation or to nearest,";
    case ExecutionModel::InputRounding::bfloat16:
      return "bfloat16";
    case ExecutionModel::InputRounding::binary16:
      return "binary16";
  }
  return "";
}

struct Sum {
  const View& view;
  const Node& node;
  const std::vector<Array<double>>& operands;  // as the node reads them
  Terms terms;

  [[nodiscard]] double m() const { return static_cast<double>(terms.terms.size()); }
  [[nodiscard]] bool is_mean() const { return node.op == Op::reduce_mean || node.op == Op::avg_pool; }

  // Roundings that a term passes through: sums.cpp counts the same.
  [[nodiscard]] double roundings() const {
    const ExecutionModel& model = view.part.model;
    double additions = std::fmax(m() - 1, 0);
    if (model.accumulator == ExecutionModel::Accumulator::tree) additions = std::fmin(additions, static_cast<double>(model.tree_height));
    double further = is_mean() ? (model.reciprocal_of_count ? 2 : 1) : 0;
    if (const auto* gemm = std::get_if<GemmAttributes>(&node.attributes))
      further += (std::fabs(gemm->alpha) != 1 ? 1 : 0) + (std::fabs(gemm->beta) != 1 && node.operands.size() == 3 ? 1 : 0);
    return additions + (terms.products ? 1 : 0) + further;
  }

  [[nodiscard]] std::string factors_text(const Term& term) const {
    std::string text, numbers;
    for (const auto& [operand, element] : term.factors) {
      text += (text.empty() ? "" : " * ") + view.place(node.operands[operand], element);
      numbers += (numbers.empty() ? "" : " * ") + view.number(operands[operand].values[element]);
    }
    const auto [operand, element] = term.factors[0];
    const double x = operands[operand].values[element];
    if (term.factors.size() == 1 && x != term.value) numbers += " * " + rough(term.value / x);
    const bool is_product = term.factors.size() > 1 || x != term.value;
    return text + " = " + numbers + (is_product ? " = " + decimal(term.value) : "");
  }

  [[nodiscard]] std::vector<std::string> largest() const {
    std::vector<const Term*> order;
    for (const Term& term : terms.terms) order.push_back(&term);
    const std::size_t shown = std::min(kMostTerms, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown), std::ranges::greater{},
                              [](const Term* term) { return std::fabs(term->value); });
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < shown; ++i)
      lines.push_back("  term " + factors_text(*order[i]) + " (" + rough(100 * std::fabs(order[i]->value) / terms.magnitude) + " % of S)");
    if (order.size() > shown) lines.back() += "; " + std::to_string(order.size() - shown) + " smaller ones";
    return lines;
  }
};

// Why the element has one admitted value only.
std::string single_text(const Sum& sum) {
  const std::size_t m = sum.terms.terms.size();
  if (m == 0) return "no term is other than 0, so y = 0";
  if (m == 1 && sum.roundings() <= 1) return sum.terms.products ? "one product, rounded once: y = RN(s)" : "one term: y = s";
  if (sum.view.part.model.accumulator == ExecutionModel::Accumulator::left_to_right) return "summed from left to right: one execution";
  int q = std::numeric_limits<int>::max();
  for (const Term& term : sum.terms.terms) q = std::min(q, contracts::lowest_bit(term.value));
  const int precision = sum.view.format() == contracts::Format::binary32 ? 24 : 53;
  const auto power = std::to_string(q);
  return "every term is a multiple of 2^" + power + " and S = " + rough(sum.terms.magnitude) + " <= 2^(" + power + " + " +
         std::to_string(precision) + "), so no order of summation rounds: equal bits" + (sum.is_mean() ? " before the division" : "");
}

std::string bound_text(const Sum& sum) {
  const ExecutionModel& model = sum.view.part.model;
  const bool narrow =
      model.accumulator_format == ExecutionModel::AccumulatorFormat::binary64 && sum.view.format() == contracts::Format::binary32;
  const std::string u = narrow || sum.view.format() == contracts::Format::binary64 ? "2^-53" : "2^-24";
  const bool eta = sum.terms.products || narrow || sum.is_mean();
  return std::string("|y - s| <= g S") + (eta ? " + (m + 1) eta" : "") + (narrow ? ", rounded once more to binary32" : "") +
         ", g = k u / (1 - k u), u = " + u + ": m = " + std::to_string(sum.terms.terms.size()) + " terms, k = " + rough(sum.roundings()) +
         " roundings, S = " + decimal(static_cast<double>(static_cast<float>(sum.terms.magnitude)), contracts::Format::binary32) +
         "; allowance " + rough(sum.view.allowance()) + ", |y - s| = " + rough(std::fabs(sum.view.received - sum.view.exact_value()));
}

// Finds the single terms, or the part of the sum, that would account for the error. Nothing where two would.
std::vector<std::string> missing_lines(const Sum& sum) {
  const double error = sum.view.received - sum.view.exact_value();
  const double room = std::fmax(2 * sum.view.allowance(), std::fabs(sum.view.exact_value()) * contracts::unit_roundoff(sum.view.format()));
  if (!std::isfinite(error) || !(sum.m() * room < std::fabs(error))) return {};
  std::vector<std::string> found;
  double prefix = 0;
  for (std::size_t i = 0; i < sum.terms.terms.size(); ++i) {
    const double t = sum.terms.terms[i].value;
    const auto accounts = [&](double factor) { return std::fabs(error - factor * t) <= room; };
    const std::string text = sum.factors_text(sum.terms.terms[i]);
    if (accounts(-1)) found.push_back("the sum without the term " + text);
    if (accounts(1)) found.push_back("the sum with this term twice: " + text);
    if (accounts(-2)) found.push_back("the sum with the other sign on " + text);
    prefix += t;
    const std::size_t left = sum.terms.terms.size() - i - 1;
    if (left > 1 && i > 0 && std::fabs(sum.view.received - prefix) <= room)
      found.push_back("the sum of the first " + std::to_string(i + 1) + " of " + std::to_string(i + 1 + left) + " terms");
    if (left > 0 && i > 0 && std::fabs(sum.view.received - (sum.view.exact_value() - prefix)) <= room)
      found.push_back("the sum of the last " + std::to_string(left) + " of " + std::to_string(i + 1 + left) + " terms");
  }
  if (found.size() != 1) return {};
  return {"the received value equals, within the allowance, " + found.front()};
}

}  // namespace

std::vector<std::string> sum_lines(const View& view, NodeId id, std::size_t element) {
  const Node& node = view.part.graph.node(id);
  std::vector<Array<double>> operands;
  for (std::size_t k = 0; k < node.operands.size(); ++k) operands.push_back(view.operand(node, k));
  auto terms = terms_of(node, operands, element);
  if (!terms) return {};
  const Sum sum{view, node, operands, std::move(*terms)};
  std::vector<std::string> lines;
  const bool is_result = id == view.output();
  if (view.rounds_factors(node))
    lines.push_back("factors are rounded to " + rounding_word(view.part.model) + " before they are multiplied");
  if (is_result && !view.exact().is_undefined()) {
    const bool single = view.set().has_finite() && view.set().lo == view.set().hi;
    lines.push_back(single ? single_text(sum) : bound_text(sum));
  } else {
    lines.push_back(op_word(node) + " of " + std::to_string(sum.terms.terms.size()) + " terms, S = " + rough(sum.terms.magnitude));
  }
  if (sum.terms.terms.size() > 1) lines.push_back("condition S / |s| = " + rough(sum.terms.magnitude / std::fabs(sum.terms.sum)));
  for (std::string& line : sum.largest()) lines.push_back(std::move(line));
  if (is_result && !view.exact().is_undefined())
    for (std::string& line : missing_lines(sum)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace assay::explain
