// The questions of a run's claim, read from its list or its data set, and the answer that a line of results.jsonl gives. Private
// to check_run.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/runs/check_run.h"
#include "assay/check.h"
#include "search/answer.h"

namespace assay::runs {

// One line of results.jsonl.
struct Line {
  std::size_t number = 0;
  std::int64_t item = -1, label = -1;  // an instance of a list is an item
  std::int64_t predicted = -2;         // the class that the model gives the item, by the line
  std::optional<bool> correct;         // whether that is the label, by the line
  std::string eps, answer, certificate, follows, model, property, model_digest, property_digest;
  std::string file;          // where its certificate can be read, while it is replayed
  std::size_t question = 0;  // that it answers
  bool answers = false;      // the first line that does
  bool accepted = false;
  bool misclassified = false;           // falsified, and the model gives the item itself another class than its label
  std::optional<search::Answer> named;  // by the word; nothing for a word that is none, and for an error
  [[nodiscard]] bool is_decided() const { return search::is_decided(named); }
};

// Lines by the questions that they answer.
using Answers = std::unordered_map<std::size_t, const Line*>;

// The questions of a claim, read from its list or data set, by numbers from 0 on.
class Questions {
 public:
  Questions() = default;
  Questions(const Questions&) = delete;
  virtual ~Questions() = default;
  // Computes what the model says about the items themselves, with which lines are compared.
  [[nodiscard]] virtual Outcome<Done> prepare(const std::stop_token&) { return Done{}; }
  // The one that a line answers. A rejection says why it answers none, or in which words that one is not answered.
  [[nodiscard]] virtual Outcome<std::size_t> question_of(const Line& line) const = 0;
  // The theorem of the line's certificate, about its question.
  [[nodiscard]] virtual Outcome<check::Report> replay(const Line& line) const = 0;
  [[nodiscard]] virtual std::string category(const Line&) const { return ""; }
  // Why the question is not certified although a proof of unsat was accepted, or a larger ball was; empty if it is.
  [[nodiscard]] virtual std::string not_certified(const Line&) const { return ""; }
  [[nodiscard]] virtual bool is_misclassified(const Line&) const { return false; }
  // Writes what a line without an answer asks, if that is wanted: messages about what could not be written.
  [[nodiscard]] virtual std::vector<std::string> write_undecided(const Line&) const { return {}; }
  [[nodiscard]] virtual std::string place(const Line& line) const = 0;
  // Questions that are open, and counts of what was accepted.
  virtual void count_results(const Answers& lines, RunCheck& check) const = 0;
};

// Of the kind and claim that stand in the check, which gets the notes of reading. Codes run.*, and those of the readers.
[[nodiscard]] Outcome<std::unique_ptr<Questions>> questions_of(const std::string& folder, const RunCheckRequest& request, RunCheck& check);

}  // namespace assay::runs
