#include "app/runs/questions.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/scale.h"
#include "app/runs/balls.h"
#include "app/runs/batch.h"
#include "app/runs/claim.h"
#include "app/runs/robust.h"
#include "certificates/check/replay.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 1000;  // questions without a result
constexpr const char* kWhereFiles = "name the files of the run where they are now: --model, --data, --labels";

Rejection not_shown(const std::string& required, const std::string& found) {
  return {Rejection::Kind::rejected, "run.answer", "result", required, found, ""};
}

Rejection another_digest(const std::string& path, std::string required, std::string found, const char* advice) {
  return {Rejection::Kind::malformed, "run.digest", path, std::move(required), std::move(found), advice};
}

Outcome<Done> check_digests(const Json& claimed, const Json& now, const BallSetting& files) {
  if (!claimed.is_object()) return another_digest("run.json", "sha256 of model and data", "none", "");
  const auto name = first_difference(now, claimed);
  if (!name) return Done{};
  const Json is = member_of(now, name->c_str()), was = member_of(claimed, name->c_str());
  const std::string path = *name == "data" ? files.data : *name == "labels" ? files.labels : files.model;
  const auto shown = [](const Json& digest) { return digest.is_string() ? digest.get<std::string>() : "none"; };
  return another_digest(path, "the " + *name + " with sha256 " + shown(was) + ", as run.json says", "sha256 " + shown(is), kWhereFiles);
}

Rejection moved(Rejection why) {
  if (why.code == "files.open" || why.code == "dataset.open") why.advice = kWhereFiles;
  return why;
}

Rejection no_such_file(const char* code, std::string required, std::string found) {
  return {Rejection::Kind::malformed, std::string("run.") + code, "run.json",
          std::move(required),        std::move(found),           "leave the option out"};
}

