// Replay: each record becomes a step of a Session. With a team many records are read before they are replayed: where a thread is idle it gets
// the right branch of the outermost split that is open, and that is whole among them. The thread whose branch ends second goes on behind the
// split; nobody waits. The calling thread reads the records that follow before it takes part. Records wait as the file has them, and the
// thread that replays one decodes it again: no memory is taken in one thread and given back in another.

#include "certificates/check/replay.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "certificates/check/session.h"
#include "certificates/format/decoder.h"
#include "certificates/format/format.h"
#include "semantics/printable.h"

namespace assay::certificate {
namespace {

constexpr double kWorkAtOnce = 1e6;       // multiply-adds that a thread takes before the others learn of them
constexpr std::uint64_t kFirstBatch = 8;  // the part of a batch that is read before the other threads begin
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();  // no record, no node

// A certificate about executions speaks about every point of the box, and steps that bound errors as well bound without them: its steps may be
// replayed over the reals. Its digest is then that of the same graph and property under its own semantics, which may have several names.
bool is_same_under(const std::string& semantics, const Header& header, const kernel::Problem& problem) {
  if (problem.floating()) return header.digest == problem.digest();
  auto model = semantics.starts_with("binary") ? parse_execution_model(semantics) : executions::semantics_named(semantics);
  if (!model || model.value().kind == ExecutionModel::Kind::real) return false;
  kernel::Statement statement = problem.statement();
  statement.semantics = std::move(model).value();
  return header.digest == kernel::statement_digest(statement);
}

Outcome<Done> check_header(const Header& header, const kernel::Problem& problem) {
  const std::string semantics = name_of(problem.statement().semantics);
  if (header.semantics != semantics && is_same_under(header.semantics, header, problem)) return Done{};
  if (header.semantics != semantics)
    return Rejection{
        Rejection::Kind::declined,          "certificate.semantics",     "header",
        "a certificate about " + semantics, printable(header.semantics), "check it under the semantics that it was made for: --semantics"};
  if (header.digest != problem.digest())
    return Rejection{Rejection::Kind::rejected,
                     "certificate.digest",
                     "header",
                     "statement " + kernel::to_hex(problem.digest()),
                     "statement " + kernel::to_hex(header.digest),
                     "use the model and property that the certificate was made for"};
  return Done{};
}

class Replay {
 public:
  Replay(Reader& reader, std::shared_ptr<const kernel::Problem> problem, const ReplayLimits& limits)
      : reader_(reader),
        problem_(std::move(problem)),
        limits_(limits),
        allowed_(allowed_after(0)),
        team_(limits.threads > 1 ? std::make_shared<Team>(limits.threads) : nullptr),
        all_{Session(problem_, {allowed_, limits.memory}, team_), {}, {}, {}},
        row_work_(problem_->row_work(static_cast<NodeId>(problem_->graph().nodes.size() - 1))) {}

  Outcome<kernel::Theorem> run() {
    if (auto fits = check_header(reader_.header(), *problem_); !fits) return fits.rejection();
    if (auto accepted = team_ ? replay_by_team() : replay_in_turn(); !accepted) return accepted.rejection();
    allow(allowed_after(reader_.bytes_read()));
    if (all_.witness) return *std::move(all_.witness);
    auto theorem = all_.session.theorem();
    if (!theorem) return renamed(theorem.rejection());
    return theorem;
  }

  [[nodiscard]] ReplayStatistics statistics() const {
    ReplayStatistics all = all_.statistics;
    all.work = allowed_ - all_.session.work_left();
    all.budget = allowed_;
    all.memory = all_.session.most_memory();
    all.helper_seconds = team_ ? team_->helper_seconds() : 0;
    return all;
  }

 private:
  // The session's codes as the certificate's.
  static Rejection renamed(Rejection why) {
    if (why.code.starts_with("session.")) why.code.replace(0, 7, "certificate");
    return why;
  }

  // What was replayed of the certificate, or of the right branch of a split.
  struct Part {
    Session session;
    ReplayStatistics statistics;
    std::optional<kernel::Theorem> witness;
    Decoder decoder;  // with a team
  };

  // A record that was read ahead; of a split that ends within what was read, where its branches end.
  struct Held {
    std::uint64_t offset = 0;          // of the record
    double allowed = 0, work = 0;      // multiply-adds: that all steps up to this one may take, that it took
    std::uint32_t begin = 0;           // in the bytes of the batch
    std::uint32_t next = 0, done = 0;  // in its records
    NodeId by_cases = kNone;           // the node of which it bounds named elements, by cases of nodes before it
  };

  struct Helps {  // as long as a thread has a job, also where what stands before that throws
    Team& team;
    ~Helps() { team.help(); }
  };

