// Robustness of a data set: every item and every radius decided, each answer with a certificate, on several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "app/runs/balls.h"
#include "app/runs/proof_file.h"
#include "app/runs/store.h"

namespace assay::runs {

struct RobustRequest {
  std::vector<std::string> eps;  // radii, such as 2/255 or 0.01
  std::string largest;           // a step: for each item the largest certified multiple of it up to the largest radius; empty: no
  std::size_t first = 0;         // items; 0: all
  std::string part;              // "2/8": the second of eight parts; empty: all
  std::size_t every = 1;         // each so-manieth item
  std::string items;             // "3,7,10-20": these, and then no `first` and `every`; empty: all
  bool each = false;             // no answer of one radius follows from another's
  SearchRequest search;          // of each item and radius
};

// The answers of one radius so far. Of wrong items no radius is certified.
struct RobustCount {
  std::string eps;
  std::size_t certified = 0, falsified = 0, undecided = 0;
  std::size_t misclassified = 0;  // of the falsified ones: the model gives the item itself another class than its label
  std::size_t timed_out = 0;      // of the undecided ones: more time may decide these
};

struct RobustTally {
  std::size_t items = 0, correct = 0, results = 0;  // items looked at; their prediction is the label
  double seconds = 0;                               // of all searches
  std::vector<RobustCount> radii;                   // ascending; with `largest` by multiples
  std::map<std::string, std::size_t> reasons;       // of the undecided results
};

// What a run lacks of a required share of certified items.
struct Unmet {
  std::vector<std::string> sentences;  // one for each radius that misses it, or that no question was asked
  bool is_out_of_reach = false;        // whether undecided items cannot make up for it
};
// With `advises`, the sentences say what may decide the undecided items, by the reasons of the searches.
[[nodiscard]] Unmet unmet(const RobustTally& tally, double share, bool advises = true);

// Counts the lines of a run.
class RobustTotals {
 public:
  void add(const Json& result);
  [[nodiscard]] RobustTally tally() const;

 private:
  std::map<Rational, RobustCount> radii_;
  std::vector<bool> seen_;  // by item: small pieces of memory that last would keep pages between those of the searches
  std::size_t items_ = 0, correct_ = 0;
  std::size_t results_ = 0;
  double seconds_ = 0;
  std::map<std::string, std::size_t> reasons_;
};

[[nodiscard]] Json to_json(const RobustTally& tally);
[[nodiscard]] Json to_json(const std::vector<RobustCount>& counts);

// The largest certified radius of one item; "0" if no radius is certified.
struct LargestRadius {
  std::size_t item = 0;
  std::string eps = "0";
  Rational radius;          // the number that `eps` writes
  bool is_correct = false;  // the model gives the item its label
  // The smallest radius that was tried in vain, with the answer there; empty if each radius that was tried is certified.
  Rational open_radius;
  std::string open_eps, open_answer;
  std::optional<Rational> falsified;  // the smallest radius at which it is falsified
};

[[nodiscard]] Json to_json(const LargestRadius& one);

// Of each item that was looked at, from the results of a request with `largest`.
class LargestRadii {
 public:
  void add(const Json& result);
  void add(std::size_t item, const std::string& eps, const std::string& answer, bool is_correct);
  [[nodiscard]] std::vector<LargestRadius> list() const;
  // Of each radius that was tried for some item, all items: their results at other radii decide it, too.
  [[nodiscard]] std::vector<RobustCount> counts() const;

 private:
  std::map<std::size_t, LargestRadius> items_;
  std::map<Rational, std::string> tried_;
};

// The manifest of a run, by the program of this version.
[[nodiscard]] Json manifest_of(const BallSetting& setting, const RobustRequest& request, const Balls& balls, const std::string& version);
// Convert between a request and the members that it adds to its claim. The options of the search are not among them.
[[nodiscard]] Json to_json(const RobustRequest& request);
[[nodiscard]] RobustRequest request_of(const Json& claim);

// The radii of a request, ascending; with `largest` they are the multiples, of which halving asks for some. The texts name them
// in results. Code robust.eps.
struct Radii {
  std::vector<Rational> values;
  std::vector<std::string> texts;
};
[[nodiscard]] Outcome<Radii> radii_of(const RobustRequest& request);
// Why an item is not certified although all points of its ball are classified as labelled; empty if it is. An item outside of the
// range of --clip is no point of its balls, and the small ones of these are empty.
[[nodiscard]] std::string not_certified_outside_clip(const Balls& balls, std::size_t item, bool asks_for_largest, bool is_correct);
// The numbers of the items that are asked about, of so many, ascending. Code run.items.
[[nodiscard]] Outcome<std::vector<std::size_t>> items_of(const RobustRequest& request, std::size_t count);

struct RobustEvents {
  std::function<void(unsigned worker, std::size_t item, const std::string& eps)> on_start;  // from the worker's thread
  std::function<void(unsigned worker, const Json& result)> on_result;                       // one at a time
};

// Each result: {"item", "eps", "label", "predicted", "correct", "margin", "answer": certified, falsified or undecided, "seconds",
// "nodes", "certificate", "bytes", "statement"}, or {..., "follows_from": eps}: certified for a larger radius, falsified for a
// smaller one. Undecided ones have "reason". `known` are the results of an earlier run. Without a store no certificate is
// written. Ends early, without a complaint, when it is asked to stop, and with one where nothing more can be stored.
[[nodiscard]] Outcome<Done> run_robust(const Balls& balls, const RobustRequest& request, Store* store, const std::vector<Json>& known,
                                       const std::stop_token& stop, const RobustEvents& events);

}  // namespace assay::runs
