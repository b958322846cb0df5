#include "cli/assay/verify_options.h"

#include <CLI/CLI.hpp>

#include "cli/assay/common_options.h"
#include "cli/assay/shared_files.h"
#include "cli/assay/verbs.h"

namespace assay::cli {
namespace {

bool is_model(const std::string& path) { return path.ends_with(".onnx") || path.ends_with(".onnx.gz"); }

// Model, property and network name from the two forms of the command line; a usage message if they do not fit.
std::string find_files(const VerifyOptions& options, VerifyReport& report, LoadOptions& load_options) {
  if (options.networks.empty()) {
    if (options.files.size() != 2) return "give MODEL.onnx PROPERTY.vnnlib, or QUERY --network [NAME=]FILE";
    report.model = options.files[0];
    report.property = options.files[1];
    if (is_model(report.property) && !is_model(report.model))
      return "the model comes first: assay verify " + report.property + " " + report.model;
    return "";
  }
  if (options.files.size() != 1) return "with --network, give one QUERY";
  report.property = options.files[0];
  const std::string& network = options.networks[0];
  const std::size_t equals = network.find('=');
  report.model = equals == std::string::npos ? network : network.substr(equals + 1);
  load_options.network_name = equals == std::string::npos ? "" : network.substr(0, equals);
  return report.model.empty() ? "--network needs a file" : "";
}

}  // namespace

std::string mistake(const VerifyOptions& options, VerifyReport& report, LoadOptions& load_options, VerifySeconds& seconds) {
  if (!options.timeout.empty() && !(parse_seconds(options.timeout, seconds.timeout) && seconds.timeout > 0))
    return "--timeout: expected a time above 0 such as 60, 90s or 5m, got " + options.timeout;
  if (!options.scale.empty() && !(parse_seconds(options.scale, seconds.scale) && seconds.scale > 0))
    return "--scale: expected a time above 0 such as 10, 90s or 5m, got " + options.scale;
  if (!options.trim.empty() && options.trim != "auto" && !(parse_seconds(options.trim, seconds.trim) && seconds.trim >= 0))
    return "--trim: expected a time such as 0, 10, 90s or 5m, got " + options.trim;
  if (std::string problem = find_files(options, report, load_options); !problem.empty()) return problem;
  for (const std::string& output : {queries::scaled_proof(options.proof), queries::scaled_statement(options.proof)}) {
    if (is_same_file(output, existing(report.model)) || is_same_file(output, existing(report.property)))
      return output + " is an input; write the output to another file";
  }
  return "";
}

std::optional<Rejection> unsupported(const VerifyOptions& options) {
  constexpr auto kKind = Rejection::Kind::unsupported;
  if (options.networks.size() > 1)
    return Rejection{kKind,
                     "verify.networks",
                     "command line",
                     "one network",
                     std::to_string(options.networks.size()) + " networks",
                     "queries about several networks are not supported yet"};
  if (!options.serialise_directory.empty())
    return Rejection{kKind,
                     "verify.serialise_assignments",
                     "command line",
                     "the assignment as text on stdout",
                     "--serialise-assignments",
                     "leave the option out: the assignment is printed after `sat`"};
  return std::nullopt;
}

void add_verify(CLI::App& app, int& exit) {
  static VerifyOptions options;
  CLI::App* verb = app.add_subcommand("verify", "Decide a property of a model: the first line says sat, unsat, unknown or timed-out");
  verb->add_option("FILES", options.files, "QUERY.vnnlib with --network, or MODEL.onnx PROPERTY.vnnlib[.gz]")->required()->expected(1, 2);
  verb->add_option("--network", options.networks, "the model of the network NAME that QUERY declares")
      ->type_name("[NAME=]FILE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  CLI::Option* proof = verb->add_option("--proof", options.proof, "write a certificate of the answer, for assay-check")->type_name("FILE");
  verb->add_flag("--trim{auto}", options.trim,
                 "after the answer unsat, shrink the certificate. The shrinking may take as much CPU time as the search took; with\n"
                 "--trim=TIME it may take TIME instead. It stops at the latest when the time of --timeout is over")
      ->needs(proof);
  verb->add_option("--timeout", options.timeout, "wall-clock limit for the whole run, e.g. 60, 90s, 5m")->type_name("TIME");
  verb->add_option("--scale", options.scale,
                   "if the property is undecided at the end of --timeout, continue for TIME: shrink its input boxes, whose middles\n"
                   "stay, and look for the largest boxes in which the property can be proved. With --proof FILE, write the\n"
                   "certificate of this result to FILE.scaled, and its statement to FILE.scaled.statement")
      ->type_name("TIME");
  verb->add_option("--threads", options.threads, "threads of the search")->check(CLI::Range(1, 1024))->capture_default_str();
  add_edits(verb, options.limits);
  add_limits(verb, options.limits);
  refuse_wrapped(verb->add_option("--seed", options.seed, "random seed of the search for a counterexample"))->capture_default_str();
  add_branching(verb, options.branching);
  verb->add_flag("--no-attack", options.no_attack, "do not search for a counterexample");
  verb->add_option("--expect", options.expect,
                   "the answer that you expect: exit with 1 if the other answer is found, and with 3 if none is found")
      ->check(CLI::IsMember({"sat", "unsat"}));
  add_allow_vacuous(verb, options.allow_vacuous)->needs("--expect");
  verb->add_option("--serialise-assignments", options.serialise_directory, "not supported: the run ends with exit 4")->type_name("DIR");
  add_semantics(verb, options.semantics);
  add_statement(verb, options.statement);
  add_json(verb, options.json);
  verb->add_flag(
      "-v,--verbose", [](std::int64_t count) { options.verbosity = static_cast<int>(count); },
      "print on stderr how long each phase of the run took");
  verb->add_flag(
      "-q,--quiet", [](std::int64_t) { options.verbosity = -1; }, "print only errors on stderr");
  verb->callback([&exit] { exit = verify(options); });
}

}  // namespace assay::cli
