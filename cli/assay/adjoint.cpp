#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <string>

#include "app/queries/adjoint.h"
#include "cli/assay/codes.h"
#include "cli/assay/common_options.h"
#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"

namespace assay::cli {
namespace {

constexpr const char* kAdjointSchema = "assay.adjoint/1";

void print(const queries::OpAdjointness& report) {
  if (report.cases.empty()) {
    std::printf("none       %-18s no real result, so no derivative\n", report.op.c_str());
    return;
  }
  double seconds = 0;
  for (const queries::CaseAdjointness& each : report.cases) seconds += each.cpu_seconds;
  std::printf("%-10s %-18s %-9s %s, %.3f s\n", report.verdict(), report.op.c_str(), counted(report.cases.size(), "case").c_str(),
              queries::methods(report).c_str(), seconds);
  for (const queries::CaseAdjointness& each : report.cases) {
    if (!each.outcome) std::printf("  %s\n", each.outcome.rejection().to_text().c_str());
  }
}

std::string adjoint_json(const std::vector<queries::OpAdjointness>& reports) {
  Json json = opened(kAdjointSchema);
  json["ops"] = Json::array();
  for (const queries::OpAdjointness& report : reports) {
    Json cases = Json::array();
    for (const queries::CaseAdjointness& each : report.cases) {
      Json one{{"name", each.name}, {"cpu_seconds", each.cpu_seconds}};
      if (each.outcome) {
        const gradients::Adjointness& found = each.outcome.value();
        one["method"] = queries::method_words(found.method);
        one["points"] = found.points;
        one["entries"] = found.entries;
        one["kinks"] = found.kinks;
        one["directions"] = found.directions;
        if (found.method == gradients::AdjointMethod::probed) one["miss_log2"] = found.miss_log2;
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
  if (options.all != options.op.empty()) return adjoint_usage("give --op NAME or --all, not both");
  const std::vector<Op> ops = options.all ? computing_ops() : ops_named(options.op);
  if (ops.empty()) return adjoint_usage(unknown_op(options.op));
  std::vector<queries::OpAdjointness> reports;
  for (const Op op : ops) {
    reports.push_back(queries::check_op(op, options.seed, [] { return is_interrupted() ? std::optional(interruption()) : std::nullopt; }));
    if (options.json != "-") print(reports.back());
    set_progress(std::to_string(reports.size()) + " of " + counted(ops.size(), "op") + " judged");
    // An op whose cases were all judged says nothing of the interruption: the next one does.
    if (is_interrupted() && reports.back().verdict() == std::string("undecided")) break;
  }
  conclude();
  std::size_t proved = 0, without = 0, broken = 0;
  double seconds = 0;
  for (const queries::OpAdjointness& report : reports) {
    const std::string verdict = report.verdict();
    proved += verdict == "proved" ? 1 : 0;
    without += verdict == "none" ? 1 : 0;
    broken += verdict == "broken" ? 1 : 0;
    for (const queries::CaseAdjointness& each : report.cases) seconds += each.cpu_seconds;
  }
  const std::size_t undecided = reports.size() - proved - without - broken;
  std::fprintf(stderr, "%s proved, %zu broken, %zu undecided, %zu without a derivative; %.1f s\n", counted(proved, "op").c_str(), broken,
               undecided, without, seconds);
  if (!write_json(options.json, adjoint_json(reports))) return kExitUnwritten;
  if (is_interrupted() && undecided > 0) print_explained(interruption());
  return broken > 0 ? kExitNo : undecided > 0 ? kExitUndecided : kExitYes;
}

void add_adjoint(CLI::App& app, int& exit) {
  static AdjointOptions options;
  CLI::App* verb =
      app.add_subcommand("adjoint", "Prove that the gradient rules of ops are right: each is the adjoint of the op's derivative");
  verb->add_option("--op", options.op, "an op that `assay ops` lists, or an ONNX operator, e.g. conv or MaxPool")->type_name("NAME");
  verb->add_flag("--all", options.all, "check every op");
  refuse_wrapped(verb->add_option("--seed", options.seed, "seed of the random points"))->capture_default_str();
  add_json(verb, options.json);
  verb->callback([&exit] { exit = adjoint(options); });
}

}  // namespace assay::cli
