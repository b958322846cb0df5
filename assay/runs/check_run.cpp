#include "assay/runs/check_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <utility>

#include "assay/check/check.h"
#include "assay/check/cost.h"
#include "assay/runs/balls.h"
#include "assay/runs/batch.h"
#include "assay/runs/gather.h"
#include "assay/runs/pack.h"
#include "assay/runs/robust.h"
#include "certificates/format/replay.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

// One line of results.jsonl.
struct Line {
  std::size_t number = 0, item = 0;
  std::string eps, answer, certificate, follows, model, property, folder, category, model_digest, property_digest;
  std::int64_t label = -1;
  std::string file;  // where its certificate can be read, while it is replayed
  bool accepted = false;
};

Line line_of(std::size_t number, const Json& result) {
  Line line;
  line.number = number;
  line.item = count_of(result, "item");
  line.label = whole_of(result, "label", -1);
  line.eps = text_of(result, "eps");
  line.answer = text_of(result, "answer");
  line.certificate = text_of(result, "certificate");
  line.follows = text_of(result, "follows_from");
  line.model = text_of(result, "model");
  line.property = text_of(result, "property");
  line.category = text_of(result, "category");
  line.folder = text_of(result, "folder");
  line.model_digest = text_of(member_of(result, "sha256"), "model");
  line.property_digest = text_of(member_of(result, "sha256"), "property");
  if (line.eps.empty()) line.item = count_of(result, "instance");
  return line;
}

bool is_digest(const std::string& text) { return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos; }

class Checker {
 public:
  Checker(std::string folder, const RunCheckRequest& request, RunCheck& check)
      : folder_(std::move(folder)), request_(request), check_(check) {}

  Outcome<Done> read() {
    return for_each_result(folder_, [this](std::size_t number, const Json& result) {
      ++check_.results;
      if (result.is_null())
        find(RunFault::damaged, "results.jsonl, line " + std::to_string(number), "the line is not JSON");
      else
        lines_.push_back(line_of(number, result));
    });
  }

  void replay_all(const std::stop_token& stop, const std::function<Outcome<check::Report>(const Line&)>& replay,
                  const std::function<void(std::size_t, std::size_t)>& on_progress) {
    std::size_t done = 0;
    for_each_in_parallel(lines_.size(), request_.jobs, [&](std::size_t i, unsigned) {
      if (stop.stop_requested()) return false;
      Line& line = lines_[i];
      if (line.answer != "undecided" && line.answer != "unknown" && line.answer != "timed-out" && line.answer != "error" &&
          line.follows.empty())
        check_line(line, replay);
      const std::lock_guard lock(mutex_);
      if (on_progress) on_progress(++done, lines_.size());
      return true;
    });
    if (stop.stop_requested()) find(RunFault::declined, folder_, "the check was interrupted");
  }

  // Results that follow from another one of the same item, whose certificate was accepted.
  void follow() {
    std::map<std::pair<std::size_t, std::string>, const Line*> own;
    for (const Line& line : lines_) {
      if (line.accepted) own[{line.item, line.eps}] = &line;
    }
    for (Line& line : lines_) {
      if (line.follows.empty() || line.answer == "undecided") continue;
      const auto found = own.find({line.item, line.follows});
      const auto radius = Rational::parse(line.eps), other = Rational::parse(line.follows);
      if (found == own.end() || !radius || !other)
        find(RunFault::missing, place(line), "no accepted result of radius " + line.follows + " from which it follows");
      else if (found->second->answer != line.answer || (line.answer == "certified" ? !(*other >= *radius) : !(*other <= *radius)))
        find(RunFault::rejected, place(line), "it does not follow from the result of radius " + line.follows);
      else
        line.accepted = true;
      check_.follow += line.accepted ? 1 : 0;
      if (line.accepted && request_.on_accepted) request_.on_accepted({line.number, {}});
    }
  }

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  void find(RunFault fault, std::string where, std::string why) {
    const std::lock_guard lock(mutex_);
    check_.findings.push_back({fault, std::move(where), std::move(why)});
  }
  [[nodiscard]] static std::string place(const Line& line) {
    const std::string what =
        line.eps.empty() ? line.model + " " + line.property : "item " + std::to_string(line.item) + ", radius " + line.eps;
    return "line " + std::to_string(line.number) + ", " + what;
  }

 private:
  void check_line(Line& line, const std::function<Outcome<check::Report>(const Line&)>& replay) {
    if (!is_digest(line.certificate)) return find(RunFault::missing, place(line), line.answer + " without a certificate");
    const std::string name = certificate_path(folder_, line.certificate);
    const auto kept = KeptCertificate::find(folder_, line.certificate);
    if (!kept) return find(RunFault::missing, place(line), "there is no certificate " + name);
    if (file_digest(kept->path()) != line.certificate)
      return find(RunFault::damaged, place(line), name + " has another digest than its name says");
    line.file = kept->path();
    auto report = replay(line);
    if (!report) return find(fault_of(report.rejection()), place(line), report.rejection().to_text());
    const std::lock_guard lock(mutex_);
    ++check_.accepted;
    ++check_.certificates;
    check_.cpu_seconds += report.value().cpu_seconds;
    check_.certificate_bytes += report.value().certificate_bytes;
    for (const std::string& one : report.value().theorem->assumptions()) {
      if (std::ranges::find(check_.assumptions, one) == check_.assumptions.end()) check_.assumptions.push_back(one);
    }
    line.accepted = true;
    if (!request_.on_accepted) return;
    AcceptedResult result{line.number, {}};
    for (const Rational& one : report.value().theorem->witness().inputs) result.witness.push_back(one.double_down());
    request_.on_accepted(result);
  }

