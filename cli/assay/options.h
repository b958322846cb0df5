// The parsed command line of each verb.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gates/probing.h"
#include "app/models/outputs.h"
#include "app/views/sheet.h"
#include "app/words.h"
#include "cli/load.h"
#include "cli/units.h"
#include "semantics/graph/execution_model.h"

namespace assay::cli {

// Where --json goes: empty = not asked for, "-" = stdout (which then carries nothing else), else a file.
using JsonTarget = std::string;

// --statement: how much of the statement is printed, "full" or "short" (or empty); any other word is a file that gets it in full.
using StatementChoice = std::string;
[[nodiscard]] inline bool is_full(const StatementChoice& choice) { return choice == "full"; }
[[nodiscard]] inline bool is_file(const StatementChoice& choice) { return !choice.empty() && choice != "full" && choice != "short"; }
// False, after a message on stderr, where there is such a file and it could not be written.
[[nodiscard]] bool write_statement(const StatementChoice& choice, const logic::Problem& problem);

// Of the verbs that search: verify, split, solve.
struct SearchOptions {
  std::string timeout;  // with a unit
  int threads = 2;
  std::uint64_t seed = 1;
  std::string branching = "auto";
  bool no_attack = false;
  Limits limits;
};

struct VerifyOptions : SearchOptions {
  std::vector<std::string> files;     // QUERY, or MODEL PROPERTY
  std::vector<std::string> networks;  // [NAME=]FILE
  std::string proof;
  std::string trim;   // how long the certificate is trimmed, with a unit; "auto": as long as the search took; empty: not at all
  std::string scale;  // the same: for the largest scale of an undecided property; empty: not asked for
  std::string expect;
  bool allow_vacuous = false;  // an answer that holds for every network is the expected one, too
  std::string serialise_directory;
  std::optional<ExecutionModel> semantics;
  StatementChoice statement;
  int verbosity = 0;  // -1 quiet, 0, 1 ...
  JsonTarget json;
};

struct BoundsOptions {
  std::string model, property;
  std::string method = "crown", nodes = "all";
  std::optional<ExecutionModel> semantics;
  double timeout = 60;  // seconds of back-substitution, 0: no limit
  Limits limits;
  StatementChoice statement;
  JsonTarget json;
};

struct InspectOptions : views::InspectRequest {
  bool summary_only = false;         // leave out single records, nodes and regions
  std::vector<std::string> show;     // tables by name; empty: the first one
  std::vector<std::string> numbers;  // instead of a file
  std::string out, model_explorer;   // files to write
  JsonTarget json;
};

struct EvalOptions {
  std::string model, values;
  Limits limits;  // of the memory
  JsonTarget json;
};

struct StatementOptions {
  std::string model, property;
  std::optional<ExecutionModel> semantics;
  std::string out;  // empty: standard output
  Limits limits;
  JsonTarget json;
};

struct LintOptions {
  std::string model;
  Limits limits;  // of the memory
  JsonTarget json;
};

struct AdjointOptions {
  std::string op;
  bool all = false;
  std::uint64_t seed = 1;
  JsonTarget json;
};

// Of every gate (cli/assay/gate.h).
struct GateOptions {
  std::string junit, sarif, markdown;    // files to write
  std::string waivers;                   // file to read
  std::string baseline, write_baseline;  // head-room per op
  std::string today;                     // YYYY-MM-DD, for the waivers' expiry; empty: the date
  double most_undecided = 0.01;          // share of elements that may be vacuous or unsupported
  JsonTarget json;
};

struct CheckOptions {
  std::vector<std::string> files;   // MODEL PROPERTY CERTIFICATE, once or more; or the folder of a run
  std::string model, data, labels;  // of a run, where they are not where it says
  std::string properties;           // a folder for those of a run
  unsigned jobs = 1;                // certificates of a run at the same time
  std::string list;                 // a file of such lines
  std::string expect;               // sat, unsat: the answer that every certificate has to prove; empty: either
  bool allow_vacuous = false;       // of several: a proof that says nothing about the network passes
  bool exact = false;
  std::optional<ExecutionModel> semantics;
  Limits limits;
  StatementChoice statement;
  GateOptions gate;
};

struct AuditOptions {
  std::string trace;
  std::string model;   // that the trace is a run of; empty: not asked
  std::string shrink;  // file to write
  std::string rerun;   // eager, compiled: what runs the failing region again while it is shrunk
  unsigned jobs = 1;
  std::size_t sample = 0;  // elements of each result of long sums; 0: all
  std::uint64_t seed = 1;  // of the sample
  Limits limits;           // of the memory
  GateOptions gate;
};

struct RecordOptions : models::OutputRequest {
  std::string trace;  // the file to write
  JsonTarget json;
};

struct GradcheckOptions {
  std::string trace;          // or a model, which is run first
  RecordOptions run;          // of a model; its limits are those of the whole
  std::string model;          // that the trace is a run of; empty: not asked
  std::string kinks = "any";  // any, pytorch
  bool allow_dead = false;    // products that read or gave zeros only are reported, and nothing else
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  GateOptions gate;
};

struct ProbeOptions : gates::ProbeRequest {
  std::string trace;  // file for the forward runs
  unsigned jobs = 1;
  GateOptions gate;
};

// `assay check` of one certificate, or of several as a gate.
int check_verb(const CheckOptions& options);
int verify(const VerifyOptions& options);
int inspect(const InspectOptions& options);

}  // namespace assay::cli
