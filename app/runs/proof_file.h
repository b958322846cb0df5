// The searches of every run share their limits, and the place where each writes its certificate until the store keeps it.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "app/runs/store.h"
#include "certificates/format/writer.h"
#include "search/search.h"

namespace assay::runs {

struct SearchRequest {
  unsigned jobs = 1, threads = 1;  // instances at the same time; threads of one search
  double timeout = 60;             // seconds of one search
  std::uint64_t seed = 1;          // of the attack
  std::uint64_t memory = 0;        // bytes for all searches together
  [[nodiscard]] search::Options options(search::Deadline deadline, const std::stop_token& stop) const;
};

class ProofFile {
 public:
  // Without a store nothing is written. Code store.write.
  [[nodiscard]] static Outcome<ProofFile> open(Store* store, const logic::Problem& problem);
  [[nodiscard]] certificate::Writer* writer() { return writer_.get(); }  // null without a store
  // The failure of a run whose certificate could not be written.
  [[nodiscard]] Rejection unwritten(const Rejection& why) const;
  // Gives the finished certificate to the store, and the result its "certificate", "bytes" and "statement".
  [[nodiscard]] Outcome<Done> keep(const logic::Problem& problem, Json& result);

 private:
  Store* store_ = nullptr;
  std::string path_;
  std::unique_ptr<certificate::Writer> writer_;
};

}  // namespace assay::runs
