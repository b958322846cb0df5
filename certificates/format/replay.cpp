// Replay: each record becomes a step of a Session.

#include "certificates/format/replay.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

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

class Replay {
 public:
  Replay(Reader& reader, std::shared_ptr<const kernel::Problem> problem, const ReplayLimits& limits)
      : reader_(reader),
        problem_(std::move(problem)),
        limits_(limits),
        allowed_(std::min(limits.work, limits.most_work)),
        session_(problem_, {allowed_, limits.memory}) {}

  Outcome<kernel::Theorem> run() {
    if (auto fits = check_header(reader_.header(), *problem_); !fits) return fits.rejection();
    while (true) {
      const auto next = reader_.next(&problem_->graph());
      if (!next) return next.rejection();
      if (next.value() == nullptr) break;
      const Record& record = *next.value();
      const double most = std::min(limits_.work + limits_.work_per_byte * static_cast<double>(reader_.bytes_read()), limits_.most_work);
      session_.allow(most - allowed_);
      allowed_ = most;
      if (auto accepted = step(record); !accepted) return located(record, accepted.rejection());
      ++statistics_.steps;
      statistics_.depth = std::max(statistics_.depth, session_.depth());
    }
    if (witness_) return *std::move(witness_);
    auto theorem = session_.theorem();
    if (!theorem) return renamed(theorem.rejection());
    return theorem;
  }

  [[nodiscard]] ReplayStatistics statistics() const {
    ReplayStatistics all = statistics_;
    all.work = allowed_ - session_.work_left();
    all.budget = allowed_;
    all.memory = session_.most_memory();
    return all;
  }

 private:
  // The session's codes as the certificate's.
  static Rejection renamed(Rejection why) {
    if (why.code.starts_with("session.")) why.code.replace(0, 7, "certificate");
    return why;
  }

  Rejection located(const Record& record, const Rejection& inner) const {
    Rejection why = renamed(inner);
    std::string place =
        "step " + std::to_string(record.number) + " (" + to_string(record.type) + ") at byte " + std::to_string(record.offset);
    if (session_.in_group()) place += ", group " + std::to_string(session_.group()) + ", depth " + std::to_string(session_.depth());
    why.place = why.place.empty() ? place : place + ": " + why.place;
    return why;
  }

  Outcome<Done> step(const Record& record) {
    if (witness_)
      return Rejection{Rejection::Kind::malformed,       "certificate.structure", "",
                       "the witness is the last record", "a record after it",     "see the grammar in certificates/FORMAT.md"};
    if (auto spent = session_.spend(static_cast<double>(record.values)); !spent) return spent;
    switch (record.type) {
      case RecordType::begin_group:
        return session_.begin_group(record.group);
      case RecordType::end_group:
        return session_.end_group();
      case RecordType::sweep:
        return session_.sweep(record.node, record.round_to_float);
      case RecordType::box:
        return session_.propagate_box(record.node);
      case RecordType::tighten:
        return session_.tighten(record.node, record.selection, record.hints, record.claimed ? &record.claims : nullptr,
                                record.round_to_float);
      case RecordType::define_hints:
        return session_.in_branch();
      case RecordType::conclude:
      case RecordType::conclude_with:
        ++statistics_.conclusions;
        return session_.conclude(record.cases, record.hints);
      case RecordType::empty:
        ++statistics_.conclusions;
        return session_.empty();
      case RecordType::split_zero:
      case RecordType::split_f32:
      case RecordType::split_f64:
        ++statistics_.splits;
        return session_.split(record.node, record.element, record.threshold);
      case RecordType::next:
        return session_.next();
      case RecordType::done:
        return session_.done();
      case RecordType::witness:
        return witness(record.witness);
    }
    return Done{};
  }

  Outcome<Done> witness(const kernel::Witness& point) {
    auto theorem = session_.witness(point);
    if (!theorem) return theorem.rejection();
    witness_ = std::move(theorem).value();
    return Done{};
  }

  Reader& reader_;
  std::shared_ptr<const kernel::Problem> problem_;
  const ReplayLimits limits_;
  double allowed_;  // multiply-adds so far, those that were taken included
  kernel::Session session_;
  std::optional<kernel::Theorem> witness_;
  ReplayStatistics statistics_;
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
