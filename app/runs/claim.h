// The claim of a run, which a check prints beside its verdict: it says nothing that the check did not read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/runs/store.h"
#include "search/answer.h"
#include "semantics/outcome.h"

namespace assay::runs {

inline constexpr const char* kRunSchema = "assay.run/1";

// The claim of a run on lists, each of which has "file" and "sha256". That on a data set is to_json of its setting and of its
// request, and "sha256".
[[nodiscard]] Json list_claim(const Json& lists, std::size_t instances, const std::string& semantics, const std::string& part,
                              const std::string& items, const onnx::Edits& edits);

// Refuses a manifest whose schema or kind is unknown here, or whose claim is not the one that the reader makes again from its
// parts. A member that the reader does not use, or one of another type, would be printed and not checked. Codes run.schema,
// run.kind, run.claim.
[[nodiscard]] Outcome<Done> check_claim(const std::string& folder, const Json& manifest);

// The words of a line of results. Balls are "certified", "falsified" or "undecided"; a property that could not be read is an "error".
inline constexpr const char* kErrorWord = "error";
[[nodiscard]] const char* ball_word(search::Answer answer);
[[nodiscard]] std::optional<search::Answer> answer_of_ball(std::string_view word);
[[nodiscard]] bool is_answer(const std::string& kind, const std::string& word);
// The question of a run on a data set, for its readers: about the labels of the data or, without labels, about the model's own classes.
[[nodiscard]] const char* question_words(bool has_labels);

// "2/8": the second of eight parts. False where it is not one.
[[nodiscard]] bool parse_part(const std::string& text, std::size_t& part, std::size_t& parts);  // the part counts from 0
[[nodiscard]] bool is_in_part(std::size_t number, const Json& claim);                           // by places among what is asked, from 0
// "3,7,10-20", of so many from 0 on: first and last ones, and the numbers in ascending order. Code run.items.
using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;
[[nodiscard]] Outcome<Ranges> ranges_of(const std::string& text, std::size_t count);
[[nodiscard]] Outcome<std::vector<std::size_t>> selected(const std::string& text, std::size_t count);

}  // namespace assay::runs
