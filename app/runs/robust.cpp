#include "app/runs/robust.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <utility>

#include "api/check/vacuity.h"
#include "app/queries/scale.h"
#include "app/queries/verify.h"
#include "app/runs/claim.h"

namespace assay::runs {
namespace {

using search::Answer;

const char* const kUndecided = ball_word(Answer::unknown);
constexpr const char* kTimedOut = "timed out";  // the reason of a search that more time may decide

Answer answer_of(const Json& result) { return answer_of_ball(text_of(result, "answer")).value_or(Answer::unknown); }

// One item with its radii. The next radius halves what is still open; in the order of the radii certified ones come first.
class Item {
 public:
  Item(std::size_t radii, bool each, bool largest) : answers_(largest ? 0 : radii), halving_(radii), each_(each), largest_(largest) {}

  [[nodiscard]] std::optional<std::size_t> next() const {
    if (largest_) return halving_.next();
    std::size_t best = 0, length = 0, start = 0;
    for (std::size_t i = 0; i <= answers_.size(); ++i) {
      if (i < answers_.size() && !answers_[i]) continue;
      if (i - start > length) {
        length = i - start;
        best = start + length / 2;
      }
      start = i + 1;
    }
    if (length == 0) return std::nullopt;
    return each_ ? std::ranges::find(answers_, std::optional<Answer>()) - answers_.begin() : best;
  }

  void set(std::size_t radius, Answer answer) {
    if (largest_)
      halving_.set(radius, answer == Answer::unsatisfiable);
    else
      answers_[radius] = answer;
  }

  // The open radii whose answer follows from this one's.
  [[nodiscard]] std::vector<std::size_t> followers(std::size_t radius) const {
    std::vector<std::size_t> list;
    if (largest_ || each_ || !search::is_decided(answers_[radius])) return list;
    const bool certified = answers_[radius] == Answer::unsatisfiable;
    for (std::size_t i = certified ? 0 : radius + 1; i < (certified ? radius : answers_.size()); ++i) {
      if (!answers_[i]) list.push_back(i);
    }
    return list;
  }

 private:
  std::vector<std::optional<Answer>> answers_;  // nothing: open
  queries::Bisection halving_;                  // of the largest certified one, instead of the answers
  bool each_, largest_;
};

class RobustWork {
 public:
  RobustWork(const Balls& balls, const RobustRequest& request, Radii radii, std::vector<std::size_t> items, Store* store,
             const std::stop_token& stop, const RobustEvents& events)
      : balls_(balls),
        request_(request),
        radii_(std::move(radii.values)),
        texts_(std::move(radii.texts)),
        items_(std::move(items)),
        store_(store),
        stop_(stop),
        events_(events) {}

  Outcome<Done> run(const std::vector<Json>& known) {
    const Item fresh(radii_.size(), request_.each, !request_.largest.empty());
    states_.assign(items_.size(), fresh);
    for (const Json& result : known) {
      const auto item = std::ranges::lower_bound(items_, count_of(result, "item"));
      const auto radius = std::ranges::find(texts_, text_of(result, "eps"));
      if (item != items_.end() && *item == count_of(result, "item") && radius != texts_.end())
        states_[static_cast<std::size_t>(item - items_.begin())].set(static_cast<std::size_t>(radius - texts_.begin()), answer_of(result));
    }
    for_each_in_parallel(items_.size(), request_.search.jobs,
                         [this](std::size_t number, unsigned worker) { return decide_item(number, worker); });
    if (failure_) return *failure_;
    return Done{};
  }

 private:
  // False: the run ends.
  bool decide_item(std::size_t number, unsigned worker) {
    if (!is_in_part(number, claim_)) return true;
    const std::size_t item = items_[number];
    Item& state = states_[number];
    if (!state.next()) return true;
    auto scores = balls_.scores(item);
    if (!scores) return fail(scores.rejection());
    const std::int64_t label = balls_.has_labels() ? balls_.label(item) : scores.value().predicted;
    Json about{{"item", item}, {"eps", ""}, {"label", label}, {"predicted", scores.value().predicted}};
    about["correct"] = label >= 0 && scores.value().predicted == label;
    about["margin"] = scores.value().margin;
    for (auto radius = state.next(); radius; radius = state.next()) {
      if (stop_.stop_requested()) return false;
      if (events_.on_start) events_.on_start(worker, item, texts_[*radius]);
      Json result = about;
      result["eps"] = texts_[*radius];
      if (label < 0) {
        result["answer"] = kUndecided;
        result["reason"] = "two classes may have equal scores, and there is no label";
      } else if (auto decided = decide(item, label, *radius, result); !decided) {
        return fail(decided.rejection());
      }
      if (stop_.stop_requested() && result["answer"] == kUndecided) return false;
      state.set(*radius, answer_of(result));
      if (!tell(result, worker)) return false;
      for (const std::size_t other : state.followers(*radius)) {
        if (!balls_.has_points(item, label, radii_[other])) continue;  // an empty ball has a result of its own: undecided
        state.set(other, answer_of(result));
        Json follower = about;
        follower["eps"] = texts_[other];
        follower["answer"] = result["answer"];
        follower["follows_from"] = texts_[*radius];
        if (!tell(follower, worker)) return false;
      }
    }
    return true;
  }

