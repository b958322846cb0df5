#include <cmath>
#include <cstdio>
#include <string>

#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "kernel/gradients/adjointness/adjointness.h"
#include "kernel/gradients/adjointness/cases.h"

namespace assay::cli {
namespace {

constexpr const char* kAdjointSchema = "assay.adjoint/1";

struct CaseAdjointness {
  std::string name;
  Outcome<kernel::Adjointness> outcome;
  double cpu_seconds = 0;
};

struct OpAdjointness {
  std::string op;
  std::vector<CaseAdjointness> cases;

  // proved, broken, undecided; none without cases
  [[nodiscard]] const char* verdict() const {
    const char* word = cases.empty() ? "none" : "proved";
    for (const CaseAdjointness& each : cases) {
      if (each.outcome) continue;
      if (each.outcome.rejection().kind == Rejection::Kind::rejected) return "broken";
      word = "undecided";
    }
    return word;
  }
};

const char* method_words(kernel::AdjointMethod method) {
  switch (method) {
    case kernel::AdjointMethod::probed:
      return "probed";
    case kernel::AdjointMethod::exact:
      return "exact";
    case kernel::AdjointMethod::opaque:
      return "probed relative to the derivative table";
  }
  return "";
}

OpAdjointness check_op(Op op, std::uint64_t seed) {
  OpAdjointness report{std::string(op_row(op).name), {}};
  for (const kernel::AdjointCase& one : kernel::adjoint_cases(op)) {
    if (is_interrupted()) {
      report.cases.push_back({one.name, interruption(), 0});
      break;
    }
    const double start = thread_cpu_seconds();
    Outcome<kernel::Adjointness> outcome = kernel::check_adjointness(one, seed);
    report.cases.push_back({one.name, std::move(outcome), thread_cpu_seconds() - start});
  }
  return report;
}

// "exact at 8 points", "probed at 4 points (miss below 2^-80)", "probed at 3 points relative to the derivative table"
std::string methods(const OpAdjointness& report) {
  std::string text;
  std::size_t kinks = 0, directions = 0;
  for (const auto method : {kernel::AdjointMethod::probed, kernel::AdjointMethod::exact, kernel::AdjointMethod::opaque}) {
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
    if (method == kernel::AdjointMethod::probed)
      text += " (miss below 2^" + std::to_string(static_cast<int>(std::ceil(std::log2(miss)))) + ")";
  }
  if (kinks > 0) text += "; sets at " + counted(kinks, "kink") + " in " + counted(directions, "direction");
  return text;
}

void print(const OpAdjointness& report) {
  if (report.cases.empty()) {
    std::printf("none       %-18s no real result, so no derivative\n", report.op.c_str());
    return;
  }
  double seconds = 0;
  for (const CaseAdjointness& each : report.cases) seconds += each.cpu_seconds;
  std::printf("%-10s %-18s %-9s %s, %.3f s\n", report.verdict(), report.op.c_str(), counted(report.cases.size(), "case").c_str(),
              methods(report).c_str(), seconds);
  for (const CaseAdjointness& each : report.cases) {
    if (!each.outcome) std::printf("  %s\n", each.outcome.rejection().to_text().c_str());
  }
}

std::string adjoint_json(const std::vector<OpAdjointness>& reports) {
  Json json = opened(kAdjointSchema);
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
  return json_text(json);
}

int adjoint_usage(const std::string& text) {
  std::fprintf(stderr, "assay adjoint: %s\n", text.c_str());
  return kExitUsage;
}

}  // namespace

int adjoint(const AdjointOptions& options) {
  if (options.all != options.op.empty()) return adjoint_usage("either --op NAME or --all");
  const std::vector<Op> ops = options.all ? computing_ops() : ops_named(options.op);
  if (ops.empty()) return adjoint_usage(unknown_op(options.op));
  std::vector<OpAdjointness> reports;
  for (const Op op : ops) {
    reports.push_back(check_op(op, options.seed));
    if (options.json != "-") print(reports.back());
    set_progress(std::to_string(reports.size()) + " of " + counted(ops.size(), "op") + " judged");
    // An op whose cases were all judged says nothing of the interruption: the next one does.
    if (is_interrupted() && reports.back().verdict() == std::string("undecided")) break;
  }
  conclude();
  std::size_t proved = 0, without = 0, broken = 0;
  double seconds = 0;
  for (const OpAdjointness& report : reports) {
    const std::string verdict = report.verdict();
    proved += verdict == "proved" ? 1 : 0;
    without += verdict == "none" ? 1 : 0;
    broken += verdict == "broken" ? 1 : 0;
    for (const CaseAdjointness& each : report.cases) seconds += each.cpu_seconds;
  }
  const std::size_t undecided = reports.size() - proved - without - broken;
  std::fprintf(stderr, "%s proved, %zu broken, %zu undecided, %zu without a derivative; %.1f s\n", counted(proved, "op").c_str(), broken,
               undecided, without, seconds);
  if (!write_json(options.json, adjoint_json(reports))) return kExitUnwritten;
  if (is_interrupted() && undecided > 0) print_rejection(stderr, "assay", interruption());
  return broken > 0 ? kExitNo : undecided > 0 ? kExitUndecided : kExitYes;
}

}  // namespace assay::cli