  static RunFault fault_of(const Rejection& why) {
    return why.kind == Rejection::Kind::declined || why.kind == Rejection::Kind::unsupported ? RunFault::declined
           : why.kind == Rejection::Kind::malformed                                          ? RunFault::damaged
                                                                                             : RunFault::rejected;
  }

  const std::string folder_;
  const RunCheckRequest& request_;
  RunCheck& check_;
  std::mutex mutex_;
  std::vector<Line> lines_;
};

Rejection not_shown(const std::string& required, const std::string& found) {
  return {Rejection::Kind::rejected, "run.answer", "result", required, found, ""};
}

// The theorem of the certificate, about the statement of item and radius as model and data make it now.
Outcome<check::Report> replay_ball(const Line& line, const Balls& balls, const check::LoadOptions& options, const std::string& properties) {
  if (line.item >= balls.size()) return not_shown("an item of the data", std::to_string(line.item));
  if (balls.has_labels() && balls.label(line.item) != line.label)
    return not_shown("label " + std::to_string(balls.label(line.item)), std::to_string(line.label));
  if (line.label < 0 || line.label >= static_cast<std::int64_t>(balls.classes())) return not_shown("a class", std::to_string(line.label));
  const auto radius = Rational::parse(line.eps);
  if (!radius || radius->sign() < 0) return not_shown("a radius", line.eps);
  const double start = check::thread_cpu_seconds();
  auto instance = balls.instance(line.item, line.label, *radius);
  if (!instance) return instance.rejection();
  if (!properties.empty()) {
    const bool whole = instance.value().norm == "l1";  // a statement file: VNN-LIB has no magnitudes
    std::ofstream file(fs::path(properties) / (line.certificate + (whole ? ".statement" : ".vnnlib")), std::ios::binary);
    const std::vector<std::byte> bytes = whole ? kernel::statement_bytes(instance.value().problem->statement()) : std::vector<std::byte>();
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!(file << (whole ? "" : balls.property(instance.value(), line.label))).flush())
      return Rejection{Rejection::Kind::declined, "run.properties", properties, "a folder that can be written", "an error", ""};
  }
  check::Loaded loaded;
  loaded.problem = instance.value().problem;
  loaded.bytes = balls.bytes();
  loaded.model.stored = balls.stored();
  const std::string& path = line.file;
  auto reader = certificate::Reader::open(path);
  if (!reader) return check::in_file(reader.rejection(), path);
  check::Report report;
  const auto limits = check::replay_limits(loaded, options.limits, check::file_bytes(path));
  auto theorem = certificate::replay(*reader.value(), loaded.problem, &report.statistics, limits);
  if (!theorem) return check::in_file(theorem.rejection(), path);
  const bool holds = theorem.value().kind() == kernel::Theorem::Kind::unsatisfiable;
  if (line.answer != (holds ? "certified" : "falsified"))
    return not_shown("a proof of " + line.answer, holds ? "a proof that it is certified" : "a witness that falsifies it");
  if (!holds && !instance.value().contains(theorem.value().witness().inputs)) return not_shown("a witness in the ball", "one outside");
  report.verdict = check::Verdict::accepted;
  report.theorem = std::move(theorem).value();
  report.certificate_bytes = reader.value()->bytes_read();
  report.cpu_seconds = check::thread_cpu_seconds() - start;
  return report;
}

// The theorem of the certificate, about the files of the list.
Outcome<check::Report> replay_listed(const Line& line, const check::LoadOptions& options) {
  const std::string model = path_from(line.folder, line.model), property = path_from(line.folder, line.property);
  for (const auto& [path, digest] : {std::pair(model, line.model_digest), std::pair(property, line.property_digest)}) {
    if (file_digest(check::existing(path)) != digest)
      return Rejection{Rejection::Kind::malformed, "run.digest", path, "the file with sha256 " + digest, "another, or none", ""};
  }
  check::Report report = check::check_certificate(model, property, line.file, options);
  if (report.why) return *report.why;
  const bool holds = report.theorem->kind() == kernel::Theorem::Kind::unsatisfiable;
  if (line.answer != (holds ? "unsat" : "sat"))
    return not_shown("a proof of " + line.answer, holds ? "a proof of unsat" : "a witness of sat");
  return report;
}

void count_categories(const std::vector<Line>& lines, RunCheck& check) {
  std::map<std::string, CheckedCount> categories;
  for (const Line& line : lines) {
    CheckedCount& count = categories[line.category];
    count.name = line.category;
    check.undecided += line.answer == "unsat" || line.answer == "sat" ? 0 : 1;
    ++(!line.accepted ? count.undecided : line.answer == "unsat" ? count.proved : count.refuted);
  }
  for (const auto& [name, count] : categories) check.counts.push_back(count);
}

