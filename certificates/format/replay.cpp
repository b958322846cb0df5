// Replay: each record becomes a step of a Session. With a team many records are read before they are replayed: the halves of splits that are
// whole among them can be replayed at once.

#include "certificates/format/replay.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "certificates/format/format.h"
#include "certificates/replay/session.h"
#include "semantics/printable.h"

namespace assay::certificate {
namespace {

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

// In memory, where a few bytes of the file may stand for many.
std::uint64_t bytes_of(const Record& record) {
  const kernel::Hints& hints = record.hints;
  return sizeof(Record) + sizeof(double) * record.values + sizeof(kernel::CaseMultipliers) * record.cases.size() +
         sizeof(std::vector<float>) * (hints.lower.size() + hints.upper.size()) +
         sizeof(float) * (record.claims.lo.size() + record.claims.hi.size()) + record.selection.mask.size();
}

constexpr std::size_t kMostShared = 16;  // splits on the stack of a thread, so that a deep certificate does not exhaust it

class Replay {
 public:
  Replay(Reader& reader, std::shared_ptr<const kernel::Problem> problem, const ReplayLimits& limits)
      : reader_(reader),
        problem_(std::move(problem)),
        limits_(limits),
        allowed_(std::min(limits.work, limits.most_work)),
        team_(limits.threads > 1 ? std::make_shared<kernel::Team>(limits.threads) : nullptr),
        session_(problem_, {allowed_, limits.memory}, team_),
        row_work_(problem_->row_work(static_cast<NodeId>(problem_->graph().nodes.size() - 1))) {}

  Outcome<kernel::Theorem> run() {
    if (auto fits = check_header(reader_.header(), *problem_); !fits) return fits.rejection();
    for (bool at_end = false; !at_end;) {
      Outcome<Done> read = Done{};
      const Record* next = nullptr;
      do {
        auto record = reader_.next(&problem_->graph());
        if (!record) read = record.rejection();
        next = record ? record.value() : nullptr;
        at_end = next == nullptr;
      } while (team_ && !at_end && hold(*next));
      const double most = std::min(limits_.work + limits_.work_per_byte * static_cast<double>(reader_.bytes_read()), limits_.most_work);
      session_.allow(most - allowed_);
      allowed_ = most;
      const auto accepted = team_ ? replay_held(0, held_.size(), all_) : at_end ? Done{} : step(*next, all_);
      if (!accepted) return accepted.rejection();
      if (!read) return read.rejection();
      held_.clear();
      open_.clear();
      held_bytes_ = 0;
    }
    if (witness_) return *std::move(witness_);
    auto theorem = session_.theorem();
    if (!theorem) return renamed(theorem.rejection());
    return theorem;
  }

  [[nodiscard]] ReplayStatistics statistics() const {
    ReplayStatistics all = all_.statistics;
    all.work = allowed_ - session_.work_left();
    all.budget = allowed_;
    all.memory = session_.most_memory();
    all.helper_seconds = team_ ? team_->helper_seconds() : 0;
    return all;
  }

 private:
  // The session's codes as the certificate's.
  static Rejection renamed(Rejection why) {
    if (why.code.starts_with("session.")) why.code.replace(0, 7, "certificate");
    return why;
  }

  // One thread's part of the certificate.
  struct Part {
    kernel::Session& session;
    std::size_t above = 0;   // open splits that the session does not know
    std::size_t shared = 0;  // splits above whose other half another thread may have
    ReplayStatistics statistics = {};
    [[nodiscard]] std::size_t depth() const { return above + session.depth(); }
  };

  // A record that was read ahead; of a split that ends within what was read, where its halves end.
  struct Held {
    Record record;
    std::size_t next = 0, done = 0;
  };

