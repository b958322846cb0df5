// What `assay robust` prints of a run: one line while it goes on, a table at its end.
#include "cli/assay/robust_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace assay::cli {
namespace {

std::string percent(std::size_t part, std::size_t whole) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f %%",
                      whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text.data();
}

}  // namespace

std::string short_tally(const runs::RobustTally& tally) {
  std::string text = std::to_string(tally.correct) + "/" + std::to_string(tally.items) + " right";
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < tally.radii.size() && i < kMost; ++i) {
    const runs::RobustCount& one = tally.radii[i];
    text += ", " + one.eps + ": " + percent(one.certified, one.certified + one.falsified + one.undecided);
  }
  return text;
}

void print_table(const runs::RobustTally& tally) {
  std::printf("%zu items, %zu of them classified as labelled (%s)\n", tally.items, tally.correct,
              percent(tally.correct, tally.items).c_str());
  std::printf("%-14s %10s %10s %10s  %s\n", "eps", "certified", "falsified", "undecided", "certified share");
  for (const runs::RobustCount& one : tally.radii) {
    const std::size_t all = one.certified + one.falsified + one.undecided;
    std::printf("%-14s %10zu %10zu %10zu  %s\n", one.eps.c_str(), one.certified, one.falsified, one.undecided,
                percent(one.certified, all).c_str());
  }
}

void print_largest(std::vector<runs::LargestRadius> largest) {
  std::size_t correct = 0, certified = 0;
  for (const runs::LargestRadius& one : largest) {
    correct += one.is_correct ? 1 : 0;
    certified += one.radius.sign() > 0 ? 1 : 0;
    const std::string why = !one.is_correct           ? " (not classified as labelled)"
                            : one.open_answer.empty() ? " (the largest radius to try)"
                                                      : " (" + one.open_answer + " at " + one.open_eps + ")";
    std::printf("item %zu: %s%s\n", one.item, one.eps.c_str(), why.c_str());
  }
  if (largest.empty()) return;
  std::ranges::sort(largest, {}, &runs::LargestRadius::radius);
  std::printf("%zu items, %zu of them classified as labelled (%s), %zu with a certified radius above 0; median radius %s\n", largest.size(),
              correct, percent(correct, largest.size()).c_str(), certified, largest[(largest.size() - 1) / 2].eps.c_str());
}

}  // namespace assay::cli
