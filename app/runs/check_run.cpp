#include "app/runs/check_run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "api/check/vacuity.h"
#include "app/runs/claim.h"
#include "app/runs/pack.h"
#include "app/runs/questions.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

Line line_of(std::size_t number, const Json& result, bool robust) {
  Line line;
  line.number = number;
  line.item = whole_of(result, robust ? "item" : "instance", -1);
  line.label = whole_of(result, "label", -1);
  line.predicted = whole_of(result, "predicted", line.predicted);
  if (const Json correct = member_of(result, "correct"); correct.is_boolean()) line.correct = correct.get<bool>();
  line.eps = text_of(result, "eps");
  line.answer = text_of(result, "answer");
  line.named = robust ? answer_of_ball(line.answer) : search::answer_named(line.answer);
  line.certificate = text_of(result, "certificate");
  line.follows = text_of(result, "follows_from");
  line.model = text_of(result, "model");
  line.property = text_of(result, "property");
  line.model_digest = text_of(member_of(result, "sha256"), "model");
  line.property_digest = text_of(member_of(result, "sha256"), "property");
  return line;
}

// A run of which certificates were packed has them in one file.
std::string has_pack(const std::string& folder) {
  std::error_code error;
  return fs::exists(fs::path(folder) / "certificates.pack", error) ? ", and certificates.pack holds none with this SHA-256 or is damaged"
                                                                   : "";
}

bool is_digest(const std::string& text) { return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos; }

class Checker {
 public:
  Checker(std::string folder, const RunCheckRequest& request, const Questions& questions, RunCheck& check)
      : folder_(std::move(folder)), request_(request), questions_(questions), check_(check) {}

  Outcome<Done> read() {
    const bool robust = check_.kind == "robust";
    auto read = for_each_result(folder_, [&](std::size_t number, const Json& result) {
      ++check_.results;
      if (result.is_null())
        find(RunFault::damaged, "results.jsonl, line " + std::to_string(number),
             "the line is not JSON, or an object of it has a name twice, or a text of it has a NUL byte, so the result that stood there is "
             "lost");
      else
        lines_.push_back(line_of(number, result, robust));
    });
    if (!read) return read.rejection();
    check_.is_cut_off = read.value() > 0;
    for (Line& line : lines_) assign(line);
    return Done{};
  }

  void replay_all(const std::stop_token& stop, const std::function<void(std::size_t, std::size_t)>& on_progress) {
    std::size_t done = 0;
    for_each_in_parallel(lines_.size(), request_.jobs, [&](std::size_t i, unsigned) {
      if (stop.stop_requested()) return false;
      Line& line = lines_[i];
      if (line.answers && line.is_decided() && line.follows.empty()) check_line(line);
      if (line.answers && !line.is_decided()) take_undecided(line);
      const std::lock_guard lock(mutex_);
      if (on_progress) on_progress(++done, lines_.size());
      return true;
    });
    if (stop.stop_requested()) find(RunFault::declined, folder_, "the check was interrupted");
  }

  // Results that follow from another one of the same item and label, whose certificate was accepted.
  void follow() {
    std::map<std::pair<std::int64_t, std::string>, const Line*> own;
    for (const Line& line : lines_) {
      if (line.accepted) own[{line.item, line.eps}] = &line;
    }
    for (Line& line : lines_) {
      if (!line.answers || !line.is_decided() || line.follows.empty()) continue;
      const auto found = own.find({line.item, line.follows});
      const auto radius = Rational::parse(line.eps), other = Rational::parse(line.follows);
      if (found == own.end() || !radius || !other) {
        Line source = line;
        source.eps = line.follows;
        find(RunFault::missing, questions_.place(source),
             "no result of this radius was accepted, and line " + std::to_string(line.number) + ", radius " + line.eps +
                 ", follows from one");
        continue;
      }
      const Line& source = *found->second;
      if (source.answer != line.answer || source.label != line.label ||
          (line.named == search::Answer::unsatisfiable ? !(*other >= *radius) : !(*other <= *radius))) {
        find(RunFault::rejected, place(line), "it does not follow from the result of radius " + line.follows);
        continue;
      }
      if (const std::string why = not_certified(line); !why.empty()) {
        find(RunFault::rejected, place(line), why);
        continue;
      }
      line.accepted = true;
      line.misclassified = source.misclassified;
      ++check_.follow;
      tell({line.number, true, {}, ""});
    }
  }

  void count() { questions_.count_results(by_question_, check_); }

