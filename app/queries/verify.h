// Decides a property: the search, with the words for its outcome. Untrusted; the theorem is the kernel's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "certificates/format/writer.h"
#include "frontends/onnx/edits.h"
#include "kernel/logic/api.h"
#include "search/search.h"
#include "semantics/outcome.h"

namespace assay::queries {

// search::search. Memory that runs out and networks without a value somewhere in the box are the answer unknown, with the reason.
[[nodiscard]] Outcome<search::Result> verify(const std::shared_ptr<const logic::Problem>& problem, const search::Options& options,
                                             certificate::Writer* writer = nullptr);

// The answer sat by this point, or unknown where the kernel does not accept it.
[[nodiscard]] search::Result violated_at(const std::shared_ptr<const logic::Problem>& problem, const logic::Witness& witness,
                                         certificate::Writer* writer = nullptr);

// Estimates the seconds that the branching of an undecided search still needs, if the rest of the tree closes at the pace of the
// last part. Returns nothing without a pace, and nothing beyond ten times the time of the search, where an estimate is worthless.
[[nodiscard]] inline std::optional<double> seconds_left(const search::Unfinished& unfinished) {
  constexpr double kMost = 10;
  const double seconds = (1 - unfinished.closed_share) / unfinished.pace;
  if (!(unfinished.pace > 0 && seconds <= kMost * unfinished.seconds)) return std::nullopt;
  return seconds;
}

// Of an undecided search, the value of --branching that may decide more; else empty. It is "input" if neurons were split, and few inputs
// are free or no neuron is left. It is "relu" if inputs alone were split, and no box became a point.
[[nodiscard]] std::string other_branching(const search::Result& result);

// Bytes for search::Options, where a run may hold so many: the rest is for the network and its bounds.
[[nodiscard]] std::uint64_t search_memory(std::uint64_t most);

// "auto", "input" or "relu" on the command line and in Python; any other word is "auto".
[[nodiscard]] search::Options::Branching branching_named(const std::string& name);

// A certificate that was written, and what it is about.
struct WrittenCertificate {
  const std::string &model, &property, &file;
  const std::string& semantics;  // as --semantics takes it; empty: what the property says
  const onnx::Edits& edits;      // of the model
};
// "certificate: FILE, 79 bytes; check it with: assay-check MODEL PROPERTY FILE", with --semantics where one is named.
[[nodiscard]] std::string certificate_line(const WrittenCertificate& certificate, std::uint64_t bytes);

// "property HOLDS: ...", "property VIOLATED: ...", "UNDECIDED: ...".
[[nodiscard]] std::string sentence(const search::Result& result);

}  // namespace assay::queries
