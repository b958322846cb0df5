// replay_by_team(): replay by several threads. serial.cpp defines the meaning of a record; this file chooses the thread
// that replays it.
//
// To keep threads busy, a batch of records is read before it is replayed. An idle thread gets the right branch of the
// outermost open split that lies whole in the batch. The thread whose branch ends second continues behind the split, so
// that no thread waits. The calling thread reads the next batch before it helps.
//
// Records are stored in encoded form, and the thread that replays one decodes it again, so that no memory is allocated
// in one thread and freed in another. If the threads reject a record, the batch is replayed once more in turn, so that
// every answer is that of serial.cpp.

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

#include "certificates/check/part.h"

namespace assay::certificate {
namespace {

constexpr double kWorkAtOnce = 1e6;       // multiply-adds that a thread takes before it adds them to the common sum
constexpr std::uint64_t kFirstBatch = 8;  // this fraction of a batch is read before the other threads begin
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();  // no record, no node

class Threads {
 public:
  explicit Threads(Replay& replay) : replay_(replay), row_work_(replay.all.session.costs().whole_row()) {}

  Outcome<Done> run() {
    ahead_ = read(replay_.limits.shared_bytes / kFirstBatch);
    while (true) {
      now_ = std::exchange(ahead_, {});
      if (auto accepted = replay_batch(); !accepted) return accepted;
      if (!now_.has_next) return now_.has_next.rejection();
      if (!now_.has_next.value()) return Done{};
    }
  }

 private:
  // A record that was read ahead. For a split that lies whole in the batch, also where its branches end.
  struct Held {
    std::uint64_t offset = 0;  // of the record in the file
    // Multiply-adds: the most for all steps up to this one; those that this step took.
    double allowed = 0, work = 0;
    std::uint32_t begin = 0;           // position in the bytes of the batch
    std::uint32_t next = 0, done = 0;  // positions in the records of the batch
    // The node whose named elements the record bounds, by cases of nodes before it.
    NodeId by_cases = kNone;
  };

  struct Helps {  // Joins the work when it leaves the block, also by an exception, as long as a thread has a job.
    Team& team;
    ~Helps() { team.help(); }
  };

  struct Batch {
    std::string bytes;
    std::vector<Held> records;
    std::uint64_t first = 0;         // number of the batch's first record
    std::vector<std::size_t> open;   // its splits that have not ended
    Outcome<bool> has_next = false;  // whether more records follow, or why none can be read
  };

  // Records where the splits of a batch begin and end.
  struct Splits : StepsAlike<Splits> {
    Splits(Batch& batch_of, std::size_t number) : batch(batch_of), at(number) {}
    Batch& batch;
    std::size_t at;  // position of the record
    void begin_group(const Record&) const {}
    void end_group(const Record&) const {}
    void split(const Record&) const { batch.open.push_back(at); }
    void next(const Record&) const {
      if (batch.open.empty()) return;
      Held& split = batch.records[batch.open.back()];
      // A second `next` is rejected when it is replayed.
      split.next = split.next == 0 ? static_cast<std::uint32_t>(at) : kNone;
    }
    void done(const Record&) const {
      if (batch.open.empty()) return;
      Held& split = batch.records[batch.open.back()];
      if (0 < split.next && split.next < at) split.done = static_cast<std::uint32_t>(at);
      batch.open.pop_back();
    }
    void witness(const Record&) const {}
    void step(const Record&) const {}
  };

  // A task of one thread: all records of a batch, or the right branch of a split whose left branch belongs to
  // another task.
  struct Task {
    Task(Part what, std::size_t begin, std::size_t behind, Task* other) : part(std::move(what)), at(begin), end(behind), left(other) {}
    Part part;
    std::size_t at, end;
    Task* left;
    std::atomic<bool> is_met = false;  // one of the two branches has ended
    Session::Found found;
    struct Open {
      std::size_t split, depth;
      std::unique_ptr<Task> right;  // set if the right branch was given away
    };
    std::vector<Open> open;  // the whole splits in whose left branch the task is
    std::size_t asked = 0;   // number of them, outermost first, that were given away or are too small
    double owed = 0;         // multiply-adds that the task took and left_ does not include yet
  };

  Batch read(std::uint64_t bytes) {
    Batch batch;
    while (true) {
      auto record = replay_.reader.next(&replay_.problem->graph(), true);
      batch.has_next = record ? Outcome<bool>(record.value() != nullptr) : record.rejection();
      if (!batch.has_next || !batch.has_next.value() || !hold(*record.value(), batch, bytes)) return batch;
    }
  }

  // False if the batch is full.
  bool hold(const Record& record, Batch& batch, std::uint64_t bytes) {
    auto& records = batch.records;
    const std::size_t at = records.size(), begin = batch.bytes.size();
    if (records.empty()) batch.first = record.number;
    batch.bytes += replay_.reader.encoded();
    records.push_back({record.offset, replay_.allowed_after(replay_.reader.bytes_read()), 0, static_cast<std::uint32_t>(begin)});
    const auto is_before = [&](const CaseStep& step) { return !step.split || step.split->node < record.node; };
    const bool names = record.type == RecordType::tighten_by_cases && record.selection.kind != inspect::Selection::Kind::unstable;
    if (names && std::ranges::all_of(record.tree, is_before)) records[at].by_cases = record.node;
    if (is_known(record.type)) visit(record, Splits(batch, at));
    return batch.bytes.size() + sizeof(Held) * records.size() < bytes && record.type != RecordType::witness;
  }

