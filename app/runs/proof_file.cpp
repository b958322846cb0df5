#include "app/runs/proof_file.h"

#include <algorithm>
#include <utility>

#include "app/queries/verify.h"

namespace assay::runs {

search::Options SearchRequest::options(search::Deadline deadline, const std::stop_token& stop) const {
  search::Options options;
  options.deadline = deadline;
  options.threads = static_cast<int>(threads);
  options.memory_limit_bytes = queries::search_memory(memory / std::max(1u, jobs));
  options.seed = seed;
  options.stop = stop;
  return options;
}

Outcome<ProofFile> ProofFile::open(Store* store, const logic::Problem& problem) {
  ProofFile file;
  if (store == nullptr) return file;
  file.store_ = store;
  file.path_ = store->scratch();
  auto opened = certificate::Writer::open(file.path_, problem);
  if (!opened) return file.unwritten(opened.rejection());
  file.writer_ = std::move(opened).value();
  return file;
}

Rejection ProofFile::unwritten(const Rejection& why) const {
  return {Rejection::Kind::declined,      "store.write", path_,
          "a certificate can be written", why.found,     "what was written before is kept; make room, then go on with --resume"};
}

Outcome<Done> ProofFile::keep(const logic::Problem& problem, Json& result) {
  if (store_ == nullptr) return Done{};
  auto kept = store_->keep(path_);
  if (!kept) return kept.rejection();
  result["certificate"] = kept.value();
  result["bytes"] = writer_->bytes_written();
  result["statement"] = statement::to_hex(problem.digest());
  return Done{};
}

}  // namespace assay::runs
