// Einsum: diagonals, sums and products over named axes, carried out operand by operand from the left.
//
// Each pair becomes one batched matrix product [batch, m, k] x [batch, k, n]: k are the labels that nothing later needs, batch
// those of both operands that something does. Without a k it is an elementwise product.
#include <algorithm>
#include <map>

#include "frontends/onnx/lowering/compose.h"
#include "frontends/onnx/text.h"

namespace assay::onnx {
namespace {

using Labels = std::vector<int>;  // letters by their code, axes of the ellipsis from kDots on, counted from the right
constexpr int kDots = 256;

struct Term {
  Operand value;
  Labels labels;  // one per axis
};

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// One subscript; `dots` axes stand for its ellipsis.
Labels read_subscript(const Call& call, const std::string& text, std::size_t dots) {
  Labels labels;
  bool had_dots = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      labels.push_back(text[i]);
    } else if (text.compare(i, 3, "...") == 0 && !had_dots) {
      for (std::size_t axis = dots; axis-- > 0;) labels.push_back(kDots + static_cast<int>(axis));
      had_dots = true;
      i += 2;
    } else {
      call.malformed("onnx.attribute", "an equation of letters, commas, one ... per subscript and ->", printable(text));
    }
  }
  return labels;
}

struct Equation {
  std::vector<Term> terms;
  Labels result;
};

// Without "->": the ellipsis, then the letters that occur once, in alphabetical order.
Labels implied_result(const std::vector<Term>& terms, std::size_t dots) {
  std::map<int, int> occurrences;
  for (const Term& term : terms) {
    for (const int label : term.labels) ++occurrences[label];
  }
  Labels result;
  for (std::size_t axis = dots; axis-- > 0;) result.push_back(kDots + static_cast<int>(axis));
  for (const auto& [label, count] : occurrences) {
    if (label < kDots && count == 1) result.push_back(label);
  }
  return result;
}

Equation read_equation(const Call& call) {
  std::string text = call.attribute("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> subscripts = split_at(text.substr(0, arrow), ',');
  if (subscripts.size() != call.inputs.size())
    call.malformed("onnx.attribute", std::to_string(call.inputs.size()) + " subscripts", printable(text));
  Equation equation;
  std::size_t most_dots = 0;
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    const auto letters = static_cast<std::size_t>(std::count_if(subscripts[i].begin(), subscripts[i].end(), is_letter));
    const std::size_t rank = call.shape(i).size();
    const std::size_t dots = rank >= letters ? rank - letters : 0;
    equation.terms.push_back({call.in(i), read_subscript(call, subscripts[i], dots)});
    if (equation.terms.back().labels.size() != rank)
      call.malformed("onnx.shape", "one label per axis of input " + std::to_string(i),
                     printable(subscripts[i]) + " for " + to_string(call.shape(i)));
    if (subscripts[i].find('.') != std::string::npos) most_dots = std::max(most_dots, dots);
  }
  equation.result =
      arrow == std::string::npos ? implied_result(equation.terms, most_dots) : read_subscript(call, text.substr(arrow + 2), most_dots);
  for (std::size_t i = 0; i < equation.result.size(); ++i) {
    const int label = equation.result[i];
    const bool known = std::any_of(equation.terms.begin(), equation.terms.end(), [&](const Term& term) { return has(term.labels, label); });
    if (!known || std::count(equation.result.begin(), equation.result.end(), label) != 1)
      call.malformed("onnx.attribute", "a result of distinct labels of the operands", printable(text));
  }
  for (std::size_t axis = 0; axis < most_dots; ++axis) {
    if (!has(equation.result, kDots + static_cast<int>(axis)))
      call.malformed("onnx.attribute", "the ellipsis in the result, too", printable(text));
  }
  return equation;
}

// A label that occurs twice takes the diagonal of its axes.
Term without_repetition(Call& call, const Term& term) {
  Labels once;
  Ints strides;
  Shape shape;
  const Ints all = strides_of(term.value->shape);
  for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
    const auto at = static_cast<std::size_t>(std::find(once.begin(), once.end(), term.labels[axis]) - once.begin());
    if (at == once.size()) {
      once.push_back(term.labels[axis]);
      strides.push_back(0);
      shape.push_back(term.value->shape[axis]);
    }
    if (shape[at] != term.value->shape[axis]) call.malformed("onnx.shape", "one extent per label", to_string(term.value->shape));
    strides[at] += all[axis];
  }
  if (once.size() == term.labels.size()) return term;
  Ints from(element_count(shape)), index(shape.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i, (void)next_index(index, shape)) {
    for (std::size_t axis = 0; axis < index.size(); ++axis) from[i] += index[axis] * strides[axis];
  }
  return {select_flat(call, term.value, std::move(from), shape), once};
}

