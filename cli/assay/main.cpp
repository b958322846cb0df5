// assay: the command line. This file and run_verbs.cpp alone know the option parser.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/assay/common_options.h"
#include "cli/assay/cube_verbs.h"
#include "cli/assay/interruption.h"
#include "cli/assay/libraries.h"
#include "cli/assay/names.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/options.h"
#include "cli/assay/report.h"
#include "cli/assay/run_verbs.h"
#include "cli/assay/trim_verb.h"
#include "cli/assay/verb_examples.h"
#include "cli/load.h"
#include "cli/semantics.h"
#include "cli/units.h"
#include "gpu/devices.h"
#include "kernel/floats/named_models.h"

namespace {

using namespace assay::cli;

constexpr const char* kExitText =
    "Exit codes: 0 holds, accepted or answered; 1 definitely not; 2 usage; 3 undecided; 4 unsupported or malformed input; 70 internal "
    "error.\nDocuments named docs/... and certificates/... are installed in share/doc/assay.";

void add_statement(CLI::App* verb, StatementChoice& statement) {
  verb->add_option("--statement", statement,
                   "print every case, row and input of the statement, only the first ones, or write all to a file")
      ->type_name("full|short|FILE");
}

void add_verify(CLI::App& app, VerifyOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("verify", "Decide a property: sat, unsat, unknown or timed-out on the first line");
  verb->add_option("FILES", options.files, "QUERY.vnnlib with --network, or MODEL.onnx PROPERTY.vnnlib[.gz]")->required()->expected(1, 2);
  verb->add_option("--network", options.networks, "the model of a declared network")
      ->type_name("[NAME=]FILE")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);
  CLI::Option* proof = verb->add_option("--proof", options.proof, "write a certificate for assay-check")->type_name("FILE");
  verb->add_flag("--trim{auto}", options.trim,
                 "leave out of a proof of unsat what its conclusions do not need, behind the answer: for as long as the CPU\n"
                 "time of the search, or with --trim=TIME for so long, and within --timeout")
      ->needs(proof);
  verb->add_option("--timeout", options.timeout, "wall-clock limit for the whole run, e.g. 60, 90s, 5m")->type_name("TIME");
  verb->add_option("--scale", options.scale,
                   "where the property stays undecided: for so long, beyond --timeout, look for the largest share of its\n"
                   "boxes that is proved; with --proof to FILE.scaled, a statement to FILE.scaled.statement")
      ->type_name("TIME");
  verb->add_option("--threads", options.threads, "search threads")->check(CLI::Range(1, 1024))->capture_default_str();
  add_limits(verb, options.limits);
  verb->add_option("--seed", options.seed, "seed of the attack")->capture_default_str();
  add_branching(verb, options.branching);
  verb->add_flag("--no-attack", options.no_attack, "do not look for a counterexample first");
  verb->add_option("--expect", options.expect, "exit 1 on the other answer, 3 when undecided")->check(CLI::IsMember({"sat", "unsat"}));
  add_allow_vacuous(verb, options.allow_vacuous)->needs("--expect");
  verb->add_option("--serialise-assignments", options.serialise_directory, "not supported; refused with exit 4")->type_name("DIR");
  add_semantics(verb, options.semantics);
  add_statement(verb, options.statement);
  add_json(verb, options.json);
  verb->add_flag(
      "-v,--verbose", [&options](std::int64_t count) { options.verbosity = static_cast<int>(count); }, "more on stderr");
  verb->add_flag(
      "-q,--quiet", [&options](std::int64_t) { options.verbosity = -1; }, "nothing but errors on stderr");
  verb->callback([&] { exit = verify(options); });
}

// Of every gate.
void add_gate_files(CLI::App* verb, GateOptions& gate) {
  verb->add_option("--junit", gate.junit, "write JUnit XML")->type_name("FILE");
  verb->add_option("--sarif", gate.sarif, "write SARIF 2.1.0")->type_name("FILE");
  verb->add_option("--markdown", gate.markdown, "write a summary in Markdown")->type_name("FILE");
  CLI::Option* waivers =
      verb->add_option("--waivers", gate.waivers, "findings that are accepted for a while (docs/gates.md)")->type_name("FILE");
  verb->add_option("--today", gate.today, "the day with which expiry is compared, instead of the date")
      ->type_name("YYYY-MM-DD")
      ->needs(waivers);
  verb->add_option("--most-undecided", gate.most_undecided, "share of elements (or certificates) that may be vacuous or unsupported")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  add_json(verb, gate.json);
}