  struct Batch {
    std::string bytes;
    std::vector<Held> records;
    std::uint64_t first = 0;         // number of its first record
    std::vector<std::size_t> open;   // its splits that have not ended
    Outcome<bool> has_next = false;  // whether records follow, or why none can be read
  };

  // Records of a batch: all of them, or the right branch of a split whose left branch another task has.
  struct Task {
    Task(Part what, std::size_t begin, std::size_t behind, Task* other) : part(std::move(what)), at(begin), end(behind), left(other) {}
    Part part;
    std::size_t at, end;
    Task* left;
    std::atomic<bool> is_met = false;  // one of both branches has ended
    Session::Found found;
    struct Open {
      std::size_t split, depth;
      std::unique_ptr<Task> right;  // where it was given away
    };
    std::vector<Open> open;  // the whole splits in whose left branch the task is
    std::size_t asked = 0;   // of them, from the outermost on: given away, or too small
    double owed = 0;         // multiply-adds that it took and left_ does not know of
  };

  [[nodiscard]] double allowed_after(std::uint64_t bytes) const {
    return std::floor(std::min(limits_.work + limits_.work_per_byte * static_cast<double>(bytes), limits_.most_work));
  }

  void allow(double most) {
    all_.session.allow(most - allowed_);
    allowed_ = most;
  }

  Outcome<Done> replay_in_turn() {
    while (true) {
      auto record = reader_.next(&problem_->graph());
      if (!record) return record.rejection();
      if (record.value() == nullptr) return Done{};
      allow(allowed_after(reader_.bytes_read()));
      if (auto accepted = step(*record.value(), all_); !accepted) return accepted;
    }
  }

  Outcome<Done> replay_by_team() {
    ahead_ = read(limits_.shared_bytes / kFirstBatch);
    while (true) {
      now_ = std::exchange(ahead_, {});
      if (auto accepted = replay_batch(); !accepted) return accepted;
      if (!now_.has_next) return now_.has_next.rejection();
      if (!now_.has_next.value()) return Done{};
    }
  }

  Batch read(std::uint64_t bytes) {
    Batch batch;
    while (true) {
      auto record = reader_.next(&problem_->graph(), true);
      batch.has_next = record ? Outcome<bool>(record.value() != nullptr) : record.rejection();
      if (!batch.has_next || !batch.has_next.value() || !hold(*record.value(), batch, bytes)) return batch;
    }
  }

  // False where no more is to be held.
  bool hold(const Record& record, Batch& batch, std::uint64_t bytes) {
    auto& records = batch.records;
    const std::size_t at = records.size(), begin = batch.bytes.size();
    if (records.empty()) batch.first = record.number;
    batch.bytes += reader_.encoded();
    records.push_back({record.offset, allowed_after(reader_.bytes_read()), 0, static_cast<std::uint32_t>(begin)});
    const auto is_before = [&](const CaseStep& step) { return !step.split || step.split->node < record.node; };
    const bool names = record.type == RecordType::tighten_by_cases && record.selection.kind != kernel::Selection::Kind::unstable;
    if (names && std::ranges::all_of(record.tree, is_before)) records[at].by_cases = record.node;
    if (is_split(record.type)) batch.open.push_back(at);
    if (record.type == RecordType::next && !batch.open.empty()) {
      Held& split = records[batch.open.back()];
      split.next = split.next == 0 ? static_cast<std::uint32_t>(at) : kNone;  // two of them are refused in their turn
    }
    if (record.type == RecordType::done && !batch.open.empty()) {
      Held& split = records[batch.open.back()];
      if (0 < split.next && split.next < at) split.done = static_cast<std::uint32_t>(at);
      batch.open.pop_back();
    }
    return batch.bytes.size() + sizeof(Held) * records.size() < bytes && record.type != RecordType::witness;
  }

  // By all threads. What they do not accept this one replays once more in turn: its answer counts.
  Outcome<Done> replay_batch() {
    if (now_.records.empty() || replay_at_once()) return Done{};
    all_.session.leave_team();
    ++all_.statistics.again;
    for (std::size_t at = 0; at < now_.records.size(); ++at) {
      allow(now_.records[at].allowed);
      if (auto accepted = decode_and_step(at, all_); !accepted) return accepted;
    }
    return Done{};
  }

