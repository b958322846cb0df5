// What the verbs report, as plain values; report_json.cpp and values_json.cpp turn them into JSON with a versioned schema.
//
// Every number of the analysis appears as {"value": shortest decimal that reads back the same, "hex": C99 hex float}.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/files/output_file.h"
#include "app/pages/page.h"
#include "app/program.h"
#include "app/queries/bounds.h"
#include "app/queries/decision.h"
#include "app/queries/evaluate.h"
#include "certificates/edit/dump.h"
#include "cli/assay/options.h"
#include "cli/check.h"
#include "kernel/gradients/adjointness/adjointness.h"

namespace assay::cli {

// What there is to say about a file or an op, in order: names and texts.
using pages::Facts;

struct VerifyReport {
  queries::Decision decision;
  bool is_refused = false;  // the input: there is no answer
  int exit = kExitInternal;
  std::string model, property, proof;
  double load_seconds = 0, total_seconds = 0;      // wall
  std::shared_ptr<const kernel::Problem> problem;  // null when the input was refused
  std::vector<std::string> notes;                  // what reading the files decided
  std::optional<Rejection> why;                    // the input was refused, or a file of the answer could not be written
  const VerifyOptions* options = nullptr;
};

struct CaseAdjointness {
  std::string name;
  Outcome<kernel::Adjointness> outcome;
  double cpu_seconds = 0;
};

struct OpAdjointness {
  std::string op;
  std::vector<CaseAdjointness> cases;
  [[nodiscard]] const char* verdict() const;  // proved, broken, undecided; none without cases
};

[[nodiscard]] const char* method_words(kernel::AdjointMethod method);
[[nodiscard]] std::string adjoint_json(const std::string& schema, const std::vector<OpAdjointness>& reports);

[[nodiscard]] std::string to_json(const VerifyReport& report);
// Of one certificate, named by the three files.
[[nodiscard]] std::string to_json(const CheckReport& report, const CheckOptions& options);
[[nodiscard]] std::string bounds_json(const BoundsOptions& options, const std::vector<std::string>& notes,
                                      const std::vector<queries::GroupBounds>& groups, const std::optional<Rejection>& why);
[[nodiscard]] std::string statement_json(const kernel::Problem& problem, const StatementOptions& options, std::uint64_t bytes);
[[nodiscard]] std::string lint_json(const std::string& model, const std::vector<Rejection>& problems);
[[nodiscard]] std::string supports_json(const std::map<std::string, std::vector<std::string>>& answers);
[[nodiscard]] std::string certificate_json(const std::string& file, const certificate::Header& header, const certificate::Summary& summary);
// With the rows of a table, if it has a name.
[[nodiscard]] std::string facts_json(const std::string& schema, const Facts& facts, const std::string& table = "",
                                     const std::vector<Facts>& rows = {});
// The same with tables, an array of objects each.
[[nodiscard]] std::string sheet_json(const std::string& schema, const Facts& facts, const std::vector<pages::Table>& tables);
[[nodiscard]] std::string rejection_json(const std::string& schema, const Rejection& why);

// What the verbs' work is lent: signals, the line of progress, the limit on memory.
[[nodiscard]] Program this_program();
// Writes the parts that `fill` hands over, or the text; false after a message on stderr.
[[nodiscard]] bool write_file(const std::string& path, const std::function<void(const files::Sink&)>& fill);
[[nodiscard]] bool write_file(const std::string& path, std::string_view text);
// Writes to the target; false (after a message on stderr) if that fails. Empty targets write nothing.
[[nodiscard]] bool write_json(const JsonTarget& target, const std::string& text);
// What an interrupted verb says where it has nothing better: undecided, and why (cli/assay/interruption.h).
void prepare_last_words(const std::string& verb, const std::function<JsonTarget()>& json);
// A refused input: the rejection on stderr, as JSON too if asked for; gives the exit code.
int refuse(const std::string& schema, const JsonTarget& json, const Rejection& why);

}  // namespace assay::cli
