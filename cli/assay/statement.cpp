// `assay statement`: what two files claim, without the files.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <span>

#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"

namespace assay::cli {
namespace {

constexpr const char* kStatementSchema = "assay.statement/1";

std::string statement_json(const logic::Problem& problem, const StatementOptions& options, std::uint64_t bytes) {
  Json json = opened("assay.statement/1");
  json["model"] = options.model;
  json["property"] = options.property;
  json["file"] = options.out;
  json["bytes"] = bytes;
  json["digest"] = statement::to_hex(problem.digest());
  json["graph"] = statement::to_hex(problem.graph_digest());
  return json_text(json);
}

}  // namespace

int statement(const StatementOptions& options) {
  LoadOptions load_options;
  load_options.semantics = options.semantics;
  load_options.limits = options.limits;
  const auto loaded = load_files(options.model, options.property, load_options);
  if (!loaded) return refuse(kStatementSchema, options.json, loaded.rejection());
  const logic::Problem& problem = *loaded.value().problem;
  const std::vector<std::byte> bytes = statement::statement_bytes(problem.statement());
  if (options.out.empty() && (options.json == "-" || isatty(STDOUT_FILENO) != 0))
    return refuse(kStatementSchema, {},
                  {Rejection::Kind::malformed, "statement.out", "standard output", "a place for bytes",
                   options.json == "-" ? "JSON goes there" : "a terminal", "name a file: -o FILE"});
  conclude();
  if (options.out.empty())
    (void)std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  else if (!write_file(options.out, [&](const files::Sink& sink) { sink(bytes); }))
    return kExitUnwritten;
  print_notes(stderr, loaded.value().notes);
  std::fprintf(stderr, "sha256 of the statement: %s\n", statement::to_hex(problem.digest()).c_str());
  return write_json(options.json, statement_json(problem, options, bytes.size())) ? kExitYes : kExitUnwritten;
}

void add_statement_verb(CLI::App& app, int& exit) {
  static StatementOptions options;
  CLI::App* verb =
      app.add_subcommand("statement", "Write the statement of a model and a property to a file, which assay-check reads in place of both");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  verb->add_option("PROPERTY", options.property, "the VNN-LIB file")->required();
  verb->add_option("-o,--out", options.out, "the file to write; default: stdout")->type_name("FILE");
  add_semantics(verb, options.semantics);
  add_edits(verb, options.limits);
  add_limits(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&exit] { exit = statement(options); });
}

}  // namespace assay::cli
