#include "explain/explain.h"

#include <cmath>
#include <utility>

#include "explain/pattern.h"
#include "explain/text.h"
#include "explain/view.h"

namespace assay::explain {

namespace {

using Lines = std::vector<std::string>;

void append(Lines& lines, const Lines& more, const std::string& indent) {
  for (const std::string& line : more) lines.push_back(indent + line);
}

std::string admitted_text(const View& view) {
  const contracts::FloatSet& set = view.set();
  std::string text;
  if (set.has_finite() && set.lo == 0 && set.hi == 0 && std::signbit(set.lo) != std::signbit(set.hi))
    text = "0 of either sign";
  else if (set.has_finite())
    text = set.lo == set.hi ? view.number(set.lo) + " = " + hex(set.lo)
                            : view.number(set.lo) + " .. " + view.number(set.hi) + " = [" + hex(set.lo) + ", " + hex(set.hi) + "]";
  for (const auto& [held, word] : {std::pair{set.minus_infinity, "-inf"}, std::pair{set.plus_infinity, "inf"}, std::pair{set.nan, "nan"}})
    if (held) text += (text.empty() ? "" : " or ") + std::string(word);
  return text;
}

std::string exact_text(const View& view) {
  if (view.exact().is_undefined()) return "";
  const double half_width = view.exact().hi() / 2 - view.exact().lo() / 2;
  return ", exact value " + decimal(view.exact_value()) + (half_width > 0 ? " (within " + rough(half_width) + ")" : "");
}

std::string distance_text(const audit::Violation& violation, const View& view) {
  if (!is_float(view.sets.sets.dtype)) return "";
  if (!std::isfinite(violation.steps)) return std::isfinite(view.received) ? "" : "no finite number was received";
  if (violation.steps == 0) return "outside by the sign of a zero alone";
  const char* format = view.format() == contracts::Format::binary32 ? contracts::name_of(view.sets.storage) : "float64";
  std::string text = "outside by " + rough(violation.steps) + " " + format + (violation.steps == 1 ? " step" : " steps");
  if (std::isfinite(violation.allowance_units))
    text += "; the error is " + rough(violation.allowance_units) + " times the largest admitted error";
  return text;
}

// The greatest number of the format whose magnitude is not above that of x.
double cut_off(contracts::Storage storage, double x) {
  const auto format = floats::precision_of(storage);
  return std::copysign(floats::number_below(format, std::fabs(x)), x);
}

// Of a result that is stored in 16 bits.
Lines storage_lines(const View& view) {
  if (view.sets.storage == contracts::Storage::same) return {};
  const std::string name = contracts::name_of(view.sets.storage);
  Lines lines = {"computed in float32, then stored in " + name + ": rounded once, to nearest"};
  const double nearest = contracts::rounded_to(view.sets.storage, view.exact_value());
  const auto is_received = [&](double other) { return other == view.received && other != nearest; };
  if (!view.exact().is_undefined() && is_received(cut_off(view.sets.storage, view.exact_value())))
    lines.push_back("the received value is the exact one cut off towards zero; the nearest number is " + view.number(nearest));
  return lines;
}

// A fused region's steps before its result, where they are single numbers.
Lines step_lines(const View& view) {
  constexpr std::size_t kMostSteps = 12;
  Lines lines;
  for (NodeId id = 0; id < view.output(); ++id) {
    const Node& node = view.part.graph.node(id);
    if (node.op == Op::input || node.op == Op::constant || view.values[id].values.size() != 1) continue;
    if (!view.part.named.empty() && view.part.named[id].node != id) continue;  // a slice, which the region has not
    if (lines.size() > kMostSteps) continue;
    lines.push_back("  " + step_text(view, id));
    if (contracts::family_of(node.op) == contracts::Family::sum) append(lines, sum_lines(view, id, 0), "    ");
  }
  if (!lines.empty()) lines.insert(lines.begin(), "each step by its own contract; before the last one, in double:");
  return lines;
}

Lines contract_lines(const View& view) {
  if (view.values.empty()) return {};
  Lines lines = step_lines(view);
  append(lines, formula_lines(view, view.output(), view.part.element), "");
  return lines;
}

// Where the received value stands in the operand of an op that only moves elements.
Lines moved_lines(const Trace& trace, const Region& region, const View& view) {
  const Node& node = region.graph.nodes.back();
  if (op_row(node.op).op_class != OpClass::layout || region.operands.size() != 1 || region.graph.nodes.size() != 2) return {};
  const Tensor& x = trace.tensors[region.operands[0]].value;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < x.size() && places.size() < 2; ++i)
    if (contracts::recorded_value(x, i) == view.received) places.push_back(i);
  if (places.empty()) return {"the operand does not hold the received value"};
  return {"the operand holds the received value at " + to_string(index_of(x.shape(), places[0])) +
          (places.size() > 1 ? " and elsewhere" : "")};
}

Lines element_lines(const Trace& trace, std::size_t r, const audit::Violation& violation, const std::string& word) {
  const Region& region = trace.regions[r];
  const Tensor& received = trace.tensors[region.results[violation.result]].value;
  Lines lines;
  const std::string place = word + " at " + to_string(index_of(received.shape(), violation.element)) + ": ";
  const auto view = view_of(trace, r, violation.result, violation.element);
  if (!view || view.value().set().contains(view.value().received)) return {place + violation.text};
  lines.push_back(place + "received " + received_text(received, violation.element) + ", admitted " + admitted_text(view.value()) +
                  exact_text(view.value()));
  const std::string distance = distance_text(violation, view.value());
  if (!distance.empty()) lines.push_back("  " + distance);
  append(lines, storage_lines(view.value()), "  ");
  append(lines, contract_lines(view.value()), "  ");
  append(lines, moved_lines(trace, region, view.value()), "  ");
  return lines;
}

}  // namespace

Lines failure_lines(const Trace& trace, std::size_t region, const audit::RegionAudit& audit, std::size_t result) {
  Lines lines;
  const auto is_here = [&](const std::optional<audit::Violation>& one) { return one && one->result == result; };
  const bool same = is_here(audit.first) && is_here(audit.worst) && audit.first->element == audit.worst->element;
  if (is_here(audit.worst)) append(lines, element_lines(trace, region, *audit.worst, same ? "first and worst" : "worst"), "");
  if (is_here(audit.first) && !same) append(lines, element_lines(trace, region, *audit.first, "first"), "");
  if (result < audit.failed_at.size() && audit.failed_at[result].size() > 1) {
    const Shape& shape = trace.tensors[trace.regions[region].results[result]].value.shape();
    lines.push_back("where, in " + to_string(shape) + ":");
    append(lines, pattern_lines(shape, audit.failed_at[result]), "  ");
  }
  return lines;
}

}  // namespace assay::explain