  // False, and nothing has changed, where a step failed or the steps took more than was allowed at some record.
  bool replay_at_once() {
    const double left = all_.session.work_left(), allowed = allowed_;
    double spent = allowed - left;
    allow(now_.records.back().allowed);
    left_ = all_.session.work_left();
    has_failed_ = false;
    Task whole(all_, 0, now_.records.size(), nullptr);
    std::packaged_task<void()> job([&] { go(&whole); });
    if (!team_->give(job)) job();
    {
      const Helps in_the_end{*team_};
      if (now_.has_next && now_.has_next.value()) ahead_ = read(limits_.shared_bytes);
    }
    for (const Held& held : now_.records) {
      spent += held.work;
      if (!(spent <= held.allowed)) has_failed_ = true;
    }
    if (has_failed_) {
      all_.session.allow(left - all_.session.work_left());
      allowed_ = allowed;
    } else {
      all_ = std::move(whole.part);
    }
    return !has_failed_;
  }

  // Replays a task, and then what it lets go on.
  void go(Task* task) try {
    if (task->left != nullptr) task->part.session.separate();
    while (task != nullptr && !has_failed_) {
      if (task->at < task->end) {
        task = advance(*task);
      } else if (task->left != nullptr) {
        task->found = task->part.session.end_branch();
        task = meet(*task);
      } else {
        return;
      }
    }
  } catch (...) {  // such as for memory that one thread does without
    has_failed_ = true;
  }

  // One record further. Null where the left branch of a split has ended before the right one, which goes on with the task then.
  Task* advance(Task& task) {
    if (team_->idle() > 0) share(task);
    const Held& held = now_.records[task.at];
    if (held.by_cases != kNone && team_->idle() > 0 && task.part.session.may_have_twins()) return bound_by_cases(task);
    const bool ends_left = !task.open.empty() && now_.records[task.open.back().split].next == task.at;
    if (ends_left && task.open.back().right) {
      task.part.session.leave_left();
      return meet(*task.open.back().right);
    }
    const double left = task.part.session.work_left();
    if (!decode_and_step(task.at, task.part)) return fail();
    if (ends_left) close(task);
    if (held.done > 0) task.open.push_back({task.at, task.part.session.depth(), nullptr});
    return took(task, left - task.part.session.work_left());
  }

  // All steps from here on that bound elements of one node by cases, at the root: none of them looks at that node's box, so that each thread takes
  // some of them.
  Task* bound_by_cases(Task& task) {
    std::size_t end = task.at;
    while (end < task.end && now_.records[end].by_cases == now_.records[task.at].by_cases) ++end;
    const std::size_t threads = std::min(team_->idle() + 1, end - task.at);
    std::vector<Part> twins;
    for (std::size_t k = 1; k < threads; ++k) twins.push_back({task.part.session.twin(), {}, {}, task.part.decoder});
    std::atomic<std::size_t> next = task.at;
    team_->run(threads, [&](std::size_t k) {
      Part& part = k == 0 ? task.part : twins[k - 1];
      for (std::size_t at = next++; at < end && !has_failed_; at = next++) {
        const double left = part.session.work_left();
        if (!decode_and_step(at, part)) fail();
        now_.records[at].work = left - part.session.work_left();
        if (!pay(now_.records[at].work)) fail();
      }
    });
    task.at = end;
    for (const Part& twin : twins) {
      if (!task.part.session.meet(twin.session)) return fail();
      task.part.statistics.add(twin.statistics);
    }
    return &task;
  }

  // A branch of the split has ended. Where it is the second one, this thread goes on with the task behind it.
  Task* meet(Task& right) {
    if (!right.is_met.exchange(true)) return nullptr;
    Task& task = *right.left;
    const double left = task.part.session.work_left() - right.found.work;
    if (!task.part.session.next(std::move(right.found))) return fail();
    task.part.statistics.add(right.part.statistics);
    task.owed += right.owed;
    ++task.part.statistics.steps;
    const std::size_t done = now_.records[task.open.back().split].done;
    close(task);
    took(task, left - task.part.session.work_left());
    task.at = done;
    return &task;
  }

  // The widest branches first: threads are given something to do as seldom as can be.
  void share(Task& task) {
    for (; task.asked < task.open.size() && team_->idle() > 0; ++task.asked) {
      Task::Open& open = task.open[task.asked];
      const Held& split = now_.records[open.split];
      if (!(static_cast<double>(split.done - split.next) * row_work_ >= limits_.shared_work)) continue;
      auto branch = task.part.session.right_branch(open.depth);
      if (!branch) continue;  // refused in its turn
      open.right = std::make_unique<Task>(Part{std::move(branch).value(), {}, {}, task.part.decoder.right_branch(open.depth)},
                                          split.next + 1, split.done, &task);
      std::packaged_task<void()> job([this, right = open.right.get()] { go(right); });
      if (team_->give(job)) continue;
      open.right.reset();
      return;
    }
  }

  static void close(Task& task) {
    task.open.pop_back();
    task.asked = std::min(task.asked, task.open.size());
  }

