// The parsed command line of each verb that is a gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gates/probing.h"
#include "app/models/outputs.h"
#include "cli/assay/targets.h"
#include "cli/load.h"
#include "semantics/graph/execution_model.h"

namespace assay::cli {

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
  std::optional<double> require;    // of a run on a data set: the certified share at every radius
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

}  // namespace assay::cli
