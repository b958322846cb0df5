// Output files that a command line names although another file is there: an input, a file of a run, or another output.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace assay::cli {

// Throws CLI::ValidationError if an output of the verb would take the place of a file that the same command line names.
void refuse_shared_files(const CLI::App* verb);

// Returns true if both names lead to one file that exists.
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

}  // namespace assay::cli
