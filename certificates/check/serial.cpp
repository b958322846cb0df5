// Replay turns a certificate into a theorem of the kernel. Read this file first.
//
// The certificate's header has to name the statement at hand. Then the records are replayed in the order of the file.
// Each record is one call of a Session (session.h), which calls a rule of the kernel on the facts of the open branch.
// The rule derives a fact, refutes cases, or rejects the step; a rejection ends the replay. After the last record the
// kernel makes the theorem: from the refutations of all groups ("unsat"), or from a witness ("sat").
//
// Soundness rests on the kernel alone: no other code can make a Theorem, a Refutation or a fact of a Scope. This file,
// the reader, the decoder and the session hold no trust. A mistake in them can lose a proof or derive another fact; it
// cannot make a false theorem.
//
// With more than one thread, parallel.cpp replays the records of several branches at once, each by the same step().

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "certificates/check/part.h"

namespace assay::certificate {
namespace {

// The session call for each kind of record.
struct Steps {
  Part& part;
  Session& session = part.session;

  Outcome<Done> begin_group(const Record& record) const { return session.begin_group(record.group); }
  Outcome<Done> end_group(const Record&) const { return session.end_group(); }
  Outcome<Done> sweep(const Record& record) const { return session.sweep(record.node, record.round_to_float); }
  Outcome<Done> boxes(const Record& record) const { return session.propagate_boxes(record.node); }
  Outcome<Done> box(const Record& record) const { return session.propagate_box(record.node); }
  Outcome<Done> tighten(const Record& record) const {
    return session.tighten(record.node, record.selection, record.hints, record.claimed ? &record.claims : nullptr, record.round_to_float);
  }
  Outcome<Done> tighten_by_cases(const Record& record) const {
    return session.tighten_by_cases(record.node, record.selection, record.tree, record.round_to_float);
  }
  Outcome<Done> cut(const Record& record) const { return session.cut(record.terms, record.tree); }
  // The records that use the hints contain them.
  Outcome<Done> define_hints(const Record&) const { return session.in_branch(); }
  Outcome<Done> conclude(const Record& record) const {
    ++part.statistics.conclusions;
    return session.conclude(record.cases, record.hints);
  }
  Outcome<Done> conclude_with(const Record& record) const { return conclude(record); }
  Outcome<Done> empty(const Record&) const {
    ++part.statistics.conclusions;
    return session.empty();
  }
  Outcome<Done> split(const Record& record) const {
    ++part.statistics.splits;
    return session.split(record.node, record.element, record.threshold);
  }
  Outcome<Done> next(const Record&) const { return session.next(); }
  Outcome<Done> done(const Record&) const { return session.done(); }
  Outcome<Done> witness(const Record& record) const {
    auto theorem = session.witness(record.witness);
    if (!theorem) return theorem.rejection();
    part.witness = std::move(theorem).value();
    return Done{};
  }
};

Outcome<Done> take(const Record& record, Part& part) {
  if (part.witness)
    return Rejection{Rejection::Kind::malformed,     "certificate.structure", "",
                     "a witness as the last record", "a record after it",     statement::in_format("Structure", "see the grammar in ")};
  if (auto spent = part.session.spend(static_cast<double>(record.values)); !spent) return spent;
  return visit(record, Steps{part});
}

// The loop on one thread.
Outcome<Done> replay_in_turn(Replay& replay) {
  while (true) {
    auto record = replay.reader.next(&replay.problem->graph());
    if (!record) return record.rejection();
    if (record.value() == nullptr) return Done{};
    replay.allow(replay.allowed_after(replay.reader.bytes_read()));
    if (auto accepted = step(*record.value(), replay.all); !accepted) return accepted;
  }
}

Outcome<logic::Theorem> run(Replay& replay) {
  if (auto fits = check_header(replay.reader.header(), *replay.problem); !fits) return fits.rejection();
  if (auto accepted = replay.team ? replay_by_team(replay) : replay_in_turn(replay); !accepted) return accepted.rejection();
  replay.allow(replay.allowed_after(replay.reader.bytes_read()));
  if (replay.all.witness) return *std::move(replay.all.witness);
  return replay.all.session.theorem();
}

}  // namespace

Outcome<Done> step(const Record& record, Part& part) {
  if (auto accepted = take(record, part); !accepted) return located(record, part, accepted.rejection());
  ++part.statistics.steps;
  part.statistics.depth = std::max(part.statistics.depth, part.session.depth());
  return Done{};
}

Outcome<logic::Theorem> replay(Reader& reader, std::shared_ptr<const logic::Problem> problem, ReplayStatistics* statistics,
                               const ReplayLimits& limits) {
  Replay one(reader, std::move(problem), limits);
  auto theorem = run(one);
  if (statistics != nullptr) *statistics = one.statistics();
  return theorem;
}

}  // namespace assay::certificate
