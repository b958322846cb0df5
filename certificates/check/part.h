// Part and Replay: what the loop of serial.cpp and the threads of parallel.cpp have in common. Internal to this folder.
#pragma once

#include <memory>
#include <optional>

#include "certificates/check/replay.h"
#include "certificates/check/session.h"
#include "certificates/check/team.h"
#include "certificates/format/decoder.h"

namespace assay::certificate {

// The replayed part of the certificate, or of the right branch of a split.
struct Part {
  Session session;
  ReplayStatistics statistics;
  std::optional<logic::Theorem> witness;
  Decoder decoder;  // with a team
};

// One replay of one certificate.
struct Replay {
  Replay(Reader& from, std::shared_ptr<const logic::Problem> of, const ReplayLimits& within);

  // Multiply-adds that the steps may take in all, once so many bytes of the certificate were read.
  [[nodiscard]] double allowed_after(std::uint64_t bytes) const;
  void allow(double most);
  [[nodiscard]] ReplayStatistics statistics() const;

  Reader& reader;
  std::shared_ptr<const logic::Problem> problem;
  const ReplayLimits limits;
  double allowed;              // multiply-adds so far, those that were taken included
  std::shared_ptr<Team> team;  // null on one thread
  Part all;
};

// Checks that the certificate is about the statement of the problem.
[[nodiscard]] Outcome<Done> check_header(const Header& header, const logic::Problem& problem);
// The session's codes as the certificate's; with the step in front of the place.
[[nodiscard]] Rejection renamed(Rejection why);
[[nodiscard]] Rejection located(const Record& record, const Part& part, const Rejection& inner);
// One record, as one call of the session.
[[nodiscard]] Outcome<Done> step(const Record& record, Part& part);
// All records, by the threads of the team, with the same answer as in turn.
[[nodiscard]] Outcome<Done> replay_by_team(Replay& replay);

}  // namespace assay::certificate
