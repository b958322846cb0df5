// Cubes: a proof that is left open at some branches, each of which may be closed elsewhere.
//
// A cube is the beginning of a certificate, up to a branch that is open: the root's facts, and the splits that lead there. A part
// is a certificate in which that branch alone is filled. Parts under the open branches of the first certificate make an ordinary
// one. It is checked as any other, so the programs that closed the cubes need no trust (certificates/FORMAT.md, section 7).
#pragma once

#include <memory>

#include "certificates/format/reader.h"
#include "kernel/logic/api.h"
#include "search/bab/cube.h"
#include "semantics/outcome.h"

namespace assay::certificate {

// The steps of a cube, each accepted by the kernel; they may take `work` multiply-adds. Malformed (code "cube.structure") where
// the records are not the beginning of one group.
[[nodiscard]] Outcome<search::Beginning> read_beginning(Reader& reader, const std::shared_ptr<const logic::Problem>& problem, double work);

}  // namespace assay::certificate
