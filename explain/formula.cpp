// The formulas of contracts with the numbers of one element. docs/contracts has them without.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <utility>

#include "explain/text.h"
#include "explain/view.h"
#include "kernel/contracts/arithmetic.h"

namespace assay::explain {

namespace {

using contracts::Family;
using Lines = std::vector<std::string>;

std::string word(const Node& node) { return std::string(op_row(node.op).name); }

// Formats the operands that node `id` reads for the element.
class Reading {
 public:
  Reading(const View& view, NodeId id, std::size_t element) : view_(view), node_(view.part.graph.node(id)), element_(element) {}

  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const View& view() const { return view_; }
  [[nodiscard]] std::size_t element() const { return element_; }
  [[nodiscard]] const Array<double>& operand(std::size_t k) const { return view_.values[node_.operands[k]]; }
  // The element of operand k that broadcasts to this one.
  [[nodiscard]] std::size_t at(std::size_t k) const {
    const Shape& shape = operand(k).shape;
    Shape index = index_of(node_.shape, element_);
    index.erase(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(index.size() - shape.size()));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) index[axis] = shape[axis] == 1 ? 0 : index[axis];
    return element_at(shape, index);
  }
  [[nodiscard]] double value(std::size_t k) const { return operand(k).values[at(k)]; }
  [[nodiscard]] std::string place(std::size_t k, std::size_t i) const { return view_.place(node_.operands[k], i); }
  [[nodiscard]] std::string number(double value) const { return view_.number(value); }
  // "a = x[3] = 1.5, b = y[3] = 2"
  [[nodiscard]] std::string operands() const {
    std::string text;
    for (std::size_t k = 0; k < node_.operands.size(); ++k)
      text += (k == 0 ? "" : ", ") + std::string(1, static_cast<char>('a' + k)) + " = " + place(k, at(k)) + " = " + number(value(k));
    return text;
  }

 private:
  const View& view_;
  const Node& node_;
  std::size_t element_;
};

#define ASSAY_PAGE(op, meaning, ...) \
  case Op::op:                       \
    return meaning;
std::string meaning_of(Op op) {
  switch (op) {
#include "semantics/graph/ops.def"
  }
  return "";
}

// An activation as its page of docs/ops writes it, of an operand a in place of x, with the numbers of its attributes.
std::string activation(const Node& node) {
  if (node.op == Op::gelu)
    return std::get<GeluAttributes>(node.attributes).tanh_form ? "a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3)))"
                                                               : "a/2 (1 + erf(a / sqrt(2)))";
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  std::string text = meaning_of(node.op);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == 'x' && (i == 0 || !is_letter(text[i - 1])) && (i + 1 == text.size() || !is_letter(text[i + 1]))) text[i] = 'a';
  const auto* numbers = std::get_if<ActivationAttributes>(&node.attributes);
  for (const auto& [name, number] : {std::pair{"alpha", &ActivationAttributes::alpha}, std::pair{"beta", &ActivationAttributes::beta}})
    if (numbers != nullptr && (node.op == Op::selu || text.find(name) != std::string::npos))
      text += std::string(", ") + name + " = " + decimal(numbers->*number);
  return text;
}

// The op on a, b, ... as it is written.
std::string expression(const Node& node) {
  switch (node.op) {
    case Op::add:
      return "a + b";
    case Op::sub:
      return "a - b";
    case Op::mul:
      return "a * b";
    case Op::div:
      return "a / b";
    case Op::reciprocal:
      return "1 / a";
    case Op::neg:
      return "-a";
    case Op::abs:
      return "|a|";
    case Op::relu:
      return "max(a, 0)";
    case Op::scale:
      return decimal(std::get<ScaleAttributes>(node.attributes).factor) + " * a";
    case Op::leaky_relu:
      return "a >= 0 ? a : " + decimal(std::get<LeakyReluAttributes>(node.attributes).slope) + " * a";
    case Op::prelu:
      return "a >= 0 ? a : b * a";
    case Op::clip: {
      const auto& clip = std::get<ClipAttributes>(node.attributes);
      return "min(max(a, " + decimal(clip.lo) + "), " + decimal(clip.hi) + ")";
    }
    case Op::where:
      return "a ? b : c";
    default:
      break;
  }
  if (contracts::family_of(node.op) == Family::activation) return activation(node);
  std::string text = word(node) + "(a";
  for (std::size_t k = 1; k < node.operands.size(); ++k) text += std::string(", ") + static_cast<char>('a' + k);
  return text + ")";
}