// Of those that judge floats.
void add_gate(CLI::App* verb, GateOptions& gate) {
  verb->add_option("--baseline", gate.baseline, "fail where an op uses over 25 % more of its allowance than this file says")
      ->type_name("FILE");
  verb->add_option("--write-baseline", gate.write_baseline, "write that file")->type_name("FILE");
  add_gate_files(verb, gate);
}

void add_check(CLI::App& app, CheckOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("check", "Check a certificate, as assay-check does");
  verb->add_option("FILES", options.files, "MODEL PROPERTY CERTIFICATE, once or more, STATEMENT CERTIFICATE, or the folder of a run");
  verb->add_option("--list", options.list,
                   "a file with lines MODEL,PROPERTY,CERTIFICATE[,sat|unsat], paths relative to it; of a run: its list, where it is\n"
                   "not where the run says")
      ->type_name("FILE");
  verb->add_option("--expect", options.expect, "the answer that each certificate has to prove")->check(CLI::IsMember({"sat", "unsat"}));
  add_allow_vacuous(verb, options.allow_vacuous);
  verb->add_flag("--exact", options.exact, "decide every step in exact arithmetic");
  add_semantics(verb, options.semantics);
  verb->add_option("--threads", options.limits.threads, "how many threads replay each certificate")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_limits(verb, options.limits);
  add_statement(verb, options.statement);
  add_gate_files(verb, options.gate);
  verb->add_option("--model", options.model, "of a run: the model, where it is not where the run says")->type_name("FILE");
  verb->add_option("--data", options.data, "of a run: the data set")->type_name("FILE");
  verb->add_option("--labels", options.labels, "of a run: the labels")->type_name("FILE");
  verb->add_option("--properties", options.properties,
                   "of a run: write the property of each certificate, of l1 its statement, to this folder, for assay-check")
      ->type_name("FOLDER");
  verb->add_option("--jobs", options.jobs, "of a run: certificates at the same time")->check(CLI::Range(1, 1024))->capture_default_str();
  verb->callback([&options, &exit, verb] {
    if (refuse_unread_by_check(*verb, options)) {
      exit = check_run_verb(options);
      return;
    }
    if ((options.files.size() % 3 != 0 && options.files.size() != 2) || options.files.empty() == options.list.empty())
      throw CLI::ValidationError("check",
                                 "name MODEL PROPERTY CERTIFICATE, once or more, STATEMENT CERTIFICATE, the folder of a run, or a --list");
    if (options.files.size() == 2) options.files.insert(options.files.begin() + 1, "");  // a statement file holds both
    exit = check_verb(options);
  });
}

void add_bounds(CLI::App& app, BoundsOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("bounds", "Proved bounds of every node on each input box of a property");
  verb->add_option("MODEL", options.model)->required();
  verb->add_option("PROPERTY", options.property)->required();
  verb->add_option("--method", options.method, "interval propagation, or backward linear bounds")
      ->check(CLI::IsMember({"ibp", "crown"}))
      ->capture_default_str();
  verb->add_option("--nodes", options.nodes)->check(CLI::IsMember({"all", "outputs"}))->capture_default_str();
  verb->add_option("--timeout", options.timeout, "over all boxes, e.g. 60, 90s, 5m, of which backward bounds get four fifths; 0: no limit")
      ->type_name("TIME")
      ->transform([](const std::string& text) {
        double seconds = 0;
        if (!parse_seconds(text, seconds)) throw CLI::ValidationError("--timeout", "no time such as 60, 90s or 5m: " + text);
        std::array<char, 32> number{};
        (void)std::snprintf(number.data(), number.size(), "%.17g", seconds);
        return std::string(number.data());
      })
      ->capture_default_str();
  add_semantics(verb, options.semantics);
  add_limits(verb, options.limits);
  add_statement(verb, options.statement);
  add_json(verb, options.json);
  verb->callback([&options, &exit, verb] {
    if (options.method == "ibp") refuse_unread(*verb, "--method ibp, which has no limit", {"--timeout"});
    exit = bounds(options);
  });
}

