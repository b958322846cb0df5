// The gradients of a recorded run as cases. Every product has to be the adjoint of the derivative of its region's meaning. Every
// cotangent has to be the sum of all that flow into it. Tangents have to be derivatives in forward mode.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "app/gates/gate.h"
#include "app/words.h"
#include "explain/explain.h"
#include "explain/text.h"
#include "kernel/audit/gradients.h"
#include "kernel/audit/tangents.h"

namespace assay::gates {

using reports::ops_of;

namespace {

// The first sentence of an explanation, with the pattern that is told in an indented line below it.
std::size_t opening_of(const std::vector<std::string>& lines) {
  if (lines.empty()) return 0;
  return lines.size() > 1 && lines[1].starts_with("  it is ") ? 2 : 1;
}

// The number that a text of the kernel stands for: a fraction, or the middle of an interval ("... in [1.5, 1.6]"). NaN where it is none.
double number_of(const std::string& text) {
  const std::size_t open = text.rfind('['), comma = text.find(", ", open == std::string::npos ? 0 : open), slash = text.find('/');
  if (open != std::string::npos && comma != std::string::npos)
    return (std::strtod(text.c_str() + open + 1, nullptr) + std::strtod(text.c_str() + comma + 2, nullptr)) / 2;
  if (text.empty() || text.find(' ') != std::string::npos) return std::nan("");
  return std::strtod(text.c_str(), nullptr) / (slash == std::string::npos ? 1 : std::strtod(text.c_str() + slash + 1, nullptr));
}

// With as many digits as tell it from another number; empty where none do.
std::string told_apart(double value, double other) {
  for (const int digits : {3, 6, 9, 12}) {
    std::array<char, 40> text{}, beside{};
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    std::snprintf(beside.data(), beside.size(), "%.*g", digits, other);
    if (std::isfinite(value) && std::isfinite(other) && std::string(text.data()) != beside.data()) return text.data();
  }
  return "";
}

// "[2, 0]" for element 6 of a tensor of three columns; `text` is "NAME[6]".
std::string place_of(const Trace& trace, TraceTensorId id, const std::string& text) {
  const Shape& shape = trace.tensors[id].value.shape();
  const std::string digits = text.substr(std::min(text.size(), text.rfind('[') + 1), 15);
  return shape.empty() ? "" : to_string(explain::index_of(shape, std::strtoul(digits.c_str(), nullptr, 10)));
}

bool is_identity(const audit::GradientStep& step) { return step.failure && step.failure->found.starts_with("adjointness.identity"); }

// An entry of the Jacobian ("..., d y[0] / d NAME[3]: A and B") in words: decimals that tell both sides apart. Where there are none, exact
// arithmetic alone does. The numbers as the kernel compared them become `exact`.
std::string message_of(const Trace& trace, const audit::GradientStep& step, std::string& exact) {
  const Rejection& why = *step.failure;
  const std::size_t entry = why.found.find(", d y["), by = why.found.find(" / d ", entry), end = why.found.find("]: ", entry);
  const std::size_t split = why.found.find(" and ", end);
  if (entry == std::string::npos || by == std::string::npos || split == std::string::npos || step.region >= trace.regions.size()) {
    const std::string whole = "expected " + why.required + ", found " + why.found, message = explain::in_decimals(whole);
    if (message != whole) exact = whole;
    return message;
  }
  const Region& region = trace.regions[step.region];
  const std::string by_text = why.found.substr(by + 5, end - by - 5), name = by_text.substr(0, by_text.rfind('['));
  const auto operand = std::ranges::find_if(region.operands, [&](TraceTensorId id) { return trace.tensors[id].name == name; });
  const TraceTensorId result = region.results[step.vjp ? trace.vjps[*step.vjp].result : step.result];
  const std::string what = "the derivative of '" + trace.tensors[result].name + "'" +
                           place_of(trace, result, why.found.substr(entry, by - entry)) + " by '" + name + "'" +
                           (operand == region.operands.end() ? "" : place_of(trace, *operand, by_text));
  const std::string left = why.found.substr(end + 3, split - end - 3), right = why.found.substr(split + 5);
  exact = "the recorded product gives " + left + ", the derivative is " + right;
  if (is_identity(step))
    return "no number tells the recorded product from the derivative, but their formulas differ, and the check knows no identity that "
           "makes them equal (adjointness.identity): " +
           what;
  const std::string given = told_apart(number_of(left), number_of(right));
  if (given.empty())
    return "the recorded product and the derivative are different functions: exact arithmetic at random points of the recorded ranges "
           "tells "
           "them apart, in " +
           what;
  return "at a random point of the recorded ranges " + what + " is " + told_apart(number_of(right), number_of(left)) +
         ", and the recorded product gives " + given;
}

// True for a step that is listed for a whole gradient, and for no region.
bool is_of_gradient(const audit::GradientStep& step) {
  if (!step.failure) return false;
  return step.failure->code == "gradient.nothing" || step.failure->code == "gradient.detached" || step.failure->code == "gradient.finite";
}

bool is_of_kinks(const std::string& code) { return code == "gradient.kink" || code == "gradient.convention"; }

GateCase case_of(const Trace& trace, std::size_t gradient, const audit::GradientStep& step) {
  GateCase one;
  one.name = step.place;
  const Region none, &region = step.region < trace.regions.size() ? trace.regions[step.region] : none;
  const std::string product = step.is_surrogate ? "surrogate vjp of " : "vjp of ";
  if (step.is_surrogate) one.statement = {"surrogate, not the derivative: the product is judged as that of the function that it declares"};
  one.op = is_of_gradient(step)                                                            ? "gradient"
           : step.kinks > 0 || (step.failure && is_of_kinks(step.failure->code))           ? "kinks of " + ops_of(region.graph)
           : step.proof || (step.failure && step.failure->code != "gradient.accumulation") ? product + ops_of(region.graph)
                                                                                           : "sum of cotangents";
  one.model = is_of_gradient(step) ? "" : to_string(region.model);
  if (!step.failure) {
    one.passed = step.kinks > 0 ? step.kinks : trace.tensors[region.results[step.result]].value.size();
    return one;
  }
  const bool decided = step.failure->kind == Rejection::Kind::rejected;
  Finding finding{decided ? Finding::Kind::failure : Finding::Kind::undecided,
                  step.failure->code,
                  step.failure->place.empty() ? step.place : step.failure->place,
                  {},
                  {},
                  1,
                  {}};
  finding.message = message_of(trace, step, finding.exact);
  finding.details = explain::gradient_lines(trace, gradient, step);
  finding.opening = opening_of(finding.details);
  if (is_identity(step) || (step.failure->code == "gradient.convention" && finding.details.empty())) {
    finding.details = {(is_identity(step) ? "" : finding.subject + ": ") + finding.message};
    finding.opening = 1;
  }
  if (decided && finding.opening == 0 && step.failure->code == "gradient.product") {
    finding.details.insert(finding.details.begin(),
                           std::string("the recorded product computes something else than the vector-Jacobian product of ") +
                               (step.is_surrogate ? "the function that it declares" : "its region") +
                               ": at random points of the recorded ranges the two differ");
    finding.opening = 1;
  }
  one.failed = decided ? 1 : 0;
  one.findings.push_back(std::move(finding));
  return one;
}

// Counts the recorded cotangents on kinks, by the kind of the judgement.
class Kinks {
 public:
  void note(const Trace& trace, const audit::GradientStep& step) {
    if (step.kinks == 0 && step.corners == 0) return;
    const Graph& graph = trace.regions[step.region].graph;
    const std::string ops = ops_of(graph);
    const bool is_one = graph.nodes.size() == graph.inputs.size() + 1;  // its kinks have a step of their own
    if (step.corners > 0 && !is_one) counts_[ops + " by the derivatives on all sides"] += step.corners;
    if (step.kinks > 0 && step.weights)
      counts_[ops + " in [" + rounded(step.weights->lo()) + ", " + rounded(step.weights->hi()) + "]"] += step.kinks;
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t all = 0;
    for (const auto& [how, count] : counts_) all += count;
    return all;
  }
  [[nodiscard]] std::string text(audit::KinkConvention convention) const {
    std::string words;
    for (const auto& [how, count] : counts_) words += (words.empty() ? ": " : ", ") + std::to_string(count) + " of " + how;
    const std::size_t all = count();
    return counted(all, "recorded cotangent") + " at kinks" + words +
           (all == 0                                       ? ""
            : convention == audit::KinkConvention::pytorch ? " and by PyTorch's convention"
                                                           : "");
  }