 private:
  // Each question has one line; a line that has none, or one that is answered already, is rejected.
  void assign(Line& line) {
    if (request_.only && !request_.only(line.item)) return;
    const auto question = questions_.question_of(line);
    if (!question) return find(RunFault::rejected, place(line), question.rejection().to_text());
    line.question = question.value();
    const auto [first, is_first] = by_question_.emplace(line.question, &line);
    if (!is_first)
      return find(RunFault::rejected, place(line),
                  "line " + std::to_string(first->second->number) + " has a result for this already, and one counts");
    line.answers = true;
  }

  [[nodiscard]] std::string not_certified(const Line& line) const {
    return line.named == search::Answer::unsatisfiable ? questions_.not_certified(line) : "";
  }

  void check_line(Line& line) {
    if (!is_digest(line.certificate))
      return find(RunFault::missing, place(line), line.answer + " without a certificate: the line names none");
    const std::string name = certificate_path(folder_, line.certificate);
    const auto kept = KeptCertificate::find(folder_, line.certificate);
    if (!kept) return find(RunFault::missing, place(line), "there is no certificate " + name + has_pack(folder_));
    if (const std::string now = file_digest(kept->path()); now != line.certificate)
      return find(
          RunFault::damaged, place(line),
          "the certificate " + name +
              (now.empty() ? " cannot be read, or consists of holes" : " has another SHA-256 than its name: its bytes were changed"));
    line.file = kept->path();
    auto report = questions_.replay(line);
    if (!report) return find(fault_of(report.rejection()), place(line), report.rejection().to_text());
    if (const std::string why = check::vacuity(*report.value().theorem); !why.empty() && !request_.allow_vacuous)
      return find(
          RunFault::rejected, place(line),
          "the certificate is vacuous: " + why + (check_.kind == "batch" ? "; mend the property, or allow it with --allow-vacuous" : ""));
    if (const std::string why = not_certified(line); !why.empty()) return find(RunFault::rejected, place(line), why);
    line.misclassified = line.named == search::Answer::satisfiable && questions_.is_misclassified(line);
    const std::lock_guard lock(mutex_);
    ++check_.accepted;
    ++check_.certificates;
    check_.cpu_seconds += report.value().cpu_seconds;
    check_.certificate_bytes += report.value().certificate_bytes;
    for (const std::string& one : report.value().theorem->assumptions()) {
      if (std::ranges::find(check_.assumptions, one) == check_.assumptions.end()) check_.assumptions.push_back(one);
    }
    line.accepted = true;
    for (const std::string& unwritten : report.value().notes) check_.unwritten = unwritten;
    CheckedResult result{line.number, true, {}, questions_.category(line)};
    for (const Rational& one : report.value().theorem->witness().inputs) result.witness.push_back(one.double_down());
    tell(result);
  }

  void take_undecided(const Line& line) {
    const std::vector<std::string> unwritten = questions_.write_undecided(line);
    const std::lock_guard lock(mutex_);
    ++check_.undecided;
    for (const std::string& one : unwritten) check_.unwritten = one;
    tell({line.number, false, {}, questions_.category(line)});
  }

  void tell(const CheckedResult& result) const {
    if (request_.on_checked) request_.on_checked(result);
  }

  void find(RunFault fault, std::string where, std::string why) {
    const std::lock_guard lock(mutex_);
    check_.findings.push_back({fault, std::move(where), std::move(why)});
  }
  [[nodiscard]] std::string place(const Line& line) const { return "line " + std::to_string(line.number) + ", " + questions_.place(line); }

  static RunFault fault_of(const Rejection& why) {
    return why.kind == Rejection::Kind::declined || why.kind == Rejection::Kind::unsupported ? RunFault::declined
           : why.kind == Rejection::Kind::malformed                                          ? RunFault::damaged
                                                                                             : RunFault::rejected;
  }

  const std::string folder_;
  const RunCheckRequest& request_;
  const Questions& questions_;
  RunCheck& check_;
  std::mutex mutex_;
  std::vector<Line> lines_;
  Answers by_question_;
};

}  // namespace

const char* word(RunFault fault) {
  switch (fault) {
    case RunFault::rejected:
      return "rejected";
    case RunFault::damaged:
      return "damaged";
    case RunFault::missing:
      return "missing";
    case RunFault::declined:
      return "declined";
  }
  return "declined";
}

RunVerdict verdict_of(const RunCheck& check) {
  const auto has = [&check](RunFault fault) {
    return std::ranges::any_of(check.findings, [fault](const RunFinding& one) { return one.fault == fault; });
  };
  if (has(RunFault::rejected)) return RunVerdict::rejected;
  if (has(RunFault::damaged)) return RunVerdict::damaged;
  if (has(RunFault::missing)) return RunVerdict::missing;
  return check.findings.empty() && check.open == 0 && check.asked > 0 ? RunVerdict::accepted : RunVerdict::open;
}

