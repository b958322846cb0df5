// Part and Replay: shared by the loop of serial.cpp and the threads of parallel.cpp. Internal to this folder.
#pragma once

#include <memory>
#include <optional>

#include "certificates/check/replay.h"
#include "certificates/check/session.h"
#include "certificates/check/team.h"
#include "certificates/format/decoder.h"

namespace assay::certificate {

// The state of replaying a certificate, or the right branch of a split.
struct Part {
  Session session;
  ReplayStatistics statistics;
  std::optional<logic::Theorem> witness;
  Decoder decoder;  // used with a team only
};

// One replay of one certificate.
struct Replay {
  Replay(Reader& from, std::shared_ptr<const logic::Problem> of, const ReplayLimits& within);

  // The multiply-adds that all steps may take after this many bytes of the certificate were read.
  [[nodiscard]] double allowed_after(std::uint64_t bytes) const;
  void allow(double most);
  [[nodiscard]] ReplayStatistics statistics() const;

  Reader& reader;
  std::shared_ptr<const logic::Problem> problem;
  const ReplayLimits limits;
  double allowed;              // multiply-adds so far, including those that were taken
  std::shared_ptr<Team> team;  // null on one thread
  Part all;
};

// Checks that the certificate is about the statement of the problem.
[[nodiscard]] Outcome<Done> check_header(const Header& header, const logic::Problem& problem);
// Puts the step in front of the place.
[[nodiscard]] Rejection located(const Record& record, const Part& part, Rejection why);
// Replays one record, as one call of the session.
[[nodiscard]] Outcome<Done> step(const Record& record, Part& part);
// Replays all records by the threads of the team, with the same answer as in turn.
[[nodiscard]] Outcome<Done> replay_by_team(Replay& replay);

}  // namespace assay::certificate
