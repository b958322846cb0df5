// One statement on many machines: its proof is split into cubes, each of which any machine may close, and the parts are merged.
//
//   FOLDER/split.json   the split: model, property, semantics, the statement's digest, the cubes. Schema assay.split/1
//   FOLDER/root.assay   the certificate with the branches of the cubes left open; without cubes it is whole
//   FOLDER/001.cube     a cube: the beginning of that certificate up to its branch (certificates/FORMAT.md, section 7)
//   FOLDER/001.part     its part: a certificate in which that branch alone is filled
//
// No part is trusted. The merged certificate is an ordinary one, and is replayed before it takes its place.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "app/runs/store.h"
#include "search/search.h"
#include "semantics/outcome.h"

namespace assay::runs {

// The answer of a cube of which nothing is open: what a part proves.
inline constexpr const char* kClosed = "closed";

// Where a statement's files are, and what is known of its semantics: "real", "float32:onnxruntime", or empty for what the property says.
struct StatementFiles {
  std::string model, property, semantics;
  onnx::Edits edits = {};  // of the model
};

// "answer": split, or sat, unsat, unknown, timed-out where the search had one before it had enough branches. `folder` is new or
// empty; for unknown and timed-out nothing is written.
[[nodiscard]] Outcome<Json> split(const StatementFiles& files, const std::string& folder, std::size_t into, const check::LoadOptions& load,
                                  search::Options options);

// split.json; `malformed` (cubes.*) where there is none, or not of a split.
[[nodiscard]] Outcome<Json> read_split(const std::string& folder);
// The files of split.json. A file that does not exist there is looked for in the folder itself.
[[nodiscard]] StatementFiles files_of(const Json& split, const std::string& folder);

// The same where some are named: those, and else what split.json in the folder says.
[[nodiscard]] Outcome<StatementFiles> find_files(const StatementFiles& named, const std::string& folder);
// The parts that stand in the folder.
[[nodiscard]] std::vector<std::string> parts_in(const std::string& folder);

// Has the work write to a file that takes the place of `out` where the work has an answer; its report then names it as "certificate".
[[nodiscard]] Outcome<Json> written(const std::string& out, const std::function<Outcome<Json>(const std::string& name)>& work);

// "answer": closed, sat, unknown, timed-out. The part is written to `part` for the first two.
[[nodiscard]] Outcome<Json> solve(const std::string& cube, const StatementFiles& files, const std::string& part,
                                  const check::LoadOptions& load, search::Options options);

// "answer": unsat or sat, of the certificate that is written to `out`. Codes cubes.*, join.*; those of the kernel name the part
// as their place.
[[nodiscard]] Outcome<Json> merge(const std::string& folder, const std::vector<std::string>& parts, const StatementFiles& files,
                                  const std::string& out, const check::LoadOptions& load);

}  // namespace assay::runs