// Each item of a data set with each radius; with --largest the multiples of a step, of which halving asks for some.
class BallQuestions : public Questions {
 public:
  static Outcome<std::unique_ptr<BallQuestions>> read(const std::string& folder, const RunCheckRequest& request, RunCheck& check) {
    BallSetting setting = setting_of(check.claim);
    setting.model = located(request.model, setting.model, folder);
    setting.data = located(request.data, setting.data, folder);
    if (setting.labels.empty() && !request.labels.empty()) return no_such_file("labels", "a run with a file of labels", request.labels);
    if (!setting.labels.empty()) setting.labels = located(request.labels, setting.labels, folder);
    auto balls = Balls::load(setting, request.load);
    if (!balls) return moved(balls.rejection());
    check.notes = balls.value().notes();
    check.question = question_words(balls.value().has_labels());
    if (auto same = check_digests(member_of(check.claim, "sha256"), balls.value().digests(), setting); !same) return same.rejection();
    const RobustRequest asked = request_of(check.claim);
    auto radii = radii_of(asked);
    if (!radii) return in_claim(radii.rejection());
    auto items = items_of(asked, balls.value().size());
    if (!items) return in_claim(items.rejection());
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < items.value().size(); ++i) {
      if (is_in_part(i, check.claim)) mine.push_back(items.value()[i]);
    }
    return std::unique_ptr<BallQuestions>(
        new BallQuestions(std::move(balls).value(), std::move(radii).value(), std::move(mine), asked, request));
  }

  [[nodiscard]] Outcome<Done> prepare(const std::stop_token& stop) override {
    classes_.assign(items_.size(), kNotComputed);
    std::mutex mutex;
    std::optional<Rejection> failure;
    for_each_in_parallel(items_.size(), request_.jobs, [&](std::size_t i, unsigned) {
      if (stop.stop_requested()) return false;
      if (request_.only && !request_.only(static_cast<std::int64_t>(items_[i]))) return true;
      const auto scores = balls_.scores(items_[i]);
      if (scores) {
        classes_[i] = scores.value().predicted;
        return true;
      }
      const std::lock_guard lock(mutex);
      failure = scores.rejection();
      return false;
    });
    if (failure) return *failure;
    return Done{};
  }

  [[nodiscard]] Outcome<std::size_t> question_of(const Line& line) const override {
    const auto item = std::ranges::lower_bound(items_, static_cast<std::size_t>(std::max<std::int64_t>(0, line.item)));
    if (line.item < 0 || item == items_.end() || *item != static_cast<std::size_t>(line.item))
      return not_shown("an item that the run asks about", std::to_string(line.item));
    const auto radius = numbers_.find(line.eps);
    if (radius == numbers_.end()) return not_shown("a radius that the run asks for", line.eps);
    if (!is_answer("robust", line.answer)) return not_shown("certified, falsified or undecided", line.answer);
    if (each_ && !line.follows.empty()) return not_shown("an answer of its own, as --each asks", "one that follows from " + line.follows);
    const auto index = static_cast<std::size_t>(item - items_.begin());
    if (auto same = has_same_classes(index, line); !same) return same.rejection();
    return index * radii_.texts.size() + radius->second;
  }

  // About the statement of item and radius as model and data make it now.
  [[nodiscard]] Outcome<check::Report> replay(const Line& line) const override {
    const auto item = static_cast<std::size_t>(line.item);
    auto label = label_of(line);
    if (!label) return label.rejection();
    const double start = check::thread_cpu_seconds();
    auto instance = balls_.instance(item, line.label, radii_.values[line.question % radii_.texts.size()]);
    if (!instance) return instance.rejection();
    check::Loaded loaded;
    loaded.problem = instance.value().problem;
    loaded.bytes = balls_.bytes();
    loaded.stored = balls_.stored();
    const std::string& path = line.file;
    auto reader = certificate::Reader::open(path);
    if (!reader) return check::in_file(reader.rejection(), path);
    check::Report report;
    const auto limits = check::replay_limits(loaded, request_.load.limits, check::file_bytes(path));
    auto theorem = certificate::replay(*reader.value(), loaded.problem, &report.statistics, limits);
    if (!theorem) return check::in_file(theorem.rejection(), path);
    const bool holds = theorem.value().kind() == logic::Theorem::Kind::unsatisfiable;
    if (line.named != search::answer_of(theorem.value()))
      return not_shown("a proof of " + line.answer, holds ? "a proof that it is certified" : "a witness that falsifies it");
    if (!holds && !instance.value().contains(theorem.value().witness().inputs)) return not_shown("a witness in the ball", "one outside");
    if (!request_.properties.empty())
      report.notes = balls_.write_property(instance.value(), line.label, request_.properties, line.certificate);
    report.verdict = check::Verdict::accepted;
    report.theorem = std::move(theorem).value();
    report.certificate_bytes = reader.value()->bytes_read();
    report.cpu_seconds = check::thread_cpu_seconds() - start;
    return report;
  }

  [[nodiscard]] std::vector<std::string> write_undecided(const Line& line) const override {
    if (request_.properties.empty()) return {};
    const auto item = static_cast<std::size_t>(line.item);
    const auto label = label_of(line);
    if (!label) return {};
    return balls_.write_undecided(item, label.value(), radii_.values[line.question % radii_.texts.size()], line.eps, request_.properties);
  }

  [[nodiscard]] std::string not_certified(const Line& line) const override {
    const auto item = static_cast<std::size_t>(line.item);
    if (auto points = balls_.has_points(item, line.label, radii_.values[line.question % radii_.texts.size()]); !points)
      return points.rejection().to_text();
    return not_certified_outside_clip(balls_, item, largest_, is_correct(line.question / radii_.texts.size()));
  }

  [[nodiscard]] bool is_misclassified(const Line& line) const override {
    return balls_.has_labels() && !is_correct(line.question / radii_.texts.size());
  }

  [[nodiscard]] std::string place(const Line& line) const override { return place_of(line.item, line.eps); }

  void count_results(const Answers& lines, RunCheck& check) const override {
    const std::size_t radii = radii_.texts.size();
    check.items = items_.size();
    check.of_items = balls_.size();
    check.asked = items_.size() * (largest_ ? 1 : radii);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      for (std::size_t k = 0; !largest_ && k < radii; ++k) {
        if (!lines.contains(i * radii + k)) add_open(i, k, check);
      }
      if (const auto next = largest_ ? next_radius(lines, i) : std::nullopt) add_open(i, *next, check);
    }
    if (largest_) {
      check.largest = largest_radii(lines);
      check.counts = counts_of_largest(lines);
    } else {
      check.counts = counts_of_radii(lines);
    }
  }

 private:
  BallQuestions(Balls balls, Radii radii, std::vector<std::size_t> items, const RobustRequest& asked, const RunCheckRequest& request)
      : balls_(std::move(balls)),
        radii_(std::move(radii)),
        items_(std::move(items)),
        largest_(!asked.largest.empty()),
        each_(asked.each),
        request_(request) {
    for (std::size_t k = 0; k < radii_.texts.size(); ++k) numbers_.emplace(radii_.texts[k], k);
  }

  static std::string place_of(std::int64_t item, const std::string& radius) {
    return "item " + std::to_string(item) + ", radius " + radius;
  }

  static Rejection in_claim(Rejection why) {
    why.place = "run.json, " + why.place;
    return why;
  }

  // That of the data; without labels the class that the model gives the item, negative if there is no such class.
  [[nodiscard]] std::int64_t label_at(std::size_t index) const {
    return balls_.has_labels() ? balls_.label(items_[index]) : classes_[index];
  }
  [[nodiscard]] bool is_correct(std::size_t index) const { return label_at(index) >= 0 && classes_[index] == label_at(index); }

  [[nodiscard]] Outcome<std::int64_t> label_of(const Line& line) const {
    const std::int64_t label = label_at(line.question / radii_.texts.size());
    if (label >= 0) return label;
    return Rejection{Rejection::Kind::declined,         "run.label", "item " + std::to_string(line.item),
                     "a class that the model gives it", "two",       ""};
  }

  // Whether the line gives the item the label and the class that data and model give it.
  [[nodiscard]] Outcome<Done> has_same_classes(std::size_t index, const Line& line) const {
    if (classes_[index] == kNotComputed) return Done{};  // the check was interrupted
    const auto text = [](std::int64_t one) { return one < 0 ? "none" : std::to_string(one); };
    if (line.label != label_at(index)) return not_shown("label " + text(label_at(index)), text(line.label));
    if (line.predicted != classes_[index])
      return not_shown("the class that the model gives the item, " + text(classes_[index]), "predicted " + text(line.predicted));
    if (line.correct != is_correct(index))
      return not_shown(is_correct(index) ? "correct true, since the class is the label" : "correct false, since the class is not the label",
                       line.correct ? "its opposite" : "none");
    return Done{};
  }

  [[nodiscard]] std::vector<CheckedCount> counts_of_radii(const Answers& lines) const {
    const std::size_t radii = radii_.texts.size();
    std::vector<CheckedCount> counts(radii);
    std::vector<std::size_t> said(radii, 0);  // lines that say undecided
    for (const auto& [question, line] : lines) {
      CheckedCount& count = counts[question % radii];
      if (line->accepted) ++(line->named == search::Answer::unsatisfiable ? count.proved : count.refuted);
      count.misclassified += line->misclassified ? 1 : 0;
      said[question % radii] += line->is_decided() ? 0 : 1;
    }
    for (std::size_t k = 0; k < radii; ++k) {
      counts[k].name = radii_.texts[k];
      counts[k].undecided = items_.size() - counts[k].proved - counts[k].refuted;
      counts[k].unanswered = counts[k].undecided - said[k];
    }
    return items_.empty() ? std::vector<CheckedCount>() : counts;
  }

  // With --largest each item has lines at radii of its own. What was accepted there decides the item at smaller or larger radii.
  [[nodiscard]] std::vector<CheckedCount> counts_of_largest(const Answers& lines) const {
    const std::size_t radii = radii_.texts.size();
    struct Found {
      std::size_t certified = 0, falsified = SIZE_MAX;  // the largest radius, counted from 1; the smallest one
      bool is_open = false;
    };
    std::vector<Found> found(items_.size());
    std::set<std::size_t> tried;
    for (const auto& [question, line] : lines) {
      Found& one = found[question / radii];
      const std::size_t k = question % radii;
      tried.insert(k);
      if (line->accepted && line->named == search::Answer::unsatisfiable) one.certified = std::max(one.certified, k + 1);
      if (line->accepted && line->named == search::Answer::satisfiable) one.falsified = std::min(one.falsified, k);
      one.is_open = one.is_open || (line->is_decided() && !line->accepted);
    }
    for (std::size_t i = 0; i < items_.size(); ++i) found[i].is_open = found[i].is_open || next_radius(lines, i);
    std::vector<CheckedCount> counts;
    for (const std::size_t k : tried) {
      CheckedCount& count = counts.emplace_back();
      count.name = radii_.texts[k];
      for (std::size_t i = 0; i < items_.size(); ++i) {
        const bool is_proved = k < found[i].certified, is_refuted = k >= found[i].falsified;
        ++(is_proved ? count.proved : is_refuted ? count.refuted : count.undecided);
        count.misclassified += is_refuted && balls_.has_labels() && !is_correct(i) ? 1 : 0;
        count.unanswered += !is_proved && !is_refuted && found[i].is_open ? 1 : 0;
      }
    }
    return counts;
  }

  // The multiple at which no line goes on with halving by the accepted lines; none where halving comes to its end.
  [[nodiscard]] std::optional<std::size_t> next_radius(const Answers& lines, std::size_t item) const {
    queries::Bisection halving(radii_.texts.size());
    for (auto next = halving.next(); next; next = halving.next()) {
      const auto line = lines.find(item * radii_.texts.size() + *next);
      if (line == lines.end()) return next;
      halving.set(*next, line->second->accepted && line->second->named == search::Answer::unsatisfiable);
    }
    return std::nullopt;
  }

  void add_open(std::size_t item, std::size_t radius, RunCheck& check) const {
    ++check.open;
    if (check.without.size() < kMostNamed) check.without.push_back(place_of(static_cast<std::int64_t>(items_[item]), radii_.texts[radius]));
  }

  // By accepted lines alone. An item of which no line is there has the radius 0.
  [[nodiscard]] std::vector<LargestRadius> largest_radii(const Answers& lines) const {
    LargestRadii radii;
    for (const auto& [question, line] : lines)
      radii.add(static_cast<std::size_t>(line->item), line->eps,
                line->accepted || !line->is_decided() ? line->answer : line->answer + ", but not accepted,",
                is_correct(question / radii_.texts.size()));
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (const auto next = next_radius(lines, i)) radii.add(items_[i], radii_.texts[*next], "without a result", is_correct(i));
    }
    return radii.list();
  }

  const Balls balls_;
  const Radii radii_;
  const std::vector<std::size_t> items_;
  const bool largest_, each_;
  const RunCheckRequest& request_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of the radii
  static constexpr std::int64_t kNotComputed = -3;
  std::vector<std::int64_t> classes_;  // of the items that are asked about: what the model gives them, -1 if two may be equal
};

