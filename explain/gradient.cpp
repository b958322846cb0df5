// Wrong gradients in words: recorded cotangents beside those that the regions' meanings give, in double, at the recorded point.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "explain/explain.h"
#include "explain/pattern.h"
#include "explain/text.h"
#include "kernel/gradients/derivatives/differentiate.h"
#include "semantics/ops/denote.h"

namespace assay::explain {

namespace {

using Lines = std::vector<std::string>;
using Values = std::vector<double>;

// Numbers are alike within this share of the largest one. It decides about words alone.
constexpr double kAlike = 0x1p-10;
// A number is called right within this share of itself, as words alone.
constexpr double kSame = 0x1p-16;

double largest(const Values& x) {
  double most = 0;
  for (const double value : x) most = std::fmax(most, std::fabs(value));
  return most;
}

bool is_like(const Values& a, const Values& b, double factor = 1) {
  const double room = kAlike * std::fmax(largest(a), largest(b));
  if (a.size() != b.size() || !std::isfinite(room)) return false;
  if (!(room > 0)) return largest(a) == largest(b);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - factor * b[i]) <= room)) return false;
  return true;
}

void add_to(Values& sum, const Values& part, double factor = 1) {
  sum.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) sum[i] += factor * part[i];
}

Values values_of(const Trace& trace, TraceTensorId id) {
  const Tensor& tensor = trace.tensors[id].value;
  Values values;
  for (std::size_t i = 0; i < tensor.size(); ++i) values.push_back(contracts::recorded_value(tensor, i).value_or(std::nan("")));
  return values;
}

std::string quoted(const Trace& trace, TraceTensorId id) { return "'" + trace.tensors[id].name + "'"; }

// "NaN in 3 of 12 elements"; empty where all are finite.
std::string not_finite_text(const Values& x) {
  const auto nans = std::ranges::count_if(x, [](double value) { return std::isnan(value); });
  const auto infinities = std::ranges::count_if(x, [](double value) { return std::isinf(value); });
  const auto in = [&](const char* what, auto count) { return what + (" in " + std::to_string(count)); };
  if (nans + infinities == 0) return "";
  const std::string all = " of " + std::to_string(x.size()) + (x.size() == 1 ? " element" : " elements");
  if (infinities == 0) return in("NaN", nans) + all;
  return (nans == 0 ? "" : in("NaN", nans) + " and ") + in("infinite", infinities) + all;
}

// "twice", "half": what the recorded numbers are of the expected ones; empty where no factor fits.
std::string factor_text(const Values& recorded, const Values& expected) {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    products += recorded[i] * expected[i];
    squares += expected[i] * expected[i];
  }
  const double factor = products / squares;
  if (!std::isfinite(factor) || largest(recorded) == 0 || !is_like(recorded, expected, factor)) return "";
  for (const auto& [value, word] : {std::pair{2.0, "twice"}, std::pair{0.5, "half"}, std::pair{-1.0, "minus"}})
    if (std::fabs(factor - value) <= 4 * kAlike) return word;
  const double inverse = std::round(1 / factor);
  if (std::fabs(inverse) > 1 && std::fabs(factor * inverse - 1) <= 4 * kAlike) return "1/" + rough(inverse) + " of";
  return rough(factor) + " times";
}

Values transposed(const Values& x, const Shape& shape) {
  const auto rows = static_cast<std::size_t>(shape[shape.size() - 2]), columns = static_cast<std::size_t>(shape.back());
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at = i % (rows * columns), first = i - at;
    y[i] = x[first + at % rows * columns + at / rows];
  }
  return y;
}