void count_open_instances(const std::vector<Line>& lines, RunCheck& check) {
  std::set<std::size_t> there;
  for (const Line& line : lines) there.insert(line.item);
  check.items = count_of(check.claim, "instances");
  for (std::size_t i = 0; i < check.items; ++i) check.open += there.contains(i) || !is_in_part(i, check.claim) ? 0 : 1;
}

void count_radii(const std::vector<Line>& lines, RunCheck& check) {
  std::map<Rational, CheckedCount> radii;
  for (const Line& line : lines) {
    CheckedCount& count = radii[Rational::parse(line.eps).value_or(Rational())];
    count.name = line.eps;
    check.undecided += line.answer == "undecided" ? 1 : 0;
    ++(!line.accepted ? count.undecided : line.answer == "certified" ? count.proved : count.refuted);
  }
  for (const auto& [radius, count] : radii) check.counts.push_back(count);
}

// What is asked for twice is counted once, and what is not there is open.
void count_open(const std::vector<Line>& lines, const Json& claim, std::size_t all, RunCheck& check) {
  const std::size_t every = std::max<std::size_t>(1, count_of(claim, "every")), first = count_of(claim, "first");
  const std::size_t items = (all + every - 1) / every;
  check.items = first == 0 ? items : std::min(items, first);
  std::set<std::pair<std::size_t, std::string>> there;
  std::set<std::size_t> touched;
  for (const Line& line : lines) {
    there.emplace(line.item, line.eps);
    touched.insert(line.item);
  }
  if (!text_of(claim, "largest").empty()) {
    for (std::size_t i = 0; i < check.items; ++i) check.open += touched.contains(i * every) || !is_in_part(i, claim) ? 0 : 1;
    return;
  }
  const std::vector<std::string> radii = texts_of(claim, "eps");
  for (std::size_t i = 0; i < check.items; ++i) {
    for (const std::string& eps : radii) check.open += there.contains({i * every, eps}) || !is_in_part(i, claim) ? 0 : 1;
  }
}

Outcome<Done> check_digests(const Json& claim, const Json& now) {
  const Json claimed = member_of(claim, "sha256");
  if (!claimed.is_object()) return Rejection{Rejection::Kind::malformed, "run.digest", "run.json", "sha256 of model and data", "none", ""};
  for (const auto& [name, digest] : claimed.items()) {
    if (member_of(now, name.c_str()) == digest) continue;
    return Rejection{Rejection::Kind::malformed,
                     "run.digest",
                     name,
                     "the " + name + " with sha256 " + digest.dump(),
                     member_of(now, name.c_str()).dump(),
                     "name the files of the run: --model, --data, --labels"};
  }
  return Done{};
}

}  // namespace

std::string located(const std::string& given, const std::string& claimed, const std::string& folder) {
  if (!given.empty()) return given;
  const std::string beside = (fs::path(folder) / fs::path(claimed).filename()).string();
  const bool is_here =
      claimed.empty() || fs::exists(formats::dataset_files(claimed).empty() ? claimed : formats::dataset_files(claimed).front());
  return is_here || !fs::exists(beside) ? claimed : beside;
}

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

Outcome<RunCheck> check_run(const std::string& folder, const RunCheckRequest& request, const std::stop_token& stop,
                            const std::function<void(std::size_t, std::size_t)>& on_progress) {
  auto manifest = read_manifest(folder);
  if (!manifest) return manifest.rejection();
  RunCheck check;
  check.kind = manifest.value()["kind"].get<std::string>();
  check.claim = manifest.value()["claim"];
  if (check.kind == "batch") {
    Checker checker(folder, request, check);
    if (auto read = checker.read(); !read) return read.rejection();
    checker.replay_all(
        stop, [&](const Line& line) { return replay_listed(line, request.load); }, on_progress);
    count_categories(checker.lines(), check);
    count_open_instances(checker.lines(), check);
    return check;
  }
  if (check.kind != "robust")
    return Rejection{Rejection::Kind::unsupported, "run.kind", folder, "a run of assay robust or assay batch", check.kind, ""};
  BallSetting setting = setting_of(check.claim);
  setting.model = located(request.model, setting.model, folder);
  setting.data = located(request.data, setting.data, folder);
  if (!setting.labels.empty()) setting.labels = located(request.labels, setting.labels, folder);
  auto balls = Balls::load(setting, request.load);
  if (!balls) return balls.rejection();
  check.notes = balls.value().notes();
  if (auto same = check_digests(check.claim, balls.value().digests()); !same) return same.rejection();
  Checker checker(folder, request, check);
  if (auto read = checker.read(); !read) return read.rejection();
  checker.replay_all(
      stop, [&](const Line& line) { return replay_ball(line, balls.value(), request.load, request.properties); }, on_progress);
  checker.follow();
  count_radii(checker.lines(), check);
  count_open(checker.lines(), check.claim, balls.value().size(), check);
  return check;
}

}  // namespace assay::runs