// Each instance of the lists.
class ListQuestions : public Questions {
 public:
  static Outcome<std::unique_ptr<ListQuestions>> read(const std::string& folder, const RunCheckRequest& request, RunCheck& check) {
    for (const std::string& file : {request.model, request.data, request.labels}) {
      if (!file.empty()) return no_such_file("files", "a run on a data set; lists name their models and properties", file);
    }
    std::unique_ptr<ListQuestions> questions(new ListQuestions(request, edits_of(check.claim)));
    const Json lists = member_of(check.claim, "lists");
    if (!lists.is_array() || lists.empty() || (!request.list.empty() && lists.size() > 1))
      return Rejection{Rejection::Kind::malformed,
                       "run.list",
                       "run.json",
                       request.list.empty() ? "the lists of the run" : "one list, which --list names",
                       std::to_string(lists.size()),
                       ""};
    for (const Json& list : lists) {
      const std::string path = located(request.list, text_of(list, "file"), folder), digest = text_of(list, "sha256");
      if (const std::string now = file_digest(path); now.empty() || now != digest)
        return another_digest(path, "the list with sha256 " + digest + ", as run.json says", now.empty() ? "no file" : "sha256 " + now,
                              "name the list of the run: --list");
      auto read = read_list(path);
      if (!read) return read.rejection();
      questions->instances_.insert(questions->instances_.end(), read.value().begin(), read.value().end());
    }
    if (const std::size_t claimed = count_of(check.claim, "instances"); claimed != questions->instances_.size())
      return Rejection{Rejection::Kind::malformed, "run.claim",
                       folder + ", run.json",      "as many instances as the lists have, " + std::to_string(questions->instances_.size()),
                       std::to_string(claimed),    "copy run.json again: it was changed after the run"};
    const std::string items = text_of(check.claim, "items");
    auto chosen = selected(items.empty() ? "0-" + std::to_string(questions->instances_.size() - 1) : items, questions->instances_.size());
    if (!chosen) return chosen.rejection();
    for (std::size_t i = 0; i < chosen.value().size(); ++i) {
      if (is_in_part(i, check.claim)) questions->asked_.push_back(chosen.value()[i]);
    }
    return questions;
  }