// The element that a failure is about: of a recorded cotangent ("place, 'NAME' element 3, ..."), or of an operand ("d y[0] / d
// NAME[3]: ...").
struct Element {
  std::string tensor;
  std::size_t number = 0;
};
std::optional<Element> element_of(const Rejection& why) {
  static constexpr std::string_view kBefore = "' element ", kEntry = " / d ";
  std::size_t end = why.place.rfind(kBefore), start = std::string::npos, number = end + kBefore.size();
  const std::string* text = &why.place;
  if (end != std::string::npos) {
    start = why.place.rfind(", '", end);
    start = start == std::string::npos ? start : start + 3;
  } else if (const std::size_t at = why.found.find(kEntry); at != std::string::npos) {
    text = &why.found;
    start = at + kEntry.size();
    end = why.found.rfind('[', why.found.find("]: ", start));
    number = end + 1;
  }
  if (start == std::string::npos || end == std::string::npos || end < start) return std::nullopt;
  const std::string digits = text->substr(number, text->find_first_not_of("0123456789", number) - number);
  if (digits.empty() || digits.size() > 15) return std::nullopt;
  return Element{text->substr(start, end - start), std::stoul(digits)};
}

// The cotangents of one result of a region by its meaning, at the recorded point.
class Product {
 public:
  Product(const Trace& trace, const Trace::Vjp& vjp, const Rejection& why)
      : trace_(trace),
        vjp_(vjp),
        region_(trace.regions[vjp.of]),
        is_kink_(why.code == "gradient.kink" || why.code == "gradient.convention"),
        about_(element_of(why)) {
    admitted_ = in_decimals(why.required);
  }

  Lines lines() const {
    if (is_kink_) return kink_lines();
    const auto expected = cotangents(region_.graph, operands());
    std::map<TraceTensorId, Values> wanted, recorded;
    std::map<TraceTensorId, std::vector<Values>> parts;  // of operands that are read at several positions
    for (const auto& [position, values] : expected) {
      add_to(wanted[region_.operands[position]], values);
      parts[region_.operands[position]].push_back(values);
      recorded[region_.operands[position]].resize(values.size());
    }
    for (const auto& [position, id] : vjp_.cotangents) {
      if (id < kFirstInner && expected.contains(position)) add_to(recorded[region_.operands[position]], values_of(trace_, id));
    }
    Lines lines, before;
    for (const auto& [operand, values] : recorded) {
      if (is_like(values, wanted[operand]) || !is_claimed(operand)) continue;
      describe(operand, values, wanted[operand], parts[operand], before, lines);
    }
    for (const auto& [operand, values] : recorded) {  // no number is wrong by a share of the largest
      if (!lines.empty() || !is_about(operand) || about_->number >= values.size()) continue;
      const double found = values[about_->number], right = wanted[operand][about_->number];
      const bool is_right = std::fabs(found - right) <= kSame * std::fabs(right), is_near = rough(found) == rough(right);
      lines.push_back("the cotangent of " + quoted(trace_, operand) + " at " + at(operand) + ": recorded " +
                      (is_near && !is_right ? decimal(found) : rough(found)) +
                      (is_right ? ", which is also the derivative at the recorded point"
                                : ", the derivative at the recorded point gives " + (is_near ? decimal(right) : rough(right))) +
                      "; at other points of the recorded ranges the recorded product gives another number");
      if (const std::string text = numbers_text(operand, about_->number); !text.empty()) lines.push_back(text);
    }
    return lines;
  }

 private:
  // Lines on the cotangent at a kink: the element that was judged, since the derivative there is a set.
  [[nodiscard]] Lines kink_lines() const {
    for (const auto& [position, id] : vjp_.cotangents) {
      if (id >= kFirstInner || !about_ || trace_.tensors[id].name != about_->tensor || about_->number >= trace_.tensors[id].value.size())
        continue;
      const TraceTensorId operand = region_.operands[position];
      Lines lines = {"the cotangent of " + quoted(trace_, operand) + " at " + at(operand) + ", which is at a kink: recorded " +
                     rough(values_of(trace_, id)[about_->number]) + ", admitted is " + admitted_};
      if (const std::string text = numbers_text(operand, about_->number); !text.empty()) lines.push_back(text);
      return lines;
    }
    return {};
  }
  [[nodiscard]] std::string at(TraceTensorId operand) const {
    return to_string(index_of(trace_.tensors[operand].value.shape(), about_->number));
  }
  // Returns true if the failure names the operand, or a cotangent of it.
  [[nodiscard]] bool is_about(TraceTensorId operand) const {
    return about_ && (about_->tensor == trace_.tensors[operand].name || std::ranges::any_of(vjp_.cotangents, [&](const auto& one) {
                        return region_.operands[one.first] == operand && one.second < kFirstInner &&
                               trace_.tensors[one.second].name == about_->tensor;
                      }));
  }
  [[nodiscard]] bool is_claimed(TraceTensorId operand) const {
    return std::ranges::any_of(vjp_.cotangents, [&](const auto& one) { return region_.operands[one.first] == operand; });
  }
  [[nodiscard]] std::vector<Array<double>> operands() const {
    std::vector<Array<double>> arrays;
    for (const TraceTensorId id : region_.operands) arrays.push_back({trace_.tensors[id].value.shape(), values_of(trace_, id)});
    return arrays;
  }