  bool fail(const Rejection& why) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = why;
    return false;
  }

  bool tell(const Json& result, unsigned worker) {
    if (store_ != nullptr) {
      if (auto appended = store_->append(result); !appended) return fail(appended.rejection());
    }
    const std::lock_guard lock(mutex_);
    if (events_.on_result) events_.on_result(worker, result);
    return true;
  }

  // The answer of one item and radius. Rejections concern the store only.
  Outcome<Done> decide(std::size_t item, std::int64_t label, std::size_t radius, Json& result) {
    const auto start = search::Clock::now();
    const auto undecided = [&result](const std::string& reason) {
      result["answer"] = kUndecided;
      result["reason"] = reason;
      return Done{};
    };
    auto instance = balls_.instance(item, label, radii_[radius]);
    if (!instance) return undecided(instance.rejection().to_text());
    const auto& problem = instance.value().problem;
    auto file = ProofFile::open(store_, *problem);
    if (!file) return file.rejection();
    search::Result verified = result["correct"] == true ? search::Result() : at_the_item(instance.value(), file.value().writer());
    if (!verified.theorem && !verified.unwritten) {
      auto searched =
          queries::verify(problem, request_.search.options(search::Deadline::in(request_.search.timeout), stop_), file.value().writer());
      if (!searched) return undecided(searched.rejection().to_text());
      verified = std::move(searched).value();
    }
    result["answer"] = ball_word(verified.answer);
    result["seconds"] = search::seconds_since(start);
    result["nodes"] = verified.statistics.nodes;
    if (!verified.theorem) return undecided(verified.answer == Answer::timed_out ? kTimedOut : verified.reason);
    if (const std::string why = check::vacuity(*verified.theorem); !why.empty()) return undecided("a certificate would be vacuous: " + why);
    if (verified.answer == Answer::unsatisfiable) {
      const std::string why = not_certified_outside_clip(balls_, item, !request_.largest.empty(), result["correct"] == true);
      if (!why.empty()) return undecided(why);
    }
    if (verified.answer == Answer::satisfiable && !instance.value().contains(verified.theorem->witness().inputs))
      return undecided("the witness that was found lies outside the ball, inside the decimals around it");
    if (verified.unwritten) return file.value().unwritten(*verified.unwritten);
    return file.value().keep(*problem, result);
  }

  // The item itself as the witness, where another class scores as high as the label.
  static search::Result at_the_item(const Instance& instance, certificate::Writer* writer) {
    const std::size_t cases = instance.problem->statement().property.cases.size();
    for (std::uint32_t i = 0; i < cases; ++i) {
      auto verified = queries::violated_at(instance.problem, {i, instance.mid}, writer);
      if (verified.theorem) return verified;
    }
    return {};
  }

  const Balls& balls_;
  const RobustRequest& request_;
  const Json claim_ = to_json(request_);
  const std::vector<Rational> radii_;
  const std::vector<std::string> texts_;
  const std::vector<std::size_t> items_;
  Store* store_;
  std::stop_token stop_;
  const RobustEvents& events_;
  std::vector<Item> states_;
  std::mutex mutex_;
  std::optional<Rejection> failure_;
};

Rejection wrong_radius(std::string found) {
  return {Rejection::Kind::malformed, "robust.eps", "--eps", "numbers from 0, such as 2/255 or 0.01", std::move(found), ""};
}

}  // namespace