  [[nodiscard]] Outcome<std::size_t> question_of(const Line& line) const override {
    const auto number = std::ranges::lower_bound(asked_, static_cast<std::size_t>(std::max<std::int64_t>(0, line.item)));
    if (line.item < 0 || number == asked_.end() || *number != static_cast<std::size_t>(line.item))
      return not_shown("an instance that the run asks about", std::to_string(line.item));
    const BatchInstance& one = instances_[*number];
    if (one.model != line.model || one.property != line.property)
      return not_shown("instance " + std::to_string(*number) + " of the list: " + one.model + " " + one.property,
                       line.model + " " + line.property);
    if (!line.follows.empty()) return not_shown("an answer of its own", "one that follows from " + line.follows);
    if (!is_answer("batch", line.answer)) return not_shown("unsat, sat, unknown, timed-out or error", line.answer);
    return static_cast<std::size_t>(number - asked_.begin());
  }

  // About the files of the list.
  [[nodiscard]] Outcome<check::Report> replay(const Line& line) const override {
    const BatchInstance& one = instance(line);
    const std::string model = path_from(one.folder, one.model), property = path_from(one.folder, one.property);
    for (const auto& [path, digest] : {std::pair(model, line.model_digest), std::pair(property, line.property_digest)}) {
      if (const std::string now = file_digest(check::existing(path)); now != digest)
        return another_digest(path, "the file with sha256 " + digest + ", about which the result is",
                              now.empty() ? "no file that can be read" : "sha256 " + now,
                              "put that file back, or decide the changed one again with --resume");
    }
    check::Report report = check::check_certificate(model, property, line.file, load_);
    if (report.why) return *report.why;
    const bool holds = report.theorem->kind() == logic::Theorem::Kind::unsatisfiable;
    if (line.named != search::answer_of(*report.theorem))
      return not_shown("a proof of " + line.answer, holds ? "a proof of unsat" : "a witness of sat");
    report.notes.clear();
    return report;
  }