Lines of_function(const Reading& reading) {
  const contracts::Arithmetic arithmetic(reading.view().part.model, reading.view().format());
  const double steps = arithmetic.steps_of(word(reading.node()), std::fabs(reading.value(0)));
  const std::string& table = reading.view().part.model.math_table;
  const std::string bound = std::isfinite(steps) ? "M = " + rough(steps) + " steps" : "what the table's row says";
  return {"y within " + bound + " of RN(" + expression(reading.node()) + ") by the table " + table + ": " + reading.operands()};
}

Lines of_element(const Reading& reading) {
  using enum Op;
  constexpr Op kRounded[] = {add, sub, mul, div, reciprocal, sqrt, scale, leaky_relu, prelu, cast, mod};
  const Op op = reading.node().op;
  if (reading.node().operands.size() > 26) return {};
  if (std::ranges::find(kRounded, op) != std::end(kRounded))
    return {"y = RN(" + expression(reading.node()) + "), the nearest number: " + reading.operands()};
  if (op == pow || op == power) return of_function(reading);
  return {"y = " + expression(reading.node()) + ", exactly: " + reading.operands()};
}

Lines of_extremum(const Reading& reading) {
  const bool least = reading.node().op == Op::reduce_min;
  const Array<double>& x = reading.operand(0);
  const double wanted = reading.view().exact().is_undefined() ? std::nan("") : reading.view().exact_value();
  const auto winner = static_cast<std::size_t>(std::ranges::find(x.values, wanted) - x.values.begin());
  Lines lines = {std::string("y = the ") + (least ? "least" : "greatest") + " of " + std::to_string(x.values.size()) +
                 " elements, exactly" + (winner < x.values.size() ? ": " + reading.place(0, winner) + " = " + reading.number(wanted) : "")};
  const auto same = static_cast<std::size_t>(std::ranges::find(x.values, reading.view().received) - x.values.begin());
  lines.push_back(same < x.values.size()
                      ? "the received value stands at " + reading.place(0, same) + ", which is not the " + (least ? "least" : "greatest")
                      : "none of these elements has the received value");
  return lines;
}

// The elements along the op's axes: all that the part has.
Lines of_softmax(const Reading& reading) {
  const Array<double>& x = reading.operand(0);
  const std::size_t at = reading.node().op == Op::log_sum_exp ? 0 : reading.at(0);
  const double top = *std::ranges::max_element(x.values), d = x.values[at] - top;
  double s = 0;
  for (const double value : x.values) s += std::exp(value - top);
  const contracts::Arithmetic arithmetic(reading.view().part.model, reading.view().format());
  const std::string steps = rough(arithmetic.steps_of("exp", std::fabs(d)));
  const std::string numbers = "m = " + reading.number(top) + " at " +
                              reading.place(0, static_cast<std::size_t>(std::ranges::find(x.values, top) - x.values.begin())) +
                              ", s = sum of exp(x_j - m) over " + std::to_string(x.values.size()) + " elements = " + rough(s) +
                              ", M = " + steps + " for exp";
  Lines lines;
  if (reading.node().op == Op::log_sum_exp) {
    lines = {"y = m + log s, step by step: " + numbers};
  } else {
    const std::string form = reading.node().op == Op::log_softmax ? "y = d - log s" : "y = exp(d) / s";
    lines = {form + ", d = x - m, step by step: x = " + reading.place(0, at) + " = " + reading.number(x.values[at]) + ", d = " + rough(d) +
             ", " + numbers};
  }
  std::vector<std::size_t> order(x.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min<std::size_t>(3, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown), std::ranges::greater{},
                            [&](std::size_t i) { return x.values[i]; });
  for (std::size_t i = 0; i < shown; ++i) {
    const double value = x.values[order[i]];
    lines.push_back("  term exp(" + reading.place(0, order[i]) + " - m) = exp(" + rough(value - top) +
                    ") = " + rough(std::exp(value - top)) + " (" + rough(100 * std::exp(value - top) / s) + " % of s)");
  }
  return lines;
}