  // By position; nothing where the meaning has no derivative there.
  [[nodiscard]] std::map<std::size_t, Values> cotangents(const Graph& graph, std::vector<Array<double>> arguments) const {
    std::vector<std::size_t> real;
    for (std::size_t k = 0; k < graph.inputs.size(); ++k)
      if (is_float(graph.node(graph.inputs[k]).dtype)) real.push_back(k);
    const auto reverse = gradients::differentiate(graph, vjp_.result, real);
    if (!reverse) return {};
    arguments.push_back({trace_.tensors[vjp_.cotangent].value.shape(), values_of(trace_, vjp_.cotangent)});
    const auto nodes = evaluate<double>(reverse.value(), arguments);
    if (!nodes) return {};
    std::map<std::size_t, Values> found;
    for (std::size_t i = 0; i < real.size(); ++i) found[real[i]] = nodes.value()[reverse.value().outputs[i]].values;
    return found;
  }

  // The number of a tensor that belongs to an element of a wide one: at the same index, along axes that the tensor has, or has once. Empty
  // where the shapes do not tell.
  [[nodiscard]] std::string number_text(TraceTensorId id, const Shape& wide, const Shape& index) const {
    const Shape& shape = trace_.tensors[id].value.shape();
    if (shape.size() > wide.size()) return "";
    for (const std::size_t skipped :
         {wide.size() - shape.size(), std::size_t{0}}) {  // broadcast along the first axes; reduced along the last
      std::size_t element = 0;
      Shape at;
      bool fits = true;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        fits = fits && (shape[k] == 1 || shape[k] == wide[k + skipped]);
        at.push_back(shape[k] == 1 ? 0 : index[k + skipped]);
        element = element * static_cast<std::size_t>(shape[k]) + static_cast<std::size_t>(at.back());
      }
      const auto value = fits ? contracts::recorded_value(trace_.tensors[id].value, element) : std::nullopt;
      if (value) return (shape.empty() ? "" : to_string(at)) + " = " + rough(*value);
    }
    return "";
  }

  // "at this element 'x'[0, 2] = 1.5, 'w'[2] = 0.25; the incoming cotangent [0] = 0.5": at a wrong element.
  [[nodiscard]] std::string numbers_text(TraceTensorId operand, std::size_t element) const {
    constexpr std::size_t kMost = 4;
    const Shape& wide = trace_.tensors[operand].value.shape();
    const Shape index = index_of(wide, element);
    std::string text;
    std::vector<TraceTensorId> told;
    for (const TraceTensorId id : region_.operands) {
      const std::string number = number_text(id, wide, index);
      if (number.empty() || told.size() == kMost || std::ranges::find(told, id) != told.end()) continue;
      told.push_back(id);
      text += (text.empty() ? "  at this element " : ", ") + quoted(trace_, id) + number;
    }
    const std::string cotangent = number_text(vjp_.cotangent, wide, index);
    return text + (cotangent.empty() ? "" : std::string(text.empty() ? "  " : "; ") + "the incoming cotangent" + cotangent);
  }

  void describe(TraceTensorId operand, const Values& recorded, const Values& expected, const std::vector<Values>& parts, Lines& before,
                Lines& lines) const {
    const Shape& shape = trace_.tensors[operand].value.shape();
    std::size_t worst = 0;
    std::vector<std::size_t> wrong;
    const double room = kAlike * largest(expected);
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      const double error = std::fabs(recorded[i] - expected[i]);
      if (!(error <= room)) wrong.push_back(i);
      if (!(error <= std::fabs(recorded[worst] - expected[worst]))) worst = i;
    }
    // The element that the failure names, if it is wrong at the recorded point, too.
    if (is_about(operand) && std::ranges::find(wrong, about_->number) != wrong.end()) worst = about_->number;
    lines.push_back("the cotangent of " + quoted(trace_, operand) + " at " + to_string(index_of(shape, worst)) + ": recorded " +
                    rough(recorded[worst]) + ", the derivative at the recorded point gives " + rough(expected[worst]));
    const std::string word = pattern(operand, recorded, expected, parts);
    if (!word.empty()) lines.push_back("  it is " + word);
    if (const std::string text = numbers_text(operand, worst); !text.empty()) lines.push_back(text);
    if (!word.empty() || wrong.empty() || recorded.size() == 1) return;
    Lines where = pattern_lines(shape, wrong);
    if (where == before) {
      lines.push_back("  wrong at the same indices as the cotangent above");
      return;
    }
    for (const std::string& line : where) lines.push_back("  wrong, " + line);
    before = std::move(where);
  }

  [[nodiscard]] std::string pattern(TraceTensorId operand, const Values& recorded, const Values& expected,
                                    const std::vector<Values>& parts) const {
    const Shape& shape = trace_.tensors[operand].value.shape();
    if (std::string text = not_finite_text(recorded); !text.empty()) return text;
    if (largest(recorded) == 0) return "zero";
    if (const std::string along = unsummed(operand, recorded); !along.empty()) return along;
    if (const std::string factor = factor_text(recorded, expected); !factor.empty())
      return factor + " the derivative" + because(operand, factor);
    if (shape.size() >= 2 && shape.back() == shape[shape.size() - 2] && is_like(recorded, transposed(expected, shape)))
      return "the derivative, transposed";
    for (std::size_t i = 0; parts.size() > 1 && i < parts.size(); ++i) {
      Values rest = expected;
      add_to(rest, parts[i], -1);
      if (is_like(recorded, rest))
        return "the derivative without the term of position " + std::to_string(i) + " at which the operand is read";
    }
    if (is_like(recorded, values_of(trace_, vjp_.cotangent))) return "the cotangent of the result, handed on as it is";
    return "";
  }

  // "1/4 of", where an axis of 4 was averaged.
  [[nodiscard]] std::string because(TraceTensorId operand, const std::string& factor) const {
    const Shape& wide = trace_.tensors[vjp_.cotangent].value.shape();
    const Shape& narrow = trace_.tensors[operand].value.shape();
    const auto ratio = static_cast<double>(element_count(wide)) / static_cast<double>(element_count(narrow));
    return narrow.size() <= wide.size() && factor == "1/" + rough(ratio) + " of" ? ": averaged, not summed, over the broadcast axes" : "";
  }

  // An operand that is broadcast: what one index of the broadcast axes gives, instead of their sum.
  [[nodiscard]] std::string unsummed(TraceTensorId operand, const Values& recorded) const {
    const Shape& wide = trace_.tensors[vjp_.cotangent].value.shape();
    const Shape& narrow = trace_.tensors[operand].value.shape();
    const std::optional<Values> all = expanded(operand, wide);
    if (narrow == wide || narrow.size() > wide.size() || !all) return "";
    const std::size_t lead = wide.size() - narrow.size();
    for (const bool last : {false, true}) {
      Values slice(recorded.size());
      for (std::size_t i = 0; i < all->size(); ++i) {
        const Shape index = index_of(wide, i);
        bool taken = true;
        std::size_t at = 0;
        for (std::size_t axis = 0; axis < wide.size(); ++axis) {
          const bool is_broadcast = axis < lead || narrow[axis - lead] != wide[axis];
          if (is_broadcast) taken = taken && index[axis] == (last ? wide[axis] - 1 : 0);
          if (axis >= lead)
            at = at * static_cast<std::size_t>(narrow[axis - lead]) + static_cast<std::size_t>(is_broadcast ? 0 : index[axis]);
        }
        if (taken) slice[at] += (*all)[i];
      }
      if (is_like(recorded, slice))
        return std::string("not summed over the broadcast axes: what their ") + (last ? "last" : "first") + " index gives alone";
    }
    return "";
  }

  // The cotangent of the operand if it had this shape; nothing where the region means something else then.
  [[nodiscard]] std::optional<Values> expanded(TraceTensorId operand, const Shape& wide) const {
    const auto k = static_cast<std::size_t>(std::ranges::find(region_.operands, operand) - region_.operands.begin());
    const Tensor& value = trace_.tensors[operand].value;
    Graph broadcast;
    broadcast.append_input(DType::float64, value.shape(), "x");
    const auto expansion = broadcast.append(Op::expand, {0}, ShapeAttributes{wide});
    if (!expansion || !is_float(value.dtype())) return std::nullopt;
    const auto values = evaluate<double>(broadcast, std::vector<Array<double>>{{value.shape(), values_of(trace_, operand)}});
    Graph graph;
    std::vector<NodeId> ids(region_.graph.nodes.size());
    for (std::size_t j = 0; j < region_.graph.inputs.size(); ++j) {
      const Node& input = region_.graph.node(region_.graph.inputs[j]);
      ids[region_.graph.inputs[j]] = graph.append_input(input.dtype, j == k ? wide : input.shape, "x");
    }
    for (NodeId id = 0; id < region_.graph.nodes.size(); ++id) {
      const Node& node = region_.graph.node(id);
      if (node.op == Op::input) continue;
      std::vector<NodeId> operands;
      for (const NodeId one : node.operands) operands.push_back(ids[one]);
      const auto added =
          node.op == Op::constant ? Outcome<NodeId>(graph.append_constant(node.value)) : graph.append(node.op, operands, node.attributes);
      if (!added || graph.node(added.value()).shape != node.shape) return std::nullopt;
      ids[id] = added.value();
    }
    for (const NodeId output : region_.graph.outputs) graph.mark_output(ids[output], "y");
    std::vector<Array<double>> arguments = operands();
    if (!values) return std::nullopt;
    arguments[k] = values.value()[expansion.value()];
    const auto found = cotangents(graph, std::move(arguments));
    return found.contains(k) ? std::optional(found.at(k)) : std::nullopt;
  }

  const Trace& trace_;
  const Trace::Vjp& vjp_;
  const Region& region_;
  const bool is_kink_;
  const std::optional<Element> about_;
  std::string admitted_;
};