  [[nodiscard]] std::string category(const Line& line) const override { return instance(line).category; }
  [[nodiscard]] std::string place(const Line& line) const override { return line.model + " " + line.property; }

  void count_results(const Answers& lines, RunCheck& check) const override {
    check.items = check.asked = asked_.size();
    check.of_items = instances_.size();
    std::map<std::string, CheckedCount> categories;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      CheckedCount& count = categories[instances_[asked_[i]].category];
      count.name = instances_[asked_[i]].category;
      const auto line = lines.find(i);
      const bool is_there = line != lines.end(), accepted = is_there && line->second->accepted;
      ++(!accepted ? count.undecided : line->second->named == search::Answer::unsatisfiable ? count.proved : count.refuted);
      count.unanswered += accepted || (is_there && !line->second->is_decided()) ? 0 : 1;
      if (is_there) continue;
      ++check.open;
      if (check.without.size() < kMostNamed) check.without.push_back(instances_[asked_[i]].model + " " + instances_[asked_[i]].property);
    }
    for (const auto& [name, count] : categories) check.counts.push_back(count);
  }

 private:
  ListQuestions(const RunCheckRequest& request, onnx::Edits edits) : load_(request.load) { load_.limits.edits = std::move(edits); }
  [[nodiscard]] const BatchInstance& instance(const Line& line) const { return instances_[asked_[line.question]]; }

  check::LoadOptions load_;  // with the options of the models that the claim names
  std::vector<BatchInstance> instances_;
  std::vector<std::size_t> asked_;  // their numbers
};

}  // namespace

Outcome<std::unique_ptr<Questions>> questions_of(const std::string& folder, const RunCheckRequest& request, RunCheck& check) {
  const auto made = [](auto read) -> Outcome<std::unique_ptr<Questions>> {
    if (!read) return read.rejection();
    return std::unique_ptr<Questions>(std::move(read).value());
  };
  if (check.kind == "batch") return made(ListQuestions::read(folder, request, check));
  return made(BallQuestions::read(folder, request, check));
}

std::string located(const std::string& given, const std::string& claimed, const std::string& folder) {
  if (!given.empty()) return given;
  std::error_code error;
  const std::string beside = (fs::path(folder) / fs::path(claimed).filename()).string();
  const bool is_here =
      claimed.empty() || fs::exists(formats::dataset_files(claimed).empty() ? claimed : formats::dataset_files(claimed).front(), error);
  return is_here || !fs::exists(beside, error) ? claimed : beside;
}

}  // namespace assay::runs
