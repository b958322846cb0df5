// The parsed command line of each verb; gate_options.h has those of the gates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/views/sheet.h"
#include "app/words.h"
#include "cli/assay/gate_options.h"
#include "cli/assay/targets.h"
#include "cli/load.h"
#include "cli/units.h"
#include "semantics/graph/execution_model.h"

namespace assay::cli {

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
  std::uint64_t step = 0;            // of a certificate; 0: all
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

// `assay check` of one certificate, or of several as a gate.
int check_verb(const CheckOptions& options);
int verify(const VerifyOptions& options);
int inspect(const InspectOptions& options);

}  // namespace assay::cli