// Axes of the ellipsis broadcast; letters have one extent.
void agree_on_extents(Call& call, std::vector<Term>& terms) {
  std::map<int, std::int64_t> extents;
  for (const Term& term : terms) {
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
      const std::int64_t extent = term.value->shape[axis];
      std::int64_t& known = extents.emplace(term.labels[axis], extent).first->second;
      if (term.labels[axis] >= kDots && known == 1) known = extent;
      if (known != extent && !(term.labels[axis] >= kDots && extent == 1))
        call.malformed("onnx.shape", "one extent per label", std::to_string(known) + " and " + std::to_string(extent));
    }
  }
  for (Term& term : terms) {
    Shape shape;
    for (const int label : term.labels) shape.push_back(extents.at(label));
    term.value = expand(call, term.value, shape);
  }
}

Term sum_out(Call& call, const Term& term, const Labels& kept) {
  ReduceAttributes sum{{}, false};
  Labels labels;
  for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
    if (has(kept, term.labels[axis]))
      labels.push_back(term.labels[axis]);
    else
      sum.axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (sum.axes.empty()) return term;
  return {call.emit(Op::reduce_sum, {term.value}, std::move(sum)), labels};
}

Operand arranged(Call& call, const Term& term, const Labels& order) {
  Ints axes;
  for (const int label : order) axes.push_back(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
  return permute(call, term.value, std::move(axes));
}

// The labels of `from` that are (not) in `other`, and all of them in `kept` or all not.
Labels choose(const Labels& from, const Labels& other, bool in_other, const Labels& kept, bool is_kept) {
  Labels chosen;
  for (const int label : from) {
    if (has(other, label) == in_other && has(kept, label) == is_kept) chosen.push_back(label);
  }
  return chosen;
}

Shape extents_of(const Term& term, const Labels& labels) {
  Shape shape;
  for (const int label : labels) {
    shape.push_back(
        term.value->shape[static_cast<std::size_t>(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin())]);
  }
  return shape;
}

Labels joined(Labels a, const Labels& b, const Labels& c = {}) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

std::int64_t count_of(const Shape& shape) { return static_cast<std::int64_t>(element_count(shape)); }

Term product(Call& call, Term a, Term b, const Labels& kept) {
  a = sum_out(call, a, joined(kept, b.labels));
  b = sum_out(call, b, joined(kept, a.labels));
  const Labels batch = choose(a.labels, b.labels, true, kept, true), k = choose(a.labels, b.labels, true, kept, false);
  const Labels m = choose(a.labels, b.labels, false, kept, true), n = choose(b.labels, a.labels, false, kept, true);
  const Shape batch_shape = extents_of(a, batch), m_shape = extents_of(a, m), n_shape = extents_of(b, n);
  const std::int64_t batches = count_of(batch_shape), terms = count_of(extents_of(a, k)), rows = count_of(m_shape),
                     columns = count_of(n_shape);
  const Operand left = call.reshape(arranged(call, a, joined(batch, m, k)), {batches, rows, terms});
  const Operand right = call.reshape(arranged(call, b, joined(batch, k, n)), {batches, terms, columns});
  const Operand y = call.emit(k.empty() ? Op::mul : Op::matmul, {left, right});
  Shape shape = batch_shape;
  shape.insert(shape.end(), m_shape.begin(), m_shape.end());
  shape.insert(shape.end(), n_shape.begin(), n_shape.end());
  return {call.reshape(y, shape), joined(batch, m, n)};
}

}  // namespace

Results lower_einsum(Call& call) {
  Equation equation = read_equation(call);
  for (Term& term : equation.terms) term = without_repetition(call, term);
  agree_on_extents(call, equation.terms);
  Term result = equation.terms.front();
  for (std::size_t i = 1; i < equation.terms.size(); ++i) {
    Labels kept = equation.result;
    for (std::size_t later = i + 1; later < equation.terms.size(); ++later) kept = joined(kept, equation.terms[later].labels);
    result = product(call, result, equation.terms[i], kept);
  }
  result = sum_out(call, result, equation.result);
  return {arranged(call, result, equation.result)};
}

}  // namespace assay::onnx
