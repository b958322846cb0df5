// Lists of instances: MODEL,PROPERTY[,TIMEOUT] a line, as VNN-COMP's instances.csv has them, decided on several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "api/check/load.h"
#include "app/runs/proof_file.h"
#include "app/runs/store.h"

namespace assay::runs {

struct BatchInstance {
  std::string category;         // the name of the list's folder
  std::string model, property;  // as the list has them
  std::string folder;           // of the list, from which they are seen
  double timeout = 0;           // seconds; 0: the list has none
};

// Codes batch.*. Blank lines and lines that begin with # are left out.
[[nodiscard]] Outcome<std::vector<BatchInstance>> read_list(const std::string& path);
[[nodiscard]] Outcome<std::vector<BatchInstance>> read_lists(const std::vector<std::string>& paths);
// The answers that are expected, by the number of the instance.
using ExpectedAnswers = std::map<std::size_t, std::string>;
// MODEL,PROPERTY,sat|unsat a line, of the instances; files are compared by their names without endings .gz, and by their folders
// where several have these names. Other words, and lines about no instance, are refused: they would expect nothing. Without a file
// nothing is expected.
[[nodiscard]] Outcome<ExpectedAnswers> read_expected(const std::string& path, const std::vector<BatchInstance>& instances);

struct BatchRequest {
  SearchRequest search;  // its timeout where a list has none
  double most = 0;       // seconds of any instance; 0: what the list says
  check::LoadOptions load;
};

// The answers of one category.
struct BatchCount {
  std::string category;
  std::size_t sat = 0, unsat = 0, unknown = 0, timed_out = 0, error = 0;
  double seconds = 0;
  std::vector<double> solved;  // seconds of the decided ones, ascending: the cactus
};

class BatchTotals {
 public:
  void add(const Json& result);
  [[nodiscard]] std::vector<BatchCount> counts() const;
  [[nodiscard]] std::size_t results() const { return results_; }

 private:
  std::map<std::string, BatchCount> categories_;
  std::size_t results_ = 0;
};

[[nodiscard]] Json to_json(const std::vector<BatchCount>& counts);

// Compares results with the expected answers, and notes each unsat that holds for every network. The findings are in words.
class Expectations {
 public:
  Expectations(ExpectedAnswers answers, bool allow_vacuous) : answers_(std::move(answers)), allow_vacuous_(allow_vacuous) {}
  void add(const Json& result);
  [[nodiscard]] const std::vector<std::string>& mistakes() const { return mistakes_; }
  [[nodiscard]] const std::vector<std::string>& vacuous() const { return vacuous_; }

 private:
  ExpectedAnswers answers_;
  bool allow_vacuous_;
  std::vector<std::string> mistakes_, vacuous_;
};

// The manifest of a run on these lists, by the program of this version.
struct BatchClaim {
  std::vector<std::string> lists;
  std::string semantics, part, items;
};
[[nodiscard]] Json manifest_of(const BatchClaim& claim, const BatchRequest& request, std::size_t instances, const std::string& version);

struct BatchEvents {
  std::function<void(unsigned worker, const BatchInstance& instance)> on_start;  // from the worker's thread
  std::function<void(unsigned worker, const Json& result)> on_result;            // one at a time
};

// Each result: {"instance": its number, "category", "model", "property", "folder", "answer": sat, unsat, unknown, timed-out or
// error, "seconds", "sha256": {"model", "property"}, and as run_robust has it "nodes", "certificate", "bytes", "statement",
// "reason"}. `known` are the numbers that need no answer any more.
[[nodiscard]] Outcome<Done> run_batch(const std::vector<BatchInstance>& instances, const BatchRequest& request, Store* store,
                                      const std::set<std::size_t>& known, const std::stop_token& stop, const BatchEvents& events);

// The path of an instance's file, seen from its list.
[[nodiscard]] std::string path_from(const std::string& folder, const std::string& file);

}  // namespace assay::runs