Unmet unmet(const RunCheck& check, double share) {
  RobustTally tally;
  for (const CheckedCount& one : check.counts) {
    RobustCount& count = tally.radii.emplace_back();
    count.eps = one.name;
    count.certified = one.proved;
    count.falsified = one.refuted;
    count.undecided = one.undecided;
  }
  return unmet(tally, share, false);
}

Outcome<RunCheck> check_run(const std::string& folder, const RunCheckRequest& request, const std::stop_token& stop,
                            const std::function<void(std::size_t, std::size_t)>& on_progress) {
  auto manifest = read_manifest(folder);
  if (!manifest) return manifest.rejection();
  if (auto claimed = check_claim(folder, manifest.value()); !claimed) return claimed.rejection();
  RunCheck check;
  check.kind = manifest.value()["kind"].get<std::string>();
  check.claim = manifest.value()["claim"];
  std::error_code error;
  if (!request.properties.empty()) fs::create_directories(request.properties, error);
  if (error)
    return Rejection{Rejection::Kind::declined, "run.properties", request.properties, "a folder that can be made", error.message(), ""};
  const auto questions = questions_of(folder, request, check);
  if (!questions) return questions.rejection();
  if (auto prepared = questions.value()->prepare(stop); !prepared) return prepared.rejection();
  Checker checker(folder, request, *questions.value(), check);
  if (auto read = checker.read(); !read) return read.rejection();
  checker.replay_all(stop, on_progress);
  checker.follow();
  checker.count();
  return check;
}

Outcome<KeptResults> keep_accepted(Store& store, const std::string& folder, RunCheckRequest request, bool retry,
                                   const std::stop_token& stop) {
  KeptResults kept;
  std::vector<std::pair<std::size_t, bool>> good;  // lines; whether they are decided
  request.on_checked = [&good](const CheckedResult& one) { good.emplace_back(one.line, one.accepted); };
  std::vector<Json> all;
  if (auto read = for_each_result(folder, [&all](std::size_t, const Json& result) { all.push_back(result); }); !read)
    return read.rejection();
  if (all.empty()) return kept;
  const auto checked = check_run(folder, request, stop, nullptr);
  if (!checked) return checked.rejection();
  if (stop.stop_requested())
    return Rejection{Rejection::Kind::declined, "run.interrupted",    folder, "a check of all results that the folder holds",
                     "an interruption",         "start the run again"};
  std::ranges::sort(good);
  for (const auto& [line, decided] : good) {
    if (decided || !retry) kept.results.push_back(std::move(all[line - 1]));
    kept.retried += decided || !retry ? 0 : 1;
  }
  kept.left_out = all.size() - good.size();
  if (kept.results.size() == all.size()) return kept;
  if (auto replaced = store.replace(kept.results); !replaced) return replaced.rejection();
  return kept;
}

const char* word(RunVerdict verdict) {
  if (verdict == RunVerdict::accepted) return "accepted";
  return verdict == RunVerdict::rejected || verdict == RunVerdict::damaged ? "rejected" : "declined";
}

Json to_json(const RunCheck& check, const char* schema) {
  Json findings = Json::array(), counts = Json::array(), largest = Json::array();
  for (const RunFinding& one : check.findings) findings.push_back({{"fault", word(one.fault)}, {"place", one.place}, {"why", one.why}});
  for (const CheckedCount& one : check.counts)
    counts.push_back({{"name", one.name},
                      {"proved", one.proved},
                      {"refuted", one.refuted},
                      {"misclassified", one.misclassified},
                      {"undecided", one.undecided},
                      {"unanswered", one.unanswered}});
  for (const LargestRadius& one : check.largest) largest.push_back(to_json(one));
  return {{"schema", schema},
          {"verdict", word(verdict_of(check))},
          {"kind", check.kind},
          {"question", check.question},
          {"claim", check.claim},
          {"results", check.results},
          {"asked", check.asked},
          {"items", check.items},
          {"of_items", check.of_items},
          {"accepted", check.accepted},
          {"following", check.follow},
          {"undecided", check.undecided},
          {"open", check.open},
          {"without_result", check.without},
          {"counts", counts},
          {"largest", largest},
          {"findings", findings},
          {"assumptions", check.assumptions},
          {"certificates", check.certificates},
          {"certificate_bytes", check.certificate_bytes},
          {"cpu_seconds", check.cpu_seconds}};
}

}  // namespace assay::runs