  // What all threads take together is limited, too.
  Task* took(Task& task, double work) {
    now_.records[task.at++].work = work;
    task.owed += work;
    if (task.owed < kWorkAtOnce) return &task;
    return pay(std::exchange(task.owed, 0)) ? &task : fail();
  }

  [[nodiscard]] bool pay(double work) { return left_.fetch_sub(work) >= work; }

  Task* fail() {
    has_failed_ = true;
    return nullptr;
  }

  static Rejection located(const Record& record, const Part& part, const Rejection& inner) {
    Rejection why = renamed(inner);
    std::string place =
        "step " + std::to_string(record.number) + " (" + to_string(record.type) + ") at byte " + std::to_string(record.offset);
    if (part.session.in_group())
      place += ", group " + std::to_string(part.session.group()) + ", depth " + std::to_string(part.session.depth());
    why.place = why.place.empty() ? place : place + ": " + why.place;
    return why;
  }

  Outcome<Done> decode_and_step(std::size_t at, Part& part) const {
    const Held& held = now_.records[at];
    const std::size_t end = at + 1 < now_.records.size() ? now_.records[at + 1].begin : now_.bytes.size();
    const Cursor place(std::string_view(now_.bytes).substr(held.begin, end - held.begin), held.offset);
    const Record* record = part.decoder.at(place, now_.first + at, &problem_->graph());
    if (part.decoder.cursor.fault()) return *part.decoder.cursor.fault();
    return step(*record, part);
  }

  static Outcome<Done> step(const Record& record, Part& part) {
    if (auto accepted = take(record, part); !accepted) return located(record, part, accepted.rejection());
    ++part.statistics.steps;
    part.statistics.depth = std::max(part.statistics.depth, part.session.depth());
    return Done{};
  }

  static Outcome<Done> take(const Record& record, Part& part) {
    Session& session = part.session;
    if (part.witness)
      return Rejection{Rejection::Kind::malformed,       "certificate.structure", "",
                       "the witness is the last record", "a record after it",     "see the grammar in certificates/FORMAT.md"};
    if (auto spent = session.spend(static_cast<double>(record.values)); !spent) return spent;
    switch (record.type) {
      case RecordType::begin_group:
        return session.begin_group(record.group);
      case RecordType::end_group:
        return session.end_group();
      case RecordType::sweep:
        return session.sweep(record.node, record.round_to_float);
      case RecordType::boxes:
        return session.propagate_boxes(record.node);
      case RecordType::box:
        return session.propagate_box(record.node);
      case RecordType::tighten:
        return session.tighten(record.node, record.selection, record.hints, record.claimed ? &record.claims : nullptr,
                               record.round_to_float);
      case RecordType::tighten_by_cases:
        return session.tighten_by_cases(record.node, record.selection, record.tree, record.round_to_float);
      case RecordType::cut:
        return session.cut(record.terms, record.tree);
      case RecordType::define_hints:
        return session.in_branch();
      case RecordType::conclude:
      case RecordType::conclude_with:
        ++part.statistics.conclusions;
        return session.conclude(record.cases, record.hints);
      case RecordType::empty:
        ++part.statistics.conclusions;
        return session.empty();
      case RecordType::split_zero:
      case RecordType::split_f32:
      case RecordType::split_f64:
        ++part.statistics.splits;
        return session.split(record.node, record.element, record.threshold);
      case RecordType::next:
        return session.next();
      case RecordType::done:
        return session.done();
      case RecordType::witness:
        return witness(record.witness, part);
    }
    return Done{};
  }

  static Outcome<Done> witness(const kernel::Witness& point, Part& part) {
    auto theorem = part.session.witness(point);
    if (!theorem) return theorem.rejection();
    part.witness = std::move(theorem).value();
    return Done{};
  }

  Reader& reader_;
  std::shared_ptr<const kernel::Problem> problem_;
  const ReplayLimits limits_;
  double allowed_;  // multiply-adds so far, those that were taken included
  std::shared_ptr<Team> team_;
  Part all_;
  double row_work_;    // multiply-adds of one row through the network
  Batch now_, ahead_;  // with a team: what is replayed, and what was read meanwhile
  // All threads read the one at each step; the other is written now and then.
  alignas(64) std::atomic<bool> has_failed_ = false;
  alignas(64) std::atomic<double> left_ = 0;  // multiply-adds for the batch
};

}  // namespace

Outcome<kernel::Theorem> replay(Reader& reader, std::shared_ptr<const kernel::Problem> problem, ReplayStatistics* statistics,
                                const ReplayLimits& limits) {
  Replay run(reader, std::move(problem), limits);
  auto theorem = run.run();
  if (statistics != nullptr) *statistics = run.statistics();
  return theorem;
}

}  // namespace assay::certificate
