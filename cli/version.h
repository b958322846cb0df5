// Data on a program for reports of bugs: version, commit, compiler, libraries, instruction sets.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay::cli {

using Libraries = std::vector<std::pair<std::string, std::string>>;  // name, version

// Lines, the last one without an end; the first is "PROGRAM MAJOR.MINOR.PATCH". `further` are the libraries that this program
// links beyond those of assay-check.
[[nodiscard]] std::string version_text(const std::string& program, const Libraries& further = {});

// Written by tools/cmake/commit.cmake at every build: the commit of the tree, "-dirty" behind it where files differ; or
// "unknown".
extern const char* const kCommit;

}  // namespace assay::cli
