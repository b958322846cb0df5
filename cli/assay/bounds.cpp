#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/queries/bounds.h"
#include "app/queries/theorem_json.h"
#include "cli/assay/codes.h"
#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "kernel/logic/api.h"
#include "semantics/printable.h"
#include "semantics/statement/statement_text.h"

namespace assay::cli {
namespace {

using queries::GroupBounds;
using queries::NodeBounds;

constexpr const char* kBoundsSchema = "assay.bounds/1";

void print_table(const GroupBounds& bounds) {
  std::printf("group %zu (%s)\n", bounds.group, counted(bounds.cases, "case").c_str());
  std::printf("%6s  %-14s %-18s %14s %14s %14s  %s\n", "node", "op", "shape", "least lo", "greatest hi", "mean width", "name");
  for (const NodeBounds& node : bounds.nodes) {
    if (node.lo.empty()) continue;
    double width = 0;
    for (std::size_t i = 0; i < node.lo.size(); ++i) width += (node.hi[i] - node.lo[i]) / static_cast<double>(node.lo.size());
    std::printf("%6u  %-14s %-18s %14.6g %14.6g %14.6g  %s\n", node.node, node.op.c_str(), to_string(node.shape).c_str(),
                *std::ranges::min_element(node.lo), *std::ranges::max_element(node.hi), width, printable(node.name).c_str());
  }
  if (bounds.stopped)
    std::printf("  stopped after %.1f s: the nodes that back-substitution did not reach have interval bounds, those not listed none\n",
                bounds.seconds);
  for (const NodeBounds& node : bounds.nodes) {
    for (std::size_t i = 0; node.output && i < node.lo.size(); ++i)
      std::printf("  output %s[%zu] in [%.17g, %.17g]\n", printable(node.name).c_str(), i, node.lo[i], node.hi[i]);
  }
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(queries::double_json(value));
  return list;
}

std::string bounds_json(const BoundsOptions& options, const std::vector<std::string>& notes,
                        const std::vector<queries::GroupBounds>& groups, const std::optional<Rejection>& why) {
  Json json = opened("assay.bounds/1");
  json["model"] = options.model;
  json["property"] = options.property;
  json["method"] = options.method;
  json["notes"] = notes;
  json["groups"] = Json::array();
  for (const queries::GroupBounds& group : groups) {
    Json entry{{"group", group.group},     {"cases", group.cases},  {"seconds", group.seconds}, {"cpu_seconds", group.cpu_seconds},
               {"stopped", group.stopped}, {"nodes", Json::array()}};
    for (const queries::NodeBounds& node : group.nodes)
      entry["nodes"].push_back({{"node", node.node},
                                {"op", node.op},
                                {"name", node.name},
                                {"shape", to_string(node.shape)},
                                {"output", node.output},
                                {"lo", numbers(node.lo)},
                                {"hi", numbers(node.hi)}});
    json["groups"].push_back(std::move(entry));
  }
  if (why) json["rejection"] = rejection(*why);
  return json_text(json);
}

}  // namespace

int bounds(const BoundsOptions& options) {
  LoadOptions load_options;
  load_options.semantics = options.semantics;
  load_options.limits = options.limits;
  load_options.polynomials = vnnlib::Polynomials::leave_out;
  auto loaded = load_files(options.model, options.property, load_options);
  if (!loaded) return refuse(kBoundsSchema, options.json, loaded.rejection());
  const auto& problem = loaded.value().problem;
  const std::vector<std::string> notes = loaded.value().notes;
  if (options.json != "-" && !options.statement.empty() && !is_file(options.statement))
    std::fputs(
        statement::statement_text(problem->statement(), problem->graph_digest(), problem->digest(), is_full(options.statement)).c_str(),
        stdout);
  if (options.json != "-") print_notes(stdout, notes);
  std::vector<GroupBounds> groups;
  bool complete = true;  // every output has bounds
  queries::BoundsRequest request;
  request.crown = options.method == "crown";
  request.seconds = options.timeout;
  request.outputs_only = options.nodes == "outputs";
  request.stop = is_interrupted;
  request.on_group = [&](std::size_t group) {
    set_progress(std::to_string(group) + " of " + counted(problem->group_count(), "input box", "es") + " bounded");
  };
  const auto take = [&](GroupBounds bounds) {
    if (bounds.empty) return static_cast<void>(std::fprintf(stderr, "group %zu: its input box is empty\n", bounds.group));
    complete = complete && bounds.complete;
    if (options.json != "-") print_table(bounds);
    if (!options.json.empty()) groups.push_back(std::move(bounds));
  };
  if (auto done = queries::derive_bounds(problem, request, take); !done) return refuse(kBoundsSchema, options.json, done.rejection());
  conclude();
  const std::optional<Rejection> why = is_interrupted() ? std::optional(interruption()) : std::nullopt;
  if (why) print_explained(*why);
  const bool written = write_statement(options.statement, *problem);
  if (!write_json(options.json, bounds_json(options, notes, groups, why)) || !written) return kExitUnwritten;
  return complete && !why ? kExitYes : kExitUndecided;
}

void add_bounds(CLI::App& app, int& exit) {
  static BoundsOptions options;
  CLI::App* verb = app.add_subcommand("bounds", "Prove bounds of every node of a model on each input box of a property");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  verb->add_option("PROPERTY", options.property, "the VNN-LIB file")->required();
  verb->add_option("--method", options.method, "interval propagation (ibp), or backward linear bounds (crown)")
      ->check(CLI::IsMember({"ibp", "crown"}))
      ->capture_default_str();
  verb->add_option("--nodes", options.nodes, "nodes to bound")->check(CLI::IsMember({"all", "outputs"}))->capture_default_str();
  verb->add_option("--timeout", options.timeout,
                   "time for all boxes, e.g. 90s or 5m, of which backward bounds may take four fifths; 0 means no limit")
      ->type_name("TIME")
      ->transform([](const std::string& text) {
        double seconds = 0;
        if (!parse_seconds(text, seconds)) throw CLI::ValidationError("--timeout", "expected a time such as 60, 90s or 5m, got " + text);
        std::array<char, 32> number{};
        (void)std::snprintf(number.data(), number.size(), "%.17g", seconds);
        return std::string(number.data());
      })
      ->capture_default_str();
  add_semantics(verb, options.semantics);
  add_edits(verb, options.limits);
  add_limits(verb, options.limits);
  add_statement(verb, options.statement);
  add_json(verb, options.json);
  verb->callback([&exit, verb] {
    if (options.method == "ibp") refuse_unread(*verb, "--method ibp, which has no limit", {"--timeout"});
    exit = bounds(options);
  });
}

}  // namespace assay::cli