// The elements that agree with this one off the axes: all that the part has.
Lines of_normalise(const Reading& reading) {
  const auto& attributes = std::get<NormaliseAttributes>(reading.node().attributes);
  const Array<double>& x = reading.operand(0);
  const auto n = static_cast<double>(x.values.size());
  double mean = 0, square = 0, variance = 0;
  for (const double value : x.values) mean += value / n;
  for (const double value : x.values) {
    variance += (value - mean) * (value - mean) / n;
    square += value * value / n;
  }
  using Form = NormaliseAttributes::Form;
  const std::string epsilon = rough(attributes.epsilon),
                    x_text = reading.place(0, reading.at(0)) + " = " + reading.number(reading.value(0));
  const std::string count = ", n = " + std::to_string(x.values.size());
  if (attributes.form == Form::centered)
    return {"y = (x - mean) / sqrt(variance + " + epsilon + "), step by step: x = " + x_text + ", mean = " + rough(mean) +
            ", variance = " + rough(variance) + count + "; |mean| / deviation = " + rough(std::fabs(mean) / std::sqrt(variance))};
  if (attributes.form == Form::root_mean)
    return {"y = x / sqrt(mean of squares + " + epsilon + "), step by step: x = " + x_text + ", mean of squares = " + rough(square) +
            count};
  return {"step by step: x = " + x_text + ", mean = " + rough(mean) + ", mean of squares = " + rough(square) + count};
}

Lines of_batch_norm(const Reading& reading) {
  const auto channel = [&](std::size_t k) {
    return reading.operand(k).values[static_cast<std::size_t>(index_of(reading.node().shape, reading.element())[1])];
  };
  return {"y = (x - mean) / sqrt(variance + " + rough(std::get<BatchNormAttributes>(reading.node().attributes).epsilon) +
          ") * scale + bias, in any of its forms: x = " + reading.place(0, reading.at(0)) + " = " + reading.number(reading.value(0)) +
          ", scale " + rough(channel(1)) + ", bias " + rough(channel(2)) + ", mean " + rough(channel(3)) + ", variance " +
          rough(channel(4))};
}

Lines of_layout(const Reading& reading) {
  if (reading.node().operands.size() != 1) return {"the bits of an operand, handed on"};
  const IndexMap map = index_map(reading.view().part.graph, reading.view().output(), 0);
  const std::int64_t from = map.index[reading.element()];
  if (from < 0) return {"padding: y = " + reading.number(map.fill[reading.element()])};
  return {"the bits of " + reading.place(0, static_cast<std::size_t>(from)) + ", handed on"};
}

}  // namespace

std::string step_text(const View& view, NodeId id) {
  const Reading reading(view, id, 0);
  std::string text = view.place(id, 0) + " = " + view.number(view.values[id].values[0]);
  const Family family = contracts::family_of(reading.node().op);
  const bool is_elementwise = family == Family::elementwise || family == Family::function || family == Family::activation;
  if (is_elementwise && reading.node().operands.size() <= 3) text += " = " + expression(reading.node()) + ": " + reading.operands();
  return text;
}

std::vector<std::string> formula_lines(const View& view, NodeId id, std::size_t element) {
  const Reading reading(view, id, element);
  const Family family = contracts::family_of(reading.node().op);
  const bool is_along = family == Family::extremum || family == Family::softmax || family == Family::normalise;
  if (view.part.named.empty() && is_along && view.part.graph.size(id) > 1) return {};  // other lines are here as well
  switch (family) {
    case Family::sum:
      return sum_lines(view, id, element);
    case Family::elementwise:
    case Family::comparison:
    case Family::integers:
      return of_element(reading);
    case Family::function:
      return of_function(reading);
    case Family::choice:
      return reading.node().op == Op::where || reading.node().op == Op::cast ? of_element(reading) : Lines{};
    case Family::extremum:
      return of_extremum(reading);
    case Family::softmax:
      return reading.node().op == Op::masked_softmax
                 ? Lines{"y = exp(d) / s, d = x - m, over the elements whose mask is true, step by step; 0 elsewhere"}
                 : of_softmax(reading);
    case Family::normalise:
      return of_normalise(reading);
    case Family::batch_norm:
      return of_batch_norm(reading);
    case Family::layout:
      return of_layout(reading);
    case Family::activation:
      return {"y = " + expression(reading.node()) + ", in a form of the page Defined ops, step by step: " + reading.operands()};
    case Family::product:
    case Family::positions:
    case Family::local_response:
    case Family::none:
      return {};
  }
  return {};
}

}  // namespace assay::explain