void add_inspect(CLI::App& app, InspectOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("inspect", "Show what a file holds: a model, property, certificate, trace, checkpoint, array or log");
  CLI::Option* file = verb->add_option(
      "FILE", options.file, "a model, a property, a statement, a certificate, a trace, safetensors, NPZ, NPY, or a CSV log of training");
  verb->add_option("--network", options.network, "the model that a property speaks about")->type_name("FILE");
  verb->add_flag("--summary", options.summary_only, "leave the single records, nodes or regions out");
  verb->add_option("--show", options.show, "print these tables, or all")->delimiter(',')->type_name("TABLE,...");
  verb->add_option("-o,--out", options.out, "write a page of HTML that needs nothing else")->type_name("FILE");
  verb->add_option("--model-explorer", options.model_explorer, "write the graph as JSON for Model Explorer")->type_name("FILE");
  verb->add_option("--property", options.property, "of a model: bound its nodes on the first box of this property")->type_name("FILE");
  verb->add_option("--box", options.box, "of a model: bound its nodes where every input lies between these numbers")
      ->type_name("LO HI")
      ->expected(2);
  verb->add_flag("--bounds", options.bounds, "of a property or a statement: bound the nodes on its first box");
  verb->add_option("--method", options.method, "of the bounds")->check(CLI::IsMember({"ibp", "crown"}))->capture_default_str();
  verb->add_option("--samples", options.samples, "points of the box at which nodes are evaluated beside their bounds")
      ->type_name("N")
      ->capture_default_str();
  verb->add_option("--values", options.values, "of a model: run it on these (JSON as for eval), forward and backward, and show the run")
      ->type_name("FILE");
  verb->add_option("--data", options.data, "of a model: classify the items of this data set, and count confusions")->type_name("FILE");
  verb->add_option("--labels", options.labels, "labels where the data set has none")->type_name("FILE");
  verb->add_option("--items", options.items, "of the data set at most")->type_name("N")->capture_default_str();
  verb->add_option("--tensor", options.tensor, "list the elements of this tensor, with their bits")->type_name("NAME");
  verb->add_option("--elements", options.elements, "of it at most")->type_name("N")->capture_default_str();
  CLI::Option* numbers = verb->add_option("--number", options.numbers, "instead of a file: what float32 makes of these numbers")
                             ->delimiter(',')
                             ->type_name("NUMBER,...");
  add_limits(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&options, &exit, verb, file, numbers] {
    if (file->empty() == numbers->empty()) throw CLI::ValidationError("inspect", "name a FILE, or numbers with --number");
    if (!options.box.empty() && options.box[0] > options.box[1]) throw CLI::ValidationError("--box", "takes LO <= HI");
    refuse_unread_by_inspect(*verb, options);
    exit = inspect(options);
  });
}

void add_statement_verb(CLI::App& app, StatementOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("statement", "Write what a model and a property claim, as the bytes that certificates name");
  verb->add_option("MODEL", options.model)->required();
  verb->add_option("PROPERTY", options.property)->required();
  verb->add_option("--out", options.out, "where to; without it to stdout")->type_name("FILE");
  add_semantics(verb, options.semantics);
  add_limits(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&] { exit = statement(options); });
}

void add_lint(CLI::App& app, LintOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("lint", "List every node of a model that blocks verification");
  verb->add_option("MODEL", options.model)->required();
  add_memory_of_model(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&] { exit = lint(options); });
}

void add_eval(CLI::App& app, EvalOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("eval", "Enclose a model's outputs, and its gradient, at a point or on a box");
  verb->add_option("MODEL", options.model)->required();
  verb->add_option("VALUES", options.values,
                   "JSON: {\"inputs\": {NAME: [numbers or {\"lo\": a, \"hi\": b}, row-major]}, \"cotangents\": {OUTPUT: [...]}}")
      ->required();
  add_memory_of_model(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&] { exit = eval(options); });
}

void add_adjoint(CLI::App& app, AdjointOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("adjoint", "Prove that gradient rules are the adjoints of the derivatives of their ops");
  verb->add_option("--op", options.op, "one op of the vocabulary, or an ONNX operator, e.g. conv or MaxPool")->type_name("NAME");
  verb->add_flag("--all", options.all, "every op");
  verb->add_option("--seed", options.seed, "seed of the points")->capture_default_str();
  add_json(verb, options.json);
  verb->callback([&] { exit = adjoint(options); });
}