  // False where no more is to be held.
  bool hold(const Record& record) {
    const std::size_t at = held_.size();
    held_.push_back({record});
    held_bytes_ += bytes_of(record);
    if (is_split(record.type)) open_.push_back(at);
    if (record.type == RecordType::next && !open_.empty()) held_[open_.back()].next = at;
    if (record.type == RecordType::done && !open_.empty()) {
      held_[open_.back()].done = at;
      open_.pop_back();
    }
    return held_bytes_ < limits_.shared_bytes && record.type != RecordType::witness;
  }

  [[nodiscard]] bool is_worth_sharing(std::size_t at, const Part& part) const {
    const auto& [record, next, done] = held_[at];
    return part.shared < kMostShared && next > 0 && done > 0 &&
           static_cast<double>(std::min(next - at, done - next)) * row_work_ >= limits_.shared_work && team_->idle() > 0;
  }

  // The held records from `at` to `end`. Where a thread is idle the halves of a split are replayed at once.
  Outcome<Done> replay_held(std::size_t at, std::size_t end, Part& part) {
    for (; at < end; ++at) {
      if (auto accepted = step(held_[at].record, part); !accepted) return accepted;
      if (!is_worth_sharing(at, part)) continue;
      const std::size_t next = held_[at].next, done = held_[at].done;
      auto half = part.session.other_half();
      if (!half) return located(held_[next].record, part, half.rejection());
      Part right{half.value(), part.depth(), ++part.shared};
      Outcome<Done> left_half = Done{}, right_half = Done{};
      const bool shared =
          team_->at_once([&] { left_half = replay_held(at + 1, next, part); }, [&] { right_half = replay_held(next + 1, done, right); });
      --part.shared;
      if (!shared) continue;
      if (!left_half) return left_half;
      if (!right_half) return right_half;
      part.statistics.add(right.statistics);
      part.statistics.steps += 2;  // next and done
      if (auto closed = part.session.done(std::move(half).value()); !closed) return located(held_[done].record, part, closed.rejection());
      at = done;
    }
    return Done{};
  }

  Rejection located(const Record& record, const Part& part, const Rejection& inner) const {
    Rejection why = renamed(inner);
    std::string place =
        "step " + std::to_string(record.number) + " (" + to_string(record.type) + ") at byte " + std::to_string(record.offset);
    if (part.session.in_group()) place += ", group " + std::to_string(part.session.group()) + ", depth " + std::to_string(part.depth());
    why.place = why.place.empty() ? place : place + ": " + why.place;
    return why;
  }

  Outcome<Done> step(const Record& record, Part& part) {
    if (auto accepted = take(record, part); !accepted) return located(record, part, accepted.rejection());
    ++part.statistics.steps;
    part.statistics.depth = std::max(part.statistics.depth, part.depth());
    return Done{};
  }

  Outcome<Done> take(const Record& record, Part& part) {
    kernel::Session& session = part.session;
    if (witness_)
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
      case RecordType::box:
        return session.propagate_box(record.node);
      case RecordType::tighten:
        return session.tighten(record.node, record.selection, record.hints, record.claimed ? &record.claims : nullptr,
                               record.round_to_float);
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
        return witness(record.witness, session);
    }
    return Done{};
  }

  // Rejected in the half of a split, as in any branch.
  Outcome<Done> witness(const kernel::Witness& point, const kernel::Session& session) {
    auto theorem = session.witness(point);
    if (!theorem) return theorem.rejection();
    witness_ = std::move(theorem).value();
    return Done{};
  }

  Reader& reader_;
  std::shared_ptr<const kernel::Problem> problem_;
  const ReplayLimits limits_;
  double allowed_;  // multiply-adds so far, those that were taken included
  std::shared_ptr<kernel::Team> team_;
  kernel::Session session_;
  Part all_{session_};
  double row_work_;                // multiply-adds of one row through the network
  std::deque<Held> held_;          // with a team, what was read and is replayed next
  std::vector<std::size_t> open_;  // its splits that have not ended
  std::uint64_t held_bytes_ = 0;
  std::optional<kernel::Theorem> witness_;
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