// Marks the tensors that follow from the seed: products after it are this gradient's.
std::vector<bool> after(const Trace& trace, TraceTensorId seed) {
  std::vector<bool> marked(trace.tensors.size(), false);
  marked[seed] = true;
  for (const Region& region : trace.regions) {
    if (std::ranges::none_of(region.operands, [&](TraceTensorId id) { return marked[id]; })) continue;
    for (const TraceTensorId id : region.results) marked[id] = true;
  }
  return marked;
}

// A cotangent that is not the sum of what flows into its tensor.
Lines sum_lines(const Trace& trace, const Trace::Gradient& gradient, TraceTensorId tensor, TraceTensorId total,
                const std::vector<bool>& marked) {
  std::vector<TraceTensorId> parts;
  if (gradient.output == tensor) parts.push_back(gradient.seed);
  for (const Trace::Vjp& vjp : trace.vjps) {
    if (vjp.cotangent >= kFirstInner || !marked[vjp.cotangent] || vjp.node) continue;
    for (const auto& [position, id] : vjp.cotangents)
      if (trace.regions[vjp.of].operands[position] == tensor && id < kFirstInner) parts.push_back(id);
  }
  const Values recorded = values_of(trace, total);
  Values sum(recorded.size());
  for (const TraceTensorId id : parts) add_to(sum, values_of(trace, id));
  if (is_like(recorded, sum)) return {"the numbers are those of the sum; the recorded operations do not compute it"};
  Lines lines;
  for (const TraceTensorId id : parts) {
    Values without = sum, doubled = sum;
    add_to(without, values_of(trace, id), -1);
    add_to(doubled, values_of(trace, id));
    if (is_like(recorded, without)) lines.push_back(quoted(trace, total) + " is the sum without the term " + quoted(trace, id));
    if (is_like(recorded, doubled)) lines.push_back(quoted(trace, total) + " is the sum with this term twice: " + quoted(trace, id));
  }
  const std::string factor = factor_text(recorded, sum), not_finite = not_finite_text(recorded);
  if (lines.empty() && !not_finite.empty()) return {quoted(trace, total) + " is " + not_finite};
  if (lines.empty() && largest(recorded) == 0) lines.push_back(quoted(trace, total) + " is zero");
  if (lines.empty() && !factor.empty()) lines.push_back(quoted(trace, total) + " is " + factor + " the sum");
  return lines;
}