Outcome<Radii> radii_of(const RobustRequest& request) {
  constexpr std::size_t kMost = 100'000;
  std::map<Rational, std::string> radii;
  for (const std::string& text : request.eps) {
    const auto radius = Rational::parse(text);
    if (!radius || radius->sign() < 0) return wrong_radius(text);
    radii.emplace(*radius, text);
  }
  if (radii.empty()) return wrong_radius("none");
  if (!request.largest.empty()) {
    const auto step = Rational::parse(request.largest);
    const Rational most = radii.rbegin()->first;
    if (!step || step->sign() <= 0) return wrong_radius(request.largest);
    if (most / *step > Rational(static_cast<std::int64_t>(kMost)))
      return wrong_radius("more than " + std::to_string(kMost) + " multiples of " + request.largest);
    radii.clear();
    const std::int64_t count = *floor(most / *step).to_int64();
    for (std::int64_t i = 1; i <= count; ++i) {
      const Rational radius = *step * Rational(i);
      radii.emplace(radius, radius.to_decimal());
    }
    if (radii.empty()) return wrong_radius("a step above " + most.to_string());
  }
  Radii result;
  for (auto& [radius, text] : radii) {
    result.values.push_back(radius);
    result.texts.push_back(text);
  }
  return result;
}

std::string not_certified_outside_clip(const Balls& balls, std::size_t item, bool asks_for_largest, bool is_correct) {
  if ((!asks_for_largest && is_correct) || balls.is_in_clip(item)) return "";
  return asks_for_largest ? "the item lies outside of --clip, so its smaller balls are empty, and no radius is the largest of many"
                          : "the item lies outside of --clip, and it is not classified as labelled itself";
}

Json to_json(const RobustRequest& request) {
  Json claim{{"eps", request.eps},     {"largest", request.largest}, {"first", request.first},
             {"every", request.every}, {"each", request.each},       {"part", request.part}};
  if (!request.items.empty()) claim["items"] = request.items;
  return claim;
}

RobustRequest request_of(const Json& claim) {
  RobustRequest request;
  request.eps = texts_of(claim, "eps");
  request.largest = text_of(claim, "largest");
  request.each = flag_of(claim, "each");
  request.part = text_of(claim, "part");
  request.items = text_of(claim, "items");
  if (!request.items.empty()) return request;
  request.first = count_of(claim, "first");
  request.every = std::max<std::size_t>(1, count_of(claim, "every"));
  return request;
}

Outcome<std::vector<std::size_t>> items_of(const RobustRequest& request, std::size_t count) {
  if (!request.items.empty()) return selected(request.items, count);
  std::vector<std::size_t> items;
  for (std::size_t item = 0; item < count && (request.first == 0 || items.size() < request.first); item += request.every)
    items.push_back(item);
  return items;
}

// Of a share that undecided items may still reach: what can decide them.
static std::string still_possible(const RobustCount& one, bool advises) {
  const std::size_t ended = one.undecided - one.timed_out;
  std::string text = ", " + std::to_string(one.undecided) + " are undecided";
  if (!advises) return text;
  if (one.timed_out > 0) text += "; " + std::to_string(one.timed_out) + " of these timed out: try a longer --timeout";
  if (ended > 0)
    text += "; the search for " + std::to_string(ended) +
            " of these ended before the limit for the reason that results.jsonl gives, so more time does not help: ask for a smaller "
            "radius, or write them with --properties FOLDER and try `assay verify --branching input`";
  return text;
}

// The decimal that was written: 0.28 of 100 items are 28, though the nearest double is a little more.
static Rational decimal_of(double share) {
  std::array<char, 40> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), share);
  return *Rational::parse({text.data(), written.ptr});
}

Unmet unmet(const RobustTally& tally, double share, bool advises) {
  Unmet found;
  const Rational required = decimal_of(share);
  const auto count = [](std::size_t items) { return Rational(static_cast<std::int64_t>(items)); };
  if (tally.radii.empty()) found.sentences.emplace_back("--require is not met: no question was asked");
  for (const RobustCount& one : tally.radii) {
    const std::size_t all = one.certified + one.falsified + one.undecided;
    const Rational needed = required * count(all);
    if (count(one.certified) >= needed) continue;
    const bool is_out_of_reach = count(one.certified + one.undecided) < needed;
    found.is_out_of_reach = found.is_out_of_reach || is_out_of_reach;
    found.sentences.push_back("--require is not met at radius " + one.eps + ": " + std::to_string(one.certified) + " of " +
                              std::to_string(all) + " are certified" + (is_out_of_reach ? "" : still_possible(one, advises)));
  }
  return found;
}

