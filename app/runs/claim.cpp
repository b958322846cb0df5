#include "app/runs/claim.h"

#include <charconv>
#include <set>

#include "app/runs/balls.h"
#include "app/runs/robust.h"

namespace assay::runs {
namespace {

// The claim as a check reads it.
Json read_again(const std::string& kind, const Json& claim) {
  if (kind == "robust") {
    Json again = to_json(setting_of(claim));
    again.update(to_json(request_of(claim)));
    again["sha256"] = member_of(claim, "sha256");  // which is compared with the files
    return again;
  }
  Json lists = Json::array();
  const Json claimed = member_of(claim, "lists");
  for (std::size_t i = 0; claimed.is_array() && i < claimed.size(); ++i)
    lists.push_back({{"file", text_of(claimed[i], "file")}, {"sha256", text_of(claimed[i], "sha256")}});
  return list_claim(lists, count_of(claim, "instances"), text_of(claim, "semantics"), text_of(claim, "part"), text_of(claim, "items"),
                    edits_of(claim));
}

}  // namespace

Json list_claim(const Json& lists, std::size_t instances, const std::string& semantics, const std::string& part, const std::string& items,
                const onnx::Edits& edits) {
  Json claim{{"lists", lists}, {"instances", instances}, {"semantics", semantics}, {"part", part}};
  if (!items.empty()) claim["items"] = items;
  add_edits(claim, edits);
  return claim;
}

Outcome<Done> check_claim(const std::string& folder, const Json& manifest) {
  const auto wrong = [&folder](const char* code, std::string required, const std::string& found) {
    return Rejection{code == std::string("claim") ? Rejection::Kind::malformed : Rejection::Kind::unsupported,
                     std::string("run.") + code,
                     folder + ", run.json",
                     std::move(required),
                     found.substr(0, 200),
                     "make the run again, or take the version of assay that made it"};
  };
  const std::string schema = text_of(manifest, "schema"), kind = text_of(manifest, "kind");
  if (schema != kRunSchema) return wrong("schema", std::string("schema ") + kRunSchema, exact_text(member_of(manifest, "schema")));
  if (kind != "robust" && kind != "batch") return wrong("kind", "a run of assay robust or assay batch", kind);
  const Json claim = member_of(manifest, "claim"), again = read_again(kind, claim);
  if (const auto name = first_difference(claim, again)) {
    const std::string is = claim.contains(*name) ? *name + " " + exact_text(claim[*name]) : "no " + *name;
    return wrong("claim", again.contains(*name) ? *name + " as assay " + kind + " writes it" : "a claim without further members", is);
  }
  const std::string part = text_of(claim, "part");
  if (std::size_t one = 0, all = 0; !part.empty() && !parse_part(part, one, all))
    return wrong("claim", "a part such as 2/8", "part " + part);
  return Done{};
}

const char* ball_word(search::Answer answer) {
  return answer == search::Answer::unsatisfiable ? "certified" : answer == search::Answer::satisfiable ? "falsified" : "undecided";
}

std::optional<search::Answer> answer_of_ball(std::string_view word) {
  for (const search::Answer answer : {search::Answer::unsatisfiable, search::Answer::satisfiable, search::Answer::unknown})
    if (word == ball_word(answer)) return answer;
  return std::nullopt;
}

bool is_answer(const std::string& kind, const std::string& word) {
  if (kind == "robust") return answer_of_ball(word).has_value();
  const auto answer = search::answer_named(word);
  return word == kErrorWord || (answer && *answer != search::Answer::split);
}

const char* question_words(bool has_labels) {
  return has_labels ? "is each item classified as labelled, and so is every point of its ball?"
                    : "without labels: does every point of an item's ball get the class that the model gives the item?";
}

bool parse_part(const std::string& text, std::size_t& part, std::size_t& parts) {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, part);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') return false;
  const auto second = std::from_chars(first.ptr + 1, end, parts);
  if (second.ec != std::errc() || second.ptr != end || part < 1 || part > parts) return false;
  --part;
  return true;
}

bool is_in_part(std::size_t number, const Json& claim) {
  std::size_t part = 0, parts = 1;
  return !parse_part(text_of(claim, "part"), part, parts) || number % parts == part;
}

Outcome<Ranges> ranges_of(const std::string& text, std::size_t count) {
  const auto wrong = [&](std::string required) {
    return Rejection{Rejection::Kind::malformed, "run.items", "--items", std::move(required), text.substr(0, 80), ""};
  };
  Ranges ranges;
  const char* at = text.data();
  const char* const end = at + text.size();
  do {
    std::size_t first = 0;
    const auto from = std::from_chars(at, end, first);
    if (from.ec != std::errc()) return wrong("numbers and ranges, such as 3,7,10-20");
    std::size_t last = first;
    at = from.ptr;
    if (at < end && *at == '-') {
      const auto to = std::from_chars(at + 1, end, last);
      if (to.ec != std::errc()) return wrong("numbers and ranges, such as 3,7,10-20");
      at = to.ptr;
    }
    if (first > last || last >= count || (at < end && *at != ',')) return wrong("numbers below " + std::to_string(count) + ", in order");
    ranges.emplace_back(first, last);
  } while (at++ < end);
  return ranges;
}

Outcome<std::vector<std::size_t>> selected(const std::string& text, std::size_t count) {
  auto ranges = ranges_of(text, count);
  if (!ranges) return ranges.rejection();
  std::set<std::size_t> items;
  for (const auto& [first, last] : ranges.value()) {
    for (std::size_t item = first; item <= last; ++item) items.insert(item);
  }
  return std::vector<std::size_t>(items.begin(), items.end());
}

}  // namespace assay::runs