// A delivered gradient that is NaN or infinite.
Lines finite_lines(const Trace& trace, const Trace::Gradient& asked, const audit::GradientStep& step) {
  const bool is_wrong = step.failure->kind == Rejection::Kind::rejected;
  for (const auto& [tensor, total] : asked.of) {
    if (!step.place.starts_with("gradient of " + quoted(trace, tensor))) continue;
    return {"the recorded gradient of " + quoted(trace, tensor) + " is " + not_finite_text(values_of(trace, total)) +
            (is_wrong ? ", where the derivative is a number" : "; whether the derivative is a number there is not known")};
  }
  return {};
}

}  // namespace

constexpr const char* kStepWords =
    "rounding decided a step of the product (a comparison, an integer, a sign, a floor), or may have: by exact numbers the product is the "
    "derivative, by those of the run it need not be";

namespace {

constexpr std::string_view kTaken = "the taken branch's ";
// Of a branch that is not taken, and that has no derivative at the recorded point: the place is "..., 'NAME' element 3, at ...".
std::string branch_words(const Rejection& why) {
  const std::size_t from = std::min(why.place.find('\''), why.place.size()), to = why.place.find(", at the recorded point", from);
  const std::string taken = why.required.substr(kTaken.size(), why.required.find(", at the border") - kTaken.size());
  return "the cotangent of " + why.place.substr(from, to - from) + ": recorded " + in_decimals(why.found) +
         ", the branch that is taken gives " + in_decimals(taken) + "; the other branch has no derivative there" +
         (why.code == "gradient.border" ? ", and the point lies on the border between both" : "");
}

}  // namespace

