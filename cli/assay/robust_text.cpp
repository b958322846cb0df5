// What `assay robust` prints of a run: one line while it goes on, a table at its end.
#include "cli/assay/robust_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <utility>

#include "app/runs/claim.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

std::string percent(std::size_t part, std::size_t whole) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f %%",
                      whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text.data();
}

}  // namespace

std::string short_tally(const runs::RobustTally& tally, bool has_labels) {
  const std::string items = std::to_string(tally.items);
  std::string text = has_labels ? std::to_string(tally.correct) + "/" + items + " right" : items + " items";
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < tally.radii.size() && i < kMost; ++i) {
    const runs::RobustCount& one = tally.radii[i];
    text += ", " + one.eps + ": " + percent(one.certified, one.certified + one.falsified + one.undecided);
  }
  return text;
}

void print_table(const runs::RobustTally& tally, bool has_labels) {
  std::printf("question: %s\n", runs::question_words(has_labels));
  if (has_labels)
    std::printf("%zu items, %zu of them classified as labelled (%s)\n", tally.items, tally.correct,
                percent(tally.correct, tally.items).c_str());
  else
    std::printf("%zu items\n", tally.items);
  constexpr int kNarrow = 10, kWide = 27;
  const int wide = has_labels ? kWide : kNarrow;
  std::printf("%-14s %10s %*s %10s  %s\n", "eps", "certified", wide, has_labels ? "falsified (misclassified)" : "falsified", "undecided",
              "certified share");
  for (const runs::RobustCount& one : tally.radii) {
    const std::size_t all = one.certified + one.falsified + one.undecided;
    const std::string falsified = std::to_string(one.falsified) + (has_labels ? " (" + std::to_string(one.misclassified) + ")" : "");
    std::printf("%-14s %10zu %*s %10zu  %s\n", one.eps.c_str(), one.certified, wide, falsified.c_str(), one.undecided,
                percent(one.certified, all).c_str());
  }
}

void print_undecided(const runs::RobustTally& tally, bool is_kept) {
  std::vector<std::pair<std::size_t, std::string>> reasons;  // by how often
  for (const auto& [reason, count] : tally.reasons) reasons.emplace_back(count, reason);
  if (reasons.empty()) return;
  std::ranges::sort(reasons, std::ranges::greater());
  constexpr std::size_t kMost = 3, kLong = 300;
  for (std::size_t i = 0; i < std::min(kMost, reasons.size()); ++i)
    std::printf("undecided: %zu, because: %s\n", reasons[i].first, printable(reasons[i].second, kLong).c_str());
  if (reasons.size() > kMost) std::printf("undecided: for %zu more reasons, which --json and results.jsonl have\n", reasons.size() - kMost);
  std::size_t timed_out = 0, all = 0;
  for (const runs::RobustCount& one : tally.radii) {
    timed_out += one.timed_out;
    all += one.undecided;
  }
  if (timed_out > 0)
    std::printf("next: the same command with a longer --timeout%s\n",
                is_kept ? " and --resume --retry-undecided, which decides only the undecided items again"
                        : "; with --run FOLDER answers are kept, and --resume --retry-undecided decides only the undecided items again");
  if (all > timed_out)
    std::puts(
        "next, if more time does not help: write the questions with --properties FOLDER, and try `assay verify --branching input` on them");
}

void print_largest(std::vector<runs::LargestRadius> largest, bool has_labels) {
  std::size_t correct = 0, certified = 0;
  std::printf("question: %s\n", runs::question_words(has_labels));
  for (const runs::LargestRadius& one : largest) {
    correct += one.is_correct ? 1 : 0;
    certified += one.radius.sign() > 0 ? 1 : 0;
    const std::string why = has_labels && !one.is_correct ? " (not classified as labelled)"
                            : one.open_answer.empty()     ? " (the largest radius to try)"
                                                          : " (" + one.open_answer + " at " + one.open_eps + ")";
    std::printf("item %zu: %s%s\n", one.item, one.eps.c_str(), why.c_str());
  }
  if (largest.empty()) return;
  std::ranges::sort(largest, {}, &runs::LargestRadius::radius);
  const std::string right =
      has_labels ? std::to_string(correct) + " of them classified as labelled (" + percent(correct, largest.size()) + "), " : "";
  std::printf("%zu items, %s%zu with a certified radius above 0; median radius %s\n", largest.size(), right.c_str(), certified,
              largest[(largest.size() - 1) / 2].eps.c_str());
}

}  // namespace assay::cli
