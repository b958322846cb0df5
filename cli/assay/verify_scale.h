// `assay verify --scale`: what is proved of a property that stays undecided, and the files that show it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/queries/scale.h"

namespace assay::cli {

struct Scaled : queries::Scaled {
  std::uint64_t bytes = 0;  // of its certificate, where one is written
};

// Beside the file of --proof: the certificate of the scaled statement, and that statement.
[[nodiscard]] inline std::string scaled_proof(const std::string& proof) { return proof + ".scaled"; }
[[nodiscard]] inline std::string scaled_statement(const std::string& proof) { return scaled_proof(proof) + ".statement"; }

// Writes both where there is a `proof`. Rejections are those of files that cannot be written.
[[nodiscard]] Outcome<Scaled> scale_down(const std::shared_ptr<const kernel::Problem>& problem, const search::Options& options,
                                         double seconds, const std::string& proof);

// What the answer says of it, and how to check it.
[[nodiscard]] std::string scaled_text(const Scaled& scaled, const std::string& proof);

}  // namespace assay::cli