std::vector<std::string> gradient_lines(const Trace& trace, std::size_t gradient, const audit::GradientStep& step) {
  constexpr std::size_t kMostElements = 1 << 18;  // the limit on work for words
  if (!step.failure || step.is_surrogate) return {};
  const Trace::Gradient& asked = trace.gradients[gradient];
  if (step.failure->code == "gradient.finite") return finite_lines(trace, asked, step);
  if (step.failure->code == "gradient.step") return {kStepWords};
  if (step.failure->required.starts_with(kTaken)) return {branch_words(*step.failure)};
  if (step.region >= trace.regions.size()) return {};
  const std::vector<bool> marked = after(trace, asked.seed);
  const Region& region = trace.regions[step.region];
  std::size_t elements = 0;
  for (const TraceTensorId id : region.operands) elements += trace.tensors[id].value.size();
  if (elements > kMostElements) return {};
  const bool is_sum = step.failure->code == "gradient.accumulation";
  for (const auto& [tensor, total] : asked.of)
    if (is_sum && step.place == "gradient of " + quoted(trace, tensor)) return sum_lines(trace, asked, tensor, total, marked);
  for (std::size_t v = 0; v < trace.vjps.size(); ++v) {
    const Trace::Vjp& vjp = trace.vjps[v];
    const bool is_it = step.vjp
                           ? *step.vjp == v
                           : vjp.of == step.region && vjp.result == step.result && vjp.cotangent < kFirstInner && marked[vjp.cotangent];
    if (!is_it || vjp.of != step.region || vjp.node || vjp.cotangent >= kFirstInner) continue;
    if (is_sum) return sum_lines(trace, asked, region.results[vjp.result], vjp.cotangent, marked);
    return Product(trace, vjp, *step.failure).lines();
  }
  return {};
}

}  // namespace assay::explain