void add_device(CLI::App* verb, std::string& device) {
  verb->add_option(
          "--device", device,
          "where ops run: here, on the emulation of a CUDA device, or on the first CUDA device; there the factors of products may be\n"
          "rounded first, as in cuda:tf32")
      ->type_name("cpu|emulated|cuda[:tf32|:bfloat16|:float16]")
      ->check([](const std::string& word) { return assay::gpu::is_device_name(word) ? std::string() : "no such device: " + word; })
      ->capture_default_str();
}

// What a model is run on, and where.
void add_run(CLI::App* verb, RecordOptions& options) {
  add_memory_of_model(verb, options.limits);
  verb->add_option("--values", options.values, "JSON as for eval, numbers only; else normal random numbers")->type_name("FILE");
  verb->add_option("--backend", options.backend, "op by op, or as a program with fused steps")
      ->check(CLI::IsMember({"eager", "compiled"}))
      ->capture_default_str();
  add_device(verb, options.device);
}

// Which random inputs, for which gradient.
void add_draws(CLI::App* verb, RecordOptions& options) {
  verb->add_option("--range", options.range, "random inputs are uniform between these numbers")->type_name("LO HI")->expected(2);
  verb->add_option("--draws", options.draws,
                   "random inputs are drawn again, at other scales, up to so often in all, until no cotangent is 0 everywhere")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  verb->add_option("--output", options.output, "the output that is differentiated")->type_name("NAME");
}

void add_run_model(CLI::App& app, RecordOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("run", "Run a model and print its outputs: in the runtime, or over exact numbers or intervals");
  verb->add_option("MODEL", options.model)->required();
  verb->add_option("--dtype", options.dtype, "numbers to compute with; without it those of the model")
      ->check(CLI::IsMember({"float32", "float64", "bfloat16", "exact", "interval", "complex64"}));
  add_run(verb, options);
  verb->add_option("--seed", options.seed, "seed of random inputs")->capture_default_str();
  add_json(verb, options.json);
  verb->callback([&options, &exit, verb] {
    if (!options.values.empty()) refuse_unread(*verb, "--values", {"--seed"});
    exit = run_model(options);
  });
}

void add_record(CLI::App& app, RecordOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("record", "Run a model forward and backward in the runtime and record it for audit and gradcheck");
  verb->add_option("MODEL", options.model)->required();
  verb->add_option("TRACE", options.trace, "the file to write")->required();
  add_run(verb, options);
  add_draws(verb, options);
  verb->add_flag("--weighted", options.weighted, "differentiate all real outputs, each weighted with random cotangents, instead of a sum");
  verb->add_flag("--forward-only", options.forward_only, "no gradient");
  verb->add_option("--seed", options.seed, "seed of random inputs")->capture_default_str();
  verb->add_option("--threads", options.threads, "threads of the runtime")->check(CLI::Range(1, 1024))->capture_default_str();
  add_json(verb, options.json);
  verb->callback([&options, &exit, verb] {
    refuse_unread_by_record(*verb, options);
    exit = record(options);
  });
}

void add_audit(CLI::App& app, AuditOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("audit", "Judge every recorded value of a run by its contract");
  verb->add_option("TRACE", options.trace)->required();
  add_recorded_model(verb, options.model);
  CLI::Option* shrink =
      verb->add_option("--shrink", options.shrink, "write the worst element of the first failing region, with what it reads, as a trace")
          ->type_name("FILE");
  verb->add_option("--jobs", options.jobs, "regions at the same time")->check(CLI::Range(1, 1024))->capture_default_str();
  CLI::Option* sample =
      verb->add_option("--sample", options.sample, "judge so many elements of each result of long sums of products, not all")
          ->type_name("N");
  verb->add_option("--seed", options.seed, "seed of the sample")->capture_default_str()->needs(sample);
  verb->add_option("--rerun", options.rerun,
                   "with --shrink: run the region again in this runtime and set to 0 what the failure does not need")
      ->check(CLI::IsMember({"eager", "compiled"}))
      ->needs(shrink);
  add_memory(verb, options.limits, "memory that the run may take, e.g. 512MiB; without the option 8GiB");
  add_trace_budget(verb, options.limits);
  add_gate(verb, options.gate);
  verb->callback([&] { exit = audit(options); });
}