 private:
  std::map<std::string, std::size_t> counts_;
};

}  // namespace

std::vector<GateCase> gradient_cases(const Trace& trace, std::uint64_t seed, const Stop& stop, audit::KinkConvention convention,
                                     GateReport* report) {
  std::vector<GateCase> cases;
  Kinks kinks;
  std::vector<bool> judged(trace.vjps.size(), false);
  const auto append = [&](const std::string& name, std::size_t g, const std::function<std::vector<audit::GradientStep>()>& steps) {
    if (stop()) return;
    try {
      for (const audit::GradientStep& step : steps()) {
        kinks.note(trace, step);
        if (step.is_limited && report != nullptr) report->limited.push_back(step.place);
        cases.push_back(case_of(trace, g, step));
      }
    } catch (const std::bad_alloc&) {
      GateCase one;
      one.name = name;
      one.op = "gradient";
      cases.push_back(too_large(std::move(one)));
    }
  };
  for (std::size_t g = 0; g < trace.gradients.size(); ++g)
    append("gradient of '" + trace.tensors[trace.gradients[g].output].name + "'", g,
           [&] { return audit::check_gradient(trace, g, seed, convention, &judged); });
  if (!trace.gradients.empty())
    append("products that no gradient needs", 0, [&] { return audit::check_other_products(trace, judged, seed, convention); });
  if (report != nullptr) {
    report->facts.emplace_back("kinks", kinks.text(convention));
    report->kinks = kinks.count();
    if (!report->limited.empty())
      report->facts.emplace_back("limits", counted(report->limited.size(), "product") + " judged with functions at their limits, where " +
                                               "operands are so far from 0 that every float execution rounds to the limit");
  }
  return cases;
}

namespace {

GateCase case_of(const Trace& trace, const audit::TangentStep& step) {
  const Region& region = trace.regions[step.region];
  GateCase one;
  one.name = step.place;
  one.op = "jvp to " + ops_of(region.graph);
  one.model = to_string(region.model);
  const Trace::Entry& tangent = trace.tensors[step.tangent];
  if (!step.failure) {
    one.passed = tangent.value.size();
    return one;
  }
  const bool decided = step.failure->kind == Rejection::Kind::rejected;
  Finding finding{decided ? Finding::Kind::failure : Finding::Kind::undecided, step.failure->code, step.failure->place, {}, {}, 1, {}};
  finding.message = "expected " + step.failure->required + ", found " + step.failure->found;
  if (decided && step.failure->code == "tangent.product") {
    finding.details = {"the recorded tangent '" + tangent.name + "' is not the derivative of what gave its tensor (region " +
                       std::to_string(step.region) + (region.name.empty() ? "" : ", " + region.name) +
                       "): at random points of the recorded ranges the two differ"};
    finding.opening = 1;
  }
  one.failed = decided ? 1 : 0;
  one.findings.push_back(std::move(finding));
  return one;
}

GateCase dead_case(const Trace& trace, const audit::TangentStep& step, bool allowed) {
  const Trace::Entry& tangent = trace.tensors[step.tangent];
  GateCase one;
  one.name = step.place;
  one.op = "dead tangents";
  one.model = to_string(trace.regions[step.region].model);
  one.findings.push_back({allowed ? Finding::Kind::vacuous : Finding::Kind::undecided,
                          "gradient.dead",
                          tangent.name,
                          "'" + tangent.name + "' is 0 in all " + std::to_string(tangent.value.size()) +
                              " elements, where the derivative is not: no mistake in what computed it could show",
                          {},
                          tangent.value.size(),
                          {}});
  return one;
}

}  // namespace

std::vector<GateCase> tangent_cases(const Trace& trace, std::uint64_t seed, bool allow_dead, const Stop& stop) {
  std::vector<GateCase> cases;
  for (std::size_t k = 0; k < trace.tangents.size() && !stop(); ++k) {
    if (trace.tangents[k].to.empty())
      cases.push_back(nothing_case("tangents " + std::to_string(k), "the tangents of no tensor were asked for"));
    try {
      for (const audit::TangentStep& step : audit::check_tangents(trace, k, seed)) {
        cases.push_back(case_of(trace, step));
        if (step.is_dead) cases.push_back(dead_case(trace, step, allow_dead));
      }
    } catch (const std::bad_alloc&) {
      GateCase one;
      one.name = "tangents " + std::to_string(k);
      one.op = "jvp";
      cases.push_back(too_large(std::move(one)));
    }
  }
  return cases;
}

audit::TraceDomain any_inputs(const Trace& trace) {
  constexpr double kMost = std::numeric_limits<float>::max();
  audit::TraceDomain domain;
  for (TraceTensorId id = 0; id < trace.tensors.size(); ++id) {
    const Trace::Entry& entry = trace.tensors[id];
    if (entry.origin != Trace::Origin::result && is_float(entry.value.dtype())) domain.emplace_back(id, Interval(-kMost, kMost));
  }
  return domain;
}

std::vector<GateCase> dead_cases(const Trace& trace, const audit::Liveness& life, std::size_t draws, bool allowed) {
  std::vector<GateCase> cases;
  for (const audit::DeadProduct& dead : life.dead) {
    const Region& region = trace.regions[dead.region];
    GateCase one;
    one.name = "region " + std::to_string(dead.region) + (region.name.empty() ? "" : " (" + region.name + ")");
    one.op = "dead cotangents";
    one.model = to_string(region.model);
    std::string message =
        std::string(dead.is_read ? "its product reads" : "its product gives") + " '" + dead.cotangent + "', which is 0 in " +
        (dead.elements == 1 ? "its element" : "all " + std::to_string(dead.elements) + " elements") + ": no mistake in it could show";
    if (dead.is_always)
      message += "; it is 0 for every input of the domain, by interval bounds";
    else if (draws > 1)
      message += "; the best of " + counted(draws, "draw") + " of random inputs";
    one.findings.push_back({allowed || dead.is_always ? Finding::Kind::vacuous : Finding::Kind::undecided,
                            "gradient.dead",
                            dead.cotangent,
                            std::move(message),
                            {},
                            dead.elements,
                            {}});
    cases.push_back(std::move(one));
  }
  return cases;
}

std::string dead_text(const audit::Liveness& life) {
  const auto always = static_cast<std::size_t>(std::ranges::count_if(life.dead, [](const auto& one) { return one.is_always; }));
  return std::to_string(life.dead.size()) + " of " + counted(life.products, "product") +
         (always == 0 ? "" : ", " + std::to_string(always) + " of them for every input of the domain");
}

}  // namespace assay::gates
