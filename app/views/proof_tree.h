// Sheets of what a certificate holds: its records, and the tree of its splits.
#pragma once

#include <string>

#include "app/views/sheet.h"
#include "certificates/edit/tree.h"
#include "semantics/outcome.h"

namespace assay::views {

// Rejections are those of the reader.
[[nodiscard]] Outcome<certificate::ProofTree> read_proof_tree(const std::string& path);
// Facts and tables, and the drawing of the tree as a chart.
[[nodiscard]] Sheet sheet_of(const certificate::ProofTree& tree, const std::string& path);

}  // namespace assay::views