void add_gradcheck(CLI::App& app, GradcheckOptions& options, int& exit) {
  CLI::App* verb =
      app.add_subcommand("gradcheck", "Decide whether the gradients of a recorded run are right; of a MODEL.onnx, run it first");
  verb->add_option("FILE", options.trace, "a trace, or a MODEL.onnx that is run first")->required();
  add_recorded_model(verb, options.model);
  add_run(verb, options.run);
  add_draws(verb, options.run);
  verb->add_option("--save", options.run.trace, "of a model: write the run that was recorded")->type_name("TRACE");
  verb->add_option("--seed", options.seed, "seed of the points")->capture_default_str();
  verb->add_option("--kinks", options.kinks, "at kinks: any row of the Clarke derivative, or the one that PyTorch gives")
      ->check(CLI::IsMember({"any", "pytorch"}))
      ->capture_default_str();
  verb->add_flag("--allow-dead", options.allow_dead,
                 "products that read or gave zeros only are reported but do not make the verdict undecided");
  verb->add_option("--jobs", options.jobs, "regions at the same time")->check(CLI::Range(1, 1024))->capture_default_str();
  add_trace_budget(verb, options.run.limits);
  add_gate(verb, options.gate);
  verb->callback([&options, &exit, verb] {
    refuse_unread_by_gradcheck(*verb, options);
    exit = gradcheck(options);
  });
}

void add_probe(CLI::App& app, ProbeOptions& options, int& exit) {
  CLI::App* verb = app.add_subcommand("probe", "Run the probe plan of an op through a backend and judge every value and gradient");
  verb->add_option("--op", options.op, "one op of the vocabulary, or an ONNX operator, e.g. conv or MaxPool")->type_name("NAME");
  verb->add_flag("--all", options.all, "every op");
  verb->add_option("--backend", options.backend)->check(CLI::IsMember({"eager", "compiled"}))->capture_default_str();
  add_device(verb, options.device);
  const CLI::IsMember types({"float32", "float64", "float16", "bfloat16"});
  verb->add_option("--dtype", options.dtype, "of reals; those of 16 bits forward only")->check(types)->capture_default_str();
  verb->add_flag("--small", options.small, "small shapes alone");
  verb->add_flag("--forward-only", options.forward_only, "no gradients");
  verb->add_option("--trace", options.trace, "write what ran forward, for `assay audit`")->type_name("FILE");
  verb->add_option("--seed", options.seed, "seed of operands and points")->capture_default_str();
  verb->add_option("--jobs", options.jobs, "regions at the same time")->check(CLI::Range(1, 1024))->capture_default_str();
  options.gate.most_undecided = 0.25;  // of each kind of ordinary probes (probes/plan.h, share_of)
  add_gate(verb, options.gate);
  verb->callback([&] { exit = probe(options); });
}

// `supports` and its older spelling `capabilities`.
void add_supports(CLI::App& app, const char* name, std::string& question, JsonTarget& json, int& exit) {
  CLI::App* verb = app.add_subcommand(name, "Answer one question of the VNN-LIB 2 interface");
  for (const std::string& each : support_questions()) {
    verb->add_flag("--" + each, [&question, each](std::int64_t) { question = each; });
  }
  add_json(verb, json);
  verb->callback([&question, &json, &exit, verb] {
    const std::size_t asked = verb->count_all() - 1 - verb->count("--json");
    if (asked > 1 || (asked == 0 && json.empty())) throw CLI::ValidationError("supports", "ask one question, for example --onnx-operators");
    exit = supports(question, json);
  });
}

void add_ops(CLI::App& app, std::string& name, JsonTarget& json, int& exit) {
  CLI::App* verb = app.add_subcommand("ops", "Show the reference page of an operation, or list all");
  verb->add_option("NAME", name, "an op of the vocabulary, or an ONNX operator");
  add_json(verb, json);
  verb->callback([&] { exit = ops(name, json); });
}

