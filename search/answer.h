// The possible answers of a search, with one word for each in files, in JSON and on the command line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernel/logic/api.h"

namespace assay::search {

enum class Answer : std::uint8_t { unsatisfiable, satisfiable, unknown, timed_out, split };

inline constexpr std::array<const char*, 5> kAnswerWords{"unsat", "sat", "unknown", "timed-out", "split"};

[[nodiscard]] constexpr const char* word_of(Answer answer) { return kAnswerWords[static_cast<std::size_t>(answer)]; }

// Returns nullopt for any other word.
[[nodiscard]] constexpr std::optional<Answer> answer_named(std::string_view word) {
  for (std::size_t i = 0; i < kAnswerWords.size(); ++i)
    if (word == kAnswerWords[i]) return static_cast<Answer>(i);
  return std::nullopt;
}

// Whether the answer is sat or unsat, and so rests on a theorem. One exception: a closed cube is answered with unsat,
// but has no theorem of its own.
[[nodiscard]] constexpr bool is_decided(std::optional<Answer> answer) {
  return answer == Answer::unsatisfiable || answer == Answer::satisfiable;
}

// The answer that a theorem gives.
[[nodiscard]] inline Answer answer_of(const logic::Theorem& theorem) {
  return theorem.kind() == logic::Theorem::Kind::satisfiable ? Answer::satisfiable : Answer::unsatisfiable;
}

}  // namespace assay::search