  // Replays the batch by all threads. If they reject a record, this thread replays the batch again in turn, and that
  // answer counts.
  Outcome<Done> replay_batch() {
    if (now_.records.empty() || replay_at_once()) return Done{};
    replay_.all.session.leave_team();
    ++replay_.all.statistics.again;
    for (std::size_t at = 0; at < now_.records.size(); ++at) {
      replay_.allow(now_.records[at].allowed);
      if (auto accepted = decode_and_step(at, replay_.all); !accepted) return accepted;
    }
    return Done{};
  }

  // False, with nothing changed, if a step failed, or if the steps exceeded the allowed work at some record.
  bool replay_at_once() {
    const double left = replay_.all.session.work_left(), allowed = replay_.allowed;
    double spent = allowed - left;
    replay_.allow(now_.records.back().allowed);
    left_ = replay_.all.session.work_left();
    has_failed_ = false;
    Task whole(replay_.all, 0, now_.records.size(), nullptr);
    std::packaged_task<void()> job([&] { go(&whole); });
    if (!replay_.team->give(job)) job();
    {
      const Helps in_the_end{*replay_.team};
      if (now_.has_next && now_.has_next.value()) ahead_ = read(replay_.limits.shared_bytes);
    }
    for (const Held& held : now_.records) {
      spent += held.work;
      if (!(spent <= held.allowed)) has_failed_ = true;
    }
    if (has_failed_) {
      replay_.all.session.allow(left - replay_.all.session.work_left());
      replay_.allowed = allowed;
    } else {
      replay_.all = std::move(whole.part);
    }
    return !has_failed_;
  }

  // Replays a task, and then the task that becomes ready when it ends.
  void go(Task* task) try {
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
  } catch (...) {  // for example, if there is not enough memory for several threads
    has_failed_ = true;
  }

  // Replays one record. Returns null if the left branch of a split has ended before the right one; the right branch's
  // thread then continues the task.
  Task* advance(Task& task) {
    if (replay_.team->idle() > 0) share(task);
    const Held& held = now_.records[task.at];
    if (held.by_cases != kNone && replay_.team->idle() > 0 && task.part.session.may_have_twins()) return bound_by_cases(task);
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

  // Replays all following steps at the root that bound elements of this node by cases. None of them reads the node's
  // box, so the threads share them.
  Task* bound_by_cases(Task& task) {
    std::size_t end = task.at;
    while (end < task.end && now_.records[end].by_cases == now_.records[task.at].by_cases) ++end;
    const std::size_t threads = std::min(replay_.team->idle() + 1, end - task.at);
    std::vector<Part> twins;
    for (std::size_t k = 1; k < threads; ++k) twins.push_back({task.part.session.twin(), {}, {}, task.part.decoder});
    std::atomic<std::size_t> next = task.at;
    replay_.team->run(threads, [&](std::size_t k) {
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

  // A branch of the split has ended. If it is the second one, this thread continues with the task behind the split.
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

  // Gives away the largest branches first, so that threads rarely need a new one.
  void share(Task& task) {
    for (; task.asked < task.open.size() && replay_.team->idle() > 0; ++task.asked) {
      Task::Open& open = task.open[task.asked];
      const Held& split = now_.records[open.split];
      if (!(static_cast<double>(split.done - split.next) * row_work_ >= replay_.limits.shared_work)) continue;
      auto branch = task.part.session.right_branch(open.depth);
      if (!branch) continue;  // rejected when it is replayed in turn
      open.right = std::make_unique<Task>(Part{std::move(branch).value(), {}, {}, task.part.decoder.right_branch(open.depth)},
                                          split.next + 1, split.done, &task);
      std::packaged_task<void()> job([this, right = open.right.get()] { go(right); });
      if (replay_.team->give(job)) continue;
      open.right.reset();
      return;
    }
  }

  static void close(Task& task) {
    task.open.pop_back();
    task.asked = std::min(task.asked, task.open.size());
  }

  // Adds the work to the sum of all threads, which has a limit, too.
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

  Outcome<Done> decode_and_step(std::size_t at, Part& part) const {
    const Held& held = now_.records[at];
    const std::size_t end = at + 1 < now_.records.size() ? now_.records[at + 1].begin : now_.bytes.size();
    const Cursor place(std::string_view(now_.bytes).substr(held.begin, end - held.begin), held.offset);
    const Record* record = part.decoder.at(place, now_.first + at, &replay_.problem->graph());
    if (part.decoder.cursor.fault()) return *part.decoder.cursor.fault();
    return step(*record, part);
  }

  Replay& replay_;
  double row_work_;    // multiply-adds of back-substituting one row through the whole network
  Batch now_, ahead_;  // the batch being replayed; the batch read meanwhile
  // has_failed_ is read at each step by all threads, and left_ is written rarely; so each has its own cache line.
  alignas(64) std::atomic<bool> has_failed_ = false;
  alignas(64) std::atomic<double> left_ = 0;  // multiply-adds left for the batch
};

}  // namespace

Outcome<Done> replay_by_team(Replay& replay) { return Threads(replay).run(); }

}  // namespace assay::certificate