// What an interrupted verb says where it has nothing better, and the example of its help.
void finish_verb(CLI::App& app, const char* name, const char* example) {
  CLI::App* verb = app.get_subcommand(name);
  verb->footer(std::string("Example: ") + example);
  const CLI::Option* json = verb->get_option("--json");
  verb->preparse_callback([name, json](std::size_t) {
    prepare_last_words(name, [json] { return json->results().empty() ? JsonTarget() : json->results().front(); });
  });
}

// The verb or the option of the command line that does not exist, with what was probably meant; empty if all of them do.
std::string mistyped(const CLI::App& app, int argc, char** argv) {
  const auto is_any = [](const CLI::App*) { return true; };
  const CLI::App* verb = nullptr;
  for (int i = 1; i < argc && std::string(argv[i]) != "--"; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    std::vector<std::string> known;
    if (verb == nullptr && !word.starts_with("-")) {
      for (const CLI::App* each : app.get_subcommands(is_any)) {
        known.push_back(each->get_name());
        if (each->get_name() == word) verb = each;
      }
      if (verb == nullptr) return "there is no verb " + word + meant(word, known);
      continue;
    }
    if (!word.starts_with("--")) continue;
    for (const CLI::Option* option : (verb == nullptr ? &app : verb)->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    if (std::ranges::find(known, word) == known.end())
      return (verb == nullptr ? std::string("assay") : "assay " + verb->get_name()) + " has no option " + word + meant(word, known);
  }
  return "";
}

// A bare --json means stdout; the parser would take the next word as its value.
std::vector<std::string> words(int argc, char** argv) {
  std::vector<std::string> list;
  for (int i = 1; i < argc; ++i) list.emplace_back(std::string(argv[i]) == "--json" ? "--json=-" : argv[i]);
  return {list.rbegin(), list.rend()};  // the parser pops from the back
}

int run(int argc, char** argv) {
  CLI::App app("Assay: verification of neural networks with proofs that a small kernel checks", "assay");
  app.footer(kExitText);
  app.set_version_flag(
      "--version", [] { return version_text("assay", libraries()); }, "print version, commit, compiler, libraries and instruction sets");
  bool name = false;
  app.add_flag("--name", name, "print the program's name");
  int exit = kExitYes;
  VerifyOptions verify_options;
  CheckOptions check_options;
  BoundsOptions bounds_options;
  InspectOptions inspect_options;
  StatementOptions statement_options;
  LintOptions lint_options;
  EvalOptions eval_options;
  AdjointOptions adjoint_options;
  RecordOptions run_options, record_options;
  AuditOptions audit_options;
  GradcheckOptions gradcheck_options;
  ProbeOptions probe_options;
  std::string question;
  JsonTarget supports_json;
  add_verify(app, verify_options, exit);
  add_check(app, check_options, exit);
  add_run_verbs(app, exit);
  add_cube_verbs(app, exit);
  add_trim_verb(app, exit);
  add_bounds(app, bounds_options, exit);
  add_inspect(app, inspect_options, exit);
  add_statement_verb(app, statement_options, exit);
  add_lint(app, lint_options, exit);
  add_eval(app, eval_options, exit);
  add_adjoint(app, adjoint_options, exit);
  add_run_model(app, run_options, exit);
  add_record(app, record_options, exit);
  add_audit(app, audit_options, exit);
  add_gradcheck(app, gradcheck_options, exit);
  add_probe(app, probe_options, exit);
  add_supports(app, "supports", question, supports_json, exit);
  std::string op_name;
  JsonTarget ops_json;
  add_ops(app, op_name, ops_json, exit);
  add_supports(app, "capabilities", question, supports_json, exit);
  for (const auto& [verb, example] : kExamples) finish_verb(app, verb, example);
  app.require_subcommand(0, 1);
  try {
    app.parse(words(argc, argv));
    if (name)
      std::printf("Assay\n");
    else if (app.get_subcommands().empty())
      throw CLI::RequiredError("a verb");
  } catch (const CLI::ParseError& error) {
    const std::string why = error.get_exit_code() == 0 ? "" : mistyped(app, argc, argv);
    if (!why.empty()) {
      std::fprintf(stderr, "assay: %s\nRun with --help for more information.\n", why.c_str());
      return kExitUsage;
    }
    return app.exit(error) == 0 ? kExitYes : kExitUsage;
  }
  conclude();
  return exit;
}

}  // namespace

int main(int argc, char** argv) {
  watch_signals();
  return guarded("assay", run, argc, argv);
}
