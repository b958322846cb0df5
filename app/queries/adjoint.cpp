#include "app/queries/adjoint.h"

#include <cmath>
#include <optional>
#include <utility>

#include "api/check/load.h"
#include "app/words.h"
#include "kernel/gradients/adjointness/cases.h"
#include "semantics/graph/graph.h"

namespace assay::queries {

OpAdjointness check_op(Op op, std::uint64_t seed, const std::function<std::optional<Rejection>()>& interruption) {
  OpAdjointness report{std::string(op_row(op).name), {}};
  for (const gradients::AdjointCase& one : gradients::adjoint_cases(op)) {
    if (const auto why = interruption()) {
      report.cases.push_back({one.name, *why, 0});
      break;
    }
    const double start = check::thread_cpu_seconds();
    Outcome<gradients::Adjointness> outcome = gradients::check_adjointness(one, seed);
    report.cases.push_back({one.name, std::move(outcome), check::thread_cpu_seconds() - start});
  }
  return report;
}

const char* method_words(gradients::AdjointMethod method) {
  switch (method) {
    case gradients::AdjointMethod::probed:
      return "probed";
    case gradients::AdjointMethod::exact:
      return "exact";
    case gradients::AdjointMethod::opaque:
      return "probed relative to the derivative table";
  }
  return "";
}

std::string methods(const OpAdjointness& report) {
  std::string text;
  std::size_t kinks = 0, directions = 0;
  for (const auto method : {gradients::AdjointMethod::probed, gradients::AdjointMethod::exact, gradients::AdjointMethod::opaque}) {
    std::size_t points = 0;
    double miss = 0;  // of any case: the sum over cases
    for (const CaseAdjointness& each : report.cases) {
      if (!each.outcome || each.outcome.value().method != method) continue;
      points += each.outcome.value().points;
      miss += std::exp2(each.outcome.value().miss_log2);
      kinks += each.outcome.value().kinks;
      directions += each.outcome.value().directions;
    }
    if (points == 0) continue;
    if (!text.empty()) text += ", ";
    text += method_words(method) + (" at " + counted(points, "point"));
    if (method == gradients::AdjointMethod::probed)
      text += " (miss below 2^" + std::to_string(static_cast<int>(std::ceil(std::log2(miss)))) + ")";
  }
  if (kinks > 0) text += "; sets at " + counted(kinks, "kink") + " in " + counted(directions, "direction");
  return text;
}

}  // namespace assay::queries