void RobustTotals::add(const Json& result) {
  const auto radius = Rational::parse(text_of(result, "eps"));
  if (!radius) return;
  RobustCount& count = radii_[*radius];
  if (count.eps.empty()) count.eps = text_of(result, "eps");
  const Answer answer = answer_of(result);
  ++(answer == Answer::unsatisfiable ? count.certified : answer == Answer::satisfiable ? count.falsified : count.undecided);
  count.misclassified += answer == Answer::satisfiable && !flag_of(result, "correct") ? 1 : 0;
  count.timed_out += text_of(result, "reason") == kTimedOut ? 1 : 0;
  if (!search::is_decided(answer)) ++reasons_[text_of(result, "reason")];
  constexpr std::size_t kMostItems = std::size_t{1} << 28;
  const std::size_t item = std::min(count_of(result, "item"), kMostItems);
  if (item >= seen_.size()) seen_.resize(item + 1);
  if (!seen_[item]) {
    seen_[item] = true;
    ++items_;
    correct_ += flag_of(result, "correct") ? 1 : 0;
  }
  seconds_ += number_of(result, "seconds");
  ++results_;
}

RobustTally RobustTotals::tally() const {
  RobustTally tally;
  tally.items = items_;
  tally.correct = correct_;
  tally.results = results_;
  tally.seconds = seconds_;
  tally.reasons = reasons_;
  for (const auto& [radius, count] : radii_) tally.radii.push_back(count);
  return tally;
}

Outcome<Done> run_robust(const Balls& balls, const RobustRequest& request, Store* store, const std::vector<Json>& known,
                         const std::stop_token& stop, const RobustEvents& events) {
  auto radii = radii_of(request);
  if (!radii) return radii.rejection();
  auto items = items_of(request, balls.size());
  if (!items) return items.rejection();
  return RobustWork(balls, request, std::move(radii).value(), std::move(items).value(), store, stop, events).run(known);
}

Json to_json(const std::vector<RobustCount>& counts) {
  Json radii = Json::array();
  for (const RobustCount& one : counts)
    radii.push_back({{"eps", one.eps},
                     {"certified", one.certified},
                     {"falsified", one.falsified},
                     {"misclassified", one.misclassified},
                     {"undecided", one.undecided}});
  return radii;
}

Json to_json(const RobustTally& tally) {
  return {{"items", tally.items},
          {"correct", tally.correct},
          {"results", tally.results},
          {"seconds", tally.seconds},
          {"radii", to_json(tally.radii)}};
}

void LargestRadii::add(const Json& result) {
  add(count_of(result, "item"), text_of(result, "eps"), text_of(result, "answer"), flag_of(result, "correct"));
}

void LargestRadii::add(std::size_t item, const std::string& eps, const std::string& answer, bool is_correct) {
  const auto radius = Rational::parse(eps);
  LargestRadius& one = items_[item];
  one.item = item;
  one.is_correct = is_correct;
  if (!radius) return;
  tried_.emplace(*radius, eps);
  if (answer_of_ball(answer) == search::Answer::satisfiable && (!one.falsified || *radius < *one.falsified)) one.falsified = *radius;
  if (answer_of_ball(answer) != search::Answer::unsatisfiable) {
    if (!one.open_answer.empty() && one.open_radius <= *radius) return;
    one.open_radius = *radius;
    one.open_eps = eps;
    one.open_answer = answer;
  } else if (one.radius < *radius) {
    one.radius = *radius;
    one.eps = eps;
  }
}

Json to_json(const LargestRadius& one) { return {{"item", one.item}, {"eps", one.eps}, {"correct", one.is_correct}}; }

std::vector<LargestRadius> LargestRadii::list() const {
  std::vector<LargestRadius> all;
  for (const auto& [item, one] : items_) all.push_back(one);
  return all;
}

std::vector<RobustCount> LargestRadii::counts() const {
  std::vector<RobustCount> counts;
  for (const auto& [radius, eps] : tried_) {
    RobustCount& count = counts.emplace_back();
    count.eps = eps;
    for (const auto& [item, one] : items_) {
      const bool is_falsified = one.falsified && *one.falsified <= radius;
      ++(one.radius >= radius ? count.certified : is_falsified ? count.falsified : count.undecided);
      count.misclassified += is_falsified && !one.is_correct ? 1 : 0;
    }
  }
  return counts;
}

Json manifest_of(const BallSetting& setting, const RobustRequest& request, const Balls& balls, const std::string& version) {
  Json claim = to_json(setting);
  claim.update(to_json(request));
  claim["sha256"] = balls.digests();
  return {{"schema", kRunSchema},
          {"kind", "robust"},
          {"claim", std::move(claim)},
          {"options", {{"jobs", request.search.jobs}, {"timeout", request.search.timeout}, {"seed", request.search.seed}}},
          {"question", question_words(balls.has_labels())},
          {"items", balls.size()},
          {"input", balls.input_shape()},
          {"classes", balls.classes()},
          {"notes", balls.notes()},
          {"version", version}};
}

}  // namespace assay::runs
