// Cubes: a proof that is left open at some branches, each of which may be closed elsewhere.
//
// A cube is the beginning of a certificate, up to a branch that is open: the root's facts, and the splits that lead there. A part is a certificate
// in which that branch alone is filled. Parts under the open branches of the first certificate make an ordinary one; it is checked as any
// other, so that nobody believes those who closed a cube (certificates/FORMAT.md, section 7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "certificates/format/reader.h"
#include "certificates/format/writer.h"
#include "kernel/kernel.h"
#include "semantics/outcome.h"

namespace assay::search {

struct SplitPlan {
  std::size_t into = 0;  // open branches at which branching ends, the hardest having been split first; 0: it goes on to the answer
  // A file for the cube of this number, counted from 0.
  std::function<Outcome<std::unique_ptr<certificate::Writer>>(std::size_t cube)> open;
};

struct OpenBranch {
  std::size_t group = 0;
  std::uint32_t tree_node = 0;
  std::uint64_t after = 0;  // records of the certificate that stand before its steps
  std::vector<kernel::Literal> literals;
  double bound = 0;                  // of the margin by which its worst case misses being reached
  std::vector<std::uint32_t> cases;  // that are open
};

// Where a cube's search starts.
struct Beginning {
  kernel::Scope scope;
  kernel::Scope above;              // the group's root, before the first split
  std::vector<std::uint32_t> open;  // cases of the group that its steps have not refuted, by position
};

// The steps of a cube, each accepted by the kernel; they may take `work` multiply-adds. Malformed (code "cube.structure") where the records are
// not the beginning of one group.
[[nodiscard]] Outcome<Beginning> read_beginning(certificate::Reader& reader, const std::shared_ptr<const kernel::Problem>& problem,
                                                double work);

}  // namespace assay::search
